"""All statistics of a comparison at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.analysis.differences import PairedDifference, Paradox, StageMeans, against_baseline, paradox, stage_means
from hybrid.analysis.effects import MetricEffects, effects
from hybrid.analysis.ranking import BestByMetric, Contest, RankedConfiguration, best_per_metric, contest, ranking
from hybrid.analysis.recommend import Recommendation, recommend
from hybrid.analysis.results import Results


@dataclass(frozen=True)
class Answers:
    """Statistics of a comparison's results."""

    results: Results
    """What they are made from."""
    effects: list[MetricEffects]
    """Of the plan's factors, for every metric of the synthetic table."""
    facets: list[MetricEffects]
    """Of what the thesis varied, for the same metrics."""
    stages: list[StageMeans]
    """The headline metrics at the four stages."""
    paradox: Paradox
    """Conditional against uniform."""
    against_baseline: list[PairedDifference]
    """All pipelines against their generators alone."""
    contest: Contest | None
    """The configurations that ended well with every seed, and the metrics that order them; None if there is none."""
    ranking: list[RankedConfiguration]
    """Its configurations in order, the recommended one first."""
    per_metric: list[BestByMetric]
    """The best by each metric."""
    recommendation: Recommendation | None
    """What to take; None if too little was measured."""


def answer(results: Results) -> Answers:
    """Compute all statistics of a comparison."""
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
