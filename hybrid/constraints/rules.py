"""All rules of a configuration, fitted to its training records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

import numpy as np

from hybrid.base.arrays import Mask
from hybrid.base.errors import DataError
from hybrid.constraints.constraint import Constraint, Rule, no_row
from hybrid.constraints.gaps import CLOSE, Gap
from hybrid.constraints.kinds.derived import Computed
from hybrid.table import Table

OneRule = TypeVar("OneRule", bound=Rule)


@dataclass(frozen=True)
class Rules:
    """Rules between columns that the synthetic table must keep.

    Parameters
    ----------
    rules : tuple of Rule
        In the order of the configuration; none where it declares no constraints.
    """

    rules: tuple[Rule, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rules)

    @classmethod
    def fit(cls, constraints: Sequence[Constraint], table: Table, least: int) -> Rules:
        """Fit every constraint.

        Parameters
        ----------
        constraints : sequence of Constraint
            Those of a configuration.
        table : Table
            The original training records, without identifiers.
        least : int
            Persons who must hold a combination of values that may come out.
        """
        there = set(table.schema.names)
        return cls(tuple(one.fit(table, least) if there.issuperset(one.columns) else Rule(one) for one in constraints))

    def about(self, names: Collection[str]) -> Rules:
        """The rules about at least one of these columns."""
        return Rules(tuple(rule for rule in self.rules if set(rule.constraint.columns) & set(names)))

    def without(self, names: Collection[str]) -> Rules:
        """The rules about none of these columns."""
        return Rules(tuple(rule for rule in self.rules if not set(rule.constraint.columns) & set(names)))

    @property
    def of_rows(self) -> Rules:
        """The rules that a row can break alone."""
        return Rules(tuple(rule for rule in self.rules if not rule.constraint.of_table))

    @property
    def drawn(self) -> Rules:
        """The rules whose columns are drawn, not computed from others."""
        return Rules(tuple(rule for rule in self.rules if not rule.settles))

    def unjudged(self, table: Table) -> list[Constraint]:
        """Constraints that the table cannot be judged by.

        Those about identifiers alone are not among them: surrogates hold them.
        """
        there = set(table.schema.names)
        skipped = [rule.constraint for rule in self.rules if not rule.applies(table)]
        return [one for one in skipped if there & set(one.columns) or not one.about_identifiers]

    def forms(self, learned: Table, static: Collection[str] | None = None) -> tuple[Rule, ...]:
        """Rules that records hold by their form.

        In the order in which drawn records are decoded. A column is written in another form by one rule at most, of
        gaps the closest. What a rule needs to be decoded is decoded before.
        """
        there = set(learned.schema.names)
        # What is computed is learned in no form of its own.
        able = [
            rule
            for rule in sorted(self.rules, key=lambda one: not one.settles)
            if rule.replaces and len(learned) and there.issuperset(rule.constraint.columns)
            if _is_free(rule, learned, static) and rule.encodes(learned)
        ]
        gaps = sorted((rule for rule in able if isinstance(rule, Gap)), key=lambda one: one.closeness(learned))
        closest = {name: rule for rule in reversed(gaps) for name in rule.replaces}
        chosen: list[Rule] = []
        for rule in able:
            taken = {name for one in chosen for name in one.replaces}
            first = not isinstance(rule, Gap) or closest[rule.replaces[0]] is rule
            if first and not taken & set(rule.replaces) and len(list(_in_order([*chosen, rule]))) > len(chosen):
                chosen.append(rule)
        return tuple(_in_order(chosen))

    def tied(self, records: Table, static: Collection[str] | None = None) -> tuple[Gap, ...]:
        """Rules of dates that lie close to another one of their row.

        In the order in which they are decoded.

        Parameters
        ----------
        records : Table
            Training records.
        static : collection of str or None
            As for :meth:`Form.of`.
        """
        schema = records.schema
        return tuple(
            rule
            for rule in self.forms(records, static)
            if isinstance(rule, Gap) and schema[rule.other].kind.is_temporal and rule.other != schema.order
            if rule.closeness(records) <= CLOSE
        )

    def masks(self, table: Table) -> Iterator[tuple[Rule, Mask]]:
        """Every rule that applies, with the rows that break it."""
        for rule in self.rules:
            if rule.applies(table):
                yield rule, rule.broken(table)

    def broken(self, table: Table) -> Mask:
        """Rows that break any rule, shape (n_rows,), bool."""
        return reduce(lambda found, one: found | one[1], self.masks(table), no_row(table))

    def repair(self, table: Table, before: Table, rng: np.random.Generator) -> Table:
        """Repair protected records by every rule (:meth:`Rule.repair`)."""
        for rule in self.rules:
            table = rule.repair(table, before, rng) if rule.applies(table) else table
        return table

    def settle(self, table: Table, keep: Collection[str] = ()) -> Table:
        """The table with columns that follow from others computed.

        Those of ``keep`` stay as they are.
        """
        settling = [rule for rule in self.rules if rule.settles and rule.applies(table)]
        for rule in _in_order(settling, lambda one: one.settles):
            if not set(rule.settles) & set(keep):
                table = rule.settle(table)
        return table

    def computed_from(self, names: Collection[str]) -> tuple[Computed, ...]:
        """Rules of columns that are computed from some of these columns and are none of them.

        In the order in which they are computed. What is computed from such a column is among them.
        """
        found: dict[str, Computed] = {}
        derived = [rule for rule in self.rules if isinstance(rule, Computed)]
        for rule in _in_order(derived, lambda one: one.settles):
            name, *sources = rule.constraint.columns
            if name not in names and {*names, *found} & set(sources):
                found[name] = rule
        return tuple(found.values())


@dataclass(frozen=True)
class Form:
    """Form in which a generator learns records that keep rules.

    Parameters
    ----------
    learned : Table
        The records that keep all rules, as they are.
    steps : tuple of Rule
        Rules held by the form, in the order in which drawn records are decoded.
    """

    learned: Table
    steps: tuple[Rule, ...]

    @classmethod
    def of(cls, rules: Rules, records: Table, static: Collection[str] | None = None) -> Form:
        """The form of the records that keep the rules.

        The others are not learned from.

        Parameters
        ----------
        rules : Rules
            What must hold.
        records : Table
            Records, some of which may break rules.
        static : collection of str or None
            Columns with one value per person, where persons are learned: those and the column that orders a person's
            rows stay what they are.

        Raises
        ------
        DataError
            No record keeps all rules.
        """
        if not rules:
            return cls(records, ())
        settled = rules.settle(records)
        learned = settled.take(~rules.of_rows.broken(settled))
        if len(records) and not len(learned):
            raise DataError(
                f"no record keeps all constraints: {'; '.join(rule.constraint.sentence for rule in rules.rules)}",
                hint="`hybrid check` lists how many rows of the source break each of them",
            )
        return cls(learned, rules.forms(learned, static))

    @property
    def replaced(self) -> frozenset[str]:
        """Columns that are learned in another form."""
        return frozenset(name for rule in self.steps for name in rule.replaces)

    @property
    def encoded(self) -> Table:
        """The records as the generator learns them."""
        table = self.learned
        for rule in self.steps:
            table = rule.encode(table, self.learned)
        return table

    def decode(self, drawn: Table) -> Table:
        """Drawn records in the columns of the learned ones."""
        for rule in self.steps:
            drawn = rule.decode(drawn, self.learned)
        return drawn


def _is_free(rule: Rule, learned: Table, static: Collection[str] | None) -> bool:
    """True if a rule may write its columns in another form."""
    if static is None:
        return True
    replaced, fixed = set(rule.replaces), set(static)
    return learned.schema.order not in replaced and (not replaced & fixed or set(rule.constraint.columns) <= fixed)


def _in_order(
    rules: Sequence[OneRule], made: Callable[[OneRule], Collection[str]] = lambda rule: rule.replaces
) -> Iterator[OneRule]:
    """Rules in an order in which each finds the other columns that it needs made.

    By default in the order of decoding. Rules that wait for each other are left out.
    """
    waiting = list(rules)
    while waiting:
        missing = {name for rule in waiting for name in made(rule)}
        ready = [rule for rule in waiting if not missing & (set(rule.constraint.columns) - set(made(rule)))]
        if not ready:
            return
        yield from ready
        waiting = [rule for rule in waiting if rule not in ready]
