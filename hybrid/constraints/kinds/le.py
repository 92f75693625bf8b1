"""Order of two columns: one is at most the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import pandas as pd
from pydantic import model_validator

from hybrid.base.arrays import Mask, Numbers
from hybrid.base.errors import Problem
from hybrid.constraints.constraint import (
    BY_CHANCE,
    LEAST_ROWS,
    NUMBERS,
    Constraint,
    Rule,
    different_kinds,
    kept_then_broken,
    numbers,
    people,
    with_column,
)
from hybrid.table import DTYPES, Column, Kind, Schema, Table
from hybrid.table.holders import bounds
from hybrid.table.schema import ColumnFormat

_MICROSECONDS = {Kind.DATE: 86_400_000_000, Kind.DATETIME: 1}


class Le(Constraint):
    """Order of two columns, in numbers or in time."""

    learns = "form"

    le: tuple[str, str]
    """Two columns of numbers, or two of dates or times; where both have a value, the first is at most the second."""

    @model_validator(mode="after")
    def _two_columns(self) -> Le:
        if self.le[0] == self.le[1]:
            raise ValueError("le needs two different columns")
        return self

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:
        """Pairs of one sort in order, which shuffled rows would not be."""
        columns = [column for column in table.schema if column.kind.is_continuous]
        in_order = _never_above([_in_order(table, column) for column in columns])
        for (at, low), (other, high) in permutations(enumerate(columns), 2):
            if low.kind.is_temporal != high.kind.is_temporal or not in_order[at, other]:
                continue
            both = table.frame[[low.name, high.name]].dropna()
            first, second = both[low.name], both[high.name]
            if len(both) < LEAST_ROWS or (first > second).any() or not (first < second).any():
                continue
            shuffled = second.iloc[rng.permutation(len(both))].set_axis(both.index)
            if (first > shuffled).mean() >= BY_CHANCE:
                yield cls(le=(low.name, high.name))

    @property
    def columns(self) -> tuple[str, ...]:
        """As :attr:`Constraint.columns`."""
        return self.le

    @property
    def sentence(self) -> str:
        """As :attr:`Constraint.sentence`."""
        return f"{self.le[0]} is at most {self.le[1]}"

    def problems(self, schema: Schema) -> Iterator[Problem]:
        """As :meth:`Constraint.problems`."""
        first, second = (schema[name] for name in self.le)
        alike = all(c.kind in NUMBERS for c in (first, second)) or all(c.kind.is_temporal for c in (first, second))
        if not alike:
            yield Problem(
                f"columns of different sorts have no order: {different_kinds((first, second))}",
                "name two columns of numbers, or two of dates or times",
            )

    def broken(self, table: Table) -> Mask:
        """As :meth:`Constraint.broken`."""
        first, second = (table.frame[name] for name in self.le)
        return np.asarray((first > second).fillna(False), dtype=bool)

    def with_equal(self, table: Table, rows: Mask) -> Table:
        """The table with both columns equal in some rows.

        The second is set to the first.
        """
        first, second = self.le
        values = table.frame[second].mask(rows, table.frame[first].astype(table.frame[second].dtype))
        return with_column(table, table.schema[second], values)

    def fit(self, table: Table, least: int) -> Rule:
        """As :meth:`Constraint.fit`."""
        low, high = self.le
        kinds = {table.schema[name].kind for name in self.le}
        if len(kinds) > 1:
            return _Order(self)
        gaps = _gaps(table, low, high)
        known = ~np.isnan(gaps) & (np.nan_to_num(gaps) >= 0)
        values, codes = np.unique(np.where(known, gaps, -1.0), return_inverse=True)
        found = bounds(np.where(known, codes, -1), least, people(table))
        if found is None:
            return _Order(self)
        return _Gap(self, low=float(values[found[0]]), high=float(values[found[1]]))


@dataclass(frozen=True, eq=False)
class _Order(Rule):
    """Order held by drawing again."""

    constraint: Le

    def repair(self, table: Table, before: Table, rng: np.random.Generator) -> Table:  # noqa: ARG002 - nothing drawn
        """Set both equal where protection has swapped them.

        Only close values swap.
        """
        rows = kept_then_broken(self, table, before)
        return self.constraint.with_equal(table, rows) if rows.any() else table


@dataclass(frozen=True, eq=False)
class _Gap(_Order):
    """Order held by learning the difference in place of the larger column.

    ``low`` and ``high`` bound the differences: those that few training persons lie beyond are coded to them.
    """

    low: float
    high: float

    @property
    def _names(self) -> tuple[str, str]:
        return self.constraint.le

    @property
    def replaces(self) -> tuple[str, ...]:
        return (self._names[1],)

    def encodes(self, table: Table) -> bool:
        """True if the smaller is there wherever the larger is."""
        first, second = (table.frame[name] for name in self._names)
        return not bool((first.isna() & second.notna()).any())

    def encode(self, table: Table, original: Table) -> Table:
        first, second = self._names
        column = original.schema[second]
        gaps = np.clip(_gaps(original, first, second), self.low, self.high)
        kind = Kind.DECIMAL if column.kind is Kind.DECIMAL else Kind.INTEGER
        shape = ColumnFormat(decimals=column.format.decimals if kind is Kind.DECIMAL else None)
        return with_column(table, replace(column, kind=kind, format=shape), pd.Series(gaps).astype(DTYPES[kind]))

    def decode(self, table: Table, like: Table) -> Table:
        first, second = self._names
        column = like.schema[second]
        start, gaps = table.frame[first], table.frame[second]
        if column.kind.is_temporal:
            steps = gaps.astype("float64") * _MICROSECONDS[column.kind]
            values = start + pd.to_timedelta(steps, unit="us")
        else:
            values = start + gaps
            if column.kind is Kind.DECIMAL and column.format.decimals is not None:
                values = values.round(column.format.decimals)
        return with_column(table, column, values.astype(DTYPES[column.kind]))


def _in_order(table: Table, column: Column) -> Numbers:
    """Numbers in the order of a column's values."""
    values = table.frame[column.name]
    return numbers((values - pd.Timestamp(0)).dt.total_seconds() if column.kind.is_temporal else values)


def _never_above(columns: Sequence[Numbers]) -> Mask:
    """Pairs of columns of which the first is nowhere above the second."""
    values = np.array(columns)
    return np.array([~(one > values).any(axis=1) for one in values], dtype=bool)


def _gaps(table: Table, low: str, high: str) -> Numbers:
    """Differences in numbers, days or microseconds.

    NaN where one is missing.
    """
    kind, decimals = table.schema[high].kind, table.schema[high].format.decimals
    first, second = table.frame[low], table.frame[high]
    if kind.is_temporal:
        gaps = (second - first).dt.total_seconds().to_numpy(dtype=np.float64) * 1e6 / _MICROSECONDS[kind]
        return np.asarray(np.rint(gaps), dtype=np.float64)
    gaps = (second.astype("Float64") - first.astype("Float64")).to_numpy(dtype=np.float64, na_value=np.nan)
    return gaps if decimals is None else np.asarray(np.round(gaps, decimals), dtype=np.float64)
