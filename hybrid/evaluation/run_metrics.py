"""Computation of all chosen metrics on all tables."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hybrid.base.errors import ConfigError
from hybrid.base.progress import Progress, silent
from hybrid.evaluation.context import Context, FitAndSample, Share
from hybrid.evaluation.improvement import with_printed
from hybrid.evaluation.measure import Evaluation, Family, MetricResult, Subject
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.registry import REGISTRY
from hybrid.table import Schema, Table


def evaluate(
    train: Table,
    control: Table | None,
    stages: Mapping[Subject, Table],
    options: EvaluateOptions,
    rng: np.random.Generator,
    progress: Progress = silent,
    share: Share | None = None,
    retrain: Mapping[Subject, FitAndSample] | None = None,
) -> Evaluation:
    """Measure the tables of a run against the people in them.

    Parameters
    ----------
    train : Table
        The original training rows, suppressed ones included, without identifiers.
    control : Table or None
        Rows of the same population that no stage has seen; None makes the metrics that need them "not computable".
    stages : mapping of stage name to Table
        The tables to judge, in the schema of ``train``: original (train itself, the worst case), anonymized,
        synthetic, baseline; as many of them as there are.
    options : EvaluateOptions
        What to measure.
    rng : numpy.random.Generator
        One number is drawn from it; every metric has its own stream derived from that.
    progress : Progress
        Called after every metric, and for every training.
    share : callable, optional
        Where results that depend on ``train`` and ``control`` only are kept, as for :class:`Context`; by default
        they are shared by the stages of this call.
    retrain : mapping of stage name to callable, optional
        How a stage's table is made from training records and a seed, for the attacks with training
        (``options.retrain``); stages that are not in it are not attacked so.

    Returns
    -------
    Evaluation
        Results by stage, then in the order of the registry; a metric that could not be computed is in it with a
        reason. No result depends on the order of rows or columns, on the other stages, or on what else is computed.

    Raises
    ------
    ConfigError
        The options name a metric or a column that does not exist.
    """
    check_options(options, train.schema)
    seed = int(rng.integers(2**63))
    chosen = metrics_of(options)
    share = share or remembering({})
    results: list[MetricResult] = []
    total = len(stages) * len(chosen)
    for s, (stage, table) in enumerate(stages.items()):
        again = (retrain or {}).get(stage) if options.retrain and stage in options.retrain.stages else None
        context = Context(train, control, table, options, seed, stage, share, again, progress)
        spent: defaultdict[Family, float] = defaultdict(float)
        for m, metric in enumerate(chosen):
            if "retraining" in metric.needs and again is None and stage != "synthetic":
                continue
            if "persons" in metric.needs and train.persons is None and options.metrics is None:
                continue
            for column in metric.columns(context):
                budget = options.seconds.get(metric.family, math.inf)
                late = spent[metric.family] >= budget
                results.append(metric.late(context, column, budget) if late else metric.measure(context, column))
                spent[metric.family] += results[-1].seconds
            progress(f"evaluate {stage}", s * len(chosen) + m + 1, total)
    found = Evaluation(tuple(results))
    return with_printed(found) if options.paper else found


def remembering(results: dict[str, Any]) -> Share:
    """Share of results that are kept in a dictionary."""

    def share(key: str, compute: Callable[[], Any]) -> Any:
        if key not in results:
            results[key] = compute()
        return results[key]

    return share


def metrics_of(options: EvaluateOptions) -> list[Metric]:
    """Metrics that the options request, in the order of the registry."""
    if options.metrics is not None:
        return [metric for name, metric in REGISTRY.items() if name in options.metrics]
    return [
        metric
        for metric in REGISTRY.values()
        if metric.family in options.families and (options.retrain is not None or "retraining" not in metric.needs)
    ]


def check_options(options: EvaluateOptions, schema: Schema) -> None:
    """Refuse options that name a metric or column that does not exist.

    Raises
    ------
    ConfigError
        With every unknown name.
    """
    wrong = [name for name in options.metrics or () if name not in REGISTRY]
    if wrong:
        raise ConfigError(f"evaluate.metrics: unknown: {', '.join(wrong)}", hint=f"one of: {', '.join(REGISTRY)}")
    sides = options.linkability or ((), ())
    named = {"targets": options.targets or (), "secrets": options.secrets or (), "linkability": (*sides[0], *sides[1])}
    for key, names in named.items():
        unknown = [name for name in names if name not in schema]
        if unknown:
            raise ConfigError(
                f"evaluate.{key}: no such column: {', '.join(unknown)}", hint=f"one of: {', '.join(schema.names)}"
            )
