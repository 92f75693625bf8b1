"""Generation of synthetic records, in random order, from the records that a generator may learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hybrid import sample
from hybrid.base.arrays import Array
from hybrid.base.errors import GeneratorError
from hybrid.base.rng import rng_for
from hybrid.constraints import Form, Redrawn, Rules, draw_held, first_draw, fixed_columns
from hybrid.evaluation.context import KeptModel
from hybrid.hierarchy import LabelTable
from hybrid.pipeline.anonymization import Anonymization
from hybrid.pipeline.conditions import Selection, selection
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.constraint_rules import fitted_rules
from hybrid.pipeline.protection import protected, rows_for, static_columns
from hybrid.privacy.accounting import Budget
from hybrid.synthesize.fitted import FittedGenerator, LossPoint, fit, log_odds
from hybrid.synthesize.kept import fit_or_reuse
from hybrid.synthesize.protocol import InspectableGenerator
from hybrid.table import Table
from hybrid.table.persons import constant_within, n_persons, person_groups
from hybrid.table.schema import concat_tables
from hybrid.table.weights import calibrated, margins_of
from hybrid.transition.protocol import Restored

if TYPE_CHECKING:
    from hybrid.pipeline.table_run import TableRun


@dataclass(frozen=True)
class Filtered:
    """Counts of a filter."""

    drawn: tuple[int, ...]
    removed: tuple[int, ...]
    """Rows that each round drew, the first draw first, and those of them that were left out."""


@dataclass(frozen=True)
class Generated(Restored):
    """Synthetic records, and the loss curve of their generator."""

    losses: tuple[LossPoint, ...] = ()
    filtered: Filtered | None = None
    """Rows that the filter left out; None without one."""
    budget: Budget | None = None
    """Account of what they cost; None without a privacy budget."""


@dataclass(frozen=True)
class Generation:
    """The generator of a configuration, and what it learns and draws."""

    run: TableRun
    """Gives the records to learn, protected unless protection is off, without identifiers, and what draws keep."""
    config: RunConfig
    """Generator, number of records to draw, and sampling where nothing is anonymized."""
    selection: Selection | None = None
    """Condition that every row, or person, must meet, with the training records that do."""
    only_kept: bool = False
    """Whether a kept model must be there: then nothing is trained."""
    attempt: int = 0
    """Number of the draw: those after the first come from the same model, with random numbers of their own."""
    models: dict[str, tuple[FittedGenerator, Form]] | None = None
    """Models by stage, for many draws; None: each draw trains, or reads what the store keeps."""

    def again(self, rows: int, attempt: int) -> Generation:
        """The same generation for further rows, of one table."""
        options = self.config.synthesize.model_copy(update={"rows": rows, "tables": 1})
        return replace(self, config=self.config.model_copy(update={"synthesize": options}), attempt=attempt)

    def drawn(self) -> Generated:
        """Drawn records, learned from anonymized ones; without anonymization from a sample of the originals.

        Restored values are learned (``order: pre``), or labels, and drawn ones restored (``order: post``).
        """
        anonymization = self.run.anonymization
        if anonymization is None:
            return self._from_values(Restored(self.sampled()))
        if anonymization.transition.order == "pre":
            return self._from_values(anonymization.restored)
        return self._from_labels(anonymization)

    def sampled(self) -> Table:
        """Sample of the training records, where nothing is anonymized."""
        return sample.sample_table(self.run.learned, self.config.sample, rng_for(self.run.seed, "sample"))

    def _from_labels(self, anonymization: Anonymization) -> Generated:
        labels = anonymization.sampled.anonymized.labels
        counts: Counter[str] = Counter()

        def restore(drawn: LabelTable, attempt: int) -> Table:
            rng = rng_for(self.run.seed, "transition", "post", *self._names(attempt))
            found = anonymization.restore(drawn, rng)
            counts.update(found.fallbacks)
            return found.table

        if self.config.synthesize.is_off:
            drawn = self._as_they_are(restore(labels, 0))
        else:
            drawn = self.synthesize(
                labels.to_table(),
                "synthesize",
                learned_rules=self.run.rules.without(
                    [*labels.quasi_identifiers, *(name for rule in anonymization.tied for name in rule.replaces)]
                ),
                finish=lambda table, attempt: restore(labels.from_table(table), attempt),
            )
        return self._shuffled(replace(drawn, fallbacks=dict(counts)))

    def baseline(self) -> Table:
        """Table of the same generator without anonymization.

        It is trained on the protected records, or on the originals where protection is off.
        """
        rows = self.config.synthesize.part_rows
        drawn = self if rows is None else self.again(rows, 0)
        return drawn.synthesize(self.run.learned, "baseline", self.run.inputs.domains).table

    def synthesize(
        self,
        learned: Table,
        stage: str,
        domains: Mapping[str, Array] | None = None,
        learned_rules: Rules | None = None,
        finish: Callable[[Table, int], Table] = lambda table, attempt: table,  # noqa: ARG005
    ) -> Generated:
        """Train the generator and draw rows, or persons, that keep the rules and meet the condition.

        As many as there are training records or persons (of those that meet the condition), or as the config says.

        ``domains`` are values of columns that were listed beforehand, ``learned_rules`` those that the learned records
        are judged by (by default all), ``finish(table, attempt)`` makes the rows that are judged from drawn ones.
        """
        run, options = self.run, self.config.synthesize
        static, rules = run.static, run.rules
        learning, drawing = _two_seeds(run.seed, stage, options.choice_text)
        if self.attempt:
            drawing = int(rng_for(drawing, "further rows", self.attempt).integers(np.iinfo(np.int32).max))
        known = None if self.models is None else self.models.get(stage)
        if known is None:
            repairing = rng_for(run.seed, stage, "repair")
            form = Form.of(rules if learned_rules is None else learned_rules, learned, static, repairing)
            known = self._learned(form, learning, domains), form
            if self.models is not None:
                self.models[stage] = known
        fitted, form = known
        if isinstance(options.rows, str):
            wanted = len(run.learned) if static is None else n_persons(run.learned)
        elif static is None:
            wanted = options.rows
        else:
            wanted = max(round(options.rows * n_persons(form.learned) / len(form.learned)), 1)
        if self.selection is not None:
            wanted = self.selection.wanted(options.rows)
        if isinstance(options.rows, str):
            wanted = rows_for(self.config, wanted)
        wanted *= options.tables
        table, redrawn = _held(fitted, form, rules, wanted, drawing, static, finish, self.selection)
        left_out = len(learned) - len(form.learned)
        told = rules or self.selection is not None
        found = replace(redrawn, left_out=left_out, records=len(learned)) if told else None
        return Generated(table, {}, found, fitted.losses)

    def kept_model(self) -> KeptModel | None:
        """The model that the store keeps of the table to release; None where it keeps none."""
        run, options, anonymization = self.run, self.config.synthesize, self.run.anonymization
        if run.store.place is None or options.is_off:
            return None
        name = options.generator
        if anonymization is not None and anonymization.transition.order == "post":
            return KeptModel(name, None, "it learned generalized labels, not values")
        if run.static is not None:
            return KeptModel(name, None, "it learned persons with all their rows, which no attack here asks about")
        if not isinstance(options.engine, InspectableGenerator):
            return KeptModel(name, None, f"no attack here asks a model of {name} about people")
        learned = self.sampled() if anonymization is None else anonymization.restored.table
        learning = _two_seeds(run.seed, "synthesize")[0]
        form = Form.of(run.rules, learned, None, rng_for(run.seed, "synthesize", "repair"))
        try:
            fitted = replace(self, only_kept=True)._learned(form, learning, run.inputs.domains)
        except GeneratorError:
            return None

        def ask(people: Table, reference: Table) -> Array:
            mine, others = (form.written(run.rules.settle(table)) for table in (people, reference))
            return log_odds(fitted, options.engine, mine, others, learning)

        return KeptModel(name, ask)

    def _learned(self, form: Form, learning: int, domains: Mapping[str, Array] | None) -> FittedGenerator:
        run = self.run
        about = self.config.synthesize, learning, run.store, run.progress
        if run.static is None:
            listed = domains and {name: domain for name, domain in domains.items() if name not in form.replaced}
            return fit_or_reuse(form.encoded, *about, listed, only_kept=self.only_kept)
        static = constant_within(form.encoded, [name for name in run.static if name in form.encoded.schema])
        return fit_or_reuse(form.encoded, *about, static=static, only_kept=self.only_kept)

    def _from_values(self, restored: Restored) -> Generated:
        if self.config.synthesize.is_off:
            drawn = self._as_they_are(restored.table)
        else:
            drawn = self.synthesize(restored.table, "synthesize", self.run.inputs.domains)
        return self._shuffled(replace(drawn, fallbacks=restored.fallbacks))

    def _names(self, attempt: int) -> tuple[int, ...]:
        """Names of the random streams of a further draw."""
        return (self.attempt, attempt) if self.attempt else (attempt,) * bool(attempt)

    def _as_they_are(self, table: Table) -> Generated:
        """Restored records without those that break a rule, for configurations without a generator."""
        rules = self.run.rules
        if not rules:
            return Generated(table)
        form = Form.of(rules, table)
        redrawn = first_draw(rules, rules.settle(table))
        left_out = len(table) - len(form.learned)
        return Generated(form.learned, redrawn=replace(redrawn, left_out=left_out, records=len(table)))

    def _shuffled(self, drawn: Generated) -> Generated:
        """The table in an order that is independent of the source's.

        Rows of a synthetic person stay together, in their order. Rows of real persons, where no generator runs, are not
        linked. Sampling weights, if there are any, are calibrated to the margins of the training records (of those that
        meet the condition).
        """
        rng, table = rng_for(self.run.seed, "order", *self._names(0)), drawn.table
        people = self.run.learned if self.selection is None else self.selection.train
        margins = margins_of(people, 1 - self.config.split.share_apart)
        if margins is not None:
            totals = self.run.inputs.beside.totals
            table = calibrated(table, margins if totals is None else totals.raked_with(margins, table))
        if table.rows_are_persons or self.config.synthesize.is_off:
            mixed = replace(table, named_persons=None, named_households=None).take(rng.permutation(len(table)))
        else:
            groups = rng.permutation(n_persons(table))[person_groups(table.persons)]
            mixed = replace(table, named_persons=groups).take(np.argsort(groups, kind="stable"))
        return replace(drawn, table=mixed)


def learned_again(config: RunConfig, table: Table, seed: int, drawn: float = 1.0) -> Table:
    """Synthetic records of a generator trained on this table alone.

    ``drawn`` times as many as the table has (persons, where persons are drawn); values are protected first, unless that
    is off.
    """
    learning, drawing = _two_seeds(seed, "baseline", config.synthesize.choice_text)
    rules, static = fitted_rules(config, table), static_columns(config, table)
    chosen = selection(config, table, by_person=static is not None, decided=True)
    learned = protected(config, table, {}, seed, rules, static, decided=True)
    people = table if learned is None else learned.table
    form = Form.of(rules, people, static, rng_for(seed, "baseline", "repair"))
    there = None if static is None else [name for name in static if name in form.encoded.schema]
    fitted = fit(form.encoded, config.synthesize, learning, static=there)
    wanted = len(table) if static is None else n_persons(table)
    wanted = max(round(drawn * wanted), 1) if chosen is None else chosen.wanted("same")
    return _held(fitted, form, rules, wanted, drawing, static, chosen=chosen)[0]


def _held(
    fitted: FittedGenerator,
    form: Form,
    rules: Rules,
    wanted: int,
    drawing: int,
    static: Collection[str] | None,
    finish: Callable[[Table, int], Table] = lambda table, attempt: table,  # noqa: ARG005
    chosen: Selection | None = None,
) -> tuple[Table, Redrawn]:
    """Rows, or persons, that keep the rules and meet the condition; the first draw's seed is ``drawing``."""

    def draw(wanted: int, attempt: int) -> Table:
        seed = int(rng_for(drawing, "again", attempt).integers(np.iinfo(np.int32).max)) if attempt else drawing
        return finish(form.decode(fitted.sample(wanted, seed)), attempt)

    parts = [(None, wanted)] if chosen is None else chosen.parts(wanted)
    fixed, found = fixed_columns(form.learned, static), []
    for number, (condition, count) in enumerate(parts):
        at = draw if not number else _apart(draw, number)
        found.append(draw_held(at, rules, count, condition, fixed, drawing + number))
    table, redrawn = found[0]
    for other, more in found[1:]:
        table, redrawn = concat_tables(table, other), redrawn.with_other(more)
    return rules.settle(table) if len(found) > 1 else table, redrawn


def _apart(draw: Callable[[int, int], Table], number: int) -> Callable[[int, int], Table]:
    return lambda wanted, attempt: draw(wanted, attempt + number * _ATTEMPTS)


_ATTEMPTS = 1_000
"""Numbers of draws of one value of a balanced column, at most."""


def _two_seeds(seed: int, stage: str, where: str | None = None) -> tuple[int, int]:
    largest = np.iinfo(np.int32).max
    learning, drawing = rng_for(seed, stage).integers(largest, size=2)
    if where is not None:
        drawing = rng_for(seed, stage, "where", where).integers(largest)
    return int(learning), int(drawing)
