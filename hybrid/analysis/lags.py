"""Upper bounds of the lag behind the best of a chosen configuration, and the seeds or rows that would settle it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hybrid.analysis.contrasts import CONFIDENCE, NOISE, half_interval
from hybrid.analysis.ranking import Contest, Criterion
from hybrid.analysis.results import Concern
from hybrid.base.arrays import Array, Mask
from hybrid.evaluation.display import spans
from hybrid.evaluation.engine.intervals import simultaneous

MOST_SEEDS = 100
"""More are not proposed."""


@dataclass(frozen=True)
class Lag:
    """Lag of the chosen configuration behind the best of those that the earlier concerns leave."""

    concern: Concern
    most: float
    """Its upper bound, 0 or more in the metric's unit: at 95 % together with those of the other concerns."""
    margin: float
    others: int
    """Configurations that it was compared with."""

    @property
    def is_settled(self) -> bool:
        """True if the seeds show a lag of the margin at most."""
        return self.most <= self.margin + NOISE


@dataclass(frozen=True)
class Needed:
    """Seeds or rows that show all others to be a margin better at most, if the spread between seeds stays as it is."""

    concern: Concern
    """The one that needs most."""
    seeds: int | None
    """How many more; None where no number up to :data:`MOST_SEEDS` is enough."""
    rows: float
    """Or how many times as many rows, with as many seeds as now. Errors shrink with the square root of the rows."""


def lags(found: Contest, chosen: int, among: Mask) -> list[Lag]:
    """Lags of a configuration, one per concern in the user's order; none with one seed.

    One-sided bounds of the lag behind each of the others hold together for the true best of them, whichever was chosen
    (multiple comparisons with the best, Hsu 1984); levels of Sidak over others and concerns.
    """
    if found.seeds < 2:
        return []
    return [_lag(found, criterion, chosen, left) for criterion, left in found.entering(among)]


def _lag(found: Contest, criterion: Criterion, chosen: int, left: Mask) -> Lag:
    differences = _behind(criterion, chosen, left)
    half = half_interval(found.seeds, _level(found, len(differences)), found.overlap)
    bounds = differences.mean(axis=1) + differences.std(axis=1, ddof=1) * half
    widest = spans(criterion.column.range)[1]
    most = min(max(float(bounds.max(initial=0.0)), 0.0), math.inf if widest is None else widest)
    return Lag(criterion.concern, most, criterion.margin, len(differences))


def _behind(criterion: Criterion, chosen: int, left: Mask) -> Array:
    others = left & (np.arange(len(left)) != chosen)
    return np.asarray(criterion.good[others] - criterion.good[chosen])


def _level(found: Contest, others: int) -> float:
    """Level of the interval whose upper end is the one-sided bound."""
    return 2 * simultaneous(CONFIDENCE, len(found.criteria) * max(others, 1)) - 1


def needed(found: Contest, chosen: int, among: Mask) -> Needed | None:
    """Seeds or rows that would settle the choice; None with one seed, and where it is settled."""
    open_ = {lag.concern for lag in lags(found, chosen, among) if not lag.is_settled}
    parts = [
        _needed(found, criterion, chosen, left)
        for criterion, left in found.entering(among)
        if criterion.concern in open_
    ]
    return max(parts, key=lambda part: part.rows, default=None)


def _needed(found: Contest, criterion: Criterion, chosen: int, left: Mask) -> Needed:
    differences = _behind(criterion, chosen, left)
    spread = differences.std(axis=1, ddof=1)
    # Up to half the margin the others may be better and the choice stays; beyond it another one may be chosen instead.
    allowed = criterion.margin - np.clip(differences.mean(axis=1), 0.0, criterion.margin / 2)
    in_spreads = float((allowed[spread > 0] / spread[spread > 0]).min())
    level = _level(found, len(differences))
    enough = seeds_within(in_spreads, level, found.overlap)
    half = half_interval(found.seeds, level, found.overlap)
    # Where the lag is more than half the margin, the same number can be enough already.
    more = None if enough is None else max(enough - found.seeds, 1)
    return Needed(criterion.concern, more, max((half / in_spreads) ** 2, 1.0))


def seeds_within(half: float, level: float, overlap: float) -> int | None:
    """Fewest seeds with a half interval of at most so much; None above :data:`MOST_SEEDS`.

    The interval is in standard deviations between the seeds, whose correlation is ``overlap``.
    """
    return next((n for n in range(2, MOST_SEEDS + 1) if half_interval(n, level, overlap) <= half), None)


def expected_half(seeds: int, people: int, overlap: float, family: int) -> float:
    """Expected half interval of a difference of two shares of control people, before anything is measured.

    The two shares, near .8, are of the same people and each has a draw of its own: their difference is taken to vary
    between seeds as that of shares of independent people does, sqrt(2 x .8 x .2 / people). So many (``family``)
    differences are tested together.
    """
    return half_interval(seeds, simultaneous(CONFIDENCE, family), overlap) * math.sqrt(2 * 0.8 * 0.2 / people)
