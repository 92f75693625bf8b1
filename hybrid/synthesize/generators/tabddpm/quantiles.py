"""Numbers as normally distributed ones, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from hybrid.base.arrays import Array

ATOM_SHARE = 0.005
"""A value that at least this share of records has comes back exactly; others spread between their neighbours."""


@dataclass(frozen=True)
class Quantiles:
    """A column's empirical distribution.

    Parameters
    ----------
    distinct : numpy.ndarray, shape (m,), float64
        Sorted distinct values, m >= 2.
    cumulated : numpy.ndarray, shape (m + 1,), float64
        Share of records below each distinct value, and 1.
    """

    distinct: Array
    cumulated: Array

    @classmethod
    def of(cls, values: Array) -> Quantiles:
        """Learn from values (n,) without NaN."""
        distinct, counts = np.unique(values, return_counts=True)
        return cls(distinct, np.concatenate([[0.0], np.cumsum(counts) / len(values)]))

    def to_normal(self, values: Array, rng: np.random.Generator) -> Array:
        """Standard normal scores (n,).

        Equal values are spread over their share of the distribution.
        """
        at = np.searchsorted(self.distinct, values)
        low, high = self.cumulated[at], self.cumulated[at + 1]
        scores: Array = ndtri(np.clip(low + (high - low) * rng.random(len(values)), 1e-9, 1 - 1e-9))
        return scores

    def middle_scores(self, values: Array) -> Array:
        """Standard normal scores (n,) of any values: the middle of the share of the next learned value from below."""
        at = np.minimum(np.searchsorted(self.distinct, values), len(self.distinct) - 1)
        middles: Array = ndtri((self.cumulated[at] + self.cumulated[at + 1]) / 2)
        return middles

    def from_normal(self, scores: Array) -> Array:
        """Values (n,) of normal scores."""
        share = ndtr(scores)
        at = np.clip(np.searchsorted(self.cumulated, share, side="right") - 1, 0, len(self.distinct) - 1)
        width = np.diff(self.cumulated)
        inside = (share - self.cumulated[at]) / width[at]
        middles = (self.distinct[1:] + self.distinct[:-1]) / 2
        edges = np.concatenate([self.distinct[:1], middles, self.distinct[-1:]])
        spread = edges[at] + np.clip(inside, 0, 1) * (edges[at + 1] - edges[at])
        return np.where(width[at] >= ATOM_SHARE, self.distinct[at], spread)
