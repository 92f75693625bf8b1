"""Generalization hierarchy: the node of each value on each level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes, Counts, Leaves, Levels, Mask, Nodes, Numbers
from hybrid.base.errors import HierarchyError, Problem
from hybrid.hierarchy.spec import ValueRule
from hybrid.table import Kind

ROOT = "*"
"""Label of a fully generalized value in the hierarchies this package builds."""
MISSING = "(missing)"
"""Label of a missing quasi-identifier below the root: a category of its own, never joined with others."""
MOST_LISTED = 20
"""Values that one message names at most."""


@dataclass(frozen=True)
class Hierarchy:
    """A tree over the values of one column.

    The tree's vertices are *nodes*, numbered 0..n_nodes-1. A node is a set of leaves with a label; a leaf is a
    node of one value. Level 0 are the values themselves, the last level is the one root. A node that keeps its
    label and its leaves on several levels is one node; a group of a single value whose label differs from the
    value's ("1234*" where only 12345 is known) is a node of its own, the only child of the next.

    There are two families (:attr:`intervals`). Where every value is listed, only leaves are values: draw from
    :meth:`leaves_of`. Where nodes are intervals of decimals, dates or very many integers, the leaves are the
    observed values, and every value ``low <= v <= high`` that the column can hold belongs to the node, whether a
    record has it or not. Bounds are inclusive in both families: a half-open interval [25, 30) has as ``high``
    the greatest value below 30 that the column can hold: 29 for integers, 29.9 for decimals that are written
    with one digit, the float next to 30 for decimals without a fixed number of digits, the day or microsecond
    before for dates and datetimes. So a value drawn from [low, high], rounded to the column's digits and clipped
    to [low, high] again, always generalizes back; :meth:`contains` checks it.

    Parameters
    ----------
    column : str
        Name of the column, for messages.
    kind : Kind
        Kind of the column's values.
    leaves : numpy.ndarray, shape (n_leaves,)
        The values, in the dtype of the kind: int64, float64, datetime64[us], bool or str (object). The
        domain, which may hold values that no record has.
    node_of : numpy.ndarray, shape (n_leaves, n_levels), int32
        The node of each leaf on each level. If :attr:`missing_leaf` is not None, that row is the missing value.
    labels : tuple of str, length n_nodes
        What each node is called.
    share : numpy.ndarray, shape (n_nodes,), float64
        Part of the domain that a node covers, in (0, 1], never larger than its parent's: leaves of the node /
        leaves of the domain, or for intervals (high - low + step) / (the same of the root), where step is one
        integer, one day, one unit of the last written digit, and 0 for other decimals and datetimes (a single
        value then has the least positive share there is). The root's is 1.
    low, high : numpy.ndarray, shape (n_nodes,)
        Smallest and largest value of a node, both inclusive, for integer, decimal and temporal columns (same
        dtype as ``leaves``; meaningless for the missing node). Empty arrays for the others.
    missing_leaf : int or None
        Row of ``node_of`` of the missing value, always the last; None if the hierarchy knows none.
        ``leaves[missing_leaf]`` is a placeholder.
    intervals : bool
        Whether nodes above level 0 are intervals that also hold values which are no leaves.
    rule : MaskSpec, GroupsSpec, IntervalsSpec, DatesSpec or None
        The rule by which leaves were made from the values of a table; None where a file lists every leaf, so that
        the leaves reveal nothing about the table. See :func:`hybrid.hierarchy.build.hierarchy_of_values`.
    public : bool
        Whether the leaves are those of a public list, known without any table.
    """

    column: str
    kind: Kind
    leaves: Array
    node_of: Nodes
    labels: tuple[str, ...]
    share: Numbers
    low: Array
    high: Array
    missing_leaf: int | None = None
    intervals: bool = False
    rule: ValueRule | None = None
    public: bool = False

    @property
    def n_leaves(self) -> int:
        """Number of values in the domain (the missing value counts as one)."""
        return int(self.node_of.shape[0])

    @property
    def n_levels(self) -> int:
        """Number of levels: level 0 is the value itself, level n_levels - 1 the root."""
        return int(self.node_of.shape[1])

    @property
    def n_nodes(self) -> int:
        """Number of distinct nodes over all levels."""
        return len(self.labels)

    @property
    def root(self) -> int:
        """The node that covers everything."""
        return int(self.node_of[0, -1])

    @property
    def missing_node(self) -> int | None:
        """The node of a missing value on level 0."""
        return None if self.missing_leaf is None else int(self.node_of[self.missing_leaf, 0])

    def level_of(self) -> Levels:
        """The lowest level of each node; shape (n_nodes,), int32."""
        level = np.full(self.n_nodes, self.n_levels, dtype=np.int32)
        for at in reversed(range(self.n_levels)):
            level[self.node_of[:, at]] = at
        return level

    def parents(self) -> Nodes:
        """The next larger node above each node, shape (n_nodes,), int32; the root's parent is -1."""
        parent = np.full(self.n_nodes, -1, dtype=np.int32)
        for at in range(self.n_levels - 1):
            below, above = self.node_of[:, at], self.node_of[:, at + 1]
            differs = below != above
            parent[below[differs]] = above[differs]
        return parent

    def restricted(self, kept: Mask) -> Hierarchy:
        """The hierarchy with some of its leaves alone, and the missing one.

        Labels, shares and bounds are those of the whole.
        """
        chosen = kept.copy()
        if self.missing_leaf is not None:
            chosen[self.missing_leaf] = True
        if chosen.all():
            return self
        nodes, node_of = np.unique(self.node_of[chosen], return_inverse=True)
        return replace(
            self,
            leaves=self.leaves[chosen],
            node_of=node_of.reshape(-1, self.n_levels).astype(np.int32),
            labels=tuple(self.labels[node] for node in nodes),
            share=self.share[nodes],
            low=self.low[nodes] if len(self.low) else self.low,
            high=self.high[nodes] if len(self.high) else self.high,
            missing_leaf=None if self.missing_leaf is None else int(chosen.sum()) - 1,
            rule=None,
        )

    def with_groups(self, names: Mapping[int, str]) -> Hierarchy:
        """The hierarchy of categories with the names of groups, nodes above the values, as values, too.

        Each gets a leaf below it. No name is that of a value. Of groups with the same name the lowest gets the value.
        """
        level = self.level_of()
        lowest: dict[str, int] = {}
        for node in sorted(names, key=lambda one: int(level[one])):
            lowest.setdefault(names[node], node)
        if not lowest:
            return self
        groups = np.array(list(lowest.values()))
        below = np.array([int(self.leaves_of(node)[0]) for node in groups])
        own = np.where(
            np.arange(self.n_levels) < level[groups][:, None],
            self.n_nodes + np.arange(len(groups))[:, None],
            self.node_of[below],
        )
        last = self.n_leaves if self.missing_leaf is None else self.missing_leaf
        return replace(
            self,
            leaves=np.insert(self.leaves, last, np.array(list(lowest), dtype=object)),
            node_of=np.insert(self.node_of, [last] * len(groups), own, axis=0).astype(np.int32),
            labels=(*self.labels, *lowest),
            share=np.append(self.share, self.share[self.node_of[below, 0]]),
            missing_leaf=None if self.missing_leaf is None else last + len(groups),
            rule=None,
        )

    def leaves_of(self, node: int) -> Leaves:
        """Positions in :attr:`leaves` of the leaves that a node covers, the missing one included."""
        return np.flatnonzero((self.node_of == node).any(axis=1))

    def covers(self) -> Mask:
        """Mask of the leaves per node; shape (n_nodes, n_leaves), bool."""
        result = np.zeros((self.n_nodes, self.n_leaves), dtype=bool)
        rows = np.arange(self.n_leaves)
        for at in range(self.n_levels):
            result[self.node_of[:, at], rows] = True
        return result

    def encode(self, values: pd.Series, counts: Counts | None = None) -> Leaves:
        """The leaf of each value.

        Parameters
        ----------
        values : pandas.Series, shape (n,)
            In the dtype of the column's kind (see ``hybrid.table.DTYPES``).
        counts : numpy.ndarray, shape (n,), int, optional
            Records that have each value, for messages; 1 if not given.

        Returns
        -------
        numpy.ndarray, shape (n,), int32
            Rows of :attr:`node_of`.

        Raises
        ------
        HierarchyError
            Values (or missing values) that the hierarchy does not cover; counts in the message, the values
            themselves in the private part.
        """
        codes, distinct = pd.factorize(values, use_na_sentinel=True)
        at = self._find(_plain(distinct, self.kind))
        problems = []
        if (at < 0).any():
            problems.append(self._uncovered(codes, distinct, at < 0, counts))
        if (codes < 0).any() and self.missing_leaf is None:
            n_missing = int((codes < 0).sum() if counts is None else counts[codes < 0].sum())
            problems.append(
                Problem(
                    f"column {self.column!r}: {n_missing} missing values, and a hierarchy that was "
                    "built for a column without any",
                    "build the hierarchy from the table that has them",
                )
            )
        if problems:
            raise HierarchyError(problems)
        lookup = np.append(at, self.missing_leaf if self.missing_leaf is not None else -1)
        leaves: Array = lookup[codes].astype(np.int32)
        return leaves

    def node_at(self, values: pd.Series, level: int | Array) -> Nodes:
        """Node of each value on a level, also for values inside an interval that are no leaves.

        Parameters
        ----------
        values : pandas.Series, shape (n,)
            In the dtype of the column's kind; missing values belong to the missing node.
        level : int, or numpy.ndarray of shape (n,)
            One level for all, or one for each value; 0..n_levels-1.

        Returns
        -------
        numpy.ndarray, shape (n,), int32
            Node numbers; -1 for a value (or a missing value) that no node of the level holds.
        """
        codes, distinct = pd.factorize(values, use_na_sentinel=True)
        plain = _plain(distinct, self.kind)
        levels = np.broadcast_to(np.asarray(level), codes.shape)
        nodes = np.full(len(codes), -1, dtype=np.int32)
        for at in np.unique(levels):
            rows = levels == at
            missing = -1 if self.missing_leaf is None else self.node_of[self.missing_leaf, at]
            nodes[rows] = np.append(self._nodes_at(plain, int(at)), missing)[codes[rows]]
        return nodes

    def contains(self, nodes: Nodes, values: pd.Series) -> Mask:
        """Mask of the values that generalize to the node beside them.

        A missing value is held by the missing node and those above it.
        """
        inside: Array = self.node_at(values, self.level_of()[nodes]) == nodes
        return inside

    def _find(self, plain: Array) -> Codes:
        """Rows of :attr:`leaves` that hold these distinct values; -1 where none does."""
        found: Array = pd.Index(self.leaves[: self.missing_leaf]).get_indexer(pd.Index(plain))
        return found

    def _nodes_at(self, plain: Array, level: int) -> Nodes:
        at = self._find(plain)
        nodes = np.where(at >= 0, self.node_of[at, level], -1) if self.n_leaves else np.full(len(plain), -1)
        unseen = np.flatnonzero(at < 0)
        if level == 0 or not self.intervals or not len(unseen):
            return nodes
        present = np.unique(self.node_of[: self.missing_leaf, level])
        present = present[np.argsort(self.low[present], kind="stable")]
        if len(present):
            place = np.searchsorted(self.low[present], plain[unseen], side="right") - 1
            inside = (place >= 0) & (plain[unseen] <= self.high[present][place])
            nodes[unseen[inside]] = present[place[inside]]
        return nodes

    def _uncovered(self, codes: Array, distinct: object, uncovered: Array, counts: Counts | None) -> Problem:
        known = codes >= 0
        weights = None if counts is None else counts[known]
        rows = np.bincount(codes[known], weights, len(uncovered))[uncovered].astype(np.int64)
        names = [str(value) for value in np.asarray(distinct, dtype=object)[uncovered]]
        commonest = sorted(zip(names, rows, strict=True), key=lambda pair: (-pair[1], pair[0]))
        listed = ", ".join(f"{name} ({n} rows)" for name, n in commonest[:MOST_LISTED])
        more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
        return Problem(
            f"column {self.column!r}: {len(names)} distinct values ({int(rows.sum())} rows) are not in its hierarchy",
            "add them to the hierarchy file (hybrid hierarchy extend), or list them under data.missing",
            values=listed + more,
        )

    def decode(self, leaves: Array) -> pd.Series:
        """The values of these leaves, in the dtype of the column's kind; the missing leaf becomes missing."""
        missing = np.zeros(len(leaves), dtype=bool) if self.missing_leaf is None else leaves == self.missing_leaf
        if self.kind is Kind.CATEGORICAL:
            texts = pd.Series(self.leaves[leaves], dtype=object).mask(missing)
            return texts.astype("category")
        return pd.Series(self.leaves[leaves]).astype(self.kind.type.dtype).mask(missing)


def _plain(distinct: object, kind: Kind) -> Array:
    plain: Array = np.asarray(distinct, dtype=np.dtype(kind.type.plain_dtype))
    return plain
