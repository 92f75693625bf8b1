"""Columns as a tree reads them: numbers by their ranks, categories by scores that follow what is predicted.

The column that is predicted becomes classes, or numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybrid.base.arrays import Array
from hybrid.synthesize.protocol import Feature

MOST_CLASSES = 30
"""Targets with more states are grown through a projection of their indicators instead of one by one."""
N_PROJECTED = 16
"""Dimensions of that projection."""


@dataclass(frozen=True)
class Ranks:
    """Numbers by their place among the ``distinct`` (m,) training values.

    NaN stays NaN.

    Trees do not care how a predictor is scaled, and places fit the single precision they compute in.
    """

    distinct: Array
    by_outcome: ClassVar[tuple[bool]] = (False,)

    @property
    def cuts(self) -> tuple[int]:
        """Places at which a tree can cut the column."""
        return (len(self.distinct) - 1,)

    def encode(self, values: Array) -> Array:
        """Places (n, 1), float32."""
        places = np.searchsorted(self.distinct, values).astype(np.float32)
        places[np.isnan(values)] = np.nan
        return places[:, None]


@dataclass(frozen=True)
class CategoryScores:
    """Categories by ``scores`` (n_levels, d).

    The orders in which they differ most in what is predicted, and perhaps their own; ``by_outcome`` (d,) says which.
    """

    scores: Array
    by_outcome: tuple[bool, ...]

    @property
    def cuts(self) -> tuple[int, ...]:
        """Places at which a tree can cut each score."""
        return tuple(len(np.unique(column)) - 1 for column in self.scores.T)

    def encode(self, codes: Array) -> Array:
        """Scores (n, d), float32."""
        return self.scores[codes]


def level_map(outcome: Array) -> Array:
    """The outcome as numbers (n, d) whose means per category are compared: class indicators, or itself."""
    if outcome.ndim == 2:
        return outcome
    classes, codes = np.unique(outcome, return_inverse=True)
    # One of two classes mirrors the other.
    return np.eye(len(classes))[codes][:, len(classes) == 2 :]


SMALLER, FEWEST = 5, 10
"""A group that is too small for a leaf may hold a fifth of its people, and never fewer than ten."""


def least_of_group(least: int) -> int:
    """People of a category, or of a certain group, that counts by itself where leaves hold ``least`` people."""
    return min(max(least // SMALLER, FEWEST), least)


MOST_ORDERS = 2
"""Columns of an outcome, at most, each of which orders the categories of a predictor: a number and its square."""
MOST_UNSAID = 0.2
"""Share of the records whose levels are too small for a leaf of their own, beyond which the order of the texts counts
as well: postcodes that begin alike lie in one region, and one order by the outcome does not say which."""


def fit_scores(
    codes: Array, feature: Feature, outcome: Array, least: int, weights: Array | None = None
) -> CategoryScores:
    """Order a predictor's categories by their relation to the outcome (:func:`level_map`).

    The first scores are the mean outcomes (up to :data:`MOST_ORDERS`), or the levels' coordinate on the first principal
    component of these: for two classes and for numbers, the best split by level is a cut in that order (Breiman et al.
    1984, section 9.4; Coppersmith, Hong, Hosking 1999 for more classes). An ordered predictor gets its order as a
    second score, and one whose levels are mostly smaller than a leaf (:data:`MOST_UNSAID`) the order of their texts.

    Of leaves of ``least`` records, levels with fewer than :func:`least_of_group` say nothing: they get the overall
    mean. The others' means are shrunk towards it by as many records, so that small levels cannot single records out.
    """
    counts, fewest = np.bincount(codes, weights, minlength=feature.n_levels), least_of_group(least)
    centered = outcome - np.average(outcome, axis=0, weights=weights)
    counted = centered if weights is None else centered * weights[:, None]
    sums = np.column_stack(
        [np.bincount(codes, weights=counted[:, j], minlength=feature.n_levels) for j in range(outcome.shape[1])]
    )
    means = sums / (counts + fewest)[:, None]
    means[counts < fewest] = 0
    scores = means if outcome.shape[1] <= MOST_ORDERS else _first_component(means, counts)
    orders = [np.unique(np.round(score, 12), return_inverse=True)[1].reshape(-1) for score in scores.T]
    by_outcome = [True] * len(orders)
    if feature.ordered or counts[counts < least].sum() > MOST_UNSAID * counts.sum():
        orders.append(np.arange(feature.n_levels))
        by_outcome.append(False)
    return CategoryScores(np.column_stack(orders).astype(np.float32), tuple(by_outcome))


def _first_component(means: Array, counts: Array) -> Array:
    """Coordinates (n_levels, 1) of centred means on their first component, weighted by the levels' counts."""
    covariance = (means * counts[:, None]).T @ means
    direction = np.linalg.eigh(covariance)[1][:, -1]
    # An eigenvector's sign is arbitrary; fixing it keeps results the same across linear algebra libraries.
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))] or 1)
    return np.asarray((means @ direction)[:, None])


def outcome_of(values: Array, feature: Feature, rng: np.random.Generator) -> Array:
    """Target of the tree: classes (n,) or numbers (n, d).

    Numbers become normalized ranks, so that long tails do not decide every split, and the squares of these: by their
    mean alone no split on "has children at school" would say anything of an age, which is neither low nor high there.
    Many classes, or classes with fewer than two records on average, become a random projection of their indicators: the
    sum of the projections' variances is the Gini impurity in expectation (Johnson, Lindenstrauss 1984).
    """
    if feature.is_discrete:
        if feature.n_levels <= MOST_CLASSES and 2 * len(np.unique(values)) <= len(values):
            return values
        projection = rng.standard_normal((feature.n_levels, N_PROJECTED)) / np.sqrt(N_PROJECTED)
        return np.asarray(projection[values])
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts + 1) / 2)[inverse]
    places = _normalized(ranks)
    return np.column_stack([places, _normalized(places**2)])


def _normalized(numbers: Array) -> Array:
    return np.asarray((numbers - numbers.mean()) / max(numbers.std(), 1e-12))
