"""Trials of leaks planted into a table from elsewhere.

In every trial it is drawn anew who of the originals counts as training record and who as control. What the table
itself gives away, it then gives away of both alike: without a planted leak nothing distinguishes them, so that every
alarm is a false one, and with a leak nothing but the leak does. (The exchange is that of a permutation test.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hybrid.base.errors import DataError, HybridError
from hybrid.base.hashing import code_version, fingerprint
from hybrid.base.rng import rng_for
from hybrid.comparison.schedule import Planned
from hybrid.comparison.trial import Trial, failed, metric_columns
from hybrid.evaluation.changed_table import ChangedContext
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.threads import one_thread_each
from hybrid.evaluation.measure import Evaluation, NotComputable
from hybrid.evaluation.planted_leaks import LEAKS, Leak, Planted
from hybrid.evaluation.run_metrics import remembering
from hybrid.lab.risk import PLANTED
from hybrid.lab.tables.plan import TablesPlan
from hybrid.lab.trials import Cell, LabTrials
from hybrid.table import Table
from hybrid.table.split import SplitOptions, control_mask

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
        return Planned(Trial(configuration, {}, seed, None), fingerprint(tables, configuration, seed), {}, "")

    cells = []
    for leak in plan.planted:
        model = PLANTED[leak.name]
        series = model.planted(leak.way, plan.amount.levels)
        names = NO_LEAK, *(configuration(leak, size) for size in model.sizes(plan.amount.levels))
        cells += [Cell(plan.name, leak.name, series, position, name) for position, name in enumerate(names)]
    first = () if plan.originals[1] is None else (planned(AS_IT_IS, 0),)
    levels = dict.fromkeys([NO_LEAK, *(cell.configuration for cell in cells)])
    each = [planned(name, seed) for seed in plan.seeds for name in levels]
    nulls = [planned(NO_LEAK, seed) for seed in plan.null_seed_numbers]
    return LabTrials(tuple(cells), {plan.name: NO_LEAK}, (*first, *each, *nulls), plan.null_seed_numbers, plan.seeds)


def configuration(leak: Leak, size: float) -> str:
    """Name of the trials with a leak of one size."""
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
    """Measure the tables of trials, one after the other; equal seeds should be neighbours.

    A trial that fails is a row with its reason.
    """
    here: _Seed | None = None
    with one_thread_each(models=True):
        for each in todo:
            trial = each.trial
            if here is None or here.number != trial.seed:
                here = _Seed(plan, trial.seed)
            try:
                measured = here.measured(trial.configuration)
            except HybridError as error:
                yield each, failed(trial, str(error))
            else:
                yield each, {**trial.head, "status": "ok", "reason": "", **measured}


@dataclass
class _Seed:
    """The trials of one seed: one draw of who counts as training record."""

    plan: TablesPlan
    number: int
    _kept: dict[str, Planted] = field(default_factory=dict)

    @cached_property
    def context(self) -> Context:
        """The table without a planted leak."""
        train, control = self._sides()
        share = remembering({})
        return Context(train, control, self.plan.synthetic, self.plan.options, self.number, share=share)

    def _sides(self) -> tuple[Table, Table]:
        everybody, options = self.plan.everybody, SplitOptions(control=self.plan.control_share)
        rng = rng_for(self.number, "lab", "sides")
        control = control_mask(len(everybody), options, rng, everybody.persons)
        return everybody.take(~control), everybody.take(control)

    def measured(self, name: str) -> Row:
        """Columns of the metrics of one configuration."""
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
                for sizes in [PLANTED[leak.name].sizes(self.plan.amount.levels)]
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
