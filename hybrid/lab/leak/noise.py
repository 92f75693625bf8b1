"""Noise on leaked records, per kind of column.

Every column has a noise field of its own, drawn once for all training records: levels of a leak share it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.rng import rng_for
from hybrid.constraints.gaps import lengths
from hybrid.pipeline.risk import RiskOptions
from hybrid.table import Column, Kind, Table

AMOUNT = 1000
"""Whole numbers that span at least so many units are measured amounts; others are counts."""
MOST_DECIMALS = 6
"""Decimals beyond which a column has no grid."""

_SECONDS = {Kind.DATE: 86_400, Kind.DATETIME: 1}
"""Seconds of the unit in which dates, and times, get noise."""
_EPOCH = np.datetime64(0, "us")


def with_noise(train: Table, order: Array, leaked: int, options: RiskOptions, seed: int) -> pd.DataFrame:
    """Leaked records with the noise of the options.

    Amounts (decimals, whole numbers over a range of :data:`AMOUNT` or more, times) get normal noise, counts and dates
    a Poisson number of steps in a random direction, categories another draw with probability ``p``. Numbers keep
    their column's grid and range in the training records, or noise alone would give them away; a missing number stays
    missing.

    Parameters
    ----------
    train : Table
        The training records.
    order : numpy.ndarray, shape (n_T,), int
        Its rows; the first ``leaked`` leak.
    leaked : int
        Number of leaked records.
    options : RiskOptions
        The noise.
    seed : int
        Decides the noise fields.

    Returns
    -------
    pandas.DataFrame, shape (leaked, n_columns)
        In the given order, with the training table's dtypes.
    """
    frame = train.frame.take(order[:leaked]).reset_index(drop=True)
    for column in train.schema:
        rng = rng_for(seed, "leak", "noise", column.name)
        fields = rng.random((2, len(train)))[:, order[:leaked]], rng.standard_normal(len(train))[order[:leaked]]
        values, source = frame[column.name], train.frame[column.name]
        if column.kind.is_continuous:
            if (moved := _moved(column, values, source, options, *fields)) is not None:
                frame[column.name] = moved
        elif options.p:
            frame[column.name] = _redrawn(values, source, options, *fields[0])
    return frame


def _moved(
    column: Column, values: pd.Series, source: pd.Series, options: RiskOptions, uniform: Array, normal: Array
) -> pd.Series | None:
    """Numbers or dates with noise; None where they have none."""
    numbers, everybody = _as_numbers(column, values), _as_numbers(column, source)
    known = everybody[~np.isnan(everybody)]
    if not len(known):
        return None
    if _is_amount(column, known):
        if not options.sigma:
            return None
        scale = "sd" if column.kind.is_temporal else options.scale
        size = {"relative": numbers, "sd": np.full(len(numbers), known.std()), "raw": np.ones(len(numbers))}[scale]
        moved = numbers + normal * options.sigma * size
    else:
        if not options.steps:
            return None
        from scipy.stats import poisson

        steps = np.maximum(poisson.ppf(uniform[0], options.steps), 0)
        moved = numbers + np.where(uniform[1] < 0.5, -steps, steps)
    decimals = _decimals(known)
    on_grid = moved if decimals is None else moved.round(decimals)
    return _as_values(column, np.clip(on_grid, known.min(), known.max()), values)


def _is_amount(column: Column, known: Array) -> bool:
    if column.kind in (Kind.DECIMAL, Kind.DATETIME):
        return True
    return column.kind is Kind.INTEGER and float(np.ptp(known)) >= AMOUNT


def _as_numbers(column: Column, values: pd.Series) -> Array:
    """Numbers with NaN for missing ones; dates in days, times in seconds."""
    if not column.kind.is_temporal:
        return np.asarray(values.to_numpy("float64", na_value=np.nan))
    return np.asarray((values - _EPOCH).dt.total_seconds() / _SECONDS[column.kind], dtype=np.float64)


def _as_values(column: Column, numbers: Array, like: pd.Series) -> pd.Series:
    if not column.kind.is_temporal:
        return pd.Series(numbers).where(like.notna().to_numpy()).astype(like.dtype)
    return (lengths(pd.Series(numbers), _SECONDS[column.kind] * 10**6) + _EPOCH).astype(like.dtype)


def _decimals(known: Array) -> int | None:
    """Fewest decimals that write every value; None where values have no grid."""
    for decimals in range(MOST_DECIMALS + 1):
        if np.allclose(known, known.round(decimals), rtol=1e-12, atol=1e-9):
            return decimals
    return None


def _redrawn(values: pd.Series, source: pd.Series, options: RiskOptions, chosen: Array, draw: Array) -> pd.Series:
    """Categories, some of them drawn again."""
    at = chosen < options.p
    if options.scale == "relative":
        donors = values.take((draw * len(values)).astype(np.int64)).set_axis(values.index)
        return values.where(~at, donors)
    distinct = pd.Index(source.dropna().unique()).sort_values()
    codes = distinct.get_indexer(pd.Index(values))
    if options.scale == "sd":
        other = (codes + 1 + (draw * max(len(distinct) - 1, 1)).astype(np.int64)) % max(len(distinct), 1)
    else:
        other = (draw * len(distinct)).astype(np.int64)
    drawn = pd.Series(distinct.take(other), index=values.index).astype(values.dtype)
    return values.where(~at | (codes < 0), drawn)
