"""Measures of a metric over levels and seeds, as pure functions.

Matrices have shape (n_levels, n_seeds), levels in order from the least leak; NaN where there is no number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.stats import kendalltau, rankdata
from scipy.stats import t as student

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.intervals import wilson

POWER = 0.8
"""Share of trials in which a leak must be noticed."""
DRAWS = 400
"""Bootstrap draws of seeds."""


class Share(NamedTuple):
    """A count out of trials with its 95 % Wilson interval."""

    hits: int
    trials: int
    low: float
    high: float


class Trend(NamedTuple):
    """Jonckheere-Terpstra test: z, and one-sided p for rising and for falling."""

    z: float
    p: float
    p_falling: float


class Drift(NamedTuple):
    """Largest change of a mean where nothing should change."""

    value: float
    certain: float
    """Part of it that is more than chance: 0 where its interval holds 0."""


class Sensitivity(NamedTuple):
    """First level from which a leak is noticed; None: none is."""

    position: int | None
    low: int | None
    high: int | None
    """Ends of the 95 % bootstrap interval over seeds; None: beyond the last level."""


def share(hits: Array) -> Share:
    """Share of true values with its Wilson interval; (0, 0, 0, 1) without trials."""
    found, trials = int(np.sum(hits)), int(np.size(hits))
    if not trials:
        return Share(0, 0, 0.0, 1.0)
    rate = wilson(found, trials)
    return Share(found, trials, max(rate.value - rate.error, 0.0), min(rate.value + rate.error, 1.0))


def noticed(low: Array) -> Array:
    """Mask of trials whose excess was measured and has a lower end above 0."""
    return np.asarray(np.nan_to_num(low, nan=-1.0) > 0)


def isotonic(values: Array) -> Array:
    """Least-squares rising fit of each row, all weights equal."""
    return np.array([isotonic_regression(row).x for row in values])


def sensitivity(told: Array, rng: np.random.Generator) -> Sensitivity:
    """First level from which enough (:data:`POWER`) of the trials with a leak notice it; shape (n_levels, n_seeds).

    The shares of trials are made to rise over the levels (:func:`isotonic`), so that what holds at a level holds above
    it. The interval is over seeds drawn with replacement.
    """
    n_levels, n_seeds = told.shape
    drawn = told[:, rng.integers(n_seeds, size=(DRAWS, n_seeds))].mean(axis=-1).T
    found = np.sort(_first(isotonic(drawn)))
    low, high = found[int(0.025 * DRAWS)], found[math.ceil(0.975 * DRAWS) - 1]
    at = int(_first(isotonic(told.mean(axis=1)[None]))[0])
    position, low, high = (None if each == n_levels else int(each) for each in (at, low, high))
    return Sensitivity(position, low, high)


def _first(power: Array) -> Array:
    """First position of each row with enough power, else n_levels."""
    enough = power >= POWER - 1e-9
    return np.where(enough.any(axis=-1), enough.argmax(axis=-1), power.shape[-1])


def rank_correlations(excess: Array) -> Array:
    """Kendall's tau_b of excess and level per seed: NaN with fewer than three numbers, 0 where all are the same."""
    found = np.full(excess.shape[1], np.nan)
    for seed, curve in enumerate(excess.T):
        known = ~np.isnan(curve)
        if known.sum() >= 3:
            varies = np.ptp(curve[known]) > 0
            order = np.flatnonzero(known)
            found[seed] = kendalltau(order, curve[known], variant="b").statistic if varies else 0.0
    return found


def jonckheere(groups: Sequence[Array]) -> Trend:
    """Jonckheere-Terpstra test of rising levels, corrected for ties; z is 0 and p is 1 where all values are equal.

    Hollander, Wolfe and Chicken, Nonparametric Statistical Methods (3rd ed.), section 6.2, eq. 6.19.
    """
    sizes = np.array([len(group) for group in groups], dtype=float)
    n = sizes.sum()
    pooled = np.concatenate(groups) if len(groups) else np.empty(0)
    ties = np.unique(pooled, return_counts=True)[1].astype(float)
    statistic = sum(
        float(np.sum(other[None, :] > one[:, None]) + 0.5 * np.sum(other[None, :] == one[:, None]))
        for at, one in enumerate(groups)
        for other in groups[at + 1 :]
    )
    mean = (n**2 - np.sum(sizes**2)) / 4

    def cubes(counts: Array) -> float:
        return float(np.sum(counts * (counts - 1) * (2 * counts + 5)))

    variance = (cubes(np.array([n])) - cubes(sizes) - cubes(ties)) / 72
    if n > 2:
        triples = [float(np.sum(c * (c - 1) * (c - 2))) for c in (sizes, ties)]
        variance += triples[0] * triples[1] / (36 * n * (n - 1) * (n - 2))
    if n > 1:
        pairs = [float(np.sum(c * (c - 1))) for c in (sizes, ties)]
        variance += pairs[0] * pairs[1] / (8 * n * (n - 1))
    if variance <= 1e-12:
        return Trend(0.0, 1.0, 1.0)
    z = (statistic - mean) / math.sqrt(variance)
    return Trend(z, 1 - NormalDist().cdf(z), NormalDist().cdf(z))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    adjusted, largest = [1.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        largest = max(largest, min((len(p_values) - rank) * p_values[at], 1.0))
        adjusted[at] = largest
    return adjusted


def against(means: Array) -> float:
    """Share of the variance of level means against a rise, 0..1."""
    spread = float(np.sum((means - means.mean()) ** 2))
    return 0.0 if spread == 0 else float(np.sum((means - isotonic(means[None])[0]) ** 2)) / spread


def turns(low: Array, high: Array) -> int:
    """Number of adjacent levels with a fall beyond the mean intervals."""
    lows, highs = low.mean(axis=1), high.mean(axis=1)
    return int(np.sum(highs[1:] < lows[:-1]))


def calibration(leaks: Array, means: Array) -> float | None:
    """Largest difference between the leak and the leak read off.

    (y - y_0) / (y_1 - y_0) at a leak f, minus f; None where the curve does not rise from 0 to 1.
    """
    rise = means[-1] - means[0]
    if leaks[0] != 0 or leaks[-1] != 1 or rise <= 0:
        return None
    return float(np.max(np.abs((means - means[0]) / rise - leaks)))


def drift(excess: Array) -> Drift:
    """Largest difference between the last level and any other, paired within seeds.

    Certain of it is the end towards 0 of Student's interval, at 95 % for all levels (Bonferroni); 0 with a single seed.
    """
    differences = excess[:-1] - excess[-1]
    size = np.abs(differences.mean(axis=1))
    n_levels, n_seeds = differences.shape
    if n_seeds < 2:
        return Drift(float(size.max()), 0.0)
    error = differences.std(axis=1, ddof=1) / math.sqrt(n_seeds)
    certain = size - student.ppf(1 - 0.025 / n_levels, n_seeds - 1) * error
    return Drift(float(size.max()), max(float(certain.max()), 0.0))


def coverage(excess: Array, low: Array, high: Array) -> float:
    """Share of trials whose interval holds the mean of their level."""
    means = np.nanmean(excess, axis=1, keepdims=True)
    known = ~np.isnan(excess)
    return float(np.mean(((low <= means) & (means <= high))[known]))


def residual_correlation(one: Array, other: Array) -> float:
    """Spearman correlation of two metrics beyond what they owe to the level.

    Level means are taken out first: the raw correlation is near 1 for any two metrics that follow the leak.
    """
    known = ~np.isnan(one).any(axis=1) & ~np.isnan(other).any(axis=1)
    parts = [rankdata((each - each.mean(axis=1, keepdims=True))[known].ravel()) for each in (one, other)]
    if not known.any() or min(np.ptp(part) for part in parts) == 0:
        return math.nan
    return float(np.corrcoef(parts[0], parts[1])[0, 1])
