"""Recommended configuration with what the results leave open, and all statistics of a comparison at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.analysis.contrasts import Estimate
from hybrid.analysis.differences import PairedDifference, Paradox, StageMeans, against_baseline, paradox, stage_means
from hybrid.analysis.effects import MetricEffects, effects, metric_effects
from hybrid.analysis.lags import Lag, Needed, lags, needed
from hybrid.analysis.ranking import (
    HALVES,
    BestByMetric,
    Contest,
    RankedConfiguration,
    best_per_metric,
    contest,
    pareto_front,
    ranking,
    verdict_of,
)
from hybrid.analysis.results import Concern, ResultColumn, Results
from hybrid.base.arrays import Array, Mask


@dataclass(frozen=True)
class CandidateConfiguration:
    """A configuration in the choice, with its means over the seeds by concern.

    The wide intervals hold for all configurations that ended well together, so whichever of them was chosen.
    """

    configuration: str
    values: dict[Concern, Estimate]


@dataclass(frozen=True)
class FoundLevel:
    """A level of a factor that the seeds show to be better or worse than the mean of its factor's levels."""

    concern: Concern
    factor: str
    level: str
    effect: Estimate
    """Distance from the mean of the levels, in the metric's unit."""
    is_better: bool


@dataclass(frozen=True)
class Recommendation:
    """Recommended configuration, with its alternatives."""

    columns: dict[Concern, ResultColumn]
    """The metric of each concern, in the user's order; each the mean over its columns."""
    margins: dict[Concern, float]
    chosen: CandidateConfiguration | None
    """The first of the ranking; None where the gate blocks everything."""
    verdict: str
    """What the gate says of it, its worst over the seeds; empty where no gate was asked."""
    ended: int
    admitted: int
    """Configurations that ended well with every seed, and those of them with this verdict."""
    beaten: list[str]
    """Admitted configurations that the seeds show to be worse than another admitted one by more than a margin."""
    best: dict[Concern, CandidateConfiguration]
    """The best of the admitted ones by each concern."""
    kept: dict[str, int]
    """Number of configurations that each step of the rule keeps, as in :meth:`hybrid.analysis.ranking.Contest.kept`."""
    refused: CandidateConfiguration | None
    """The most useful of those with a worse verdict, if it is more useful than the chosen one."""
    on_front: bool
    """Whether nothing admitted is both safer and more useful."""
    seeds: int
    better: dict[Concern, list[str]]
    worse: dict[Concern, list[str]]
    """By concern the configurations that the seeds show to be better or worse than the first, all pairs and concerns
    tested together."""
    differing: int
    """Pairs of configurations that the seeds distinguish by a concern or more, all pairs and concerns tested
    together."""
    levels: list[FoundLevel]
    """What the seeds show about levels of factors, all levels of all factors and all concerns tested together."""
    lags: list[Lag]
    """How far it may be behind the best, a concern each; empty with one seed."""
    needed: Needed | None
    """What it takes to settle the choice."""
    again: dict[Concern, float]
    """Means over the seeds, by concern, of what the configuration has that this rule chooses by the other seeds: unlike
    the means of the chosen one, not the better for the choice. The gate's verdicts are those of all seeds. Empty with
    fewer than three seeds."""

    @property
    def is_settled(self) -> bool:
        """True if the seeds show that it is within every margin of the best."""
        return self.seeds > 1 and all(lag.is_settled for lag in self.lags)


def recommend(found: Contest | None, levels: pd.DataFrame) -> Recommendation | None:
    """Recommend what the rule of :mod:`hybrid.analysis.ranking` puts first; None where too little was measured."""
    if found is None or not {"usefulness", "privacy"} <= {each.concern for each in found.criteria}:
        return None
    everyone = np.ones(len(found.names), dtype=bool)
    first = found.first(everyone)
    kept, verdict = found.kept(everyone), verdict_of(found, first)
    admitted = kept["verdict"]
    order = ranking(found)
    means = {each.concern: each.means for each in found.criteria}
    front = pareto_front(*(np.where(admitted, means[concern], np.nan) for concern in ("privacy", "usefulness")))
    useful, others = means["usefulness"], ~admitted & (means["usefulness"] > means["usefulness"][first])
    return Recommendation(
        {each.concern: each.column for each in found.criteria},
        {each.concern: each.margin for each in found.criteria},
        None if verdict == "block" else _candidate(found, first),
        verdict,
        len(found.names),
        int(admitted.sum()),
        [found.names[at] for at in np.flatnonzero(admitted & ~kept["shown"])],
        {concern: _candidate(found, _best(values, admitted)) for concern, values in means.items()},
        {name: int(mask.sum()) for name, mask in kept.items()},
        _candidate(found, _best(useful, others)) if others.any() else None,
        bool(front[first]),
        found.seeds,
        {concern: [one.configuration for one in order if concern in one.better] for concern in means},
        {concern: [one.configuration for one in order if concern in one.worse] for concern in means},
        _differing(found),
        _levels(found, levels.loc[found.names]),
        lags(found, first, everyone),
        needed(found, first, everyone),
        _again(found, admitted),
    )


def _candidate(found: Contest, at: int) -> CandidateConfiguration:
    family = len(found.names)
    values = {each.concern: each.mean_of(at, family, found.overlap) for each in found.criteria}
    return CandidateConfiguration(found.names[at], values)


def _differing(found: Contest) -> int:
    told = np.any([shown | shown.T for shown in found.shown.values()], axis=0)
    return int(np.triu(told, 1).sum())


def _levels(found: Contest, levels: pd.DataFrame) -> list[FoundLevel]:
    return [
        FoundLevel(each.concern, factor, level.level, level.effect, each.column.sign * level.effect.value > 0)
        for each in found.criteria
        for factor, rows in metric_effects(
            each.column.name, levels, each.values, {}, found.overlap, each.column.range, HALVES * len(found.criteria)
        ).main.items()
        for level in rows
        if level.effect is not None and level.effect.found
    ]


def _again(found: Contest, admitted: Mask) -> dict[Concern, float]:
    # In the metrics' units.
    if found.seeds < 3:
        return {}
    chosen = [found.without(seed).first(admitted) for seed in range(found.seeds)]
    return {each.concern: float(each.values[chosen, range(found.seeds)].mean()) for each in found.criteria}


def _best(values: Array, among: Mask) -> int:
    return int(np.argmax(np.where(among, values, -np.inf)))


@dataclass(frozen=True)
class Answers:
    """Statistics of a comparison's results."""

    results: Results
    effects: list[MetricEffects]
    """Of the plan's factors, for every metric of the synthetic table."""
    facets: list[MetricEffects]
    """Of what the thesis varied, for the same metrics."""
    stages: list[StageMeans]
    paradox: Paradox
    against_baseline: list[PairedDifference]
    contest: Contest | None
    """The configurations that ended well with every seed, and the metrics that order them; None if there is none."""
    ranking: list[RankedConfiguration]
    """Its configurations in order, the recommended one first."""
    per_metric: list[BestByMetric]
    recommendation: Recommendation | None
    """What to take; None if too little was measured."""


def answer(results: Results) -> Answers:
    columns = [column for column in results.columns.values() if column.stage == "synthetic"]
    ranges = {column.name: column.range for column in columns}
    matrices = {name: results.matrix(name) for name in ranges}
    # Without anonymization there is no k, no transition and no order: such runs are the generator alone.
    facets = results.facet_table()
    walked = facets["k"] != "none" if "k" in facets else np.zeros(len(facets), dtype=bool)
    found = contest(results)
    return Answers(
        results,
        effects(ranges, results.configurations, matrices, results.overlap),
        effects(ranges, facets[walked], {name: values[walked] for name, values in matrices.items()}, results.overlap),
        stage_means(results),
        paradox(results),
        against_baseline(results),
        found,
        ranking(found),
        best_per_metric(results, columns),
        recommend(found, results.configurations),
    )
