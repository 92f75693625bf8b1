"""Build a hierarchy from the label of every value on every level; texts of values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Nodes, Numbers
from hybrid.base.errors import HierarchyError, Problem
from hybrid.hierarchy.tree import MISSING, MOST_LISTED, ROOT, Hierarchy
from hybrid.table import Column, Kind
from hybrid.table.text import Parsed, as_text, parse


def distinct_values(values: pd.Series, column: Column) -> Array:
    """Distinct non-missing values of a column, ascending, in the plain dtype of its kind."""
    distinct = np.asarray(values.dropna().unique(), dtype=np.dtype(column.kind.type.plain_dtype))
    ordered: Array = np.sort(distinct)
    return ordered


def texts_of(leaves: Array, column: Column) -> list[str]:
    """Texts of these values as the column writes them, stripped."""
    return [text.strip() for text in as_text(pd.Series(leaves, dtype=column.kind.type.dtype), column)]


def parse_texts(texts: Sequence[str], column: Column) -> Parsed:
    """Parse texts of values in the column's format, else as ISO dates and with decimal points."""
    shape = column.format
    date_format = shape.date_format if column.kind.type.has_date_format else None
    parsed = parse(texts, column.kind, date_format, shape.decimal_mark)
    return parse(texts, column.kind) if parsed.bad else parsed


def from_texts(texts: Sequence[str], column: Column, source: str) -> Array:
    """Values of a hierarchy file in the plain dtype of the column's kind; shape (n_texts,)."""
    parsed = parse_texts(texts, column)
    if parsed.bad:
        bad = [texts[i] for i in parsed.bad]
        raise HierarchyError(
            Problem(
                f"{source}: hierarchy of {column.name!r}: {len(bad)} values are not {column.kind}, as the column is",
                "correct them; a hierarchy file has no header line",
                values=", ".join(bad[:MOST_LISTED]),
            )
        )
    plain: Array = np.asarray(parsed.values, dtype=np.dtype(column.kind.type.plain_dtype))
    return plain


def from_levels(
    column: str,
    kind: Kind,
    leaves: Array,
    levels: Sequence[Sequence[str]],
    *,
    texts: Sequence[str] | None = None,
    bounds: Sequence[tuple[Array, Array]] | None = None,
    step: float = 0.0,
    missing: bool = False,
    source: str = "",
) -> Hierarchy:
    """Build a hierarchy from each leaf's labels on levels 1, 2, ...

    Parameters
    ----------
    leaves : numpy.ndarray, shape (n_leaves,)
        Distinct values in the plain dtype of the kind (see :attr:`Hierarchy.leaves`).
    levels : sequence of sequences of str
        ``levels[i][j]`` is the label of leaf ``j`` on level ``i + 1``. The last level must have one label;
        labels must be nested: leaves together on one level stay together above.
    texts : sequence of str, optional
        The labels of the leaves themselves (level 0); their ISO or ``repr`` form if not given.
    bounds : sequence of (low, high) arrays, optional
        Inclusive bounds of each leaf's label on levels 1, 2, ...; the hierarchy is then one of intervals, and
        the share of a node is (high - low + step) / (the same of the root). Without them shares are leaf counts
        and bounds are the least and greatest leaf.
    step : float
        Distance between two neighbouring values, for shares of intervals: in the column's unit, for dates and
        datetimes in microseconds; 0 for values without steps.
    missing : bool
        Add a leaf for the missing value, in a node of its own below the root.

    Raises
    ------
    HierarchyError
        Duplicate leaves, levels that are not nested, more than one root, or a label that means missing
        values; all problems at once.
    """
    names = [kind.type.iso(value) for value in leaves] if texts is None else texts
    columns = [np.asarray(level, dtype=object) for level in (names, *levels)]
    problems = _structure_problems(f"{source}: " if source else "", column, leaves, columns, missing)
    if problems:
        raise HierarchyError(problems)
    if missing:
        root = columns[-1][0] if len(leaves) else ROOT
        columns = [np.append(level, MISSING) for level in columns[:-1]] + [np.append(columns[-1], root)]
    node_of, labels = _number_nodes(columns)
    low, high = _bounds(kind, leaves, node_of[: len(leaves)], len(labels), bounds)
    by_width = bounds is not None and len(leaves) > 0
    share = _width_share(low, high, int(node_of[0, -1]), step) if by_width else _count_share(node_of, len(labels))
    return Hierarchy(
        column,
        kind,
        _with_placeholder(leaves) if missing else leaves,
        node_of,
        labels,
        share,
        low,
        high,
        missing_leaf=len(leaves) if missing else None,
        intervals=bounds is not None,
    )


def _structure_problems(where: str, column: str, leaves: Array, columns: list[Array], missing: bool) -> list[Problem]:
    name = f"{where}hierarchy of {column!r}"
    problems = []
    duplicated = pd.Series(leaves).duplicated().to_numpy() | pd.Series(columns[0]).duplicated().to_numpy()
    if duplicated.any():
        problems.append(
            Problem(
                f"{name}: {int(duplicated.sum())} values occur more than once",
                "keep one line per value",
                values=_listed(columns[0][duplicated]),
            )
        )
    for at in range(2, len(columns)):
        pairs = pd.DataFrame({"below": columns[at - 1], "above": columns[at]}).drop_duplicates()
        split = pairs["below"][pairs["below"].duplicated()].unique()
        if len(split):
            problems.append(
                Problem(
                    f"{name} is not nested: {len(split)} labels of level {at - 1} have more than one parent "
                    f"on level {at}",
                    f"give each label of level {at - 1} one label on level {at}",
                    values=_listed(split),
                )
            )
    roots = len(set(columns[-1]))
    if len(columns) < 2 or roots > 1:
        problems.append(
            Problem(
                f"{name} has {roots} roots; the last level must have one label for all values",
                f'add a last level with the same label, such as "{ROOT}", for every value',
            )
        )
    if missing and any(MISSING in level for level in columns):
        problems.append(
            Problem(f'{name} uses the label "{MISSING}", which means missing values', "choose another label")
        )
    return problems


def _listed(labels: Array) -> str:
    shown = ", ".join(map(str, labels[:MOST_LISTED]))
    return f"{shown} and {len(labels) - MOST_LISTED} more" if len(labels) > MOST_LISTED else shown


def _number_nodes(columns: list[Array]) -> tuple[Array, tuple[str, ...]]:
    """Number the nodes: one that has the same leaves and the same label on the next level keeps its number."""
    n = len(columns[0])
    node_of = np.empty((n, len(columns)), dtype=np.int32)
    labels: list[str] = []
    below = np.arange(n)
    for at, column in enumerate(columns):
        codes, distinct = (np.arange(n), column) if at == 0 else pd.factorize(column)
        first = np.zeros(len(distinct), dtype=np.int64)
        first[codes[::-1]] = np.arange(n)[::-1]
        fresh = np.ones(len(distinct), dtype=bool)
        if at > 0:
            same_leaves = np.bincount(codes, minlength=len(distinct)) == np.bincount(below, minlength=n)[below[first]]
            fresh = ~same_leaves | (columns[at - 1][first] != distinct)
        numbers = np.empty(len(distinct), dtype=np.int32)
        numbers[fresh] = len(labels) + np.arange(int(fresh.sum()))
        if at > 0:
            numbers[~fresh] = node_of[first[~fresh], at - 1]
        labels.extend(str(distinct[i]) for i in np.flatnonzero(fresh))
        node_of[:, at] = numbers[codes]
        below = codes
    return node_of, tuple(labels)


def _bounds(
    kind: Kind,
    leaves: Array,
    node_of: Nodes,
    n_nodes: int,
    bounds: Sequence[tuple[Array, Array]] | None,
) -> tuple[Array, Array]:
    """Least and greatest value of each node; the missing node gets those of the first leaf."""
    if not kind.is_continuous:
        return leaves[:0], leaves[:0]
    if not len(leaves):
        return np.zeros(n_nodes, dtype=leaves.dtype), np.zeros(n_nodes, dtype=leaves.dtype)
    low = np.full(n_nodes, leaves[0], dtype=leaves.dtype)
    high = low.copy()
    order = np.argsort(leaves, kind="stable")
    for at in reversed(range(node_of.shape[1])):
        nodes = node_of[:, at]
        if at > 0 and bounds is not None:
            low[nodes], high[nodes] = bounds[at - 1]
            continue
        low[nodes[order[::-1]]] = leaves[order[::-1]]
        high[nodes[order]] = leaves[order]
    return low, high


def _count_share(node_of: Nodes, n_nodes: int) -> Numbers:
    covered = np.zeros(n_nodes, dtype=np.int64)
    for at in range(node_of.shape[1]):
        covered = np.maximum(covered, np.bincount(node_of[:, at], minlength=n_nodes))
    share: Numbers = covered / max(len(node_of), 1)
    return share


def _width_share(low: Array, high: Array, root: int, step: float) -> Numbers:
    width = high.astype("datetime64[us]") - low.astype("datetime64[us]") if low.dtype.kind == "M" else None
    length = (high.astype(np.float64) - low if width is None else width.astype(np.float64)) + step
    if not length[root] > 0:
        return np.ones(len(low))
    share: Numbers = np.clip(length / length[root], np.finfo(np.float64).tiny, 1.0)
    share[root] = 1.0
    return share


def _with_placeholder(leaves: Array) -> Array:
    placeholder = np.zeros(1, dtype=leaves.dtype)
    if leaves.dtype == object:
        placeholder[0] = None
    return np.append(leaves, placeholder)


def flat_hierarchy(column: Column, parts: Sequence[pd.Series]) -> Hierarchy:
    """Build a hierarchy of values and one root, for values that are masked and not generalized.

    All values of the parts become leaves; it gets a missing leaf if one is missing.
    """
    dtype = np.dtype(column.kind.type.plain_dtype)
    leaves = np.unique(np.concatenate([distinct_values(part, column).astype(dtype) for part in parts]))
    missing = any(bool(part.isna().any()) for part in parts)
    levels = [[ROOT] * len(leaves)]
    return from_levels(column.name, column.kind, leaves, levels, texts=texts_of(leaves, column), missing=missing)
