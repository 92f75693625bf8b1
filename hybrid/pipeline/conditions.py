"""Condition on drawn rows, and the training records that meet it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from hybrid.base.arrays import Mask
from hybrid.base.errors import ConfigError, Problem
from hybrid.constraints import DrawCondition, Redrawn
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.constraint_rules import least_persons
from hybrid.publication.table_facts import rounded
from hybrid.table import Schema, Table
from hybrid.table.holders import n_distinct, row_holders
from hybrid.table.persons import n_persons

KEY = "synthesize.where"


@dataclass(frozen=True)
class Selection:
    """The condition of a configuration, and its training records that meet it.

    Parameters
    ----------
    condition : DrawCondition
        What every drawn row, or person, meets.
    by_person : bool
        Whether persons are drawn: one meets the condition if any of its rows does, and comes with all rows.
    train : Table
        The original training records that meet it.
    step : int
        Percent to which shares of draws are told: what ``min_count`` training persons are, at least 1.
    """

    condition: DrawCondition
    by_person: bool
    train: Table
    step: int

    def of(self, table: Table) -> Table:
        """The records, or persons with all records, that meet the condition."""
        return table.take(self.met_by(table))

    def met_by(self, table: Table) -> Mask:
        """Mask of the table's rows that :meth:`of` gives; shape (n,), bool."""
        return _met(self.condition, table, by_person=self.by_person)

    def wanted(self, rows: int | str) -> int:
        """Rows, or persons, to draw: as many as meet the condition, in tens, or such that about ``rows`` come out."""
        units = n_persons(self.train) if self.by_person else len(self.train)
        if isinstance(rows, str):
            return max(rounded(units), rounded(10))
        return max(round(rows * units / max(len(self.train), 1)), 1) if self.by_person else rows

    def rate(self, redrawn: Redrawn) -> str:
        """Share of the draws that were accepted, in words.

        In steps of :attr:`step` percent, which disclose nothing about few training persons.
        """
        share = 100 * redrawn.accepted / max(redrawn.drawn, 1)
        told = self.step * round(share / self.step)
        return f"about {told} %" if told else f"less than {self.step} %"


def refuse_misfit(config: RunConfig, schema: Schema) -> None:
    """Refuse a condition that the columns of a table cannot have.

    Raises
    ------
    ConfigError
        Unknown columns, identifiers, weights, or kinds that do not fit; all problems at once.
    """
    if config.synthesize.where is None:
        return
    problems = list(DrawCondition(config.synthesize.where).problems(schema))
    if problems:
        raise ConfigError([Problem(f"{KEY}: {one.message}", one.hint) for one in problems])


def selection(config: RunConfig, train: Table, *, by_person: bool, decided: bool) -> Selection | None:
    """The selection of a configuration; None without a condition.

    Parameters
    ----------
    config : RunConfig
        Its ``synthesize.where`` and the number of persons who must share a value.
    train : Table
        The original training records, without identifiers.
    by_person : bool
        Whether persons are drawn with all their rows.
    decided : bool
        Whether the records are a sample of a table on which the condition was tried, as in attacks with training.

    Raises
    ------
    ConfigError
        Fewer training persons than ``protect.min_count`` meet the condition, or fewer do not: it would single them
        out. How many is not said.
    """
    text = config.synthesize.where
    if text is None:
        return None
    condition, least = DrawCondition(text), least_persons(config)
    people = row_holders(train)
    met = condition.rows(train)
    holders, everybody = n_distinct(people[met]), n_distinct(people)
    others = everybody - holders
    if not decided and min(holders, others) < least:
        few = "meet" if holders < least else "do not meet"
        unit = "records" if train.rows_are_persons else "persons"
        hint = "widen the condition" if holders < least else "leave the condition out: nearly all meet it"
        raise ConfigError(f"{KEY}: fewer than {least} training {unit} {few} the condition", hint=hint, values=text)
    total = max(rounded(everybody), 1)
    chosen = train.take(_met(condition, train, by_person=by_person))
    return Selection(condition, by_person, chosen, max(ceil(100 * least / total), 1))


def _met(condition: DrawCondition, table: Table, *, by_person: bool) -> Mask:
    return condition.whole(table) if by_person else condition.rows(table)
