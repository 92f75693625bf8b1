"""Grouping rows fast: one integer per combination of codes, and the size of every row's group."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array

DENSE = 1 << 21
"""Codes below this index a table directly; larger ones are first renumbered by sorting."""
_MOST = 1 << 62
"""Codes stay below this while they are made."""


def mixed_code(columns: Iterable[tuple[Array, int]], n_rows: int) -> tuple[Array, int]:
    """One code per combination of column codes.

    Parameters
    ----------
    columns : iterable of (codes, cardinality)
        ``codes`` of shape (n_rows,) hold integers 0..cardinality-1.
    n_rows : int
        Number of rows.

    Returns
    -------
    code : numpy.ndarray, shape (n_rows,), int64
        Equal for two rows if and only if all their column codes are equal.
    cardinality : int
        Codes are smaller than this; at most max(:data:`DENSE`, n_rows).
    """
    code = np.zeros(n_rows, dtype=np.int64)
    size = 1
    for codes, cardinality in columns:
        if cardinality <= 1:
            continue
        if size * cardinality > _MOST:
            code, size = renumber(code)
        code *= cardinality
        code += codes
        size *= cardinality
    return renumber(code) if size > max(DENSE, n_rows) else (code, size)


def renumber(code: Array) -> tuple[Array, int]:
    """Codes as 0..n_distinct-1 in the same order, and n_distinct."""
    numbers, distinct = pd.factorize(code)
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[np.argsort(distinct)] = np.arange(len(distinct))
    return rank[numbers], len(distinct)


def first_of_group(code: Array, size: int) -> tuple[Array, Array]:
    """Number groups by one representative row each.

    Returns
    -------
    group : numpy.ndarray, shape (n,), int64
        Group of each row, 0..n_groups-1.
    rows : numpy.ndarray, shape (n_groups,), int64
        One row of each group.
    """
    some_row = np.empty(size, dtype=np.int64)
    rows = np.arange(len(code))
    some_row[code] = rows
    chosen = some_row[code]
    is_chosen = chosen == rows
    number = np.cumsum(is_chosen) - 1
    return number[chosen], np.flatnonzero(is_chosen)
