"""Bins of a quasi-identifier's values, as parents of other attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.transition.drawing.counts import Units


@dataclass(frozen=True)
class Bins:
    """Runs of tree-order ranks.

    Parameters
    ----------
    cuts : numpy.ndarray, shape (n_bins - 1,), int64
        The first rank of every bin but the first, ascending.
    """

    cuts: Array

    def __len__(self) -> int:
        """Number of bins."""
        return len(self.cuts) + 1

    def codes(self, ranks: Array) -> Array:
        """Bin of each rank, 0..len-1; int64."""
        codes: Array = np.searchsorted(self.cuts, ranks, side="right")
        return codes


def bins_by_records(ranks: Array, most: int) -> Bins:
    """Bins with about equally many records.

    One per distinct value if there are few.

    Parameters
    ----------
    ranks : numpy.ndarray, shape (n,), int64
        Tree-order rank of each record's value.
    most : int
        Largest number of bins.
    """
    distinct = np.unique(ranks)
    if len(distinct) <= most:
        return Bins(distinct[1:])
    cuts = np.unique(np.quantile(ranks, np.arange(1, most) / most, method="higher"))
    return Bins(cuts[cuts > distinct[0]])


def bins_by_units(units: Units, most: int) -> Bins:
    """Bins with about equally many units of the hierarchy, whatever the records.

    Missing has one of its own.
    """
    missing = units.domain.hierarchy.missing_node
    starts = units.starts[units.nodes != (-1 if missing is None else missing)]
    n_bins = min(most, len(starts))
    cuts = starts[-(-np.arange(1, n_bins) * len(starts) // max(n_bins, 1))]
    has_missing = 0 < len(starts) < len(units)
    return Bins(np.append(cuts, units.starts[-1]) if has_missing else cuts)


def mutual_information(left: Array, right: Array, n_left: int, n_right: int) -> float:
    """Mutual information of two codes in nats, 0 or more, as counted.

    Both of shape (n,).
    """
    n = len(left)
    if n == 0:
        return 0.0
    table = np.bincount(left * n_right + right, minlength=n_left * n_right).reshape(n_left, n_right) / n
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    seen = table > 0
    return max(float((table[seen] * np.log(table[seen] / expected[seen])).sum()), 0.0)
