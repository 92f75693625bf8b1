"""Records per distinct row of a table that is read in batches."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Codes, Counts
from hybrid.base.errors import DataError
from hybrid.base.keys import RowKeys

_MERGE = 1 << 21
"""Rows that wait to be merged, at least."""


def add_up(code: Codes, counts: Counts | None = None) -> tuple[Codes, Counts]:
    """Distinct codes, ascending, and the sum of each one's counts.

    The default count is 1; both int64.
    """
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
        self.columns: list[Codes] = [np.zeros(0, dtype=np.int32)] * n_columns
        self.counts = np.zeros(0, dtype=np.int64)
        self._most, self._what = most, what
        self._waiting: list[tuple[list[Codes], Counts]] = []

    def __len__(self) -> int:
        return len(self.counts)

    def add(self, columns: list[Codes], counts: Counts) -> None:
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
        """Bring what was added into :attr:`columns` (ascending rows) and :attr:`counts`.

        Raises as :meth:`add`.
        """
        parts = [(self.columns, self.counts), *self._waiting]
        self._waiting = []
        columns = [np.concatenate(column) for column in zip(*(part[0] for part in parts), strict=True)]
        packing = RowKeys(columns, [int(column.max(initial=0)) + 1 for column in columns])
        keys, self.counts = add_up(packing.keys, np.concatenate([part[1] for part in parts]))
        self.columns = packing.decode(keys)
        if len(self) > self._most:
            raise too_many(self._most, self._what)


def too_many(most: int, what: str) -> DataError:
    """The error for more distinct rows than memory has room for."""
    return DataError(
        f"more than {most:,} distinct combinations of {what}: more than memory has room for",
        hint="raise anonymize.memory_limit, make the columns coarser at the source (months instead of days), "
        "or give fewer of them a role or a privacy model",
    )
