"""Columns as numbers, and numbers as values that a column can write: the same for every room.

Numbers are themselves. Dates and times are microseconds: from 1970, or from midnight.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Numbers
from hybrid.table.schema import Column


def numbers_of(values: pd.Series) -> Numbers:
    """Numbers of a column that has a distance, or of truth values; shape (n,), float64.

    NaN where a value is missing; infinite where it is.
    """
    if values.dtype.kind != "M":
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    times = values.to_numpy(dtype="datetime64[us]")
    return np.where(np.isnat(times), np.nan, times.astype(np.int64).astype(np.float64))


def exact_numbers(values: Array) -> Array:
    """Values none of which is missing, shape (n,): times as int64, since a float64 rounds them after 2255."""
    return values.astype("datetime64[us]").astype(np.int64) if values.dtype.kind == "M" else values


def decimals_of(column: Column) -> int | None:
    """Digits after the point that a column of numbers writes; 0 for whole numbers, None for as many as needed."""
    return column.kind.type.decimals(column.format)


def step_of(column: Column) -> float:
    """Distance of neighbouring values that a column can write.

    0 for decimals without fixed digits; of dates and times in microseconds.
    """
    return column.kind.type.step(column.format)


def written(positions: Numbers, column: Column) -> pd.Series:
    """Values nearest to these numbers (as of :func:`numbers_of`), as a column writes them.

    Halves are rounded to even: to whole numbers, its decimals, whole days, or the last unit of its format.
    """
    missing = np.isnan(positions)
    return column.kind.type.written(np.where(missing, 0.0, positions), missing, column.format)
