"""Laboratory on a table from elsewhere: leaks of known size are planted into it.

In every trial it is drawn anew who of the originals counts as training record and who as control. What the table
itself gives away, it then gives away of both alike: without a planted leak nothing distinguishes them, so that every
alarm is a false one, and with a leak nothing but the leak does. (The exchange is that of a permutation test.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from hybrid.analysis.results import EXCESS, metric_names
from hybrid.base.errors import ConfigError, DataError, HybridError
from hybrid.base.hashing import code_version, fingerprint
from hybrid.base.options import Options
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import rng_for
from hybrid.comparison.results import ROWS, TrialRows, filled, filled_alone
from hybrid.comparison.schedule import Planned
from hybrid.comparison.trial import Trial, failed, metric_columns
from hybrid.evaluation.changed_table import ChangedContext
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.threads import one_thread_each
from hybrid.evaluation.measure import Evaluation, NotComputable
from hybrid.evaluation.metric import Metric
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.planted_leaks import LEAKS, Leak, LeakName, Planted
from hybrid.evaluation.price import sizes_of, total_price
from hybrid.evaluation.run_metrics import metrics_of, remembering
from hybrid.jobs.audited import Audited
from hybrid.lab.measurements import SUBJECT
from hybrid.lab.plan import FIRST_NULL_SEED, GivenTable
from hybrid.lab.risk import PLANTED, RiskModel, planted_series, planted_sizes
from hybrid.lab.run import KIND, Laboratory, write_results
from hybrid.lab.trials import Cell, LabTrials
from hybrid.lab.verdicts import by_kind
from hybrid.table import Table
from hybrid.table.persons import person_groups
from hybrid.table.schema import concat_tables
from hybrid.table.split import SplitOptions, control_mask

__all__ = ["SCALES", "TablesForecast", "TablesPlan", "foresee_tables", "run_on_tables"]


@dataclass(frozen=True)
class Amount:
    """Number and sizes of the trials."""

    levels: tuple[float, ...]
    """Shares of the table's rows that leak; leaks of people have sizes of their own."""
    seeds: tuple[int, ...]
    """Every level of every leak is planted once with each."""
    null_seeds: int
    rows: int | None = None
    """Rows of every table, at most."""
    leaks: tuple[LeakName, ...] = tuple(LEAKS)


SCALES: dict[str | None, Amount] = {
    None: Amount((0.01, 0.02, 0.05, 0.1, 0.2), (1, 2, 3), 20),
    "quick": Amount((0.02, 0.05, 0.2), (1, 2, 3), 20, 2_000, ("copy", "near", "splice", "exposed", "secrets")),
    "full": Amount((0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5), (1, 2, 3, 4, 5), 40),
}
"""Amounts by the name of the scale; None: where none is named."""


@dataclass(frozen=True)
class TablesPlan:
    """Trials on one table from elsewhere."""

    name: str
    """What the synthetic table is called."""
    audited: Audited
    evaluate: EvaluateOptions
    """How the metrics are computed, and which if it names any."""
    scale: str | None = None
    """Key of :data:`SCALES`."""
    not_planted: Mapping[str, str] = field(default_factory=dict)
    """Why kinds of leak cannot be planted, by their name and way."""

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            named = ", ".join(name for name in SCALES if name is not None)
            raise ConfigError(f"no scale {self.scale!r} for tables", hint=f"one of: {named}; or none")

    @property
    def amount(self) -> Amount:
        return SCALES[self.scale]

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.amount.seeds

    @property
    def null_seeds(self) -> int:
        return self.amount.null_seeds

    @property
    def null_seed_numbers(self) -> tuple[int, ...]:
        return tuple(range(FIRST_NULL_SEED, FIRST_NULL_SEED + self.null_seeds))

    @property
    def risk_models(self) -> dict[str, tuple[RiskModel, Options]]:
        """Kinds of leak that can be planted, in at least one way."""
        return {leak.name: (PLANTED[leak.name], Options()) for leak in self.planted}

    @property
    def planted(self) -> list[Leak]:
        """Leaks that can be planted, every way apart."""
        ways = (way for name in self.amount.leaks for way in LEAKS[name].ways)
        return [way for way in ways if way.label not in self.not_planted]

    @property
    def metrics(self) -> list[Metric]:
        """Metrics that are tried, those of persons only where the rows have some."""
        alone = self.audited.train.rows_are_persons
        own = (each for each in metrics_of(self.options) if not (alone and "persons" in each.needs))
        return [each for each in own if each.pillar in ("indicator", "attack")]

    @property
    def options(self) -> EvaluateOptions:
        """Options of the metrics, privacy alone."""
        return self.evaluate.model_copy(update={"families": ("privacy",), "retrain": None})

    def records(self, table: str) -> int | None:  # noqa: ARG002
        return len(self.synthetic)

    @cached_property
    def synthetic(self) -> Table:
        return _at_most(self.audited.synthetic, self.amount.rows, "synthetic")

    @cached_property
    def originals(self) -> tuple[Table, Table | None]:
        train, control = self.audited.train, self.audited.control
        used = None if control is None else _at_most(control, self.amount.rows, "control")
        return _at_most(train, self.amount.rows, "train"), used

    @cached_property
    def everybody(self) -> Table:
        train, control = self.originals
        return train if control is None else concat_tables(train, control)

    @property
    def control_share(self) -> float:
        control = self.originals[1]
        return 0.5 if control is None else len(control) / len(self.everybody)


def _at_most(table: Table, rows: int | None, role: str) -> Table:
    if rows is None or len(table) <= rows:
        return table
    groups = person_groups(table.persons)
    rank = rng_for(0, "lab", "rows", role).permutation(int(groups.max()) + 1)[groups]
    order = np.argsort(rank, kind="stable")
    return table.take(np.sort(order[: np.searchsorted(rank[order], rank[order][rows])]))


AS_IT_IS = "as it is"
"""Configuration of the trial with the real training and control records and no planted leak."""
NO_LEAK = "no leak"
"""Configuration of the trials without a planted leak."""
NOT_COMPUTABLE = "not_computable"
"""Column of a row: why metrics gave no number, by metric."""
Row = dict[str, Any]


def tables_trials(plan: TablesPlan) -> LabTrials:
    """Plan every trial; the first one is that of the table as it is, where there are control records.

    The order is that in which they run: what is there when time runs out is whole kinds of leak.
    """
    named = code_version(), plan.synthetic, plan.originals, plan.options, [metric.name for metric in plan.metrics]
    tables = fingerprint(*named)

    def planned(configuration: str, seed: int) -> Planned:
        return Planned(Trial(configuration, {}, None, seed=seed), fingerprint(tables, configuration, seed), {})

    cells = []
    for leak in plan.planted:
        series = planted_series(leak, plan.amount.levels)
        names = NO_LEAK, *(configuration(leak, size) for size in planted_sizes(leak.name, plan.amount.levels))
        cells += [Cell(plan.name, leak.name, series, position, name) for position, name in enumerate(names)]
    first = () if plan.originals[1] is None else (planned(AS_IT_IS, 0),)
    levels = dict.fromkeys([NO_LEAK, *(cell.configuration for cell in cells)])
    each = [planned(name, seed) for seed in plan.seeds for name in levels]
    nulls = [planned(NO_LEAK, seed) for seed in plan.null_seed_numbers]
    return LabTrials(tuple(cells), {plan.name: NO_LEAK}, (*first, *each, *nulls), plan.null_seed_numbers, plan.seeds)


def configuration(leak: Leak, size: float) -> str:
    return f"{leak.label} {size:g}"


def cannot_be_planted(plan: TablesPlan) -> dict[str, str]:
    """Kinds of leak that cannot be planted into the table, by their label, and why."""
    context = _Seed(plan, plan.seeds[0]).context
    found = {}
    for leak in (way for name in plan.amount.leaks for way in LEAKS[name].ways):
        people = leak.people(context, 1.0, rng_for(0, "lab", leak.label))
        if isinstance(people, NotComputable):
            found[leak.label] = people.reason
    return found


def run_trials(plan: TablesPlan, todo: Sequence[Planned]) -> Iterator[tuple[Planned, Row]]:
    """Measure trials one after the other (equal seeds best as neighbours); one that fails is a row with its reason."""
    here: _Seed | None = None
    with one_thread_each(models=True):
        for each in todo:
            trial = each.trial
            if here is None or here.number != trial.seed:
                here = _Seed(plan, trial.seed)
            try:
                measured = here.measured(trial.name)
            except HybridError as error:
                yield each, failed(trial, str(error))
            else:
                yield each, {**trial.head, "status": "ok", "reason": "", **measured}


@dataclass
class _Seed:
    plan: TablesPlan
    number: int
    _kept: dict[str, Planted] = field(default_factory=dict)

    @cached_property
    def context(self) -> Context:
        train, control = self._sides()
        share = remembering({})
        return Context(train, control, self.plan.synthetic, self.plan.options, self.number, share=share)

    def _sides(self) -> tuple[Table, Table]:
        everybody, options = self.plan.everybody, SplitOptions(control=self.plan.control_share)
        rng = rng_for(self.number, "lab", "sides")
        control = control_mask(everybody.persons, options, rng)
        return everybody.take(~control), everybody.take(control)

    def measured(self, name: str) -> Row:
        if name == AS_IT_IS:
            train, control = self.plan.originals
            share = remembering({})
            given = Context(train, control, self.plan.synthetic, self.plan.options, self.number, share=share)
            return self._columns(given, "as_it_is")
        if name == NO_LEAK:
            return self._columns(self.context, "no_leak")
        planted = self._planted(name)
        if isinstance(planted, NotComputable):
            raise DataError(f"{name}: {planted.reason}")
        return self._columns(ChangedContext(self.context, *planted), "planted")

    def _planted(self, name: str) -> Planted | NotComputable:
        """The table with a leak; those of the latest kind are kept."""
        if name not in self._kept:
            leak, sizes = next(
                (leak, sizes)
                for leak in self.plan.planted
                for sizes in [planted_sizes(leak.name, self.plan.amount.levels)]
                if name in [configuration(leak, size) for size in sizes]
            )
            tables = leak.plant_nested(self.context, sizes, rng_for(self.number, "lab", leak.label))
            if isinstance(tables, NotComputable):
                return tables
            self._kept = {configuration(leak, size): one for size, one in zip(sizes, tables, strict=True)}
        return self._kept[name]

    def _columns(self, context: Context, what: str) -> Row:
        results = [m.measure(context, column) for m in self.plan.metrics for column in m.columns(context)]
        lacking = {
            ".".join(filter(None, (each.name, each.column))): each.outcome.reason
            for each in results
            if isinstance(each.outcome, NotComputable)
        }
        seconds = sum(each.cpu_seconds for each in results)
        return {**metric_columns(Evaluation(tuple(results))), f"seconds.{what}": seconds, NOT_COMPUTABLE: lacking}


OF_A_TABLE = 0.4
"""Price of a table with a leak, as a share of that of a table: what the leak leaves as it was is not computed again."""


@dataclass(frozen=True)
class TablesForecast:
    """Trials of a plan and their time."""

    trials: int
    done: int
    without_leak: int
    """Those of the trials in which nothing is planted."""
    kinds: Sequence[str]
    """Kinds of leak, by their title."""
    seconds: float
    """Of one core, for what is left."""
    measured: bool
    """Whether the seconds are those of finished trials, and not a rough price."""
    not_planted: Mapping[str, str]


def foresee_tables(plan: TablesPlan, out: Path) -> TablesForecast:
    """Count what a plan measures, without measuring anything."""
    plan = replace(plan, not_planted=cannot_be_planted(plan))
    trials = tables_trials(plan)
    rows = TrialRows(out / ROWS).read()
    todo = [each for each in trials.planned if each.key not in rows]
    known: dict[str, list[float]] = {}
    for row in rows.values():
        for name in (name for name in row if name.startswith("seconds.")):
            known.setdefault(name.removeprefix("seconds."), []).append(row[name])
    whole = _price(plan)
    price = {"planted": OF_A_TABLE * whole, "no_leak": whole, "as_it_is": whole}
    seconds = price | {name: mean(values) for name, values in known.items()}
    return TablesForecast(
        len(trials.planned),
        len(trials.planned) - len(todo),
        sum(each.trial.name == NO_LEAK for each in trials.planned),
        [model.title for model, _ in plan.risk_models.values()],
        sum(seconds[_what(each)] for each in todo),
        {_what(each) for each in todo} <= set(known),
        plan.not_planted,
    )


def run_on_tables(
    plan: TablesPlan, out: Path, progress: Progress = silent, *, retry_failed: bool = False
) -> Laboratory:
    """Plant leaks of known size into a table, and measure every metric on each.

    ``out`` is private and gets the files of :func:`hybrid.lab.run.run_lab`. Interrupted, the same call continues there.
    """
    plan = replace(plan, not_planted=cannot_be_planted(plan))
    trials = tables_trials(plan)
    with filled_alone(out, plan.name, KIND, None, None):
        made = filled(trials.planned, partial(run_trials, plan), out, "lab", progress, retry_failed=retry_failed)
        return write_results(plan, trials, made, out, by_kind, _given(plan, trials, made))


def _given(plan: TablesPlan, trials: LabTrials, rows: Sequence[Mapping[str, Any]]) -> GivenTable:
    train, control = plan.originals
    sizes = {"train": len(train), "control": 0 if control is None else len(control), "synthetic": len(plan.synthetic)}
    lacking: dict[str, str] = {}
    excesses: dict[str, tuple[float, float, float]] = {}
    for each, row in zip(trials.planned, rows, strict=True):
        if each.trial.name in (AS_IT_IS, NO_LEAK):
            lacking = row.get(NOT_COMPUTABLE, {}) | lacking
        if each.trial.name == AS_IT_IS:
            names = (name for name in metric_names(row) if f"{name}_{EXCESS[0]}" in row)
            excesses = {n.removeprefix(f"{SUBJECT}."): _excess(row, n) for n in names}
    used = {name: count for name, count in sizes.items() if count}
    return GivenTable(used, excesses, plan.not_planted, lacking, plan.audited.notes)


def _excess(row: Mapping[str, Any], name: str) -> tuple[float, float, float]:
    value, low, high = (float(row[f"{name}_{what}"]) for what in EXCESS)
    return value, low, high


def _what(planned: Planned) -> str:
    return {AS_IT_IS: "as_it_is", NO_LEAK: "no_leak"}.get(planned.trial.name, "planted")


def _price(plan: TablesPlan) -> float:
    """Seconds of one core that one table takes, roughly."""
    train, control = plan.originals
    rows = len(train), len(train) if control is None else len(control), len(plan.synthetic)
    return total_price(plan.metrics, sizes_of(plan.synthetic.schema, rows, plan.options), plan.options, 1)
