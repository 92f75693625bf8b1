"""Improvement of the pipeline over its generator alone (corrected eq. 5.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hybrid.evaluation.engine.intervals import difference
from hybrid.evaluation.measure import Direction, Evaluation, Family, Measure, MetricResult
from hybrid.evaluation.registry import REGISTRY


@dataclass(frozen=True)
class Improvement:
    """One metric of the synthetic table beside that of the baseline."""

    name: str
    family: Family
    direction: Direction
    column: str | None
    """As in the evaluation."""
    difference: float
    """Its value minus that of the baseline, in the metric's unit."""
    low: float | None
    high: float | None
    """Interval of the difference, the two values taken as independent; None where a value has no interval. For the
    finite number of records alone: each generator was trained once, and its own chance is left out."""
    better: bool | None
    """Whether it is better beyond the interval, worse (False), or neither can be said (None)."""
    relative: float | None
    """(baseline - synthetic) / baseline, only of metrics that are 0 without a leak, where the interval of the baseline
    excludes 0."""
    printed: float | None
    """The thesis's formula, of evaluations made with ``paper``."""

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def improvements(evaluation: Evaluation) -> list[Improvement]:
    """Compare the synthetic table with the baseline, metric by metric.

    Metrics without a number at either are left out. The printed formula, (R_pipe - R_SDG)/R_SDG, calls a lower risk
    negative and explodes near 0 (METRICS C4): the difference with its interval takes its place.
    """
    rows = []
    for result in evaluation.metrics:
        beside = evaluation.find(result.name, "baseline", result.column) if result.stage == "synthetic" else None
        if beside is None:
            continue
        if isinstance(result.outcome, Measure) and isinstance(beside.outcome, Measure):
            rows.append(_compared(result, result.outcome, beside.outcome))
    return rows


def with_printed(evaluation: Evaluation) -> Evaluation:
    """The evaluation with (R_pipe - R_SDG)/R_SDG in the details of the synthetic stage, as eq. 5.3 prints it."""
    return Evaluation(tuple(_with_printed(evaluation, result) for result in evaluation.metrics))


def _with_printed(evaluation: Evaluation, result: MetricResult) -> MetricResult:
    beside = evaluation.find(result.name, "baseline", result.column)
    mine, its = result.outcome, beside.outcome if beside else None
    if result.stage != "synthetic" or not isinstance(mine, Measure) or not isinstance(its, Measure) or not its.value:
        return result
    paper = mine.details.get("paper", {}) | {"improvement": (mine.value - its.value) / its.value}
    return replace(result, outcome=replace(mine, details=mine.details | {"paper": paper}))


def _compared(result: MetricResult, mine: Measure, its: Measure) -> Improvement:
    printed = mine.details.get("paper", {}).get("improvement")
    about, known = (result.name, result.family, result.direction, result.column), REGISTRY.get(result.name)
    value, low, high = difference(mine.interval, its.interval)
    if mine.low is None or its.low is None or its.high is None:
        return Improvement(*about, value, None, None, None, None, printed)
    better = None if low <= 0 <= high else (value < 0) == (result.direction == "lower")
    relative = known is not None and known.no_leak == 0 and (its.low > 0 or its.high < 0)
    return Improvement(*about, value, low, high, better, -value / its.value if relative else None, printed)
