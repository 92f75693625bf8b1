"""Kinds held by computing columns from others: formulas, copies, counters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from hybrid.base.arrays import Array, Codes, Mask
from hybrid.base.errors import Problem
from hybrid.base.options import Options
from hybrid.base.words import named
from hybrid.constraints.constraint import (
    BY_CHANCE,
    LEAST_HELD,
    LEAST_ROWS,
    Constraint,
    Rule,
    different_kinds,
    no_row,
    recurrence,
    whole_numbers,
    with_column,
)
from hybrid.constraints.expression import Expression, parse
from hybrid.table import Column, ColumnFormat, Kind, Role, Schema, Table
from hybrid.table.codings import numbers_of, step_of
from hybrid.table.persons import constant_within, person_groups

RELATIVE = 1e-9
"""Share of a number within which a computed one counts as equal."""
SINGLE = 2.0**-23
"""The same of numbers without fixed digits, which may come from single precision, as of Stata."""


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
        return next(iter(self.derived))

    @property
    def expression(self) -> Expression:
        return parse(self.derived[self.column])

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, *self.expression.columns)

    @property
    def sentence(self) -> str:
        return f"{self.column} is {self.derived[self.column]}"

    def breach(self, least: int) -> Problem:  # noqa: ARG002 - a formula is about no number of people
        return Problem(f"rows of the source break: {self.sentence}", "it is computed anew, and none comes out broken")

    def problems(self, schema: Schema) -> Iterator[Problem]:
        kind = schema[self.column].kind
        wanted = [] if kind.type.sort == "text" else [kind.type.sort]
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
        column, values = table.schema[self.column], table.frame[self.column]
        wanted = self.computed(table, column)
        known = (values.notna() & wanted.notna()).to_numpy()
        if not column.kind.is_number:
            return np.asarray(known & (values != wanted).fillna(False).to_numpy(dtype=bool))
        found, exact = numbers_of(values), numbers_of(self.expression.value(table))
        sources = (table.schema[name] for name in self.expression.columns)
        unit = max(step_of(column), *(step_of(one) for one in sources if one.kind.type.has_decimals), 0)
        in_full = column.kind.type.has_decimals and column.format.decimals is None
        allowed = (SINGLE if in_full else RELATIVE) * np.maximum(np.abs(found), 1) + unit / 2
        return np.asarray(known & (np.abs(found - exact) > allowed))

    def computed(self, table: Table, column: Column) -> pd.Series:
        """Values of the formula in the dtype of a column, shape (n_rows,).

        Missing where the formula is unknown, or beyond what the column can hold.
        """
        values = self.expression.value(table)
        if column.kind is Kind.INTEGER:
            return whole_numbers(np.rint(numbers_of(values)))
        if column.kind.type.has_decimals:
            found, decimals = numbers_of(values), column.format.decimals
            # Zero is added, since a rounded number may be minus zero.
            return pd.Series(found if decimals is None else np.round(found, decimals) + 0.0)
        return column.kind.type.floor(values).astype(column.kind.type.dtype)

    def holds(self, table: Table) -> bool:
        known = table.frame[list(self.columns)].notna().all(axis=1).to_numpy()
        return bool(self.broken(table).sum() <= (1 - LEAST_HELD) * known.sum())

    def fit(self, table: Table, least: int) -> Rule:  # noqa: ARG002 - nothing is learned
        return Computed(self)


@dataclass(frozen=True, eq=False)
class _Following(Rule):
    """Columns that follow from others, so that they are computed in place of being drawn."""

    @property
    def settles(self) -> tuple[str, ...]:
        return self.replaces

    def encodes(self, table: Table) -> bool:  # noqa: ARG002 - any records can be
        return True

    def repair(self, table: Table, before: Table, rng: np.random.Generator) -> Table:  # noqa: ARG002 - nothing drawn
        return self.settle(table)


@dataclass(frozen=True, eq=False)
class Computed(_Following):
    """Column held by computing it; a generator learns whether it has a value."""

    constraint: Derived

    @property
    def replaces(self) -> tuple[str, ...]:
        return (self.constraint.column,)

    def encode(self, table: Table, original: Table) -> Table:
        column = original.schema[self.constraint.column]
        there = original.frame[column.name].notna().astype(Kind.BOOLEAN.type.dtype)
        return with_column(table, replace(column, kind=Kind.BOOLEAN, format=ColumnFormat()), there)

    def decode(self, table: Table, like: Table) -> Table:
        column = like.schema[self.constraint.column]
        there = table.frame[column.name].fillna(False).to_numpy(dtype=bool)
        return with_column(table, column, self.constraint.computed(table, column).where(there))

    def settle(self, table: Table) -> Table:
        column = table.schema[self.constraint.column]
        there = table.frame[column.name].notna().to_numpy()
        return with_column(table, column, self.constraint.computed(table, column).where(there))


class Equal(Constraint):
    """Columns with the same value, or missing together."""

    equal: Annotated[tuple[str, ...], Field(min_length=2)]
    """Two columns or more of one kind. The first is protected and learned, the others are copies of it."""

    @field_validator("equal")
    @classmethod
    def _different(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("equal names each column once")
        return names

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:  # noqa: ARG003 - no chance
        """Columns that agree in all rows, and would not if shuffled; of quasi-identifiers only the first."""
        same: dict[tuple[str, bytes], list[str]] = {}
        for column in sorted(table.schema, key=lambda one: one.role is not Role.QUASI_IDENTIFIER):
            values = table.frame[column.name]
            if values.notna().sum() < LEAST_ROWS or 1 - recurrence(values) < BY_CHANCE:
                continue
            digest = pd.util.hash_pandas_object(values, index=False).to_numpy().tobytes()
            names = same.setdefault((str(column.kind), digest), [])
            if not names or column.role is not Role.QUASI_IDENTIFIER:
                names.append(column.name)
        yield from (cls(equal=tuple(names)) for names in same.values() if len(names) > 1)

    @property
    def sentence(self) -> str:
        return f"{named(self.columns)} are equal"

    def problems(self, schema: Schema) -> Iterator[Problem]:
        columns = [schema[name] for name in self.equal]
        if len({column.kind for column in columns}) > 1:
            yield Problem(f"equal columns are of one kind: {different_kinds(columns)}", "give them the same kind")
        quasi = [column.name for column in columns[1:] if column.role is Role.QUASI_IDENTIFIER]
        if quasi:
            yield Problem(
                f"copies cannot be quasi-identifiers, which are made coarser on their own: {', '.join(quasi)}",
                "name one quasi-identifier first, and give the others another role or leave them out of the file",
            )

    def broken(self, table: Table) -> Mask:
        first, *others = (table.frame[name] for name in self.equal)
        found = no_row(table)
        for other in others:
            same = (other.astype(object) == first.astype(object)) | (other.isna() & first.isna())
            found |= ~same.fillna(False).to_numpy(dtype=bool)
        return found

    def fit(self, table: Table, least: int) -> Rule:  # noqa: ARG002 - nothing is learned
        return _Copied(self)


@dataclass(frozen=True, eq=False)
class _Copied(_Following):
    """Equal columns held by copying the first, which alone a generator learns."""

    constraint: Equal

    @property
    def replaces(self) -> tuple[str, ...]:
        return self.constraint.equal[1:]

    def encode(self, table: Table, original: Table) -> Table:  # noqa: ARG002 - the first column says it all
        left = [name for name in table.schema.names if name not in self.replaces]
        return Table(table.frame[left], Schema(tuple(table.schema[name] for name in left)), table.named_persons)

    def decode(self, table: Table, like: Table) -> Table:
        first, *others = self.constraint.equal
        frame = table.frame.assign(**dict.fromkeys(others, table.frame[first]))
        columns = {column.name: column for column in table.schema} | {name: like.schema[name] for name in others}
        names = [name for name in like.schema.names if name in columns]
        return Table(frame[names], Schema(tuple(columns[name] for name in names)), table.named_persons)

    def settle(self, table: Table) -> Table:
        first, *others = self.constraint.equal
        for name in others:
            table = with_column(table, table.schema[name], table.frame[first])
        return table


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
        if (np.bincount(person_groups(table.persons)) > 1).sum() < LEAST_ROWS:
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
        named = (self.counter.column, self.counter.by)
        return named if self.counter.within == PERSON else (*named, self.counter.within)

    @property
    def sentence(self) -> str:
        of = "each person" if self.counter.within == PERSON else f"each {self.counter.within}"
        return f"{self.counter.column} numbers the rows of {of} by {self.counter.by}"

    def problems(self, schema: Schema) -> Iterator[Problem]:
        counted, order = schema[self.counter.column], schema[self.counter.by]
        if counted.kind is not Kind.INTEGER or not order.kind.is_continuous:
            yield Problem(
                f"a counter is a whole number, in the order of numbers or dates: {different_kinds((counted, order))}",
                "name an integer column, and a column of numbers or dates to order by",
            )

    def fit(self, table: Table, least: int) -> Rule:  # noqa: ARG002 - nothing is learned
        return _Numbered(self)

    def broken(self, table: Table) -> Mask:
        values = table.frame[self.counter.column]
        return np.asarray((values != self.places(table)).fillna(False), dtype=bool)

    def places(self, table: Table) -> Codes:
        """Place of each row in its group, from 1; shape (n_rows,), int64."""
        order = pd.factorize(table.frame[self.counter.by], sort=True, use_na_sentinel=False)[0]
        counted = table.frame[self.counter.column].to_numpy(dtype=np.float64, na_value=np.inf)
        groups = self._groups(table)
        rows = np.lexsort((counted, order, groups))
        places = np.empty(len(rows), dtype=np.int64)
        places[rows] = pd.Series(groups[rows]).groupby(groups[rows]).cumcount() + 1
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
        return super().applies(table) and (self.constraint.counter.within != PERSON or not table.rows_are_persons)

    def settle(self, table: Table) -> Table:
        column = table.schema[self.constraint.counter.column]
        numbers = pd.Series(self.constraint.places(table)).astype(Kind.INTEGER.type.dtype)
        return with_column(table, column, numbers.where(table.frame[column.name].notna()))
