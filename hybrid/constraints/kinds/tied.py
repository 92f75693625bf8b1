"""Dates of a row that belong together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from pydantic import model_validator

from hybrid.base.arrays import Mask
from hybrid.base.errors import Problem
from hybrid.constraints.constraint import Constraint, Rule, different_kinds, no_row
from hybrid.constraints.gaps import Gap, fitted_gap, gaps, ties
from hybrid.table import Schema, Table


class Tied(Constraint):
    """Time from one date of a row to another."""

    learns = "form"

    tied: tuple[str, str]
    """Two columns of dates or times. The time from the first to the second, which may be negative, is what is protected
    and learned in place of the second."""

    @model_validator(mode="after")
    def _two_columns(self) -> Tied:
        if self.tied[0] == self.tied[1]:
            raise ValueError("tied needs two different columns")
        return self

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:  # noqa: ARG003 - no chance
        """Dates that lie close to another one of their row."""
        yield from (cls(tied=pair) for pair in ties(table))

    @property
    def columns(self) -> tuple[str, ...]:
        """As :attr:`Constraint.columns`."""
        return self.tied

    @property
    def sentence(self) -> str:
        """As :attr:`Constraint.sentence`."""
        return f"the time from {self.tied[0]} to {self.tied[1]} is one between those of training persons"

    def problems(self, schema: Schema) -> Iterator[Problem]:
        """As :meth:`Constraint.problems`."""
        columns = [schema[name] for name in self.tied]
        if not all(column.kind.is_temporal for column in columns):
            yield Problem(f"only dates and times are tied: {different_kinds(columns)}", "name two of dates or times")

    def breach(self, least: int) -> Problem:
        """As :meth:`Constraint.breach`."""
        return Problem(
            f"rows of the source have a time from {self.tied[0]} to {self.tied[1]} that is shorter or longer than "
            f"those of {least} people",
            "none of these comes out: one that more people have takes its place, or the row is left out",
        )

    def broken(self, table: Table) -> Mask:
        """No row: the bounds are those of training records."""
        return no_row(table)

    def fit(self, table: Table, least: int) -> Rule:
        """As :meth:`Constraint.fit`."""
        found = fitted_gap(self, table, least)
        return Rule(self) if found is None else _Bounded(self, *found)


@dataclass(frozen=True, eq=False)
class _Bounded(Gap):
    """Gap between the bounds of the training persons."""

    def broken(self, table: Table) -> Mask:
        """Rows whose gap is beyond the bounds."""
        found = gaps(table, *self.constraint.columns)
        return np.asarray((found < self.low) | (found > self.high))
