"""Numbers of metrics as people read them: within the declared range.

An interval around a number near the end of a range reaches beyond it where it is made of standard errors: 1.03 of a
share, or 1,180 in 1,000 people. Computation and judgement use the numbers as they are; everything that prints a number
of a metric takes it from here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.evaluation.registry import REGISTRY

Range = tuple[float | None, float | None]
"""Lowest and highest possible number; None: unbounded."""


_OF_ROWS = frozenset({"value", "low", "high"})


def range_of(metric: str) -> Range:
    """Declared range of a metric; unbounded for an unknown name."""
    return (REGISTRY[metric].low, REGISTRY[metric].high) if metric in REGISTRY else (None, None)


def excess_range(metric: str) -> tuple[float, float]:
    """Range of a metric's excess over people never seen, within -1..1.

    An excess is a share more (or fewer) of people or rows. From the score without any leak to the ends of the metric's
    range it is less: an AUC of .5 can rise by .5.
    """
    low, high = range_of(metric)
    clean = REGISTRY[metric].no_leak if metric in REGISTRY else None
    down = -1.0 if low is None or clean is None else low - clean
    up = 1.0 if high is None or clean is None else high - clean
    return max(down, -1.0), min(up, 1.0)


def spans(limits: Range) -> Range:
    """Range of the difference of two numbers that have a range."""
    low, high = limits
    return (None, None) if low is None or high is None else (low - high, high - low)


def within(number: float, limits: Range) -> float:
    """The number, or the end of the range that it lies beyond."""
    low, high = limits
    raised = number if low is None else max(number, low)
    return raised if high is None else min(raised, high)


def displayed(metric: str, outcome: Measure) -> Measure:
    """A measure within the ranges of its metric.

    So are reference and excess, and the values and intervals of its details: those of subgroups, secrets or columns.
    """
    limits = range_of(metric)
    low, high, reference = (
        None if end is None else within(end, limits) for end in (outcome.low, outcome.high, outcome.reference)
    )
    excess = None
    if outcome.excess is not None:
        value, least, most = (within(end, excess_range(metric)) for end in outcome.excess)
        excess = value, least, most
    details = _details(outcome.details, limits)
    value = within(outcome.value, limits)
    return replace(outcome, value=value, low=low, high=high, reference=reference, excess=excess, details=details)


def displayed_evaluation(evaluation: Evaluation) -> Evaluation:
    return replace(evaluation, metrics=tuple(_result(metric) for metric in evaluation.metrics))


def _result(result: MetricResult) -> MetricResult:
    outcome = result.outcome
    return replace(result, outcome=displayed(result.name, outcome)) if isinstance(outcome, Measure) else result


def _details(found: Any, limits: Range) -> Any:
    """Details with each row's ``value``, ``low`` and ``high`` in range."""
    if isinstance(found, list):
        return [_details(one, limits) for one in found]
    if not isinstance(found, dict):
        return found
    return {
        key: within(one, limits) if key in _OF_ROWS and isinstance(one, float) else _details(one, limits)
        for key, one in found.items()
    }
