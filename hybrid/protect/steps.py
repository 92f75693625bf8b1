"""Steps of a column of numbers or dates.

Its values are written as whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.table import DTYPES, Column, Kind

MOST_DIGITS = 15
"""Significant decimal digits that a float64 always keeps."""
WIDEST = 2**62
"""Range of whole numbers beyond which a column is treated as one without steps."""
_LIMIT = 2**63 - 1024


@dataclass(frozen=True)
class Steps:
    """Distinct values of a column as whole numbers of steps.

    A value is ``base + step * i``, divided by ``scale``.

    Parameters
    ----------
    column : Column
        Its kind gives the dtype.
    values : numpy.ndarray, shape (m,), int64 or float64
        Position of every distinct value, ascending: its ``i``; the value itself where the column has no steps.
    base, step, scale : int
        Of the values; 0, 1, 1 where the column has no steps.
    listed : numpy.ndarray, shape (l,), or None
        The values that the column can have, ascending, where they are listed: positions are places in it.
    """

    column: Column
    values: Array
    base: int = 0
    step: int = 1
    scale: int = 1
    listed: Array | None = None

    @property
    def whole(self) -> bool:
        """True if the column has steps."""
        return self.values.dtype == np.int64

    def positions(self, values: pd.Series, *, up: bool = False) -> Array:
        """Position at or below each value (``up``: at or above), of a column whose values are not listed."""
        plain = _plain(values, self.column.kind)
        if not self.whole:
            return plain.astype(np.float64)
        if self.column.kind is Kind.DECIMAL:
            plain = np.rint(plain * self.scale).astype(np.int64)
        offsets = plain - self.base
        return -(-offsets // self.step) if up else offsets // self.step

    def series(self, positions: Array, missing: Array) -> pd.Series:
        """Column with these positions, shape (n,), in its kind's dtype.

        Records marked in ``missing``, bool, have no value.
        """
        kind = self.column.kind
        there = np.where(missing, self.values[0], positions)
        values = there * self.step + self.base if self.listed is None else self.listed[there]
        if kind is Kind.DECIMAL:
            return pd.Series(np.where(missing, np.nan, values / self.scale))
        whole = np.rint(values).clip(-_LIMIT, _LIMIT).astype(np.int64) if values.dtype == np.float64 else values
        if kind is Kind.INTEGER:
            return pd.Series(pd.arrays.IntegerArray(whole.astype(np.int64), missing))
        times = whole.astype("datetime64[us]")
        times[missing] = np.datetime64("NaT")
        return pd.Series(times).astype(DTYPES[kind])


def steps_of(distinct: pd.Series, column: Column, listed: Array | None = None) -> Steps:
    """Find the widest step that reaches all values.

    Parameters
    ----------
    distinct : pandas.Series, shape (m,)
        Distinct values, ascending, none missing; m at least 1.
    column : Column
        Its kind and format.
    listed : numpy.ndarray, optional
        The values that the column can have, if a file lists them; unused unless it has all of ``distinct``.
    """
    if listed is not None and distinct.isin(pd.Series(listed, dtype=distinct.dtype)).all():
        every = np.unique(_plain(pd.Series(listed, dtype=distinct.dtype), column.kind))
        return Steps(column, np.searchsorted(every, _plain(distinct, column.kind)), listed=every)
    scale = 1
    if column.kind is Kind.DECIMAL:
        numbers = distinct.to_numpy(dtype=np.float64)
        found = _scale(numbers, column.format.decimals)
        if found is None:
            return Steps(column, numbers)
        scale, whole = found, np.rint(numbers * found).astype(np.int64)
    else:
        whole = _plain(distinct, column.kind)
    base = int(whole[0])
    if int(whole[-1]) - base >= WIDEST:
        return Steps(column, whole.astype(np.float64))
    offsets = whole - base
    step = int(np.gcd.reduce(offsets)) or 1
    return Steps(column, offsets // step, base, step, scale)


def _plain(values: pd.Series, kind: Kind) -> Array:
    """Numbers as int64 or float64, dates in microseconds since 1970, int64."""
    if kind.is_temporal:
        return np.asarray(values, dtype="datetime64[us]").view(np.int64)
    return np.asarray(values, dtype=np.float64 if kind is Kind.DECIMAL else np.int64)


def _scale(values: Array, decimals: int | None) -> int | None:
    """Power of ten that makes all values whole; None without one.

    There is none where the values need more digits than a float keeps.
    """
    if not np.isfinite(values).all():
        return None
    for digits in range(MOST_DIGITS + 1) if decimals is None else [decimals]:
        scale: int = 10**digits
        scaled = np.rint(values * scale)
        if np.abs(scaled).max() >= 10**MOST_DIGITS:
            return None
        if (scaled / scale == values).all():
            return scale
    return None
