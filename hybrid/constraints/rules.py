"""All rules of a configuration, fitted to its training records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from hybrid.base.arrays import Mask
from hybrid.constraints.constraint import Constraint, Rule, no_row
from hybrid.constraints.gaps import CLOSE, Gap
from hybrid.constraints.kinds.combinations import Combinations
from hybrid.constraints.kinds.computed import Computed
from hybrid.table import Table

OneRule = TypeVar("OneRule", bound=Rule)


@dataclass(frozen=True)
class Rules:
    """Rules between columns that the synthetic table must keep."""

    rules: tuple[Rule, ...] = ()
    """In the order of the configuration; none where it declares no constraints."""
    merged: tuple[Rule, ...] = ()
    """Forms that hold several rules that share columns (:meth:`Constraint.together`)."""

    def __bool__(self) -> bool:
        return bool(self.rules)

    @classmethod
    def fit(
        cls,
        constraints: Sequence[Constraint],
        table: Table,
        least: int,
        groups: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> Rules:
        """Fit every constraint to the original training records, without identifiers.

        ``least``: persons who must hold a combination of values that may come out. ``groups``: names of groups that
        come out in place of rare values, by column.
        """
        there = set(table.schema.names)
        known = [one for one in constraints if there.issuperset(one.columns)]
        rules = tuple(one.fit(table, least) if one in known else Rule(one) for one in constraints)
        kinds = dict.fromkeys(type(one) for one in known)
        joint = [
            rule for kind in kinds for rule in kind.together([one for one in known if type(one) is kind], table, least)
        ]
        return cls(*(tuple(rule.accepting(groups) for rule in fitted) for fitted in (rules, joint)))

    def about(self, names: Collection[str]) -> Rules:
        return Rules(tuple(rule for rule in self.rules if set(rule.constraint.columns) & set(names)))

    def without(self, names: Collection[str]) -> Rules:
        rules, merged = (
            tuple(rule for rule in each if not set(rule.columns) & set(names)) for each in (self.rules, self.merged)
        )
        return Rules(rules, merged)

    @property
    def of_rows(self) -> Rules:
        """The rules that a row can break alone."""
        return Rules(tuple(rule for rule in self.rules if not rule.constraint.of_table))

    @property
    def of_combinations(self) -> Rules:
        """The rules that allow some combinations of values."""
        return Rules(tuple(rule for rule in self.rules if isinstance(rule.constraint, Combinations)))

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
        """Rules that records hold by their form, in the order in which drawn records are decoded.

        A column is written in another form by one rule at most: by one that holds several, or else of gaps the closest,
        and of combinations the fewest. What a rule needs to be decoded is decoded before.
        """
        able = [
            rule
            for rule in (*self.merged, *self.rules)
            if rule.replaces and len(learned) and rule.applies(learned)
            if is_free(rule, learned, static) and rule.encodes(learned)
        ]
        # What is computed is learned in no form of its own; what holds several rules comes before each of them.
        able.sort(key=lambda one: (not one.settles, one not in self.merged, one.coarseness(learned)))
        chosen: list[Rule] = []
        for rule in able:
            taken = {name for one in chosen for name in one.replaces}
            if not taken & set(rule.replaces) and len(list(_in_order([*chosen, rule]))) > len(chosen):
                chosen.append(rule)
        return tuple(_in_order(chosen))

    def tied(self, records: Table, static: Collection[str] | None = None) -> tuple[Gap, ...]:
        """Rules of dates that lie close to another one of their row, in the order in which they are decoded."""
        schema = records.schema
        return tuple(
            rule
            for rule in Rules(self.rules).forms(records, static)
            if isinstance(rule, Gap) and schema[rule.other].kind.is_temporal and rule.other != schema.order
            if rule.coarseness(records) <= CLOSE
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
        """The table with columns that follow from others computed; those of ``keep`` stay as they are."""
        settling = [rule for rule in self.rules if rule.settles and rule.applies(table)]
        for rule in _in_order(settling, lambda one: one.settles):
            if not set(rule.settles) & set(keep):
                table = rule.settle(table)
        return table

    def drawn_columns(self, names: Iterable[str]) -> set[str]:
        """These columns, and in place of computed ones those that they are computed from."""
        settling = {made: rule for rule in self.rules for made in rule.settles}
        found, waiting = set[str](), list(names)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.add(name)
            if name in settling:
                waiting += [one for one in settling[name].constraint.columns if one not in settling[name].settles]
        return found - {*settling}

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


def is_free(rule: Rule, learned: Table, static: Collection[str] | None) -> bool:
    """True if a rule may write its columns in another form."""
    if static is None:
        return True
    replaced, fixed = set(rule.replaces), set(static)
    return learned.schema.order not in replaced and (not replaced & fixed or set(rule.columns) <= fixed)


def _in_order(
    rules: Sequence[OneRule], made: Callable[[OneRule], Collection[str]] = lambda rule: rule.replaces
) -> Iterator[OneRule]:
    """Rules in an order in which each finds the other columns that it needs made: by default that of decoding.

    Rules that wait for each other are left out.
    """
    waiting = list(rules)
    while waiting:
        missing = {name for rule in waiting for name in made(rule)}
        ready = [rule for rule in waiting if not missing & (set(rule.columns) - set(made(rule)))]
        if not ready:
            return
        yield from ready
        waiting = [rule for rule in waiting if rule not in ready]
