"""Derived columns: computed from others of the row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from hybrid.base.arrays import Mask
from hybrid.base.errors import Problem
from hybrid.constraints.constraint import LEAST_HELD, NUMBERS, Constraint, Rule, numbers, whole_numbers, with_column
from hybrid.constraints.expression import Expression, Sort, parse
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from hybrid.table.schema import ColumnFormat

RELATIVE = 1e-9
"""Share of a number within which a computed one counts as equal."""
_KINDS: Mapping[Sort, tuple[Kind, ...]] = {
    "number": NUMBERS,
    "time": (Kind.DATE, Kind.DATETIME),
    "truth": (Kind.BOOLEAN,),
    "text": (),
}
"""Kinds of columns that can hold each sort of value."""


class Derived(Constraint):
    """Column that is computed from others, such as an age, the length of a stay, or a total."""

    derived: Annotated[dict[str, str], Field(min_length=1, max_length=1)]
    """The column and its formula: ``{stay: days(admitted, discharged)}``, ``{total: drugs + bed}``. Numbers are rounded
    to the digits of the column, and a row does not break it by a rounded last digit. Where a column of the formula is
    missing, it is missing, too."""

    @field_validator("derived")
    @classmethod
    def _of_other_columns(cls, derived: dict[str, str]) -> dict[str, str]:
        for name, text in derived.items():
            if name in parse(text).columns:
                raise ValueError(f"{name}: a column is computed from others, not from itself")
        return derived

    @property
    def column(self) -> str:
        """The computed column."""
        return next(iter(self.derived))

    @property
    def expression(self) -> Expression:
        """Its formula."""
        return parse(self.derived[self.column])

    @property
    def columns(self) -> tuple[str, ...]:
        """As :attr:`Constraint.columns`."""
        return (self.column, *self.expression.columns)

    @property
    def sentence(self) -> str:
        """As :attr:`Constraint.sentence`."""
        return f"{self.column} is {self.derived[self.column]}"

    def breach(self, least: int) -> Problem:  # noqa: ARG002 - a formula is about no number of people
        """As :meth:`Constraint.breach`."""
        return Problem(f"rows of the source break: {self.sentence}", "it is computed anew, and none comes out broken")

    def problems(self, schema: Schema) -> Iterator[Problem]:
        """As :meth:`Constraint.problems`."""
        kind = schema[self.column].kind
        wanted = [sort for sort, kinds in _KINDS.items() if kind in kinds]
        hint = "correct the formula or the kind"
        yield from self.expression.problems(schema, wanted, f"and {self.column!r} is {kind}", hint)
        quasi, sources = Role.QUASI_IDENTIFIER, self.expression.columns
        told = [name for name in sources if schema[name].role is not quasi]
        if schema[self.column].role is quasi and told:
            yield Problem(
                f"{self.column!r} is a quasi-identifier, and is computed from what is none: {', '.join(told)}; beside "
                "its label these would tell what the label hides",
                f"give {', '.join(told)} the role quasi_identifier, too, or {self.column} another one",
            )

    def broken(self, table: Table) -> Mask:
        """As :meth:`Constraint.broken`."""
        column, values = table.schema[self.column], table.frame[self.column]
        wanted = self.computed(table, column)
        known = (values.notna() & wanted.notna()).to_numpy()
        if column.kind not in NUMBERS:
            return np.asarray(known & (values != wanted).fillna(False).to_numpy(dtype=bool))
        found, exact = numbers(values), numbers(self.expression.value(table))
        sources = (table.schema[name] for name in self.expression.columns)
        unit = max(_unit(column), *(_unit(one) for one in sources if one.kind is Kind.DECIMAL), 0)
        allowed = RELATIVE * np.maximum(np.abs(found), 1) + unit / 2
        return np.asarray(known & (np.abs(found - exact) > allowed))

    def computed(self, table: Table, column: Column) -> pd.Series:
        """Values of the formula in the dtype of a column, shape (n_rows,).

        Missing where the formula is unknown, or beyond what the column can hold.
        """
        values = self.expression.value(table)
        if column.kind is Kind.INTEGER:
            return whole_numbers(np.rint(numbers(values)))
        if column.kind is Kind.DECIMAL:
            found, decimals = numbers(values), column.format.decimals
            # Zero is added, since a rounded number may be minus zero.
            return pd.Series(found if decimals is None else np.round(found, decimals) + 0.0)
        if column.kind is Kind.DATE:
            values = values.dt.floor("D")
        return values.astype(DTYPES[column.kind])

    def holds(self, table: Table) -> bool:
        """True if nearly all rows agree, and the others are few."""
        known = table.frame[list(self.columns)].notna().all(axis=1).to_numpy()
        return bool(self.broken(table).sum() <= (1 - LEAST_HELD) * known.sum())

    def fit(self, table: Table, least: int) -> Rule:  # noqa: ARG002 - nothing is learned
        """As :meth:`Constraint.fit`."""
        return Computed(self)


def _unit(column: Column) -> float:
    """Unit of the last digit of a column of numbers.

    0: as many digits as needed.
    """
    if column.kind is Kind.INTEGER:
        return 1.0
    return 0.0 if column.format.decimals is None else 10.0**-column.format.decimals


@dataclass(frozen=True, eq=False)
class Computed(Rule):
    """Column held by computing it.

    A generator learns whether it has a value.
    """

    constraint: Derived

    @property
    def replaces(self) -> tuple[str, ...]:
        """The column."""
        return (self.constraint.column,)

    @property
    def settles(self) -> tuple[str, ...]:
        """The column."""
        return (self.constraint.column,)

    def encodes(self, table: Table) -> bool:  # noqa: ARG002 - the formula needs nothing
        """Always true."""
        return True

    def encode(self, table: Table, original: Table) -> Table:
        """True where there is a value, in place of the value."""
        column = original.schema[self.constraint.column]
        there = original.frame[column.name].notna().astype(DTYPES[Kind.BOOLEAN])
        return with_column(table, replace(column, kind=Kind.BOOLEAN, format=ColumnFormat()), there)

    def decode(self, table: Table, like: Table) -> Table:
        """Compute the values that are there."""
        column = like.schema[self.constraint.column]
        there = table.frame[column.name].fillna(False).to_numpy(dtype=bool)
        return with_column(table, column, self.constraint.computed(table, column).where(there))

    def settle(self, table: Table) -> Table:
        """Values of rows that have one, and all that the formula needs."""
        column = table.schema[self.constraint.column]
        there = table.frame[column.name].notna().to_numpy()
        return with_column(table, column, self.constraint.computed(table, column).where(there))

    def repair(self, table: Table, before: Table, rng: np.random.Generator) -> Table:  # noqa: ARG002 - nothing drawn
        """Compute it from the protected values."""
        return self.settle(table)
