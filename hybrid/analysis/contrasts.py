"""Contrasts: weighted sums of configurations, with intervals over seeds.

Runs with one seed share the split into training and control records, and often an anonymized table or a generator:
their errors are correlated. So a question to the results is put to each seed by itself, as weights over the
configurations, and Student's t is taken over the answers of the seeds (summary measures, Frison and Pocock 1992),
however the runs of one seed are correlated.

Seeds are splits of one table: their answers are correlated, too. The variance of their mean is then
s^2 (1/S + r/(1 - r)), s^2 the variance between S seeds and r the correlation of two of them, which is taken to be the
share of a control set that another seed's control set holds as well (Nadeau and Bengio 2003, section 4.1; there n2/n1
for r/(1 - r), the whole table being used by each split). Without that term an interval is about one table, its splits
and draws; with it, about tables of this size drawn from the same population.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.display import Range
from hybrid.evaluation.engine.intervals import simultaneous

CONFIDENCE = 0.95
ONE_SIDED = 2 * CONFIDENCE - 1
"""Level of the interval whose ends are the two one-sided bounds."""
ENDS = ("low", "high", "wide_low", "wide_high", "least", "most")
MOST_EXPONENT = 300.0
"""Of larger ones the odds overflow."""
NOISE = 1e-9
"""Differences below this share of the values' size are rounding."""


@dataclass(frozen=True)
class Estimate:
    """A contrast with its intervals over the seeds."""

    value: float
    """Mean over the seeds, in the metric's unit."""
    low: float | None = None
    high: float | None = None
    """95 % interval; None with one seed, which says nothing about others, and where all seeds say the same: what has
    shown no spread yet may show it with the next seed."""
    wide_low: float | None = None
    wide_high: float | None = None
    """Interval that holds together with those of all numbers of its family (Sidak 1967)."""
    least: float | None = None
    most: float | None = None
    """One-sided 95 % bounds: a 90 % interval, as tests of equivalence use it (Schuirmann 1987)."""
    seeds: int = 1

    @property
    def found(self) -> bool:
        """True if the simultaneous interval excludes zero."""
        return self.wide_low is not None and self.wide_high is not None and not self.wide_low <= 0 <= self.wide_high

    @property
    def differs(self) -> bool:
        """True if the individual interval excludes zero."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def complete(values: Array) -> tuple[Array, Array]:
    """Complete cases: the configurations and seeds without a missing value.

    A plan with holes is worse than one seed less. So seeds are given up first, down to half of them (but two), and
    configurations only where that is not enough, those with the fewest seeds first. The configurations and the seeds as
    masks of ``values`` (n_configurations, n_seeds); two seeds or more wherever a configuration has two.
    """
    known = np.isfinite(values)
    counts = known.sum(axis=1)
    most = int(counts.max(initial=0))
    needed = max(min(2, most), (most + 1) // 2)
    rows = counts >= max(needed, 1)
    while rows.any() and known[rows].all(axis=0).sum() < needed:
        rows[np.argmin(np.where(rows, counts, most + 1))] = False
    seeds: Array = known[rows].all(axis=0) & rows.any()
    return rows, seeds


def mean_spread(seeds: int, overlap: float) -> float:
    """Standard error of a mean over seeds that correlate (0 to below 1), in standard deviations between them."""
    return math.sqrt(1 / seeds + overlap / (1 - overlap))


@lru_cache(maxsize=1024)
def half_interval(seeds: int, level: float, overlap: float) -> float:
    """Half an interval of a mean over seeds, in standard deviations between the seeds (Student's t)."""
    from scipy.stats import t

    return float(t.ppf((1 + level) / 2, seeds - 1)) * mean_spread(seeds, overlap)


def estimates(
    weights: Array,
    values: Array,
    family: int = 1,
    *,
    overlap: float = 0.0,
    confidence: float = CONFIDENCE,
    within: Range = (None, None),
    logit: bool = False,
) -> list[Estimate]:
    """Estimate contrasts with intervals, one question a row of the weights.

    ``values`` has the shape (n_configurations, n_seeds), nothing missing. The wide intervals hold for ``family``
    numbers together. ``overlap`` is the correlation of two seeds, 0 to below 1; 0: independent, or an interval about
    one table. No interval leaves the range ``within``.

    ``logit``: intervals are symmetric on the logit scale of the range, as those of means are. The standard error there
    is that of the mean over (value - low)(high - value)/(high - low) (delta method, Agresti 2013, section 16.1). Where
    the range has one end, the interval is that of the logarithm of the distance towards it, and the plain one away from
    it. Differences have intervals that end at the end of their range.
    """
    # Rounding must not look like a difference where every seed says the same.
    per_seed = weights @ values
    per_seed[np.abs(per_seed) <= NOISE * (np.abs(weights) @ np.abs(values))] = 0.0
    seeds = values.shape[1]
    means = per_seed.mean(axis=1)
    if seeds < 2:
        return [Estimate(float(mean)) for mean in means]
    same = np.ptp(per_seed, axis=1) <= NOISE * np.abs(means)
    errors = np.where(same, np.nan, per_seed.std(axis=1, ddof=1))
    levels = confidence, simultaneous(confidence, family), 2 * confidence - 1
    half = np.array([errors * half_interval(seeds, level, overlap) for level in levels])
    lower, upper = _in_range(means, half, within, logit)
    ends = np.stack([lower, upper], axis=1).reshape(6, -1).T.tolist()
    return [
        Estimate(float(mean), seeds=seeds, **(dict(zip(ENDS, own, strict=True)) if np.isfinite(own[0]) else {}))
        for mean, own in zip(means, ends, strict=True)
    ]


def average(
    values: Array, family: int = 1, *, overlap: float = 0.0, within: Range = (None, None), logit: bool = False
) -> Estimate:
    """Estimate the mean over some configurations, shape (n_configurations, n_seeds), as :func:`estimates` does."""
    n = len(values)
    return estimates(np.full((1, n), 1 / n), values, family, overlap=overlap, within=within, logit=logit)[0]


def _in_range(means: Array, half: Array, within: Range, logit: bool) -> tuple[Array, Array]:
    """Ends of intervals, each shape (n_levels, n): of half widths around means, within a range."""
    least, most = (limit if given is None else given for given, limit in zip(within, (-np.inf, np.inf), strict=True))
    # A mean is in the range, but for rounding: its interval holds it all the same.
    lower, upper = np.minimum(means, np.maximum(means - half, least)), np.maximum(means, np.minimum(means + half, most))
    if not logit or within == (None, None):
        return lower, upper
    inside = (means > least) & (means < most)
    below, above = (np.where(inside, distance, 1.0) for distance in (means - least, most - means))
    if None in within:
        # Towards the end the range has; away from it the plain interval.
        low = lower if within[0] is None else least + below * np.exp(-half / below)
        high = upper if within[1] is None else most - above * np.exp(-half / above)
    else:
        exponent = np.minimum(half * (most - least) / (below * above), MOST_EXPONENT)
        low, high = (least + (most - least) / (1 + above / below * np.exp(side * exponent)) for side in (1, -1))
    return np.where(inside, low, lower), np.where(inside, high, upper)
