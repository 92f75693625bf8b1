"""Recommended configuration with its alternatives, and the seeds or rows that would find further differences."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hybrid.analysis.contrasts import CONFIDENCE, Estimate, half_interval
from hybrid.analysis.ranking import Contest, Criterion, Question, pareto_front, verdict_of
from hybrid.analysis.results import ResultColumn
from hybrid.base.arrays import Array, Mask
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
    """The difference in use or attack from one configuration that is nearest to being found.

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
    """Fewest seeds whose intervals, of ``family`` numbers together, leave zero out; None above :data:`MOST_SEEDS`.

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


@dataclass(frozen=True)
class CandidateConfiguration:
    """A configuration in the choice, with its means over the seeds.

    The wide intervals hold for all configurations that ended well together, so whichever of them was chosen.
    """

    configuration: str
    privacy: Estimate
    utility: Estimate
    closeness: Estimate | None


@dataclass(frozen=True)
class Recommendation:
    """Recommended configuration, with its alternatives.

    Parameters
    ----------
    privacy, utility, closeness : ResultColumn
        The metrics that decided, each the mean over its columns; None where closeness was not measured.
    chosen : CandidateConfiguration or None
        The first of the ranking; None where the gate blocks everything.
    verdict : str
        What the gate says of it, its worst over the seeds; empty where no gate was asked.
    ended, admitted : int
        Configurations that ended well with every seed, and those of them with this verdict.
    most_useful, safest : CandidateConfiguration
        Of the admitted ones.
    as_useful : int
        Admitted ones as useful as the most useful one, itself included.
    as_safe : int
        Those of them as safe as the safest of them.
    refused : CandidateConfiguration or None
        The most useful of those with a worse verdict, if it is more useful than the chosen one.
    on_front : bool
        Whether nothing admitted is both safer and more useful.
    seeds : int
    apart : dict
        By question the admitted configurations that the seeds tell from the chosen one, all pairs tested together.
    needed : Needed or None
        What it takes to tell one more from it by use or attack.
    again_privacy, again_utility : float or None
        Means over the seeds of what the configuration has that this rule chooses by the other seeds: unlike the means
        of the chosen one, not the better for the choice. The gate's verdicts are those of all seeds. None with fewer
        than three seeds.
    """

    privacy: ResultColumn
    utility: ResultColumn
    closeness: ResultColumn | None
    chosen: CandidateConfiguration | None
    verdict: str
    ended: int
    admitted: int
    most_useful: CandidateConfiguration
    safest: CandidateConfiguration
    as_useful: int
    as_safe: int
    refused: CandidateConfiguration | None
    on_front: bool
    seeds: int
    apart: dict[Question, list[str]]
    needed: Needed | None
    again_privacy: float | None = None
    again_utility: float | None = None


def recommend(found: Contest | None) -> Recommendation | None:
    """Recommend what the rule of :mod:`hybrid.analysis.ranking` puts first; None where too little was measured."""
    if found is None:
        return None
    use, attack, close = found.criterion("use"), found.criterion("attack"), found.criterion("closeness")
    if use is None or attack is None:
        return None
    everyone = np.ones(len(found.names), dtype=bool)
    first = found.first(everyone)
    kept, verdict = found.kept(everyone), verdict_of(found, first)
    admitted = kept["verdict"]
    family, seeds = len(found.names), use.values.shape[1]

    def candidate(at: int) -> CandidateConfiguration:
        return CandidateConfiguration(
            found.names[at],
            attack.mean_of(at, family, found.overlap),
            use.mean_of(at, family, found.overlap),
            None if close is None else close.mean_of(at, family, found.overlap),
        )

    front = pareto_front(attack.means[admitted], use.means[admitted])
    others = ~admitted & (use.means > use.means[first])
    again = _again(found, admitted)
    return Recommendation(
        attack.column,
        use.column,
        None if close is None else close.column,
        None if verdict == "block" else candidate(first),
        verdict,
        family,
        int(admitted.sum()),
        candidate(_best(use.means, admitted)),
        candidate(_best(attack.means, admitted)),
        int(kept["use"].sum()),
        int(kept["attack"].sum()),
        candidate(_best(use.means, others)) if others.any() else None,
        bool(front[np.flatnonzero(np.flatnonzero(admitted) == first)[0]]),
        seeds,
        _apart(found, first, admitted),
        next_found(found, first),
        again and again[0],
        again and again[1],
    )


def _apart(found: Contest, first: int, admitted: Mask) -> dict[Question, list[str]]:
    return {
        each.question: [
            found.names[at]
            for at, behind in enumerate(each.behind(first, found.pairs, found.overlap))
            if behind.found and admitted[at]
        ]
        for each in found.criteria
    }


def _again(found: Contest, admitted: Mask) -> tuple[float, float] | None:
    # In the metrics' units.
    attack, use = found.criterion("attack"), found.criterion("use")
    assert attack is not None and use is not None
    seeds = use.values.shape[1]
    if seeds < 3:
        return None
    chosen = [found.without(seed).first(admitted) for seed in range(seeds)]
    return float(attack.values[chosen, range(seeds)].mean()), float(use.values[chosen, range(seeds)].mean())


def _best(values: Array, among: Mask) -> int:
    return int(np.argmax(np.where(among, values, -np.inf)))
