"""Sparse histogram of sensitive values per class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid.base.arrays import Array, Codes, Counts, Numbers
from hybrid.base.keys import group_sums

_CELLS = 1 << 22
"""Largest dense block of classes x values made at once."""


@dataclass(frozen=True)
class Histogram:
    """Counts of sensitive values per class."""

    classes: Codes
    values: Codes
    """Entries with count > 0, sorted by class, then by value; shape (n_entries,), int64."""
    counts: Counts | Numbers
    """Records of each entry, or persons, of whom parts may count; shape (n_entries,), int64 or float64."""
    n_classes: int
    n_values: int
    """Every class has an entry."""
    reference: Numbers
    """Relative frequencies in the whole table; shape (n_values,), float64."""

    @classmethod
    def of(
        cls, classes: Codes, values: Codes, counts: Counts | Numbers, n_classes: int, reference: Numbers
    ) -> Histogram:
        """Add up entries given in any order; equal (class, value) pairs are joined."""
        n_values = len(reference)
        code = classes * n_values + values
        if n_classes * n_values <= 4 * len(code) + 1024:
            dense = np.bincount(code, weights=counts, minlength=n_classes * n_values)
            cells = np.flatnonzero(dense)
            sums = dense[cells]
        else:
            cells, where = np.unique(code, return_inverse=True)
            sums = np.bincount(where.reshape(-1), weights=counts, minlength=len(cells))
        return cls(cells // n_values, cells % n_values, _as_given(sums, counts), n_classes, n_values, reference)

    @property
    def sizes(self) -> Numbers:
        """Records per class; shape (n_classes,), float64."""
        return self.per_class(self.counts)

    def per_class(self, entries: Numbers | Counts) -> Numbers:
        """Sum over the entries of each class; shape (n_classes,), float64."""
        return group_sums(self.classes, entries, self.n_classes)

    def distinct(self) -> Counts:
        """Number of different values per class; shape (n_classes,), int64."""
        return np.bincount(self.classes, minlength=self.n_classes)

    def frequencies(self) -> Numbers:
        """Relative frequency of each entry in its class; shape (n_entries,), float64."""
        result: Numbers = self.counts / self.sizes[self.classes]
        return result

    def largest(self, entries: Numbers | Counts) -> Numbers:
        """Largest entry of each class; shape (n_classes,)."""
        starts = np.searchsorted(self.classes, np.arange(self.n_classes))
        result: Any = np.maximum.reduceat(entries, starts) if self.n_classes else entries[:0]
        return np.asarray(result, dtype=np.float64)

    def descending(self) -> tuple[Counts | Numbers, Codes]:
        """Counts in descending order inside each class, and their ranks: the most frequent value has rank 0."""
        order = np.lexsort((-self.counts, self.classes))
        starts = np.searchsorted(self.classes, np.arange(self.n_classes))
        return self.counts[order], np.arange(len(self.classes)) - starts[self.classes]

    def by_blocks(self, measure: Callable[[Numbers], Numbers]) -> Numbers:
        """Apply a function to dense frequencies, block by block of classes; shape (n_classes,), float64.

        It makes one number a class of the differences ``class frequency - reference``, shape (n_block, n_values).
        """
        step = max(1, _CELLS // max(self.n_values, 1))
        frequencies = self.frequencies()
        result = np.empty(self.n_classes)
        for start in range(0, self.n_classes, step):
            stop = min(start + step, self.n_classes)
            low, high = np.searchsorted(self.classes, [start, stop])
            dense = np.tile(-self.reference, (stop - start, 1))
            dense[self.classes[low:high] - start, self.values[low:high]] += frequencies[low:high]
            result[start:stop] = measure(dense)
        return result


def _as_given(sums: Array, counts: Counts | Numbers) -> Counts | Numbers:
    result: Counts | Numbers = sums if np.issubdtype(counts.dtype, np.floating) else sums.astype(np.int64)
    return result
