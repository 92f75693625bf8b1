"""Seeds, or rows, that are enough to find a difference."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hybrid.analysis.contrasts import CONFIDENCE, half_interval
from hybrid.analysis.order import Contest, Criterion, Question
from hybrid.evaluation.engine.intervals import simultaneous

MOST_SEEDS = 100
"""More are not proposed."""


@dataclass(frozen=True)
class Needed:
    """Seeds or rows that would find the next difference.

    From one configuration, if the difference stays as large.

    Parameters
    ----------
    question : {"use", "attack", "closeness"}
    configuration : str
        The other one.
    difference : float
        Size of the difference of the means, in the metric's unit.
    seeds : int or None
        How many more; None where no number up to :data:`MOST_SEEDS` is enough.
    rows : float
        Or how many times as many rows, with as many seeds as now. Errors shrink with the square root of the rows.
    """

    question: Question
    configuration: str
    difference: float
    seeds: int | None
    rows: float


def next_found(found: Contest, first: int) -> Needed | None:
    """The difference in use or attack that is nearest to being found.

    From one configuration.

    None with one seed, and where there is no other configuration, nothing varies, or all are found.
    """
    seeds = found.criteria[0].values.shape[1]
    if seeds < 2:
        return None
    nearest = [
        needed
        for criterion in found.criteria
        if criterion.question != "closeness" and (needed := _nearest(found, criterion, first, seeds)) is not None
    ]
    return min(nearest, key=lambda needed: needed.rows, default=None)


def _nearest(found: Contest, criterion: Criterion, first: int, seeds: int) -> Needed | None:
    differences = criterion.good[first] - criterion.good
    size, spread = np.abs(differences.mean(axis=1)), differences.std(axis=1, ddof=1)
    half = spread * half_interval(seeds, simultaneous(CONFIDENCE, found.pairs), found.overlap)
    missing = (spread > 0) & (size > 0) & (half >= size)
    if not missing.any():
        return None
    at = int(np.argmax(np.where(missing, size / np.where(spread > 0, spread, 1), -1)))
    enough = seeds_to_find(float(size[at] / spread[at]), found.pairs, found.overlap)
    more = None if enough is None else enough - seeds
    return Needed(criterion.question, found.names[at], float(size[at]), more, float((half[at] / size[at]) ** 2))


def seeds_to_find(difference: float, family: int, overlap: float) -> int | None:
    """Fewest seeds whose intervals leave zero out.

    Those of ``family`` numbers together. None above :data:`MOST_SEEDS`.

    Parameters
    ----------
    difference : float
        In standard deviations between the seeds, above 0.
    family : int
        1 or more.
    overlap : float
        Correlation of two seeds, 0 to below 1.
    """
    level = simultaneous(CONFIDENCE, family)
    return next((n for n in range(2, MOST_SEEDS + 1) if half_interval(n, level, overlap) < difference), None)


def expected_half(seeds: int, people: int, overlap: float, family: int) -> float:
    """Expected half interval of a difference of two shares.

    Of shares of control people, about, before anything is measured.

    The two shares, near .8, are of the same people and each has a draw of its own: their difference is taken to vary
    between seeds as that of shares of independent people does, sqrt(2 x .8 x .2 / people).

    Parameters
    ----------
    seeds : int
        2 or more.
    people : int
        Control people of a run, above 0.
    overlap : float
        Correlation of two seeds, 0 to below 1.
    family : int
        Differences that are tested together.
    """
    return half_interval(seeds, simultaneous(CONFIDENCE, family), overlap) * math.sqrt(2 * 0.8 * 0.2 / people)
