"""Predicates over records and counts of the rows that fulfil them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.keys import pack
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.threads import in_chunks


@dataclass(frozen=True)
class Predicates:
    """Conjunctions of conditions ``low <= rank of column <= high``.

    ``columns``, ``low``, ``high``: shape (m, c), int32; unused places have column -1. A missing value has rank -1,
    so "is missing" is -1..-1 and "= v" is v..v.
    """

    columns: Array
    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.columns)

    def take(self, rows: Array) -> Predicates:
        """Some of the predicates."""
        return Predicates(self.columns[rows], self.low[rows], self.high[rows])

    def distinct(self) -> Predicates:
        """Each predicate once, in the order of first occurrence."""
        if not len(self):
            return self
        flat = np.concatenate([self.columns, self.low, self.high], axis=1).astype(np.int64) + 1
        keys, _ = pack(((part, int(part.max()) + 1) for part in flat.T), len(flat))
        return self.take(np.flatnonzero(~pd.Series(keys).duplicated()))

    def join(self, other: Predicates) -> Predicates:
        """These, then the others."""
        return Predicates(
            np.concatenate([self.columns, other.columns]),
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
        )


class Index:
    """The rows of a table sorted by every column, for counting.

    Parameters
    ----------
    table : Encoded
        The rows.
    cardinality : numpy.ndarray, shape (p,)
        Size of each column's vocabulary.
    """

    def __init__(self, table: Encoded, cardinality: Array) -> None:
        self.ranks = np.ascontiguousarray(table.ranks.T)
        p, n = self.ranks.shape
        # Numbers of 16 bits are sorted by their digits, several times faster than wider ones by comparing.
        narrow = np.uint16 if cardinality.max(initial=0) < np.iinfo(np.uint16).max else np.int32
        self.order = np.argsort((self.ranks + 1).astype(narrow), axis=1, kind="stable").astype(np.int32)
        self.starts = np.full((p, int(cardinality.max(initial=0)) + 3), n, dtype=np.int64)
        for c in range(p):
            counts = np.bincount(self.ranks[c] + 1, minlength=self.starts.shape[1] - 1)
            self.starts[c] = np.concatenate([[0], np.cumsum(counts)])

    def count(self, predicates: Predicates) -> Array:
        """Rows that fulfil each predicate, counted up to 2: shape (m,), int8."""
        return self.find(predicates)[0]

    def find(self, predicates: Predicates, most: int = 2) -> tuple[Array, Array]:
        """Rows that fulfil each predicate, and one of them.

        Counted up to ``most`` (127 or less); -1 where there is none.

        Returns
        -------
        counts : numpy.ndarray, shape (m,), int8
        rows : numpy.ndarray, shape (m,), int64
        """
        from hybrid.evaluation.engine import kernels

        out = np.zeros(len(predicates), dtype=np.int8)
        first = np.full(len(predicates), -1, dtype=np.int64)

        def work(start: int, stop: int) -> None:
            kernels.occurrences(
                predicates.low,
                predicates.high,
                predicates.columns,
                self.order,
                self.starts,
                self.ranks,
                start,
                stop,
                most,
                out,
                first,
            )

        in_chunks(work, len(predicates))
        return out, first
