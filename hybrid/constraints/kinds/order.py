"""Kinds of two columns of which the second is learned as its gap to the first: an order, or dates tied together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Self

import numpy as np
import pandas as pd
from pydantic import model_validator

from hybrid.base.arrays import Mask, Numbers
from hybrid.base.errors import Problem
from hybrid.constraints.constraint import (
    BY_CHANCE,
    LEAST_HELD,
    LEAST_ROWS,
    Constraint,
    Rule,
    different_kinds,
    in_order,
    no_row,
    whole_numbers,
    with_column,
)
from hybrid.constraints.gaps import Gap, between, gap_bounds, gaps, ties
from hybrid.table import Column, Kind, Schema, Table
from hybrid.table.codings import decimals_of, numbers_of

LEAST_DATED = 20
"""Rows with both dates, so that their order is suggested: people who died are few."""
SECONDS_OF_A_DAY = 86_400
DATES_BY_CHANCE = 0.02
"""As BY_CHANCE, of dates: births lie long before most others."""
IN_ORDER = 1e-3
"""Probability that independent dates are in order in all these rows."""


class _OfTwo(Constraint):
    @model_validator(mode="after")
    def _different(self) -> Self:
        if self.columns[0] == self.columns[1]:
            raise ValueError(f"{self.key} needs two different columns")
        return self


class Le(_OfTwo):
    """Order of two columns, in numbers or in time."""

    learns = "form"

    le: tuple[str, str]
    """Two columns of numbers, or two of dates or times; where both have a value, the first is at most the second. Any
    time of a day is at most the date of that day."""

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:
        """Pairs of one sort in order, which shuffled rows would not be; a few rows may break it in dates."""
        columns = [column for column in table.schema if column.kind.is_continuous]
        above = _above(table, columns)
        for (at, low), (other, high) in permutations(enumerate(columns), 2):
            allowed = _allowed(low, high)
            if low.kind.measure != high.kind.measure or above[at, other] > allowed:
                continue
            both = table.frame[[low.name, high.name]].dropna()
            first, second = _compared(both[low.name], both[high.name], high)
            few = len(both) < (LEAST_DATED if allowed else LEAST_ROWS)
            least = DATES_BY_CHANCE if allowed else BY_CHANCE
            if few or (first > second).mean() > allowed or not (first < second).any():
                continue
            shuffled = second.iloc[rng.permutation(len(both))].set_axis(both.index)
            out_of_order = float((first > shuffled).mean())
            if out_of_order >= least and (1 - out_of_order) ** len(both) <= IN_ORDER:
                yield cls(le=(low.name, high.name))

    def holds(self, table: Table) -> bool:
        first, second = (table.schema[name] for name in self.le)
        known = table.frame[list(self.le)].notna().all(axis=1).sum()
        return bool(self.broken(table).sum() <= _allowed(first, second) * known)

    @property
    def sentence(self) -> str:
        return f"{self.le[0]} is at most {self.le[1]}"

    def problems(self, schema: Schema) -> Iterator[Problem]:
        first, second = (schema[name] for name in self.le)
        if first.kind.measure is None or first.kind.measure != second.kind.measure:
            yield Problem(
                f"columns of different sorts have no order: {different_kinds((first, second))}",
                "name two columns of numbers, or two of dates or times",
            )

    def broken(self, table: Table) -> Mask:
        low, high = self.le
        first, second = _compared(table.frame[low], table.frame[high], table.schema[high])
        return np.asarray((first > second).fillna(False), dtype=bool)

    def with_equal(self, table: Table, rows: Mask) -> Table:
        """The table with both columns equal in some rows.

        The second is set to the first, or to the least value of its own kind above it; where there is none, it stays.
        """
        first, second = self.le
        column, now = table.schema[second], table.frame[second]
        raised = _least_above(table.frame[first], column)
        return with_column(table, column, now.mask(rows & raised.notna().to_numpy(), raised))

    def fit(self, table: Table, least: int) -> Rule:
        found = None if self._is_unlike(table) else gap_bounds(gaps(table, *self.le), table, least, lowest=0)
        return _Order(self) if found is None else _Gap(self, *found)

    @classmethod
    def together(cls, constraints: Sequence[Le], table: Table, least: int) -> Iterator[Rule]:
        """Columns that several others are at most, counted from the largest of these in each row."""
        for high in dict.fromkeys(one.le[1] for one in constraints):
            orders = tuple(one for one in constraints if one.le[1] == high and not one._is_unlike(table))
            lows = tuple(one.le[0] for one in orders)
            if len(lows) > 1:
                found = between(_largest(table, lows), table.frame[high], table.schema[high])
                ends = gap_bounds(found, table, least, lowest=0)
                if ends is not None:
                    yield _AboveAll(orders[0], *ends, lows)

    def _is_unlike(self, table: Table) -> bool:
        kinds = [table.schema[name].kind for name in self.le]
        return not all(kind.is_temporal for kind in kinds) and (len(set(kinds)) > 1 or not kinds[0].is_number)


@dataclass(frozen=True, eq=False)
class _Order(Rule):
    constraint: Le

    def repair(self, table: Table, before: Table, rng: np.random.Generator) -> Table:  # noqa: ARG002 - nothing drawn
        """Set both equal where protection has swapped them: only close values swap."""
        rows = self.broken(table) & ~self.broken(before)
        return self.constraint.with_equal(table, rows) if rows.any() else table


@dataclass(frozen=True, eq=False)
class _Gap(Gap, _Order):
    """Order held by learning the difference in place of the larger column."""


@dataclass(frozen=True, eq=False)
class _AboveAll(_Gap):
    lows: tuple[str, ...]
    """These columns."""

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.lows, self.other)

    def first(self, table: Table) -> pd.Series:
        return _largest(table, self.lows)

    def broken(self, table: Table) -> Mask:
        return np.asarray(np.logical_or.reduce([Le(le=(low, self.other)).broken(table) for low in self.lows]))


def _largest(table: Table, names: Sequence[str]) -> pd.Series:
    return table.frame[list(names)].max(axis=1)


def _compared(first: pd.Series, second: pd.Series, column: Column) -> tuple[pd.Series, pd.Series]:
    """Values of two columns as they are compared: with those of a column of dates, times count as their day."""
    return column.kind.type.floor(first), second


def _least_above(values: pd.Series, column: Column) -> pd.Series:
    """Least values of a column that are not below these, missing where it can have none."""
    if not column.kind.is_number:
        return column.kind.type.floor(values)
    if column.kind is Kind.INTEGER and not pd.api.types.is_float_dtype(values.dtype):
        return values
    found, decimals = numbers_of(values), decimals_of(column)
    if decimals is not None:
        rounded = np.round(found, decimals)
        found = np.where(rounded < found, np.round(rounded + 10.0**-decimals, decimals), rounded)
    return whole_numbers(found) if column.kind is Kind.INTEGER else pd.Series(found)


def _allowed(low: Column, high: Column) -> float:
    """Share of the rows that may break an order that is suggested."""
    return 1 - LEAST_HELD if low.kind.is_temporal and high.kind.is_temporal else 0.0


def _above(table: Table, columns: Sequence[Column]) -> Numbers:
    values = np.array([in_order(table, column) for column in columns]).reshape(len(columns), len(table))
    timed = np.array([column.kind is Kind.DATETIME for column in columns], dtype=bool)[:, None]
    days = np.where(timed, np.floor(values / SECONDS_OF_A_DAY) * SECONDS_OF_A_DAY, values)
    dated = np.array([column.kind is Kind.DATE for column in columns], dtype=bool)[:, None]
    return np.array([(np.where(dated, day, one) > values).mean(axis=1) for one, day in zip(values, days, strict=True)])


class Tied(_OfTwo):
    """Time from one date of a row to another."""

    learns = "form"

    tied: tuple[str, str]
    """Two columns of dates or times. The time from the first to the second, which may be negative, is what is protected
    and learned in place of the second."""

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:  # noqa: ARG003 - no chance
        yield from (cls(tied=pair) for pair in ties(table))

    @property
    def sentence(self) -> str:
        return f"the time from {self.tied[0]} to {self.tied[1]} is one between those of training persons"

    def problems(self, schema: Schema) -> Iterator[Problem]:
        columns = [schema[name] for name in self.tied]
        if not all(column.kind.is_temporal for column in columns):
            yield Problem(f"only dates and times are tied: {different_kinds(columns)}", "name two of dates or times")

    def breach(self, least: int) -> Problem:
        return Problem(
            f"rows of the source have a time from {self.tied[0]} to {self.tied[1]} that is shorter or longer than "
            f"those of {least} people",
            "none of these comes out: one that more people have takes its place, or the row is left out",
        )

    def broken(self, table: Table) -> Mask:
        return no_row(table)

    def fit(self, table: Table, least: int) -> Rule:
        found = gap_bounds(gaps(table, *self.tied), table, least)
        return Rule(self) if found is None else _Bounded(self, *found)


@dataclass(frozen=True, eq=False)
class _Bounded(Gap):
    def broken(self, table: Table) -> Mask:
        found = gaps(table, *self.constraint.columns)
        return np.asarray((found < self.low) | (found > self.high))
