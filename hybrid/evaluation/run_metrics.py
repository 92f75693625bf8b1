"""Computation of all chosen metrics on all tables."""

from __future__ import annotations

import itertools
import math
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hybrid.base.errors import ConfigError, Problem
from hybrid.base.progress import Progress, silent
from hybrid.estimates import ModelFormula
from hybrid.evaluation.context import UNKNOWN, Context, Making, Share
from hybrid.evaluation.engine.threads import one_thread_each, side_by_side
from hybrid.evaluation.improvement import with_printed
from hybrid.evaluation.measure import Evaluation, Family, MetricResult, Subject
from hybrid.evaluation.metric import SWITCHED, Metric
from hybrid.evaluation.options import EvaluateOptions, RetrainOptions
from hybrid.evaluation.price import price, sizes_of
from hybrid.evaluation.registry import REGISTRY, RENAMED
from hybrid.table import Kind, Schema, Table


def evaluate(
    train: Table,
    control: Table | None,
    stages: Mapping[Subject, Table],
    options: EvaluateOptions,
    rng: np.random.Generator,
    progress: Progress = silent,
    share: Share | None = None,
    making: Mapping[Subject, Making] | None = None,
    compared: tuple[Table, Table | None] | None = None,
    metrics: Sequence[Metric] | None = None,
) -> Evaluation:
    """Measure the tables of a run (as many stages as there are) against the people in them.

    ``train`` are the original records, suppressed ones included, without identifiers; ``control`` people whom no stage
    has seen. Utility and fidelity compare with the ``compared`` ones instead, where privacy asks about more. Computed
    are the given metrics, by default those of :func:`metrics_of`; one that cannot be computed is there with a reason.
    ``share`` keeps results that depend on people alone, ``making`` says how each table was made: one that can be made
    again is attacked with training if its stage is in ``options.retrain.stages``. ``progress`` is called before every
    metric, in percent of the expected time, and for every training; from several threads.

    Results are by stage, then in the order of the registry. None depends on the order of columns, on other stages, or
    on what else is computed; and of the metrics of rows of persons alone on the order of rows. Tables are measured side
    by side on the cores there are, every other one from the last metric to the first (unless families have budgets):
    two tables then seldom wait for the same shared result or model. Attacks that make a table again take longest: they
    begin, beside the other metrics of their table; of the others the largest does.
    """
    check_options(options, train.schema)
    seed = int(rng.integers(2**63))
    chosen = metrics_of(options) if metrics is None else metrics
    share = share or remembering({})
    repeated = (options.retrain or RetrainOptions()).stages
    order = sorted(stages, key=lambda stage: (stage not in repeated, -len(stages[stage])))
    apart = [[one for one in chosen if _trains(one)], [one for one in chosen if not _trains(one)]]

    def parts(stage: Subject) -> list[list[Metric]]:
        return [part for part in apart if part] if stage in repeated and not options.seconds else [list(chosen)]

    work = [(stage, part) for stage in order for part in parts(stage)]

    def measured(task: tuple[Subject, list[Metric]], told: Progress) -> list[MetricResult]:
        stage, metrics = task
        known = (making or {}).get(stage, UNKNOWN)
        known = known if stage in repeated else replace(known, again=None)
        context = Context(train, control, stages[stage], options, seed, stage, share, told, known)
        others = context if compared is None else context.compared_with(*compared)
        backwards = not options.seconds and order.index(stage) % 2 == 1
        return _measured(context, others, [metric for metric in metrics if _is_due(metric, context)], backwards)

    models = any(metric.family == "utility" or metric.mechanism in ("learned model", "embedding") for metric in chosen)
    with one_thread_each(models):
        results = list(itertools.chain.from_iterable(side_by_side(measured, work, progress)))
    place = list(stages), [metric.name for metric in chosen]
    results.sort(key=lambda one: (place[0].index(one.stage), place[1].index(one.name)))
    found = Evaluation(tuple(results))
    return with_printed(found) if options.paper else found


def _trains(metric: Metric) -> bool:
    """True if a metric makes the table again."""
    return not {"retraining", "trainings"}.isdisjoint(metric.needs)


def _is_due(metric: Metric, context: Context) -> bool:
    """True unless a metric lacks what it needs by default; attacks on persons say themselves that there are none."""
    if _trains(metric) and context.making.again is None and context.stage != "synthetic":
        return False
    if "model" in metric.needs and context.making.model is None and context.options.metrics is None:
        return False
    if metric.family == "privacy" or context.options.metrics is not None:
        return True
    known = {
        "persons": not context.train.rows_are_persons,
        "order": context.schema.order is not None,
        "parents": context.making.parentage is not None,
    }
    return all(known.get(need, True) for need in metric.needs)


def _measured(
    context: Context, compared: Context, metrics: Sequence[Metric], backwards: bool = False
) -> list[MetricResult]:
    """Results of one table, utility and fidelity in the second context; progress is in percent of the price."""
    control = 0 if context.control is None else len(context.control)
    rows = len(context.train), control, len(context.table)
    sizes = sizes_of(context.schema, rows, context.options)
    prices = {metric.name: price(metric, sizes, context.options) for metric in metrics}
    results: dict[str, list[MetricResult]] = {metric.name: [] for metric in metrics}
    spent: defaultdict[Family, float] = defaultdict(float)
    paid = 0.0
    for metric in metrics[::-1] if backwards else metrics:
        context.progress(f"evaluate {context.stage}: {metric.name}", int(100 * paid / sum(prices.values())), 100)
        paid += prices[metric.name]
        for column in metric.columns(context):
            budget = context.options.seconds.get(metric.family, math.inf)
            late = spent[metric.family] >= budget
            own = context if metric.family == "privacy" else compared
            result = metric.late(own, column, budget) if late else metric.measure(own, column)
            results[metric.name].append(result)
            spent[metric.family] += result.seconds
    context.progress(f"evaluate {context.stage}", 100, 100)
    return list(itertools.chain.from_iterable(results.values()))


def remembering(results: dict[str, Any]) -> Share:
    """Share of results that are kept in a dictionary, each computed once, however many threads need it."""
    guard, locks = threading.Lock(), defaultdict[str, threading.RLock](threading.RLock)

    def share(key: str, compute: Callable[[], Any]) -> Any:
        with guard:
            lock = locks[key]
        with lock:
            if key not in results:
                results[key] = compute()
            return results[key]

    return share


def metrics_of(options: EvaluateOptions, asked: Collection[str] | None = None) -> list[Metric]:
    """Metrics that the options request, in the order of the registry.

    ``metrics`` names all; else ``families``, the sections that switch metrics on, and ``also`` count. ``asked`` are
    those that a run is for (:func:`hybrid.publication.asked.asked_by`), default ones or not: of the families these are
    computed, and the default ones that a section of the options switches on. Not given: every default metric is.
    """
    named, alone = options.named, options.metrics is not None and not options.asks_for_all
    every_default = asked is None or options.asks_for_all

    def chosen(metric: Metric) -> bool:
        if metric.name in named:
            return True
        if alone or metric.family not in options.families:
            return False
        if metric.name in (asked or ()):
            return True
        is_usual = every_default or not SWITCHED.keys().isdisjoint(metric.needs)
        return is_usual and metric.by_default and metric.switched_off(options) is None

    return [metric for metric in REGISTRY.values() if chosen(metric)]


def _wrong_formulas(options: EvaluateOptions, schema: Schema) -> Iterator[Problem]:
    for text in options.analyses or ():
        try:
            absent = [name for name in ModelFormula.parse(text).columns if name not in schema]
        except ConfigError as error:
            yield from (Problem(f"evaluate.analyses: {one.message}", one.hint) for one in error.problems)
            continue
        if absent:
            known = f"one of: {', '.join(schema.names)}"
            yield Problem(f"evaluate.analyses: {text}: no such column: {', '.join(absent)}", known)


def check_options(options: EvaluateOptions, schema: Schema) -> None:
    """Refuse options that name a metric or column that does not exist."""
    for key, chosen in (("metrics", options.metrics or ()), ("also", options.also_named)):
        wrong = [name for name in chosen if name not in REGISTRY]
        if wrong:
            later = [f"write {RENAMED[name]} instead of {name}" for name in wrong if name in RENAMED]
            hint = "; ".join(later) or f"one of: {', '.join(REGISTRY)}"
            raise ConfigError(f"evaluate.{key}: unknown: {', '.join(wrong)}", hint=hint)
    wrong_formulas = list(_wrong_formulas(options, schema))
    if wrong_formulas:
        raise ConfigError(wrong_formulas)
    sides = options.linkability or ((), ())
    ordinal = tuple(options.retrain.ordinal) if options.retrain else ()
    named = {"targets": options.targets or (), "secrets": options.secrets or (), "linkability": (*sides[0], *sides[1])}
    named |= {"retrain.ordinal": ordinal, "groups": options.groups or ()}
    survey = {"strata": options.strata, "clusters": options.clusters}
    named |= {key: (name,) for key, name in survey.items() if name is not None}
    for key, names in named.items():
        unknown = [name for name in names if name not in schema]
        if unknown:
            raise ConfigError(
                f"evaluate.{key}: no such column: {', '.join(unknown)}", hint=f"one of: {', '.join(schema.names)}"
            )
    continuous = [name for name in ordinal if schema[name].kind is not Kind.CATEGORICAL]
    if continuous:
        raise ConfigError(
            f"evaluate.retrain.ordinal: not categorical: {', '.join(continuous)}", hint="numbers have an order as it is"
        )
