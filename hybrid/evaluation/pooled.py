"""Results of the folds of ``split.control: cross``, pooled.

Each fold is a table made without the people who are its control. A number is the mean over the folds; its interval
follows from theirs.

The distance of an end from a pooled value is sqrt(sum of the squared distances of the folds' ends from their values)
over the number of folds: the variance of a mean of independent estimates, by either end (Zou and Donner 2008, doi
10.1002/sim.3095, eq. 2). Folds are not independent, since each person is control once and learned from in all other
folds. Where the score of a person who leaves no trace is the same in each fold but for noise, with correlation r
between two folds, the mean excess of F folds of n people has the variance (1 - r) F / ((F - 1) n) of the score's: what
two folds share cancels, since it counts once as a person learned from and once as control. Independent folds would
have that of r = 0, so the interval is too wide, never too narrow, where nothing leaks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hybrid.evaluation.attacks.closeness import centred, not_centred
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import quantile, simultaneous
from hybrid.evaluation.measure import (
    NOTHING_TO_LEAK,
    Crossed,
    Evaluation,
    Measure,
    MetricResult,
    NotComputable,
    Outcome,
    Subject,
)
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.registry import REGISTRY
from hybrid.evaluation.utility.prediction import fall_in_words

Interval = tuple[float, float, float]
"""Value, low and high."""
COPIES = ("identical_match", "hitting_rate")
"""Metrics whose value is a share of copies of training people, whatever control is."""
LISTED = 20
"""Parts that details of a worst number list."""


def is_measured_in_folds(metric: Metric) -> bool:
    """True for metrics that compare with people never seen, whom folds alone have; others are of the released table."""
    indicator = metric.pillar == "indicator" and not {"origin", "retraining"} & set(metric.needs)
    return "control" in metric.needs or indicator


def pooled(results: Sequence[MetricResult]) -> MetricResult:
    """The results of one metric in all folds as one, with the time of all; ``details["folds"]`` is their number.

    Computed if it is in half of the folds or more, and failed in none; from those alone, so its interval is wider.
    """
    seconds, cpu = sum(one.seconds for one in results), sum(one.cpu_seconds for one in results)
    return replace(results[0], outcome=_outcome([one.outcome for one in results]), seconds=seconds, cpu_seconds=cpu)


def pooled_evaluation(own: Evaluation, folds: Sequence[Evaluation], names: Collection[str]) -> Evaluation:
    """Evaluation of tables made from everybody, with results of the folds, pooled by stage, in the places of others."""
    found: dict[tuple[str, str, str | None], list[MetricResult]] = {}
    for metric in own.metrics:
        if metric.name not in names:
            found[metric.name, metric.stage, metric.column] = [metric]
        elif (metric.name, metric.stage, None) not in found:
            there = [fold for fold in folds if metric.stage in fold.stages]
            found[metric.name, metric.stage, None] = pooled_metric(metric.name, there, metric.stage)
    return Evaluation(tuple(itertools.chain.from_iterable(found.values())))


def compared_with_folds(released: Context, folds: Sequence[Context]) -> tuple[Crossed, ...]:
    """Exact and near copies in the released table and in those of the folds.

    They alone can be counted in a table from which nobody was left out; what they show of a leak, folds show better.
    The control of the released table is that of a fold, and decides nothing here.
    """
    found = []
    for name in COPIES:
        mine, *its = (REGISTRY[name].measure(one).outcome for one in (released, *folds))
        shares = [one for one in its if isinstance(one, Measure)]
        if isinstance(mine, Measure) and shares:
            most = max(shares, key=lambda one: one.value)
            ends = mine.low or 0.0, 1.0 if most.high is None else most.high
            found.append(Crossed(name, len(folds), mine.value, ends[0], most.value, ends[1]))
    return tuple(found)


def pooled_metric(name: str, folds: Sequence[Evaluation], stage: Subject) -> list[MetricResult]:
    """One metric of all folds, for every column that half of them have; that of one fold as it is.

    Columns are others where a fold's records alone decide which are attacked.
    """
    in_folds = [{one.column: one for one in fold.of_stage(name, stage)} for fold in folds]
    columns = dict.fromkeys(column for fold in in_folds for column in fold)
    found = []
    for column in columns:
        there = [fold[column] for fold in in_folds if column in fold]
        if 2 * len(there) >= len(folds):
            found.append(pooled(there))
    return found


def _outcome(outcomes: Sequence[Outcome]) -> Outcome:
    missing = [one for one in outcomes if isinstance(one, NotComputable)]
    measures = [one for one in outcomes if isinstance(one, Measure)]
    broken = next((one for one in missing if one.state in ("failed", "timed_out")), None)
    if broken is not None or 2 * len(measures) < len(outcomes):
        return broken or min(missing, key=lambda one: one.lacks in NOTHING_TO_LEAK)
    return pooled_measure(measures)


def pooled_measure(measures: Sequence[Measure]) -> Measure:
    """Pool one number of several folds; that of one fold as it is. A worst of several parts is that of the pooled ones.

    Details are means over the folds where they are numbers, and are left out where folds differ otherwise.
    """
    if len(measures) == 1:
        return measures[0]
    details = {**_mean_of([one.details for one in measures]), "folds": len(measures)}
    if any(one.parts for one in measures):
        return _worst(measures, details)
    together = max(one.together for one in measures)
    return _mean(measures, together, details)


def _mean(measures: Sequence[Measure], together: int, details: dict[str, Any]) -> Measure:
    """Means, with intervals that hold for ``together`` of them."""
    factors = [_errors(together) / _errors(one.together) for one in measures]
    chances = [one.chance for one in measures if one.chance is not None]
    if len(chances) == len(measures):
        return _mean_share(measures, chances, factors, together, details)
    excess = None
    known = [one.unshrunk or one.excess for one in measures]
    if None not in known:
        excess = _mean_interval([one for one in known if one is not None], factors)
    value, *ends = _mean_interval([one.interval for one in measures], factors)
    if excess is not None and all((one.value, one.low, one.high) == one.excess for one in measures):
        value, *ends = excess
    low, high = (None, None) if any(one.low is None for one in measures) else ends
    references = [one.reference for one in measures if one.reference is not None]
    reference = _average(references) if len(references) == len(measures) else None
    return Measure(value, low, high, reference, sum(one.n for one in measures), details, excess, together)


def _mean_share(
    measures: Sequence[Measure], chances: Sequence[float], factors: Sequence[float], together: int, details: Any
) -> Measure:
    """Mean of shares that were moved to where chance is 1/2; averaged before that, and moved then.

    A share beyond chance weighs more than one below where train is larger: the mean of moved shares would be too high.
    """
    shares = []
    for one, chance in zip(measures, chances, strict=True):
        value, low, high = (not_centred(end, chance) for end in one.interval)
        shares.append((value, low, high))
    value, low, high = (centred(end, _average(chances)) for end in _mean_interval(shares, factors))
    return Measure(value, low, high, 0.5, sum(one.n for one in measures), details, together=together).above(0.5)


def _mean_interval(intervals: Sequence[Interval], factors: Sequence[float]) -> Interval:
    """Mean of values, with its ends."""
    low, high = (_end([one[0] for one in intervals], [one[end] for one in intervals], factors) for end in (1, 2))
    return _average([one[0] for one in intervals]), low, high


def _end(values: Sequence[float], ends: Sequence[float], factors: Sequence[float]) -> float:
    """An end of the interval of a mean, from values and ends of the folds, all on one side."""
    distances = [factor * (end - value) for value, end, factor in zip(values, ends, factors, strict=True)]
    return _average(values) + math.copysign(math.hypot(*distances) / len(values), sum(distances))


def _worst(measures: Sequence[Measure], details: dict[str, Any]) -> Measure:
    """The pooled part with the highest low end; one that some folds alone have is pooled over these."""
    folds = [one.parts or {} for one in measures]
    names = dict.fromkeys(name for fold in folds for name in fold)
    further = len(names) - max(len(fold) for fold in folds)
    parts = {}
    for name in names:
        there = [fold[name] for fold in folds if name in fold]
        about = {**there[0].details, **_mean_of([one.details for one in there])}
        parts[name] = _mean(there, max(one.together for one in there) + further, about)
    order = sorted(parts, key=lambda name: (-parts[name].interval[1], name))
    for key, rows in measures[0].details.items():
        if isinstance(rows, list) and rows and isinstance(rows[0], Mapping):
            details = details | {key: [_row(parts[name], rows[0]) for name in order[:LISTED]]}
    worst = {"worst": order[0], "interval": f"simultaneous over {len(parts)}"}
    if "said" in measures[0].details:
        worst["said"] = fall_in_words(parts[order[0]].details)
    return replace(parts[order[0]], n=sum(one.n for one in measures), details=details | worst, parts=parts)


def _row(part: Measure, like: Mapping[str, Any]) -> dict[str, Any]:
    """A part as in a list of details; the number of its people has the name that it has there."""
    found = {"value": part.value, "low": part.low, "high": part.high} | dict.fromkeys(("members", "people"), part.n)
    return {key: part.details.get(key, found.get(key)) for key in like if key in part.details or key in found}


def _average(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)


def _errors(together: int) -> float:
    """Half width, in standard errors, of intervals that hold together."""
    return quantile(simultaneous(0.95, together))


def _mean_of(values: Sequence[Any]) -> Any:
    """Mean of numbers within equal structures; None where folds differ otherwise."""
    first = values[0]
    if all(isinstance(one, Mapping) for one in values):
        means = {key: _mean_of([one[key] for one in values]) for key in first if all(key in one for one in values)}
        return {key: mean for key, mean in means.items() if mean is not None}
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
        return _average(values)
    if all(isinstance(one, list | tuple) and len(one) == len(first) for one in values):
        of_each = [_mean_of(column) for column in zip(*values, strict=True)]
        return None if None in of_each else of_each
    return first if all(one == first for one in values) else None
