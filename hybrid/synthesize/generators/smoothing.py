"""Numbers that few people have, drawn anew near where they were."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hybrid.base.arrays import Array, Mask

CROWD = 10
"""People in a gap between two common values, or at an end of the scale, from which on values stay there."""


@dataclass(frozen=True)
class Smoother:
    """Draws numbers that few people have anew, near where they were."""

    common: Array
    """Values that enough people have, and recurring ends of the scale, sorted: they stay; shape (m,)."""
    edges: Array
    """Ends of intervals of the other values, sorted, each of so many people; shape (b + 1,)."""
    crowded: Mask
    """Gaps between common values, the first before all of them, with enough people that their values stay within; shape
    (m + 1,), bool."""

    @classmethod
    def of(cls, values: Array, holders: int, persons: Array) -> Smoother:
        """Smoother of the values that fewer people than ``holders`` have, who are also those of an interval.

        Values are NaN where missing; those of negative persons are of one person together.
        """
        present = ~np.isnan(values)
        owner = np.maximum(persons, -1)
        pairs = np.unique(np.stack([values[present], owner[present]]), axis=1)
        held, counts = np.unique(pairs[0], return_counts=True)
        common = held[(counts >= holders) | _ends_of_scale(counts)]
        rare = np.sort(pairs[0][~np.isin(pairs[0], common)])
        scale = float(np.abs(rare).max(initial=0)) or 1.0  # Sums and squares of the largest numbers overflow.
        crowded = np.bincount(np.searchsorted(common, rare), minlength=len(common) + 1) >= CROWD
        return cls(common, _edges(rare / scale, holders) * scale, crowded)

    def apply(self, values: Array, rng: np.random.Generator) -> Array:
        """Values of shape (n,), each rare one drawn evenly from its interval; NaN stays NaN.

        In a crowded gap the interval ends where the gap does: else 17 years of school, between many of 16 and of 18,
        would become any number of years that is rare.
        """
        spread = np.isfinite(values) & ~np.isin(values, self.common)
        smoothed, rare = values.copy(), values[spread]
        last = max(len(self.edges) - 2, 0)
        at = np.clip(np.searchsorted(self.edges, rare, side="right") - 1, 0, last)
        low, high = self.edges[at], self.edges[np.minimum(at + 1, len(self.edges) - 1)]
        gap = np.searchsorted(self.common, rare)
        below, above = np.append(-np.inf, self.common)[gap], np.append(self.common, np.inf)[gap]
        low = np.where(self.crowded[gap], np.maximum(np.minimum(low, rare), below), low)
        high = np.where(self.crowded[gap], np.minimum(np.maximum(high, rare), above), high)
        along = rng.random(len(at))
        smoothed[spread] = (1 - along) * low + along * high
        return smoothed


def _ends_of_scale(counts: Array) -> Mask:
    """The least and the greatest value where :data:`CROWD` people have it: the best grade, all of one's points.

    An interval beside it has the others between its ends, and nearly nobody at them.
    """
    crowded: Mask = counts >= CROWD
    crowded[1:-1] = False
    return crowded


def _edges(values: Array, holders: int) -> Array:
    """Ends of intervals that hold so many of the sorted values each.

    An outermost end is as far from the mean of its interval as the inner one, so that draws keep that mean, but within
    the values' range.
    """
    if not len(values):
        return np.zeros(1)
    n = max(len(values) // holders, 1)
    if n == 1:
        outer = values.mean() + np.sqrt(3) * values.std() * np.array([-1.0, 1.0])
        return np.asarray(np.clip(outer, values[0], values[-1]))
    blocks = np.array_split(values, n)
    inner = np.array([(one[-1] + other[0]) / 2 for one, other in pairwise(blocks)])
    low, high = 2 * blocks[0].mean() - inner[0], 2 * blocks[-1].mean() - inner[-1]
    return np.concatenate([[max(low, values[0])], inner, [min(high, values[-1])]])
