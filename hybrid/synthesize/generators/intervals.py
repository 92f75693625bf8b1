"""Intervals of numbers, with values that many records share apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array


@dataclass(frozen=True)
class Intervals:
    """Disjoint intervals from their smallest to their largest value, ascending.

    Parameters
    ----------
    lows, highs : numpy.ndarray, each of shape (n_intervals,)
        Values that occur; equal where an interval is one value.
    """

    lows: Array
    highs: Array

    def __len__(self) -> int:
        return len(self.lows)

    def codes(self, values: Array) -> Array:
        """Interval of each value, int32."""
        found: Array = np.searchsorted(self.lows, values, side="right") - 1
        return np.clip(found, 0, len(self) - 1).astype(np.int32)

    def draw(self, codes: Array, rng: np.random.Generator) -> Array:
        """Draw a value evenly from each interval."""
        return rng.uniform(self.lows[codes], self.highs[codes])


def intervals(values: Array, bins: int) -> Intervals:
    """Cut values into intervals of about as many records each.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
        n >= 1, no NaN.
    bins : int
        1 or more. A value that at least n / bins records have is an interval of its own; so there are up to
        ``2 * bins + 1``.
    """
    distinct, counts = np.unique(values, return_counts=True)
    limit = len(values) / bins
    alone = counts >= limit
    others = np.where(alone, 0, counts)
    part = (np.cumsum(others) - others) // limit
    starts = np.flatnonzero(np.concatenate([[True], alone[1:] | alone[:-1] | (part[1:] != part[:-1])]))
    ends = np.append(starts[1:], len(distinct)) - 1
    return Intervals(distinct[starts], distinct[ends])
