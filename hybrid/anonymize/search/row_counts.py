"""The distinct rows of a table that is seen a batch at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.errors import DataError

_MOST = 1 << 62
"""Codes stay below this."""
_DENSE = 1 << 24
"""Up to so many codes, rows are looked up in a table instead of being searched for."""
_MERGE = 1 << 21
"""Rows that wait to be merged, at least."""

Unpack = Callable[[Array], list[Array]]


def pack(columns: Sequence[Array], sizes: Sequence[int]) -> tuple[Array, Unpack]:
    """Rows of numbers as one integer each.

    Parameters
    ----------
    columns : sequence of numpy.ndarray, each of shape (n_rows,), int
        Numbers ``0..size-1`` of each column.
    sizes : sequence of int
        One per column.

    Returns
    -------
    code : numpy.ndarray, shape (n_rows,), int64
        Equal for equal rows only, in the order of the rows.
    unpack : callable
        From some of these codes, shape (n,), to the columns of their rows.
    """
    if math.prod(sizes) <= _MOST:
        code = np.zeros(len(columns[0]), dtype=np.int64)
        for column, size in zip(columns, sizes, strict=True):
            code *= size
            code += column
        return code, lambda codes: _digits(codes, sizes)
    middle = len(columns) // 2
    left, unpack_left = pack(columns[:middle], sizes[:middle])
    right, unpack_right = pack(columns[middle:], sizes[middle:])
    known_left, at_left = np.unique(left, return_inverse=True)
    known_right, at_right = np.unique(right, return_inverse=True)
    n_right = len(known_right)

    def unpack(codes: Array) -> list[Array]:
        return [*unpack_left(known_left[codes // n_right]), *unpack_right(known_right[codes % n_right])]

    return at_left * n_right + at_right, unpack


def _digits(codes: Array, sizes: Sequence[int]) -> list[Array]:
    columns = []
    for size in reversed(sizes):
        columns.append((codes % size).astype(np.int32))
        codes = codes // size
    return columns[::-1]


def add_up(code: Array, counts: Array | None = None) -> tuple[Array, Array]:
    """The distinct codes, ascending, and the sum of each one's counts (default: 1 each); both int64."""
    if not len(code):
        return code, np.zeros(0, dtype=np.int64)
    if counts is None:
        code = np.sort(code)
    else:
        order = np.argsort(code)
        code, counts = code[order], counts[order]
    starts = np.flatnonzero(np.append(True, code[1:] != code[:-1]))
    ends = np.append(starts[1:], len(code))
    return code[starts], ends - starts if counts is None else np.add.reduceat(counts, starts)


class Combinations:
    """Distinct rows with their number of records, added up batch by batch.

    Parameters
    ----------
    n_columns : int
        Numbers per row.
    most : int
        Distinct rows that memory has room for.
    what : str
        What the columns are, for the message when there are more.
    """

    def __init__(self, n_columns: int, most: int, what: str) -> None:
        self.columns = [np.zeros(0, dtype=np.int32)] * n_columns
        self.counts = np.zeros(0, dtype=np.int64)
        self._most, self._what = most, what
        self._waiting: list[tuple[list[Array], Array]] = []

    def __len__(self) -> int:
        return len(self.counts)

    def add(self, columns: list[Array], counts: Array) -> None:
        """Add rows with their number of records; each of shape (n,).

        Raises
        ------
        DataError
            There are more distinct rows than memory has room for.
        """
        self._waiting.append((columns, counts))
        if sum(len(counts) for _, counts in self._waiting) > max(_MERGE, len(self)):
            self.merge()

    def merge(self) -> None:
        """Bring what was added into :attr:`columns` (ascending rows) and :attr:`counts`; raises as :meth:`add`."""
        parts = [(self.columns, self.counts), *self._waiting]
        self._waiting = []
        columns = [np.concatenate(column) for column in zip(*(part[0] for part in parts), strict=True)]
        code, unpack = pack(columns, [int(column.max(initial=0)) + 1 for column in columns])
        code, self.counts = add_up(code, np.concatenate([part[1] for part in parts]))
        self.columns = unpack(code)
        if len(self) > self._most:
            raise DataError(
                f"more than {self._most:,} distinct combinations of {self._what}: more than memory has room for",
                hint="raise anonymize.memory_limit, make the columns coarser in the file (months instead of days), "
                "or give fewer of them a role or a privacy model",
            )


class RowIndex:
    """Where each of some distinct rows is.

    Parameters
    ----------
    columns : sequence of numpy.ndarray, each of shape (n_known,), int
        Distinct rows of numbers ``0..size-1``.
    sizes : sequence of int
        One per column.
    """

    def __init__(self, columns: Sequence[Array], sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._halves: tuple[RowIndex, RowIndex] | None = None
        self._middle = len(columns) // 2
        self._size = math.prod(sizes)
        if self._size > _MOST:
            left, right = (
                _index_of_distinct(columns[part], sizes[part])
                for part in (slice(self._middle), slice(self._middle, None))
            )
            self._halves, self._size = (left, right), len(left) * len(right)
        code = self._code(columns)
        self._at = np.argsort(code)
        self._known = code[self._at]
        self._dense: Array | None = None
        if self._size <= _DENSE:
            self._dense = np.full(self._size, -1, dtype=np.int32)
            self._dense[self._known] = self._at

    def __len__(self) -> int:
        return len(self._known)

    def find(self, columns: Sequence[Array]) -> Array:
        """Position of each row among the known ones, -1 for others; shape (n_rows,), int."""
        code = self._code(columns)
        if self._dense is not None:
            result: Array = np.where(code >= 0, self._dense[code], -1)
            return result
        place = np.minimum(np.searchsorted(self._known, code), len(self._known) - 1)
        return np.where(self._known[place] == code, self._at[place], -1)

    def _code(self, columns: Sequence[Array]) -> Array:
        if self._halves is None:
            return pack(columns, self._sizes)[0]
        left, right = self._halves
        at_left, at_right = left.find(columns[: self._middle]), right.find(columns[self._middle :])
        return np.where((at_left < 0) | (at_right < 0), -1, at_left * len(right) + at_right)


def _index_of_distinct(columns: Sequence[Array], sizes: Sequence[int]) -> RowIndex:
    code, unpack = pack(columns, sizes)
    return RowIndex(unpack(np.unique(code)), sizes)
