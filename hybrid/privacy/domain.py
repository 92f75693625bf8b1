"""Options of the section ``privacy``, and domains of columns, declared or found by noisy counts.

The missing value is a state of every column. A category outside its domain counts as missing, a number beyond its
bounds as the nearer bound, so that a record changes its own states and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from hybrid.base.arrays import Array, Codes
from hybrid.base.options import Options
from hybrid.table import Column, Kind

Bound = int | float | datetime | date | time


class KnownColumn(Options):
    """Public knowledge about one column, which was not learned from the records."""

    bounds: tuple[Bound, Bound] | None = None
    """Least and greatest value of a number, date or time, both included; values beyond count as the nearer bound."""
    decimals: int | None = Field(default=None, ge=0, le=9)
    """Digits after the point of a decimal column."""
    values: tuple[str, ...] | None = Field(default=None, min_length=1)
    """All values of a category; others count as missing. null: those that the column's hierarchy file lists, or those
    that noisy counts of persons find."""

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.bounds is None:
            return self
        low, high = self.bounds
        if any(isinstance(low, sort) != isinstance(high, sort) for sort in (date, datetime, time)):
            raise ValueError("bounds: both are numbers, both dates, or both times")
        if not low < high:  # type: ignore[operator]  # of one sort
            raise ValueError("bounds: the first must be below the second")
        return self


class PrivacyOptions(Options):
    """Options of a differentially private release."""

    mode: Literal["dp"]
    """dp: the synthetic table is (epsilon, delta)-differentially private for one person more or less, with all rows."""
    epsilon: float = Field(gt=0, le=100)
    """Privacy budget of one run."""
    delta: float = Field(gt=0, lt=0.01)
    """Probability that the bound epsilon may fail; to be well below 1 / number of persons."""
    bins: int = Field(default=32, ge=2, le=1000)
    """Intervals that a column of many numbers or dates is cut into, about; values that many rows share stay apart."""
    people: str | None = Field(default=None, min_length=1)
    """Name of the people behind the records: all draws under one name share the policy's yearly budget, as do draws
    from the same file, query or records. null: the name of the configuration."""
    columns: dict[str, KnownColumn] = Field(default_factory=dict)
    """What is known of each column beforehand. Every number, date and time needs its bounds."""


@dataclass(frozen=True)
class ValueGrid:
    """Values ``(low + i) / scale`` for i in 0..last: numbers, or times in the unit of their kind."""

    kind: Kind
    low: int
    """The least value, times the scale."""
    last: int
    """Position of the greatest value."""
    scale: int = 1
    """Power of ten; 1 but for decimals."""

    @classmethod
    def of(cls, kind: Kind, bounds: tuple[Bound, Bound], decimals: int = 0) -> ValueGrid:
        scale = 10**decimals if kind.type.has_decimals else 1
        low, high = (_whole(bound, kind, scale) for bound in bounds)
        return cls(kind, low, high - low, scale)

    def positions(self, values: pd.Series) -> Array:
        """Position of each value, int64; values beyond the bounds are at the nearer one, none is missing."""
        if self.kind.type.has_decimals:
            values = values.clip(self.low / self.scale, (self.low + self.last) / self.scale)
        whole = self.kind.type.whole(values, self.scale) // self.kind.type.unit
        return np.asarray(np.clip(whole, self.low, self.low + self.last) - self.low)

    def values(self, positions: Array, missing: Array) -> pd.Series:
        return self.kind.type.series((positions + self.low) * self.kind.type.unit, missing, self.scale)


def _whole(bound: Bound, kind: Kind, scale: int) -> int:
    whole = kind.type.bound(bound, scale)
    if whole is None:
        raise ValueError(f"a bound of a {kind} column is no {type(bound).__name__}")
    return whole


@dataclass(frozen=True)
class CategoryDomain:
    """Domain of a category or truth value."""

    column: Column
    """What is released: name, role, kind and a format that is the same for all tables."""
    states: tuple[str, ...] | tuple[bool, ...]
    """1 or more."""

    @property
    def size(self) -> int:
        """Number of states, with the missing one, which is the last."""
        return len(self.states) + 1

    def encode(self, values: pd.Series) -> Codes:
        plain = values.astype(object).where(values.notna(), None)
        codes = pd.Index(self.states, dtype=object).get_indexer(pd.Index(plain, dtype=object))
        return np.where(codes < 0, len(self.states), codes).astype(np.int32)

    def decode(self, codes: Codes, rng: np.random.Generator) -> pd.Series:  # noqa: ARG002  (a state is a value)
        if self.column.kind is Kind.BOOLEAN:
            values = np.array([*self.states, False], dtype=bool)[codes]
            return pd.Series(pd.arrays.BooleanArray(values, codes == len(self.states)))
        known = np.where(codes == len(self.states), -1, codes)
        return pd.Series(pd.Categorical.from_codes(known, categories=list(self.states)))


@dataclass(frozen=True)
class NumberDomain:
    """Domain of a number, date or time: intervals of a grid."""

    column: Column
    """As of :class:`CategoryDomain`."""
    grid: ValueGrid
    lows: Array
    highs: Array
    """First and last position of each interval; together they are all positions; shape (n_intervals,), int64."""

    @property
    def size(self) -> int:
        """Number of states, with the missing one, which is the last."""
        return len(self.lows) + 1

    def encode(self, values: pd.Series) -> Codes:
        known = values.notna().to_numpy()
        codes = np.full(len(values), len(self.lows), dtype=np.int32)
        codes[known] = np.searchsorted(self.lows, self.grid.positions(values[known]), side="right") - 1
        return codes

    def decode(self, codes: Codes, rng: np.random.Generator) -> pd.Series:
        """Value of each state, drawn evenly from its interval."""
        missing = codes == len(self.lows)
        at = np.where(missing, 0, codes)
        return self.grid.values(rng.integers(self.lows[at], self.highs[at], endpoint=True), missing)


Domain = CategoryDomain | NumberDomain


def neutral_column(column: Column, decimals: int | None = None) -> Column:
    """The column in a format that no record decides."""
    return Column(column.name, column.role, column.kind, column.target, column.kind.type.neutral_format(decimals))


def single_value_domain(column: Column, grid: ValueGrid) -> NumberDomain:
    positions = np.arange(grid.last + 1)
    return NumberDomain(column, grid, positions, positions)


def interval_domain(column: Column, grid: ValueGrid, intervals: Sequence[tuple[int, int]]) -> NumberDomain:
    """Domain of these intervals (first and last position), ascending."""
    lows, highs = np.array(intervals, dtype=np.int64).T
    return NumberDomain(column, grid, lows, highs)
