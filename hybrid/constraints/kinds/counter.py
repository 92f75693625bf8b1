"""Counter of the rows of each person or group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pydantic import Field

from hybrid.base.arrays import Array, Codes, Mask
from hybrid.base.errors import Problem
from hybrid.base.options import Options
from hybrid.constraints.constraint import LEAST_ROWS, Constraint, Rule, different_kinds, with_column
from hybrid.table import DTYPES, Kind, Schema, Table
from hybrid.table.persons import constant_within, person_groups

PERSON = "person"
"""The group of all rows of one person (``data.person``)."""


class CounterOptions(Options):
    """Options of a counter."""

    column: str = Field(min_length=1)
    """The column with the numbers 1, 2, ..."""
    within: str = PERSON
    """person: the rows of each person (`data.person`); or a column whose equal values are counted together."""
    by: str = Field(min_length=1)
    """The column of numbers or dates that orders the rows; rows with equal values have any order."""


class Counter(Constraint):
    """Ordered numbers of the rows of each person or group."""

    about_identifiers = True
    of_table = True

    counter: CounterOptions
    """The counter, what it counts within, and the order."""

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:  # noqa: ARG003 - no chance
        """Integers that number the rows of persons by another column."""
        if table.persons is None or (np.bincount(person_groups(table.persons)) > 1).sum() < LEAST_ROWS:
            return
        numbers = [column.name for column in table.schema if column.kind is Kind.INTEGER]
        ordered = [column.name for column in table.schema if column.kind.is_continuous]
        fixed = constant_within(table, ordered)
        orders = [order for order in ordered if order not in fixed]
        for name in (name for name in numbers if table.frame[name].min() == 1):
            for by in (order for order in orders if order != name):
                found = cls(counter=CounterOptions(column=name, by=by))
                if found.holds(table):
                    yield found

    @property
    def columns(self) -> tuple[str, ...]:
        """As :attr:`Constraint.columns`."""
        named = (self.counter.column, self.counter.by)
        return named if self.counter.within == PERSON else (*named, self.counter.within)

    @property
    def sentence(self) -> str:
        """As :attr:`Constraint.sentence`."""
        of = "each person" if self.counter.within == PERSON else f"each {self.counter.within}"
        return f"{self.counter.column} numbers the rows of {of} by {self.counter.by}"

    def problems(self, schema: Schema) -> Iterator[Problem]:
        """As :meth:`Constraint.problems`."""
        counted, order = schema[self.counter.column], schema[self.counter.by]
        if counted.kind is not Kind.INTEGER or not order.kind.is_continuous:
            yield Problem(
                f"a counter is a whole number, in the order of numbers or dates: {different_kinds((counted, order))}",
                "name an integer column, and a column of numbers or dates to order by",
            )

    def fit(self, table: Table, least: int) -> Rule:  # noqa: ARG002 - nothing is learned
        """As :meth:`Constraint.fit`."""
        return _Numbered(self)

    def broken(self, table: Table) -> Mask:
        """Rows whose number is not their place in their group."""
        values = table.frame[self.counter.column]
        return np.asarray((values != self.places(table)).fillna(False), dtype=bool)

    def places(self, table: Table) -> Codes:
        """Place of each row in its group, from 1.

        Shape (n_rows,), int64.
        """
        order = pd.factorize(table.frame[self.counter.by], sort=True, use_na_sentinel=False)[0]
        counted = table.frame[self.counter.column].to_numpy(dtype=np.float64, na_value=np.inf)
        groups = self._groups(table)
        rows = np.lexsort((counted, order, groups))
        starts = np.flatnonzero(np.diff(groups[rows], prepend=-1))
        places = np.empty(len(rows), dtype=np.int64)
        places[rows] = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows)))) + 1
        return places

    def _groups(self, table: Table) -> Array:
        within = table.persons if self.counter.within == PERSON else table.frame[self.counter.within]
        return np.asarray(pd.factorize(within, use_na_sentinel=False)[0])


@dataclass(frozen=True, eq=False)
class _Numbered(Rule):
    """Counter held by numbering the rows."""

    constraint: Counter

    @property
    def settles(self) -> tuple[str, ...]:
        return (self.constraint.counter.column,)

    def applies(self, table: Table) -> bool:
        """True if the table has the columns and the groups."""
        return super().applies(table) and (self.constraint.counter.within != PERSON or table.persons is not None)

    def settle(self, table: Table) -> Table:
        """The table with its rows numbered, where they have a number."""
        column = table.schema[self.constraint.counter.column]
        numbers = pd.Series(self.constraint.places(table)).astype(DTYPES[Kind.INTEGER])
        return with_column(table, column, numbers.where(table.frame[column.name].notna()))
