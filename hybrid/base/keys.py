"""Row keys: several integer columns as one integer per row, below 2^62.

The one packer of the package. A key is a mixed-radix number, the first column its most significant digit, so keys are
in the lexicographic order of the rows. Where the product of the columns' cardinalities exceeds :data:`LIMIT`, the
prefix read so far is replaced by its rank among the prefixes that occur, which keeps both equality and order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes, Counts, Mask, Numbers, Rows

LIMIT = 1 << 62
"""Keys stay below this: an int64 holds them, and the sum of two."""
DENSE = 1 << 21
"""Keys below this may index a table directly, whatever the number of rows."""
_TABLE = 1 << 24
"""Up to so many keys, rows are looked up in a table instead of being searched for."""


def fits(sizes: Iterable[int]) -> bool:
    """True if one key below :data:`LIMIT` holds columns of these cardinalities without ranking prefixes."""
    return math.prod(sizes) <= LIMIT


def pack(columns: Iterable[tuple[Codes, int]], n_rows: int) -> tuple[Codes, int]:
    """One key per row.

    Parameters
    ----------
    columns : iterable of (codes, cardinality)
        ``codes`` of shape (n_rows,) hold integers 0..cardinality-1. They may be made one at a time.
    n_rows : int
        Number of rows.

    Returns
    -------
    keys : numpy.ndarray, shape (n_rows,), int64
        Equal for equal rows only, in the lexicographic order of the rows.
    bound : int
        Keys are smaller than this; at most :data:`LIMIT`.
    """
    return _packed(columns, n_rows, lambda _, keys: ranks(keys))


def pack_small(columns: Iterable[tuple[Codes, int]], n_rows: int) -> tuple[Codes, int]:
    """One key per row, as :func:`pack`, with a bound of at most max(:data:`DENSE`, n_rows)."""
    keys, bound = pack(columns, n_rows)
    return ranks(keys) if bound > max(DENSE, n_rows) else (keys, bound)


def _packed(
    columns: Iterable[tuple[Codes, int]], n_rows: int, shorten: Callable[[int, Codes], tuple[Codes, int]]
) -> tuple[Codes, int]:
    """Append the columns one by one; ``shorten(column, keys)`` replaces keys that would grow beyond the limit."""
    keys: Codes = np.zeros(n_rows, dtype=np.int64)
    bound, begun = 1, False
    for at, (codes, size) in enumerate(columns):
        if size <= 1:
            continue
        if bound * size > LIMIT:
            keys, bound = shorten(at, keys)
        # Not by the bound: where one prefix is known the bound is 1, and an unknown prefix must stay below 0.
        if begun:
            keys *= size
        begun = True
        keys += codes
        bound *= size
    return keys, bound


def ranks(keys: Codes) -> tuple[Codes, int]:
    """Keys as 0..n_distinct-1 in the same order, and n_distinct."""
    numbers, distinct = pd.factorize(keys)
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[np.argsort(distinct)] = np.arange(len(distinct))
    return rank[numbers], len(distinct)


def by_first_row(keys: Codes) -> tuple[Codes, int]:
    """Keys as 0..n_distinct-1 in the order of their first rows, and n_distinct."""
    numbers, distinct = pd.factorize(keys)
    return np.asarray(numbers, dtype=np.int64), len(distinct)


def group_rows(keys: Codes, bound: int) -> tuple[Codes, Rows]:
    """Number the groups of equal keys by one representative row each.

    Parameters
    ----------
    keys : numpy.ndarray, shape (n,), int
        0..bound-1; a table of ``bound`` entries is made.
    bound : int
        As :func:`pack_small` returns it.

    Returns
    -------
    group : numpy.ndarray, shape (n,), int64
        Group of each row, 0..n_groups-1.
    rows : numpy.ndarray, shape (n_groups,), int64
        One row of each group, ascending.
    """
    some_row = np.empty(bound, dtype=np.int64)
    rows = np.arange(len(keys))
    some_row[keys] = rows
    chosen = some_row[keys]
    is_chosen = chosen == rows
    number = np.cumsum(is_chosen) - 1
    return number[chosen], np.flatnonzero(is_chosen)


def group_sums(groups: Codes, weights: Numbers | Counts | Mask, n_groups: int) -> Numbers:
    """Sum of the weights of each group 0..n_groups-1; shape (n_groups,), float64."""
    sums: Any = np.bincount(groups, weights, n_groups)
    return np.asarray(sums, dtype=np.float64)


class RowKeys:
    """Reversible packing of rows, learned from some and applied to others.

    Parameters
    ----------
    columns : sequence of numpy.ndarray, each of shape (n_rows,), int
        The rows to learn from: integers 0..size-1.
    sizes : sequence of int
        Cardinality of each column.

    Attributes
    ----------
    keys : numpy.ndarray, shape (n_rows,), int64
        Keys of the rows learned from, as :func:`pack` makes them.
    bound : int
        Keys are smaller than this.
    """

    def __init__(self, columns: Sequence[Codes], sizes: Sequence[int]) -> None:
        self._sizes = list(sizes)
        self._prefixes: dict[int, Codes] = {}
        """Before which columns prefixes are ranked, and the keys of those that occur, ascending."""
        self.keys, self.bound = self._pack(columns, self._learn)

    def encode(self, columns: Sequence[Codes]) -> Codes:
        """Keys of other rows, shape (n_rows,), int64.

        Rows that were learned get their key again; others a key of their own, or -1 if their prefix is not known.
        """
        return np.maximum(self._pack(columns, self._look_up)[0], -1)

    def decode(self, keys: Codes) -> list[Codes]:
        """Columns of the rows with these keys, each of shape (len(keys),), int32."""
        columns: list[Codes] = []
        for at in reversed(range(len(self._sizes))):
            columns.append((keys % self._sizes[at]).astype(np.int32))
            keys = keys // self._sizes[at]
            if at in self._prefixes:
                keys = self._prefixes[at][keys]
        return columns[::-1]

    def _pack(self, columns: Sequence[Codes], shorten: Callable[[int, Codes], tuple[Codes, int]]) -> tuple[Codes, int]:
        return _packed(zip(columns, self._sizes, strict=True), len(columns[0]), shorten)

    def _learn(self, at: int, keys: Codes) -> tuple[Codes, int]:
        rank, n_distinct = ranks(keys)
        self._prefixes[at] = np.unique(keys)
        return rank, n_distinct

    def _look_up(self, at: int, keys: Codes) -> tuple[Codes, int]:
        known = self._prefixes[at]
        return position_in(known, keys), len(known)


def position_in(known: Codes, keys: Codes) -> Codes:
    """Position of each key in a non-empty ascending array, else -1; shape (len(keys),)."""
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[place] == keys, place, -1)


class RowIndex:
    """Positions of some distinct rows, to find rows among them.

    Parameters
    ----------
    columns : sequence of numpy.ndarray, each of shape (n_known,), int
        Distinct rows of integers 0..size-1, at least one.
    sizes : sequence of int
        Cardinality of each column.
    """

    def __init__(self, columns: Sequence[Codes], sizes: Sequence[int]) -> None:
        self._packing = RowKeys(columns, sizes)
        self._at = np.argsort(self._packing.keys)
        self._known = self._packing.keys[self._at]
        self._table: Rows | None = None
        if self._packing.bound <= _TABLE:
            self._table = np.full(self._packing.bound, -1, dtype=np.int32)
            self._table[self._known] = self._at

    def __len__(self) -> int:
        return len(self._known)

    def find(self, columns: Sequence[Codes]) -> Codes:
        """Position of each row among the known ones, -1 for others; shape (n_rows,), int."""
        keys = self._packing.encode(columns)
        if self._table is not None:
            return np.where(keys >= 0, self._table[keys], -1)
        place = position_in(self._known, keys)
        return np.where(place >= 0, self._at[place], -1)
