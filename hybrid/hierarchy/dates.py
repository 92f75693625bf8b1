"""Calendar periods as a hierarchy."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.hierarchy.intervals import Texts
from hybrid.hierarchy.levels import from_levels
from hybrid.hierarchy.spec import DatesSpec, Period
from hybrid.hierarchy.tree import ROOT, Hierarchy
from hybrid.table import Column, Kind

_DAY = np.timedelta64(1, "D").astype("timedelta64[us]")
_MICROSECOND = np.timedelta64(1, "us")
_MONTHS: dict[Period, int] = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_DECADE_OFFSET = 1970 % 10 * 12
"""Months from the start of a decade to January 1970."""


def build_dates(spec: DatesSpec, column: Column, values: Array, texts: Texts, missing: bool, source: str) -> Hierarchy:
    """The hierarchy of a date or datetime column.

    Parameters
    ----------
    spec : DatesSpec
        Which periods; ``day`` is level 0 of a date column and adds no level to it.
    column : Column
        Its kind.
    values : numpy.ndarray, shape (n,), datetime64[us]
        The distinct values of the column, at least one; they become the leaves.
    texts, missing, source
        As in :func:`hybrid.hierarchy.intervals.build_intervals`.

    Returns
    -------
    Hierarchy
        Of intervals: periods from their first to their last day (dates) or microsecond (datetimes).
    """
    leaves = np.sort(values)
    is_date = column.kind is Kind.DATE
    unit = _DAY if is_date else _MICROSECOND
    levels: list[list[str]] = []
    bounds: list[tuple[Array, Array]] = []
    for period in spec.levels:
        if period == "day" and is_date:
            continue
        index, codes = np.unique(_index(leaves, period), return_inverse=True)
        codes = codes.reshape(-1)
        labels = [_label(start, period) for start in _start(index, period)]
        levels.append([labels[code] for code in codes])
        bounds.append((_start(index, period)[codes], _start(index + 1, period)[codes] - unit))
    low, high = bounds[-1] if bounds else (leaves, leaves)
    bounds.append((np.full(len(leaves), low.min()), np.full(len(leaves), high.max())))
    return from_levels(
        column.name,
        column.kind,
        leaves,
        [*levels, [ROOT] * len(leaves)],
        texts=texts(leaves),
        bounds=bounds,
        step=float(_DAY.astype(np.int64)) if is_date else 0.0,
        missing=missing,
        source=source,
    )


def _index(values: Array, period: Period) -> Array:
    """Number of the period that each value lies in."""
    if period == "day":
        days: Array = values.astype("datetime64[D]").astype(np.int64)
        return days
    months = values.astype("datetime64[M]").astype(np.int64)
    return np.asarray((months + (_DECADE_OFFSET if period == "decade" else 0)) // _MONTHS[period])


def _start(index: Array, period: Period) -> Array:
    """The first microsecond of each period."""
    if period == "day":
        return index.astype("datetime64[D]").astype("datetime64[us]")
    months = index * _MONTHS[period] - (_DECADE_OFFSET if period == "decade" else 0)
    return months.astype("datetime64[M]").astype("datetime64[us]")


def _label(start: np.datetime64, period: Period) -> str:
    day = str(start.astype("datetime64[D]"))
    year, month = day[:-6], int(day[-5:-3])
    if period == "quarter":
        return f"{year}-Q{(month + 2) // 3}"
    return {"day": day, "month": day[:-3], "year": year, "decade": f"{year}s"}[period]
