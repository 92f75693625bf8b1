"""Anonymization of a pipeline: the stages from training records over labels to specific values again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd

from hybrid import sample, transition
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.result import AnonymizedTable
from hybrid.anonymize.search.tradeoff import TradeoffPoint, tradeoff
from hybrid.anonymize.steps import anonymize_in_steps
from hybrid.anonymize.warehouse.draw_rows import WholeTable, label_sample
from hybrid.base.errors import InfeasibleError, Problem
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.constraints import Computed, Gap, Rules
from hybrid.hierarchy import Hierarchy, LabelTable
from hybrid.pipeline.child_draw import with_columns_of
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.constraint_rules import restored_by
from hybrid.pipeline.stages import ANONYMIZE, SAMPLE, TRADEOFF, TRANSITION
from hybrid.pipeline.transition_options import TransitionOptions
from hybrid.protect import Protection
from hybrid.protect.below_labels import Restorable, restorable
from hybrid.protect.protect_table import BELOW_LABELS
from hybrid.sample import Sampled, SampledTable
from hybrid.table import Schema, Table
from hybrid.table.persons import harmonized
from hybrid.transition import Repeats
from hybrid.transition.disclosure import GiveAway, give_away
from hybrid.transition.protocol import FittedTransition, Restored

T = TypeVar("T")
NO_RULES = Rules()


def infeasible_after_protection(
    error: InfeasibleError, options: AnonymizeOptions, protection: Protection | None
) -> InfeasibleError:
    """The error with the sensitive columns that protection changed; as it is where there are none."""
    judged = {getattr(model, "attribute", None) for model in options.models}
    changed = [column for column in protection.columns if column.column in judged] if protection else []
    fewer = [column for column in changed if column.changed != 0]
    if not fewer:
        return error
    names = ", ".join(column.column for column in fewer)
    hint = "lower protect.min_count, replace rare values by sample in protect.columns, or weaken the models"
    said = Problem(
        f"rare values of {names} were replaced before (protect), which may be why: "
        + "; ".join(column.sentence for column in fewer),
        hint,
    )
    return InfeasibleError((*error.problems, said))


class Compute(Protocol):
    """A stage's result: kept earlier under its key, or computed and kept."""

    def __call__(self, name: str, compute: Callable[[], T], /) -> T:
        """The result of the stage with this name."""


@dataclass(frozen=True)
class Anonymization:
    """The stages of a configuration that anonymizes, computed on demand."""

    config: RunConfig
    """Sampling, and where the trade-off curve is computed."""
    options: AnonymizeOptions
    transition: TransitionOptions
    hierarchies: Mapping[str, Hierarchy]
    """One per quasi-identifier."""
    population: Table | None
    """Of k-map."""
    train: Table
    """The training records, without identifiers: quasi-identifiers as they are, other columns protected unless
    protection is off."""
    seed: int
    compute: Compute
    progress: Progress
    protection: Protection | None = None
    """What the protection of values changed in ``train``."""
    static: tuple[str, ...] | None = None
    """Columns with one value per person; None where the generator draws single rows."""
    rules: Rules = NO_RULES
    ties: tuple[Gap, ...] = ()
    """Those of dates that protection counts from another one of their row."""
    public: frozenset[str] = frozenset()
    """Quasi-identifiers whose hierarchy is a public list of values."""
    whole: WholeTable | None = None
    """The labels of all rows, where ``train`` comes from a sample of a warehouse's table."""
    by_pycanon: bool = True
    """Whether pycanon checks the classes, too: not of tables that an attacker makes again, which are not released."""
    below: Callable[[], Table] | None = None
    """Gives a summary of each person's rows in linked tables, which the transition reads as it reads other columns:
    else a postcode would be restored without its hospitals. ``persons`` has the persons as those of ``train``."""

    @cached_property
    def anonymized(self) -> AnonymizedTable:
        """The anonymized training records."""
        whole = self.whole
        if whole is not None:
            return self.compute(ANONYMIZE.name, lambda: label_sample(self.train, self.hierarchies, whole))
        rng, known = rng_for(self.seed, "anonymize"), (self.progress, self.population, self.by_pycanon)
        try:
            return self.compute(
                ANONYMIZE.name,
                lambda: anonymize_in_steps(self.coarsened, self.hierarchies, self.options, rng, *known),
            )
        except InfeasibleError as error:
            raise infeasible_after_protection(error, self.options, self.protection) from None

    def with_labels_kept(self, **changes: Any) -> Anonymization:
        """The same stages with other options or another transition; the anonymized records stay as they are."""
        changed = replace(self, **changes)
        vars(changed)["anonymized"] = self.anonymized
        return changed

    def with_transition(self, values: Mapping[str, Any]) -> Anonymization:
        """The same labels with another transition: ``values`` for dotted keys of the configuration."""
        config = self.config.with_values(values)
        return self.with_labels_kept(config=config, transition=config.required_transition)

    @cached_property
    def trade_off(self) -> list[TradeoffPoint]:
        """Information loss against suppression at the configured k; empty where the lattice is not searched."""
        if not self.config.has_tradeoff:
            return []
        options, limits = self.options, self.config.suppression_limits
        return self.compute(
            TRADEOFF.name,
            lambda: tradeoff(
                self.coarsened, self.hierarchies, options, [options.k], limits, self.progress, self.population
            ),
        )

    @cached_property
    def drawn(self) -> SampledTable | None:
        """The sample that is anonymized; None where sampling comes after anonymization."""
        options = self.config.sample
        if options.effective.order == "post":
            return None
        return self.compute(
            SAMPLE.name, lambda: sample.sample_before(self.train, options, rng_for(self.seed, "sample"))
        )

    @property
    def coarsened(self) -> Table:
        """The records that are anonymized."""
        return self.train if self.drawn is None else self.drawn.table

    @cached_property
    def sampled(self) -> Sampled:
        """The anonymized records that the transition gets.

        Dates that are tied to a quasi-identifier are the gaps from it; of what is computed from one only whether there
        is a value. Beside the columns that are not labelled lie those of :attr:`below`.
        """
        if self.drawn is not None:
            found = self.drawn.with_labels(self.anonymized)
        else:
            rng = rng_for(self.seed, "sample")
            found = self.compute(SAMPLE.name, lambda: sample.sample(self.anonymized, self.config.sample, rng))
        known = found.anonymized
        return replace(found, anonymized=replace(known, labels=self._with_rows_below(self.with_gaps(known))))

    def _with_rows_below(self, labels: LabelTable) -> LabelTable:
        if self.below is None:
            return labels
        below = self.below()
        rows = pd.Index(below.persons).get_indexer(pd.Index(labels.rest.persons))
        names = {name: name for name in below.schema.names}
        return replace(labels, rest=with_columns_of(labels.rest, below, rows, names))

    def with_gaps(self, anonymized: AnonymizedTable) -> LabelTable:
        """Labels, and columns that depend on quasi-identifiers in the form of :attr:`tied`."""
        labels = anonymized.labels
        for rule in self.tied:
            rest = rule.encode(labels.rest, anonymized.originals)
            columns = [rest.schema[column.name] if column.name in rule.replaces else column for column in labels.schema]
            labels = replace(labels, rest=rest, schema=Schema(tuple(columns)))
        return labels

    @cached_property
    def tied(self) -> tuple[Gap | Computed, ...]:
        """Rules of columns that are counted or computed from a quasi-identifier.

        They follow its restored value: a date or an age beside the label would show what the label hides.
        """
        labelled = set(self.train.schema.quasi_identifiers)
        found: list[Gap] = []
        for rule in self.ties:
            if rule.other not in labelled and rule.anchor in labelled.union(*(one.replaces for one in found)):
                found.append(rule)
        return *found, *self.rules.computed_from([*labelled, *(rule.other for rule in found)])

    @cached_property
    def fitted_transition(self) -> FittedTransition:
        """The transition, learned from the sampled records."""
        strategy = transition.REGISTRY[self.transition.method]
        learning = rng_for(self.seed, "transition", "fit")
        known = self._restorable, self.rules
        return transition.fit_transition(strategy, self.sampled.anonymized, self.transition, learning, *known)

    @property
    def _restorable(self) -> dict[str, Restorable]:
        """Values that no single person decides, of the records that the transition learns; none without protection."""
        if self.protection is None or self.config.protection is None:
            return {}
        names = {one.column for one in self.protection.columns if one.method == BELOW_LABELS}
        rng = rng_for(self.seed, "transition", "values")
        donors = self.sampled.anonymized.donors
        return restorable(donors, names, self.config.protection, self.options.k, rng, self.public)

    @cached_property
    def restored(self) -> Restored:
        """The sampled records with specific values again; the generator learns them under ``order: pre``."""
        return self.compute(
            TRANSITION.name,
            lambda: self.restore(self.sampled.anonymized.labels, rng_for(self.seed, "transition")),
        )

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Records with specific values again.

        Persons have one value in their static columns, values that rarely change within a label, and ordered rows.
        """

        def finish(table: Table, part: LabelTable) -> Table:
            table = harmonized(self._repeats.apply(table, part, rng), self.static)
            for rule in self.tied:
                table = rule.decode(table, self.train)
            return table

        follows = {rule.other: rule.anchor for rule in self.tied if isinstance(rule, Gap)}
        return restored_by(self.fitted_transition, labels, self.rules, rng, finish, follows)

    @cached_property
    def _repeats(self) -> Repeats:
        """Repeats of values within a person; None for single rows, and where no original value is read."""
        strategy = transition.REGISTRY[self.transition.method]
        if self.static is None or not strategy.reads_originals(self.transition):
            return Repeats()
        learned = self.sampled.anonymized.donors
        return Repeats.of(learned, {*self.static, learned.originals.schema.order or ""})

    def give_away(self, synthetic: Table) -> GiveAway:
        """Disclosure of originals by the transition, in the sampled records or in the synthetic table.

        The latter under ``order: post``: its rows belong to no person, so that only what reappears is counted.
        """
        if self.transition.order == "post":
            return give_away(self.sampled.anonymized, synthetic, same_records=False)
        return give_away(self.sampled.anonymized, self.restored.table, same_records=True)
