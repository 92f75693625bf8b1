"""Cost of a trial before anything like it was measured: seconds of every step, and the memory of training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from hybrid.comparison.trial import REST
from hybrid.evaluation.measure import Subject
from hybrid.evaluation.price import price, training_price
from hybrid.pipeline.evaluation_price import REPEATED, judged_sizes, retraining_seconds
from hybrid.pipeline.pipeline import Pipeline, split_step, step_of
from hybrid.pipeline.risk import leak_of
from hybrid.pipeline.stages import ANONYMIZE, BASELINE, SYNTHESIZE, evaluation_of, subject_of
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.asked import asked
from hybrid.synthesize.estimate import estimate, slowness
from hybrid.synthesize.protocol import Cost

JUDGED = evaluation_of("synthetic")
REST_SECONDS = 0.4
"""Seconds of one core for what is no kept stage of a trial: reading, verdict, report and files."""


@dataclass(frozen=True)
class TrialCost:
    """Estimated cost of one trial on one core."""

    seconds: Mapping[str, float]
    """By step, as in the keys of a run."""
    memory_bytes: int = 0
    """Most memory of one training; 0 without a generator."""
    repeats: str = ""
    """Step whose attacks train the generator again, so that its time is that of the generator; empty without such
    attacks."""


def trial_cost(run: Pipeline, steps: Iterable[str]) -> TrialCost:
    """Estimate the cost of a run that is only compared."""
    config = run.config
    learns = not (config.synthesize.is_off or leak_of(config.risk) is not None)
    trainings = {name: estimate(table.train, config.synthesize)[0] for name, table in run.tables.items() if learns}
    seconds: dict[str, float] = {}
    for step in steps:
        name, stage = split_step(step)
        table = run.tables[name]
        seconds[step] = _seconds(table, stage, trainings.get(name))
    repeats = step_of(run.config.links.person, JUDGED)
    again = retraining_seconds(config, run.person.train, _of_all(trainings)) if trainings else None
    if again is None or repeats not in seconds:
        repeats = ""
    else:
        seconds[repeats] += again
    seconds[REST] = REST_SECONDS * slowness()
    return TrialCost(seconds, max((cost.memory_bytes for cost in trainings.values()), default=0), repeats)


def _of_all(trainings: Mapping[str, Cost]) -> Cost:
    return Cost(sum(cost.seconds for cost in trainings.values()), max(cost.memory_bytes for cost in trainings.values()))


def _seconds(table: TableRun, stage: str, training: Cost | None) -> float:
    folds = table.config.split.folds if table.config.split.is_crossed else 0
    judged = subject_of(stage)
    if judged is not None:
        return _evaluation(table, judged, folds) * slowness()
    if stage in (SYNTHESIZE.name, BASELINE.name):
        return (folds + 1) * (0.0 if training is None else training.seconds)
    cells = len(table.train) * len(table.train.schema) if stage == ANONYMIZE.name else 0
    return (folds + 1) * (REPEATED[0] + REPEATED[1] * cells) * slowness()


def _evaluation(table: TableRun, judged: Subject, folds: int) -> float:
    options = table.assessment.measured_alone
    sizes, _ = judged_sizes(table.config.split, options, table.train, table.control)
    metrics = asked(None, options)
    first = next(subject for subject in get_args(Subject) if evaluation_of(subject) in table.keys)
    encoders = training_price(sizes, options) if any("encoder" in metric.needs for metric in metrics) else 0.0
    each = sum(price(metric, sizes, options, first=judged == first) for metric in metrics)
    return max(folds, 1) * (each + encoders)
