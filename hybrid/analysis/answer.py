"""All statistics of a comparison at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.analysis.differences import Difference, Paradox, StageMeans, against_baseline, paradox, stage_means
from hybrid.analysis.effects import MetricEffects, effects
from hybrid.analysis.ranking import BestOf, Ranked, best_overall, best_per_metric
from hybrid.analysis.recommend import Recommendation, recommend
from hybrid.analysis.results import Results


@dataclass(frozen=True)
class Answers:
    """Statistics of a comparison's results.

    Parameters
    ----------
    results : Results
        What they are made from.
    effects : list of MetricEffects
        Of the plan's factors, for every metric of the synthetic table.
    facets : list of MetricEffects
        Of what the thesis varied, for the same metrics.
    stages : list of StageMeans
        The headline metrics at the four stages.
    paradox : Paradox
        Conditional against uniform.
    against_baseline : list of Difference
        All pipelines against their generators alone.
    overall : list of Ranked
        Configurations, the best first.
    per_metric : list of BestOf
        The best by each metric.
    recommendation : Recommendation or None
        What to take; None if too little was measured.
    """

    results: Results
    effects: list[MetricEffects]
    facets: list[MetricEffects]
    stages: list[StageMeans]
    paradox: Paradox
    against_baseline: list[Difference]
    overall: list[Ranked]
    per_metric: list[BestOf]
    recommendation: Recommendation | None


def answer(results: Results) -> Answers:
    """Compute all statistics of a comparison."""
    columns = [column for column in results.columns.values() if column.stage == "synthetic"]
    names = [column.name for column in columns]
    matrices = {name: results.matrix(name) for name in names}
    # Without anonymization there is no k, no transition and no order: such runs are the generator alone.
    facets = results.facet_table()
    walked = facets["k"] != "none" if "k" in facets else np.zeros(len(facets), dtype=bool)
    return Answers(
        results,
        effects(names, results.configurations, matrices, results.overlap),
        effects(names, facets[walked], {name: values[walked] for name, values in matrices.items()}, results.overlap),
        stage_means(results),
        paradox(results),
        against_baseline(results),
        best_overall(results),
        best_per_metric(results, columns),
        recommend(results),
    )
