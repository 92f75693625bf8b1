"""Rows that break a rule are drawn again until they keep all."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Rows
from hybrid.base.errors import GeneratorError
from hybrid.constraints.condition import DrawCondition
from hybrid.constraints.rules import Rules
from hybrid.table import Table
from hybrid.table.append import alike, appended
from hybrid.table.persons import n_persons, person_groups, with_any_of

Draw = Callable[[int, int], Table]
"""``draw(n, attempt)`` gives n new rows, or persons with their rows.

Attempt 0 is the first, and each has random numbers of its own.
"""
MOST_ROUNDS = 100
"""Rounds of drawing again at most."""
LEAST_DRAWN = 100
"""Rows of one round at least, for small tables."""
SINGLE_ROUNDS = 10
"""Rounds of restoring again with one copy of each row; what is left after them is mostly what no draw can mend."""
MOST_COPIED = 100_000
"""Rows of a later round at most, all copies together."""


@dataclass(frozen=True)
class Effort:
    """Limits of drawing again, in rows or persons.

    Parameters
    ----------
    for_each : int
        Drawn again at most, for each that is wanted.
    at_once : int
        Drawn in one round at most where fewer are wanted, and drawn in all whatever is wanted.
    """

    for_each: int
    at_once: int


FOR_RULES = Effort(for_each=100, at_once=LEAST_DRAWN)
FOR_A_CONDITION = Effort(for_each=1_000, at_once=20_000)
"""A condition may be met by a thousandth of the draws."""


@dataclass(frozen=True)
class Redrawn:
    """Counts of rows drawn again to keep the rules.

    Parameters
    ----------
    rows : int
        Rows of the first draw.
    broken : int
        Rows of the first draw that broke a rule.
    by_rule : mapping of str to int
        The same for each rule, by its sentence.
    left : int
        Rows that still break a rule after the last round.
    left_out : int
        Records that a generator did not learn from, or that were left out of a table without a generator, since they
        broke a rule.
    dropped : int
        Drawn rows of linked tables that were left out, since no draw for their parent keeps the rules.
    drawn : int
        Rows, or persons, of all rounds; 0 where rows were restored, not drawn.
    accepted : int
        Those of them that keep the rules and meet the condition.
    """

    rows: int
    broken: int
    by_rule: Mapping[str, int] = field(default_factory=dict)
    left: int = 0
    left_out: int = 0
    dropped: int = 0
    drawn: int = 0
    accepted: int = 0

    @property
    def rate(self) -> float:
        """Share of the first draw that broke a rule, 0..1."""
        return self.broken / max(self.rows, 1)


def draw_held(draw: Draw, rules: Rules, wanted: int, condition: DrawCondition | None = None) -> tuple[Table, Redrawn]:
    """Draw rows that keep all rules and meet a condition.

    Rows that do not are replaced by further draws, so that the result follows the distribution of the draws given
    that the rules hold and the condition is met. Where rows have persons, persons are drawn: one is replaced for any
    row that breaks a rule, or if no row meets the condition.

    Raises
    ------
    GeneratorError
        Too few of the drawn rows keep the rules and meet the condition.
    """
    effort = FOR_RULES if condition is None else FOR_A_CONDITION
    first = rules.settle(draw(wanted, 0))
    found = first_draw(rules, first)
    table, lacking = _kept(rules, condition, first)
    drawn, good = wanted, wanted - lacking
    for attempt in range(1, MOST_ROUNDS + 1):
        budget = effort.for_each * wanted + effort.at_once + wanted - drawn
        if not lacking or budget <= 0:
            break
        expected = math.ceil(1.2 * lacking * drawn / max(good, 1))
        asked = min(max(expected, LEAST_DRAWN), max(wanted, effort.at_once), budget)
        more = _kept(rules, condition, rules.settle(draw(asked, attempt)))[0]
        taken = min(n_persons(more), lacking)
        drawn, good = drawn + asked, good + n_persons(more)
        table, repeated = _kept(rules, condition, _joined(table, more, taken))
        lacking += repeated - taken
    if lacking:
        raise _too_few(rules, first, good / max(drawn, 1)) if condition is None else _rarely_met(rules, condition)
    return table, replace(found, drawn=drawn, accepted=good)


def _kept(rules: Rules, condition: DrawCondition | None, table: Table) -> tuple[Table, int]:
    """Rows, or persons, that keep all rules and meet the condition.

    And the number of those that do not.
    """
    good = ~with_any_of(table, rules.broken(table))
    if condition is not None:
        good &= condition.whole(table)
    left = table.take(good)
    return left, n_persons(table) - n_persons(left)


def _joined(table: Table, other: Table, units: int) -> Table:
    """Append the first rows, or persons, of another table."""
    persons, taken = None, np.arange(len(other)) < units
    if table.persons is not None and other.persons is not None:
        groups = person_groups(other.persons)
        taken = groups < units
        persons = np.concatenate([person_groups(table.persons), groups[taken] + n_persons(table)])
    return Table(appended(table.frame, other.take(taken).frame), table.schema, persons)


def first_draw(rules: Rules, table: Table) -> Redrawn:
    """Counts of the rows of a first draw that break the rules."""
    masks = list(rules.masks(table))
    any_rule = np.logical_or.reduce([mask for _, mask in masks]) if masks else np.zeros(len(table), dtype=bool)
    by_rule = {rule.constraint.sentence: int(mask.sum()) for rule, mask in masks}
    return Redrawn(len(table), int(any_rule.sum()), by_rule)


def restore_held(
    restore: Callable[[Rows, int], Table], rules: Rules, n_rows: int, restored: Collection[str]
) -> tuple[Table, Redrawn]:
    """Restore labels again, row by row, until the values keep the rules.

    Rows whose labels give no values that keep them stay as they were drawn first. Later rounds draw several copies of
    each row, of which the first that keeps the rules is taken: the same as rounds one after the other, in fewer calls.

    Parameters
    ----------
    restore : callable
        ``restore(rows, copies)`` draws new values for these rows, so many times, one copy of all rows after the other.
        Where rows have persons, each copy has persons of its own.
    rules : Rules
        What must hold.
    n_rows : int
        Number of rows.
    restored : collection of str
        Columns that have labels: rules about none of them do not change by drawing again.
    """
    table = rules.settle(restore(np.arange(n_rows), 1), keep=restored)
    found = first_draw(rules, table)
    # What is computed is no reason to draw again: the generator's rows are computed from the others.
    changing = rules.about(restored).of_rows.drawn
    bad = np.flatnonzero(with_any_of(table, changing.broken(table)))
    tried = 0
    while len(bad) and tried < MOST_ROUNDS:
        copies = 1 if tried < SINGLE_ROUNDS else min(max(MOST_COPIED // len(bad), 1), MOST_ROUNDS - tried)
        again = rules.settle(restore(bad, copies), keep=restored)
        good = ~with_any_of(again, changing.broken(again)).reshape(copies, len(bad))
        mended = good.any(axis=0)
        taken = good.argmax(axis=0) * len(bad) + np.arange(len(bad))
        table = with_rows(table, bad[mended], again.take(taken[mended]))
        bad, tried = bad[~mended], tried + copies
    return table, replace(found, left=int(rules.broken(table).sum()))


def with_rows(table: Table, rows: Rows, other: Table) -> Table:
    """The table with other values in some rows.

    New categories are added at the end.
    """
    if not len(rows):
        return table
    columns = {}
    for name, before in table.frame.items():
        values, new = alike(before, other.frame[name])
        columns[name] = values.copy()
        columns[name].iloc[rows] = new.array
    return Table(pd.DataFrame(columns), table.schema, table.persons)


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
