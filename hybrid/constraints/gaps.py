"""Gaps between two columns of a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import pandas as pd

from hybrid.base.arrays import Numbers
from hybrid.constraints.constraint import LEAST_ROWS, Rule, recurrence, whole_numbers, with_column
from hybrid.table import DTYPES, Column, ColumnFormat, Kind, Table
from hybrid.table.holders import people_bounds, row_holders

CLOSE = 0.25
"""Spread of the gaps, relative to that of the later dates, up to which two dates of a row count as tied."""
MOST_UNANCHORED = 0.05
"""Share of the later values at most that may lack the value they are counted from."""
MOST_ROWS = 5_000
"""Rows that ties are looked for in at most, evenly spread over the table."""
RECURRING = 2.0
"""How much likelier two rows may have the same second value than the same gap."""
_MIDDLE = (0.1, 0.9)
"""Quantiles between which values spread."""


@dataclass(frozen=True, eq=False)
class Gap(Rule):
    """Gap that is protected and learned in place of the second column."""

    low: float
    high: float
    """Bounds of the gaps; those that few training persons lie beyond are coded to them. In days for a date, in
    microseconds for a time, else in the column's own numbers."""

    @property
    def anchor(self) -> str:
        return self.constraint.columns[0]

    @property
    def other(self) -> str:
        return self.constraint.columns[1]

    @property
    def replaces(self) -> tuple[str, ...]:
        return (self.other,)

    def first(self, table: Table) -> pd.Series:
        """The values that the second ones are counted from."""
        return table.frame[self.anchor]

    def encodes(self, table: Table) -> bool:
        """True if nearly all second values have a first one, and none recurs as gaps do not.

        The day on which a study ended would be smeared. Dates, moreover, must lie no farther from the first than from
        each other.
        """
        second, column = table.frame[self.other], table.schema[self.other]
        if _lacking(self.first(table), second) > MOST_UNANCHORED:
            return False
        found = self._gaps(table)
        if recurrence(second[~np.isnan(found)]) > RECURRING * recurrence(pd.Series(found)):
            return False
        return not column.kind.is_temporal or _closeness(found, second, column) <= 1

    def coarseness(self, table: Table) -> float:
        """As :func:`closeness`: of several gaps the closest is learned."""
        return _closeness(self._gaps(table), table.frame[self.other], table.schema[self.other])

    def encode(self, table: Table, original: Table) -> Table:
        """Gaps in place of the second column, coded to the bounds; none where the first column is missing."""
        column = original.schema[self.other]
        found = np.clip(self._gaps(original), self.low, self.high)
        kind = Kind.DECIMAL if column.kind.type.has_decimals else Kind.INTEGER
        shape = ColumnFormat(decimals=column.format.decimals if kind is Kind.DECIMAL else None)
        values = whole_numbers(found) if kind is Kind.INTEGER else pd.Series(found)
        return with_column(table, replace(column, kind=kind, format=shape), values)

    def _gaps(self, table: Table) -> Numbers:
        return between(self.first(table), table.frame[self.other], table.schema[self.other])

    def decode(self, table: Table, like: Table) -> Table:
        column, known = like.schema[self.other], like.frame[self.other].dropna()
        values = after(self.first(table), table.frame[self.other], column)
        if len(known):
            values = values.clip(known.min(), known.max())
        return with_column(table, column, values.astype(DTYPES[column.kind]))


def gap_bounds(found: Numbers, table: Table, least: int, lowest: float = -np.inf) -> tuple[float, float] | None:
    """Low and high bound of the gaps of a table's rows, each with ``least`` persons at and beyond it.

    Gaps below ``lowest`` do not count. None where too few persons have a gap.
    """
    known = ~np.isnan(found) & (np.nan_to_num(found) >= lowest)
    values, codes = np.unique(np.where(known, found, 0.0), return_inverse=True)
    ends = people_bounds(np.where(known, codes, -1), least, row_holders(table))
    return None if ends is None else (float(values[ends[0]]), float(values[ends[1]]))


def gaps(table: Table, anchor: str, other: str) -> Numbers:
    """Differences in numbers, days or microseconds, shape (n_rows,); NaN where one is missing.

    To a date the days are counted from the date of a time.
    """
    return between(table.frame[anchor], table.frame[other], table.schema[other])


def between(first: pd.Series, second: pd.Series, column: Column) -> Numbers:
    """Differences as :func:`gaps`, of values of two columns of which the second is given."""
    kind, decimals = column.kind, column.format.decimals
    if kind.is_temporal:
        return _units(second - kind.type.floor(first), kind)
    found = (second.astype("Float64") - first.astype("Float64")).to_numpy(dtype=np.float64, na_value=np.nan)
    return found if decimals is None else np.asarray(np.round(found, decimals), dtype=np.float64)


def after(first: pd.Series, found: pd.Series, column: Column) -> pd.Series:
    """Second values from the first and the gaps, shape (n,); undoes :func:`gaps`."""
    if column.kind.is_temporal:
        return column.kind.type.floor(first) + lengths(found, column.kind.type.finest)
    values = first + found
    decimals = column.format.decimals
    return values.round(decimals) if column.kind.type.has_decimals and decimals is not None else values


def lengths(counts: pd.Series, unit: int) -> pd.Series:
    """Lengths of time from counts of a unit in microseconds; a missing count is a missing length."""
    missing = counts.isna().to_numpy()
    whole = np.rint(counts.fillna(0).to_numpy(dtype=np.float64)).astype(np.int64) * unit
    found = whole.astype("timedelta64[us]")
    found[missing] = np.timedelta64("NaT")
    return pd.Series(found, index=counts.index)


def _units(lengths: pd.Series, kind: Kind) -> Numbers:
    return np.asarray(np.rint(lengths.dt.total_seconds().to_numpy(dtype=np.float64) * 1e6 / kind.type.finest))


def _lacking(first: pd.Series, second: pd.Series) -> float:
    """Share (0..1) of the second values that lack a first."""
    there = second.notna()
    return float(first[there].isna().mean()) if there.any() else 1.0


def closeness(table: Table, anchor: str, other: str) -> float:
    """Spread of the gaps relative to that of the second column, both between the 10 % and the 90 % quantile.

    Of the rows with both values. 0 where all gaps are equal; about 1 where the first column says nothing; infinite
    where fewer than two rows have both, or the second does not spread.
    """
    return _closeness(gaps(table, anchor, other), table.frame[other], table.schema[other])


def _closeness(found: Numbers, second: pd.Series, column: Column) -> float:
    known = ~np.isnan(found)
    if known.sum() < 2:
        return np.inf
    values, kind = second[known], column.kind
    numbers = _units(values - values.min(), kind) if kind.is_temporal else values.to_numpy(dtype=np.float64)
    spread, whole = (float(np.diff(np.quantile(each, _MIDDLE))[0]) for each in (found[known], numbers))
    return spread / whole if whole > 0 else np.inf


def ties(table: Table) -> list[tuple[str, str]]:
    """Pairs of dates or times of a row that lie close together.

    A pair is (first, second), the second counted from the first. Each column is the second of one pair at most, and no
    column leads back to itself. The first is the one that is missing beside the other in fewer rows (at most a
    twentieth), or else the earlier one in most rows. The closest pairs come first.
    """
    names = [column.name for column in table.schema if column.kind.is_temporal]
    if len(table) > MOST_ROWS:
        table = table.take(np.linspace(0, len(table) - 1, MOST_ROWS).astype(np.int64))
    return [pair for _, pair in _forest(sorted(_close(table, names), key=lambda one: one[0]))]


def _close(table: Table, names: Sequence[str]) -> Iterator[tuple[float, tuple[str, str]]]:
    lacking = {(one, two): _lacking(table.frame[one], table.frame[two]) for one, two in permutations(names, 2)}
    for pair, share in lacking.items():
        if share > MOST_UNANCHORED:
            continue
        close = closeness(table, *pair)
        if close > CLOSE or table.frame[list(pair)].notna().all(axis=1).sum() < LEAST_ROWS:
            continue
        back = lacking[pair[::-1]]
        if share < back or (share == back and np.nanmedian(gaps(table, *pair)) >= 0):
            yield close + share, pair


def _forest(pairs: Sequence[tuple[float, tuple[str, str]]]) -> Iterator[tuple[float, tuple[str, str]]]:
    """Pairs without circles; each column is the second once at most."""
    first_of: dict[str, str] = {}
    for cost, (anchor, other) in pairs:
        root = anchor
        while root in first_of:
            root = first_of[root]
        if other not in first_of and root != other:
            first_of[other] = anchor
            yield cost, (anchor, other)
