"""Dates of rows as distances from a date of their parent."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Rows
from hybrid.table import Column, ColumnFormat, Kind, Schema, Table

CLOSER = 0.5
"""Spread of the distances, relative to that of the dates themselves, below which distances are learned."""


@dataclass(frozen=True)
class Anchor:
    """A date of rows, counted from a date of their parents.

    Parameters
    ----------
    column, parent : str
        The column of the rows; that of the parents.
    later : bool
        Whether no real row has a date before that of its parent.
    low, high : float
        Range of the learned dates, in microseconds; drawn dates stay within, if that of the parent lies within.
    """

    column: str
    parent: str
    later: bool
    low: float = -np.inf
    high: float = np.inf

    def within(self, learned: Table) -> Anchor:
        """The anchor with the range of the learned dates."""
        dates = _micros(learned.frame[self.column])
        return replace(self, low=float(np.nanmin(dates)), high=float(np.nanmax(dates)))

    def encode(self, table: Table, parents: Table, rows: Rows) -> Table:
        """The table with distances, in whole microseconds, instead of dates."""
        distances = _micros(table.frame[self.column]) - _micros(parents.frame[self.parent])[rows]
        if self.later:
            distances = np.maximum(distances, 0)
        return _with(table, self.column, Kind.INTEGER, _integers(distances))

    def decode(self, table: Table, parents: Table, rows: Rows, column: Column) -> Table:
        """The table with dates instead of distances; ``column`` describes the dates."""
        start = _micros(parents.frame[self.parent])[rows]
        found = start + table.frame[self.column].to_numpy(dtype=np.float64, na_value=np.nan)
        inside = (start >= self.low) & (start <= self.high)
        found = np.where(inside, np.clip(found, self.low, self.high), found)
        dates = np.full(len(found), np.datetime64("NaT"), dtype="datetime64[us]")
        known = ~np.isnan(found)
        dates[known] = np.rint(found[known]).astype(np.int64).astype("datetime64[us]")
        changed = _with(table, self.column, column.kind, pd.Series(dates))
        columns = (column if each.name == self.column else each for each in changed.schema)
        return replace(changed, schema=Schema(tuple(columns)))


def find_anchors(table: Table, parents: Table, rows: Rows) -> list[Anchor]:
    """Dates of rows that lie close to a date of their parents.

    Parameters
    ----------
    table : Table, n rows
    parents : Table, m rows
    rows : numpy.ndarray, shape (n,), int64
        Parent of each row.

    Returns
    -------
    list of Anchor
        For each date or time of the rows the parents' date that is known for all of them and whose distance spreads
        least, if it spreads less than :data:`CLOSER` of the date itself (middle half of the values).
    """
    found = []
    for column in table.schema:
        if not column.kind.is_temporal:
            continue
        own = _micros(table.frame[column.name])
        starts = {one.name: _micros(parents.frame[one.name])[rows] for one in parents.schema if one.kind is column.kind}
        spreads = {name: _spread(own - start) for name, start in starts.items() if not np.isnan(start).any()}
        best = min(spreads, key=lambda name: spreads[name], default=None)
        if best is None or not spreads[best] < CLOSER * _spread(own):
            continue
        distances = own - starts[best]
        found.append(Anchor(column.name, best, bool((distances[~np.isnan(distances)] >= 0).all())))
    return found


def _micros(values: pd.Series) -> Array:
    """Dates in microseconds since 1970; NaN where missing; shape (n,), float64."""
    dates = values.to_numpy(dtype="datetime64[us]")
    numbers: Array = dates.astype(np.int64).astype(np.float64)
    numbers[np.isnat(dates)] = np.nan
    return numbers


def _integers(values: Array) -> pd.Series:
    missing = np.isnan(values)
    whole = np.rint(np.where(missing, 0, values)).astype(np.int64)
    return pd.Series(pd.arrays.IntegerArray(whole, missing))


def _spread(values: Array) -> float:
    """Width of the middle half of the known values."""
    known = values[~np.isnan(values)]
    return float(np.subtract(*np.percentile(known, [75, 25]))) if len(known) else 0.0


def _with(table: Table, name: str, kind: Kind, values: pd.Series) -> Table:
    """The table with other values of another kind in a column."""
    columns = (replace(each, kind=kind, format=ColumnFormat()) if each.name == name else each for each in table.schema)
    return replace(table, frame=table.frame.assign(**{name: values}), schema=Schema(tuple(columns)))
