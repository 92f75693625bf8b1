"""A generalization hierarchy: what each value becomes at each level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.arrays import Array
from hybrid.errors import HierarchyError, Problem
from hybrid.table import DTYPES, Kind

ROOT = "*"
"""Label of a fully generalized value in the hierarchies this package builds."""
MISSING = "(missing)"
"""Label of a missing quasi-identifier below the root: a category of its own, never joined with others."""


@dataclass(frozen=True)
class Hierarchy:
    """A tree over the values of one column.

    The tree's vertices are *nodes*, numbered 0..n_nodes-1. A node is a set of leaves with a label; a leaf is a
    node of one value. Level 0 are the values themselves, the last level is the one root. A node that covers the
    same leaves on several levels is one node.

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
        Part of the domain that a node covers, in (0, 1]: leaves of the node / leaves of the domain
        (for intervals of decimals and dates: width / width of the root). The root's is 1.
    low, high : numpy.ndarray, shape (n_nodes,)
        Smallest and largest value of a node, both inclusive, for integer, decimal and temporal columns (same
        dtype as ``leaves``; meaningless for the missing node). Empty arrays for the others.
    missing_leaf : int or None
        Row of ``node_of`` that stands for a missing value, always the last; None if the hierarchy knows none.
        ``leaves[missing_leaf]`` is a placeholder.
    """

    column: str
    kind: Kind
    leaves: Array
    node_of: Array
    labels: tuple[str, ...]
    share: Array
    low: Array
    high: Array
    missing_leaf: int | None = None

    @property
    def n_leaves(self) -> int:
        """Number of values in the domain (the missing value counts as one)."""
        return int(self.node_of.shape[0])

    @property
    def n_levels(self) -> int:
        """Number of levels; level 0 is the value itself, level n_levels - 1 the root."""
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

    def level_of(self) -> Array:
        """The lowest level of each node; shape (n_nodes,), int32."""
        level = np.full(self.n_nodes, self.n_levels, dtype=np.int32)
        for at in reversed(range(self.n_levels)):
            level[self.node_of[:, at]] = at
        return level

    def parents(self) -> Array:
        """The next larger node above each node; shape (n_nodes,), int32; the root's parent is -1."""
        parent = np.full(self.n_nodes, -1, dtype=np.int32)
        for at in range(self.n_levels - 1):
            below, above = self.node_of[:, at], self.node_of[:, at + 1]
            differs = below != above
            parent[below[differs]] = above[differs]
        return parent

    def leaves_of(self, node: int) -> Array:
        """Rows (positions in :attr:`leaves`) of the leaves that a node covers, the missing one included."""
        return np.flatnonzero((self.node_of == node).any(axis=1))

    def covers(self) -> Array:
        """Which leaf belongs to which node; shape (n_nodes, n_leaves), bool."""
        result = np.zeros((self.n_nodes, self.n_leaves), dtype=bool)
        rows = np.arange(self.n_leaves)
        for at in range(self.n_levels):
            result[self.node_of[:, at], rows] = True
        return result

    def encode(self, values: pd.Series) -> Array:
        """The leaf of each value.

        Parameters
        ----------
        values : pandas.Series, shape (n,)
            In the dtype of the column's kind (see ``hybrid.table.DTYPES``).

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
        at = pd.Index(self.leaves[: self.missing_leaf]).get_indexer(pd.Index(_plain(distinct, self.kind)))
        uncovered = at < 0
        if uncovered.any():
            self._refuse(codes, distinct, uncovered)
        if (codes < 0).any() and self.missing_leaf is None:
            raise HierarchyError(
                f"column {self.column!r}: {int((codes < 0).sum())} missing values and a hierarchy built without any",
                mend="build the hierarchy with missing=True",
            )
        lookup = np.append(at, self.missing_leaf if self.missing_leaf is not None else -1)
        leaves: Array = lookup[codes].astype(np.int32)
        return leaves

    def _refuse(self, codes: Array, distinct: object, uncovered: Array) -> None:
        counts = np.bincount(codes[codes >= 0], minlength=len(uncovered))[uncovered]
        names = [str(value) for value in np.asarray(distinct, dtype=object)[uncovered]]
        listed = ", ".join(f"{name} ({n} rows)" for name, n in sorted(zip(names, counts, strict=True)))
        raise HierarchyError(
            Problem(
                f"column {self.column!r}: {len(names)} distinct values ({int(counts.sum())} rows) "
                "are not in its hierarchy",
                "add them to the hierarchy file, or list them under data.missing",
                values=listed,
            )
        )

    def decode(self, leaves: Array) -> pd.Series:
        """The values of these leaves, in the dtype of the column's kind; the missing leaf becomes missing."""
        missing = np.zeros(len(leaves), dtype=bool) if self.missing_leaf is None else leaves == self.missing_leaf
        if self.kind is Kind.CATEGORICAL:
            texts = pd.Series(self.leaves[leaves], dtype=object).mask(missing)
            return texts.astype("category")
        if self.kind in (Kind.INTEGER, Kind.BOOLEAN):
            return pd.Series(self.leaves[leaves]).astype(DTYPES[self.kind]).mask(missing)
        return pd.Series(self.leaves[leaves], dtype=DTYPES[self.kind]).mask(missing)


def _plain(distinct: object, kind: Kind) -> Array:
    """Distinct non-missing values as the plain NumPy dtype of ``Hierarchy.leaves``."""
    dtype = {
        Kind.INTEGER: "int64",
        Kind.DECIMAL: "float64",
        Kind.BOOLEAN: "bool",
        Kind.CATEGORICAL: "object",
        Kind.DATE: "datetime64[us]",
        Kind.DATETIME: "datetime64[us]",
    }[kind]
    plain: Array = np.asarray(distinct, dtype=np.dtype(dtype))
    return plain


def from_levels(
    column: str,
    kind: Kind,
    leaves: Array,
    levels: Sequence[Sequence[str]],
    *,
    bounds: Sequence[tuple[Array, Array]] | None = None,
    missing: bool = False,
    source: str = "",
) -> Hierarchy:
    """Build a hierarchy from the labels of each leaf on levels 1, 2, ...

    Parameters
    ----------
    column, kind : str, Kind
        What the values are.
    leaves : numpy.ndarray, shape (n_leaves,)
        Distinct values in the plain dtype of the kind.
    levels : sequence of sequences of str
        ``levels[i][j]`` is the label of leaf ``j`` on level ``i + 1``. The last level must have one label;
        labels must be nested: leaves together on one level stay together above.
    bounds : sequence of (low, high) arrays, optional
        Inclusive bounds of each leaf's label on levels 1, 2, ...; the share of a node is then
        (high - low) / (high - low of the root). Without them shares are leaf counts and bounds are the least
        and greatest leaf.
    missing : bool
        Add a leaf for the missing value, in a node of its own below the root.
    source : str
        File name for messages.

    Raises
    ------
    HierarchyError
        Duplicate leaves, levels that are not nested, or more than one root; all problems at once.
    """
    where = f"{source}: " if source else ""
    texts = np.array([_leaf_label(value, kind) for value in leaves], dtype=object)
    columns = [texts, *(np.asarray(level, dtype=object) for level in levels)]
    problems = _structure_problems(where, column, columns)
    if problems:
        raise HierarchyError(problems)
    if missing:
        columns = _with_missing(columns)
    node_of, labels = _number_nodes(columns)
    n_leaves = len(columns[0])
    covered = np.zeros(len(labels))
    for at in range(node_of.shape[1]):
        covered[: len(labels)] = np.maximum(covered, np.bincount(node_of[:, at], minlength=len(labels)))
    low, high = _bounds(kind, leaves, node_of[: len(leaves)], len(labels), bounds)
    share = covered / n_leaves
    if bounds is not None:
        share = _width_share(low, high, int(node_of[0, -1]), share)
    placeholder = leaves[:1] if len(leaves) else leaves
    all_leaves = np.append(leaves, placeholder) if missing else leaves
    if missing and kind is Kind.CATEGORICAL:
        all_leaves = all_leaves.copy()
        all_leaves[-1] = None
    return Hierarchy(column, kind, all_leaves, node_of, labels, share, low, high, len(leaves) if missing else None)


def _leaf_label(value: object, kind: Kind) -> str:
    if kind.is_temporal:
        text = str(np.datetime64(value, "s")).replace("T", " ")  # type: ignore[call-overload]
        return text.removesuffix(" 00:00:00")
    if kind is Kind.DECIMAL:
        return repr(float(value))  # type: ignore[arg-type]
    return str(value)


def _structure_problems(where: str, column: str, columns: list[Array]) -> list[Problem]:
    problems = []
    duplicated = pd.Series(columns[0]).duplicated()
    if duplicated.any():
        problems.append(
            Problem(
                f"{where}hierarchy of {column!r}: {int(duplicated.sum())} values occur more than once",
                "keep one line per value",
                values=", ".join(map(str, columns[0][duplicated.to_numpy()][:10])),
            )
        )
    for at in range(1, len(columns)):
        pairs = pd.DataFrame({"below": columns[at - 1], "above": columns[at]}).drop_duplicates()
        split = pairs["below"][pairs["below"].duplicated()].unique() if at > 1 else []
        if len(split):
            problems.append(
                Problem(
                    f"{where}hierarchy of {column!r} is not nested: {len(split)} labels of level {at - 1} "
                    f"have more than one parent on level {at}",
                    f"give each label of level {at - 1} one label on level {at}",
                    values=", ".join(map(str, split[:10])),
                )
            )
    roots = len(set(columns[-1]))
    if len(columns) < 2 or roots > 1:
        problems.append(
            Problem(
                f"{where}hierarchy of {column!r} has {roots} roots; the last level must have one label for all values",
                f'add a last level with the same label, such as "{ROOT}", on every line',
            )
        )
    return problems


def _with_missing(columns: list[Array]) -> list[Array]:
    root = columns[-1][0] if len(columns[-1]) else ROOT
    return [np.append(column, MISSING) for column in columns[:-1]] + [np.append(columns[-1], root)]


def _number_nodes(columns: list[Array]) -> tuple[Array, tuple[str, ...]]:
    """Number distinct leaf sets; a label that covers the same leaves on the next level is the same node."""
    n = len(columns[0])
    node_of = np.empty((n, len(columns)), dtype=np.int32)
    labels: list[str] = []
    codes_below: Array | None = None
    for at, column in enumerate(columns):
        codes, distinct = (np.arange(n), column) if at == 0 else pd.factorize(column)
        first = np.zeros(len(distinct), dtype=np.int64)
        first[codes[::-1]] = np.arange(n)[::-1]
        fresh = np.ones(len(distinct), dtype=bool)
        if codes_below is not None:
            sizes = np.bincount(codes, minlength=len(distinct))
            sizes_below = np.bincount(codes_below)
            fresh = sizes != sizes_below[codes_below[first]]
        numbers = np.empty(len(distinct), dtype=np.int32)
        numbers[fresh] = len(labels) + np.arange(int(fresh.sum()))
        if codes_below is not None:
            numbers[~fresh] = node_of[first[~fresh], at - 1]
        labels.extend(str(distinct[i]) for i in np.flatnonzero(fresh))
        node_of[:, at] = numbers[codes]
        codes_below = codes
    return node_of, tuple(labels)


def _bounds(
    kind: Kind,
    leaves: Array,
    node_of: Array,
    n_nodes: int,
    bounds: Sequence[tuple[Array, Array]] | None,
) -> tuple[Array, Array]:
    if not kind.is_continuous or not len(leaves):
        return leaves[:0], leaves[:0]
    low = np.full(n_nodes, leaves[0], dtype=leaves.dtype)
    high = low.copy()
    for at in reversed(range(node_of.shape[1])):
        nodes = node_of[:, at]
        if at > 0 and bounds is not None:
            low[nodes], high[nodes] = bounds[at - 1]
            continue
        order = np.argsort(leaves, kind="stable")
        low[nodes[order[::-1]]] = leaves[order[::-1]]
        high[nodes[order]] = leaves[order]
    return low, high


def _width_share(low: Array, high: Array, root: int, by_count: Array) -> Array:
    width = (high - low).astype(np.float64)
    if width[root] <= 0:
        return by_count
    smallest = np.finfo(np.float64).tiny
    share: Array = np.clip(width / width[root], smallest, 1.0)
    share[root] = 1.0
    return share
