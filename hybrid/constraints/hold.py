"""Rows are drawn, or labels restored, again until they keep all rules and meet a condition."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes, Mask, Rows
from hybrid.base.errors import GeneratorError, Problem
from hybrid.base.rng import rng_for
from hybrid.constraints.expression import NotAnExpression, parse
from hybrid.constraints.hot_deck import HotDeck, with_rows
from hybrid.constraints.kinds.checked import Formula
from hybrid.constraints.rules import Rules
from hybrid.table import Role, Schema, Table
from hybrid.table.persons import n_persons, person_groups, with_any_of
from hybrid.table.schema import concat_rows, in_one_dtype

FORBIDDEN = {
    Role.IDENTIFIER: ("identifiers are never learned, and surrogates take their place", "name other columns"),
    Role.UNDECIDED: ("undecided columns enter no run", "give them a role first"),
    Role.EXCLUDED: ("excluded columns enter no run", "name other columns"),
    Role.WEIGHT: ("sampling weights are calibrated after drawing", "name other columns"),
}
"""Roles that a condition cannot name, with the reason and the remedy."""


@dataclass(frozen=True)
class DrawCondition:
    """Condition on the values of a row, such as ``ward = 'ICU'``."""

    text: str
    """An expression of :mod:`hybrid.constraints.expression`. Unknown, for want of a value, is not met."""

    @cached_property
    def formula(self) -> Formula:
        """The condition as a formula, where it is not :meth:`malformed`."""
        return Formula(formula=self.text)

    def malformed(self) -> Iterator[Problem]:
        """Problem of a text outside of the grammar."""
        try:
            parse(self.text)
        except NotAnExpression as error:
            yield Problem(str(error), "such as ward = 'ICU' and age >= 60")

    def problems(self, schema: Schema) -> Iterator[Problem]:
        """Problems with the columns of a table: unknown ones, roles of :data:`FORBIDDEN`, kinds that do not fit."""
        columns = self.formula.columns
        unknown = [name for name in columns if name not in schema]
        if unknown:
            yield Problem(f"no such column: {', '.join(unknown)}", f"one of: {', '.join(schema.names)}")
            return
        refused = False
        for role, (reason, hint) in FORBIDDEN.items():
            names = [name for name in columns if schema[name].role is role]
            if names:
                refused = True
                yield Problem(f"{reason}: {', '.join(names)}", hint)
        if not refused:
            yield from self.formula.problems(schema)

    def rows(self, table: Table) -> Mask:
        """Rows that meet it, shape (n_rows,), bool."""
        return np.asarray(self.formula.expression.value(table).fillna(False), dtype=bool)

    def whole(self, table: Table) -> Mask:
        """All rows of the persons with a row that meets it, or the rows themselves; shape (n_rows,), bool."""
        return with_any_of(table, self.rows(table))


Draw = Callable[[int, int], Table]
"""``draw(n, attempt)`` gives n new rows, or persons with their rows.

Attempt 0 is the first, and each has random numbers of its own.
"""
MOST_ROUNDS = 100
"""Rounds of drawing again at most."""
DONOR_ROUNDS = 5
"""Further draws at most that only repair others, where the first draw has few that keep all rules."""
LEAST_DONORS = 1_000
"""Allowed rows, or half of the first draw where that is more, that repair others."""
LEAST_DRAWN = 100
"""Rows of one round at least, for small tables."""
SINGLE_ROUNDS = 10
"""Rounds of restoring again with one copy of each row; what is left after them is mostly what no draw can repair."""
MOST_COPIED = 100_000
"""Rows of a later round at most, all copies together."""


@dataclass(frozen=True)
class Effort:
    """Limits of drawing again, in rows or persons."""

    for_each: int
    """Drawn again at most, for each that is wanted."""
    at_once: int
    """Drawn in one round at most where fewer are wanted, and drawn in all whatever is wanted."""


FOR_RULES = Effort(for_each=100, at_once=LEAST_DRAWN)
FOR_A_CONDITION = Effort(for_each=1_000, at_once=20_000)
"""A condition may be met by a thousandth of the draws."""


@dataclass(frozen=True)
class Redrawn:
    """Counts of rows drawn again to keep the rules."""

    rows: int
    """Rows of the first draw."""
    broken: int
    """Rows of the first draw that broke a rule."""
    by_rule: Mapping[str, int] = field(default_factory=dict)
    """The same for each rule, by its sentence."""
    left: int = 0
    """Rows that still break a rule after the last round."""
    repaired: int = 0
    """Rows of the first draw that keep all rules once some of their columns are drawn again."""
    thrown: int = 0
    """Rows, or persons, of ``drawn`` that were thrown out, since no values repair them."""
    left_out: int = 0
    """Records that a generator did not learn from, or that were left out of a table without a generator, since they
    broke a rule."""
    records: int = 0
    """Records that it was to learn from."""
    dropped: int = 0
    """Drawn rows of linked tables that were left out, since no draw for their parent keeps the rules."""
    drawn: int = 0
    """Rows, or persons, of all rounds; of linked tables the rows of the first; 0 where rows were restored, not
    drawn."""
    accepted: int = 0
    """Those of them that keep the rules and meet the condition."""

    def with_other(self, other: Redrawn) -> Redrawn:
        """Counts of two draws together."""
        rules = {*self.by_rule, *other.by_rule}
        by_rule = {rule: self.by_rule.get(rule, 0) + other.by_rule.get(rule, 0) for rule in rules}
        counts = [one.name for one in fields(self) if one.name != "by_rule"]
        return Redrawn(by_rule=by_rule, **{name: getattr(self, name) + getattr(other, name) for name in counts})

    @property
    def rate(self) -> float:
        """Share of the first draw that broke a rule, 0..1."""
        return self.broken / max(self.rows, 1)

    @property
    def thrown_rate(self) -> float:
        """Share of all draws that were thrown out, 0..1."""
        return self.thrown / max(self.drawn, 1)


def draw_held(
    draw: Draw,
    rules: Rules,
    wanted: int,
    condition: DrawCondition | None = None,
    fixed: Collection[str] = (),
    seed: int = 0,
) -> tuple[Table, Redrawn]:
    """Draw so many rows, or persons, that keep all rules and meet a condition.

    Rows that break a rule are repaired (:class:`~hybrid.constraints.hot_deck.HotDeck`), but for their ``fixed``
    columns, such as those with one value per person. What cannot be, and what does not meet the condition, is replaced
    by further draws. Where rows have persons, persons are drawn: one is replaced for any row that breaks a rule, or if
    no row meets the condition.
    """
    effort = FOR_RULES if condition is None else FOR_A_CONDITION
    first = rules.settle(draw(wanted, 0))
    deck = _hot_deck(draw, rules, wanted, first, fixed)

    def repaired(table: Table, attempt: int) -> Table:
        return rules.settle(deck(table, rng_for(seed, "repair", attempt)))

    table = repaired(first, 0)
    found = replace(first_draw(rules, first), repaired=_n_broken(rules, first) - _n_broken(rules, table))
    table, lacking, thrown = _kept(rules, condition, table)
    drawn, good = wanted, wanted - lacking
    for attempt in range(1, MOST_ROUNDS + 1):
        budget = effort.for_each * wanted + effort.at_once + wanted - drawn
        if not lacking or budget <= 0:
            break
        expected = math.ceil(1.2 * lacking * drawn / max(good, 1))
        asked = min(max(expected, LEAST_DRAWN), max(wanted, effort.at_once), budget)
        more, _, breaking = _kept(rules, condition, repaired(rules.settle(draw(asked, attempt)), attempt))
        taken = min(n_persons(more), lacking)
        drawn, good, thrown = drawn + asked, good + n_persons(more), thrown + breaking
        table, repeated, breaking = _kept(rules, condition, _joined(table, more, taken))
        lacking, thrown = lacking + repeated - taken, thrown + breaking
    if lacking:
        raise _too_few(rules, first, good / max(drawn, 1)) if condition is None else _rarely_met(rules, condition)
    return table, replace(found, drawn=drawn, accepted=good, thrown=thrown)


def _hot_deck(draw: Draw, rules: Rules, wanted: int, first: Table, fixed: Collection[str]) -> HotDeck:
    """Hot deck of the allowed rows of the first draw, and of further ones where these are few."""
    found = HotDeck.by(rules, first, fixed)
    for attempt in range(MOST_ROUNDS + 1, MOST_ROUNDS + 1 + DONOR_ROUNDS):
        if len(found.donors) == len(first) or len(found.donors) >= max(len(first) / 2, LEAST_DONORS):
            break
        more = HotDeck.by(rules, rules.settle(draw(max(wanted, LEAST_DONORS), attempt)), fixed).donors
        found = replace(found, donors=Table(concat_rows(found.donors.frame, more.frame), first.schema))
    return found


def _n_broken(rules: Rules, table: Table) -> int:
    return int(rules.of_rows.broken(table).sum())


def _kept(rules: Rules, condition: DrawCondition | None, table: Table) -> tuple[Table, int, int]:
    """Rows, or persons, that keep all rules and meet the condition; how many do not, and how many break a rule."""
    held = ~with_any_of(table, rules.broken(table))
    left = table.take(held)
    broken = n_persons(table) - n_persons(left)
    if condition is not None:
        left = table.take(held & condition.whole(table))
    return left, n_persons(table) - n_persons(left), broken


def _joined(table: Table, other: Table, units: int) -> Table:
    groups, persons = person_groups(other.persons), None
    taken = groups < units
    if not table.rows_are_persons:
        persons = np.concatenate([person_groups(table.persons), groups[taken] + n_persons(table)])
    return Table(concat_rows(table.frame, other.take(taken).frame), table.schema, persons)


def first_draw(rules: Rules, table: Table) -> Redrawn:
    """Counts of the rows of a first draw that break the rules."""
    masks = list(rules.masks(table))
    any_rule = np.logical_or.reduce([mask for _, mask in masks]) if masks else np.zeros(len(table), dtype=bool)
    by_rule = {rule.constraint.sentence: int(mask.sum()) for rule, mask in masks}
    return Redrawn(len(table), int(any_rule.sum()), by_rule)


def restore_held(
    restore: Callable[[Rows, int], Table],
    rules: Rules,
    n_rows: int,
    restored: Collection[str],
    follows: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Table, Redrawn]:
    """Restore labels again, row by row, until the values keep the rules.

    First only the column with most distinct values is restored again, of those that the broken rules are about, then
    more of them, and in the end all: a state that was drawn by its share stays as long as a county can be drawn to it.
    Rows whose labels give no values that keep the rules stay as they were drawn first. Later rounds draw several copies
    of each row, of which the first that keeps the rules is taken: the same as rounds one after the other, in fewer
    calls.

    ``restore(rows, copies)`` draws new values for these rows, so many times, one copy of all rows after the other;
    where rows have persons, each copy has persons of its own. ``restored`` are the columns that have labels: rules
    about none of them do not change by drawing again. ``follows`` has columns without labels whose values are counted
    from another one, and that one.
    """
    table = rules.settle(restore(np.arange(n_rows), 1), keep=restored)
    found = first_draw(rules, table)
    # What is computed is no reason to draw again: the generator's rows are computed from the others.
    changing = rules.about([*restored, *follows]).of_rows.drawn
    bad = np.flatnonzero(with_any_of(table, changing.broken(table)))
    concerned = _Concerned.of(rules, changing, table, bad, restored, follows)
    tried = 0
    while len(bad) and tried < MOST_ROUNDS:
        copies = 1 if tried < SINGLE_ROUNDS else min(max(MOST_COPIED // len(bad), 1), MOST_ROUNDS - tried)
        again = restore(bad, copies)
        # The widths that these rounds have come to; with the last rounds all.
        reached = concerned.widest * (tried + copies) // MOST_ROUNDS
        repaired = np.zeros(len(bad), dtype=bool)
        for width in range(1, max(reached, 1) + 1):
            mixed = rules.settle(concerned.mixed(table.take(bad), again, copies, width), keep=restored)
            good = ~with_any_of(mixed, changing.broken(mixed)).reshape(copies, len(bad))
            new = good.any(axis=0) & ~repaired
            taken = good.argmax(axis=0) * len(bad) + np.arange(len(bad))
            table = with_rows(table, bad[new], mixed.take(taken[new]))
            repaired |= new
            if repaired.all():
                break
        bad, concerned, tried = bad[~repaired], concerned.take(~repaired), tried + copies
    left = int(rules.broken(table).sum())
    return table, replace(found, left=left, repaired=max(found.broken - left, 0))


@dataclass(frozen=True)
class _Concerned:
    """Columns that restoring again may change in each row, and the order in which they come in.

    ``rank`` (n_rows, n_columns): 0 for the first that changes; columns that no broken rule is about come in last,
    together. ``source``: columns that change with another one, and all others with themselves.
    """

    names: Sequence[str]
    rank: Codes
    source: Mapping[str, str]

    @classmethod
    def of(
        cls,
        rules: Rules,
        changing: Rules,
        table: Table,
        bad: Rows,
        restored: Collection[str],
        follows: Mapping[str, str],
    ) -> _Concerned:
        source = {name: _root(name, follows) for name in table.schema.names}
        fine_first = sorted(restored, key=lambda name: -table.frame[name].nunique())
        about = np.zeros((len(bad), len(fine_first)), dtype=bool)
        rows = table.take(bad)
        for rule, broken in changing.masks(rows):
            names = {source.get(name, name) for name in rules.drawn_columns(rule.constraint.columns)}
            about |= with_any_of(rows, broken)[:, None] & np.array([name in names for name in fine_first])
        rank = np.where(about, np.cumsum(about, axis=1) - 1, len(fine_first))
        return cls(fine_first, rank, source)

    @property
    def widest(self) -> int:
        """Columns that change together at most, where all do."""
        return len(self.names) + 1

    def take(self, rows: Mask) -> _Concerned:
        return replace(self, rank=self.rank[rows])

    def mixed(self, rows: Table, again: Table, copies: int, width: int) -> Table:
        """Copies of rows, each with its own values restored again in the columns that a width comes to."""
        changes = np.tile(self.rank < width, (copies, 1))
        columns = {}
        for name, old in rows.frame.items():
            before, new = in_one_dtype(old, again.frame[name])
            values = before.take(np.tile(np.arange(len(rows)), copies)).reset_index(drop=True)
            if self.source[name] in self.names:
                changed = changes[:, self.names.index(self.source[name])]
                values = values.where(~changed, new)
            columns[name] = values
        return Table(pd.DataFrame(columns), again.schema, again.named_persons)


def _root(name: str, follows: Mapping[str, str]) -> str:
    while name in follows:
        name = follows[name]
    return name


def _too_few(rules: Rules, table: Table, rate: float) -> GeneratorError:
    breaking = [rule.constraint.sentence for rule, mask in rules.masks(table) if mask.any()]
    return GeneratorError(
        f"{100 * rate:.2g} % of the rows that the generator draws keep the constraints, which is too few: "
        f"{'; '.join(breaking)}",
        hint="`hybrid check` lists how many rows of the source break each; loosen or remove what few rows keep",
    )


def _rarely_met(rules: Rules, condition: DrawCondition) -> GeneratorError:
    kept = " and keep the constraints" if rules else ""
    return GeneratorError(
        f"synthesize.where: too few of the rows that the generator draws meet the condition{kept}",
        hint="widen the condition, or ask for fewer rows",
        values=condition.text,
    )
