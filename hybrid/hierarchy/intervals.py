"""Intervals of numbers, and periods of the calendar and the day, as hierarchies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.errors import HierarchyError
from hybrid.hierarchy.levels import from_levels
from hybrid.hierarchy.spec import DatesSpec, IntervalsSpec, Period
from hybrid.hierarchy.tree import ROOT, Hierarchy
from hybrid.table import Column, Kind
from hybrid.table.codings import decimals_of

MOST_ENUMERATED = 100_000
"""Integer domains up to this size are listed value by value; larger ones are intervals around observed values."""
_MOST_STEPS = 2**53
EXACT_DIGITS = 400
"""Enough for any float64 written out."""
_INT64 = np.iinfo(np.int64)
Texts = Callable[[Array], list[str]]
"""How the column writes values."""


@dataclass(frozen=True)
class _Cells:
    """The intervals of one level that hold values.

    ``codes`` (shape (n_values,), int64) number the interval of each value; ``lower`` and ``upper`` are the
    intervals' edges, None for an open end.
    """

    codes: Array
    lower: list[Decimal | None]
    upper: list[Decimal | None]


def build_intervals(
    spec: IntervalsSpec, column: Column, values: Array, texts: Texts, missing: bool, source: str
) -> Hierarchy:
    """The hierarchy of an integer or decimal column, from its distinct values.

    Integers: every value of the domain is a leaf, from the first to the last interval, if the domain has up to
    :data:`MOST_ENUMERATED` values. Otherwise the leaves are ``values`` and the nodes are intervals.
    """
    with localcontext(prec=EXACT_DIGITS):
        return _build(spec, column, np.sort(values), texts, missing, source)


def _build(spec: IntervalsSpec, column: Column, values: Array, texts: Texts, missing: bool, source: str) -> Hierarchy:
    whole = column.kind is Kind.INTEGER
    numbers = [*spec.widths, spec.origin, *(e for e in (spec.bottom, spec.top) if e is not None), *sum(spec.edges, ())]
    if whole and any(number != int(number) for number in numbers):
        raise HierarchyError(
            f"{source}: intervals of the integer column {column.name!r} have edges that are no integers",
            hint="use whole numbers, or declare the column decimal",
        )
    low, high = _domain(spec, values)
    enumerated = whole and high - low <= MOST_ENUMERATED and _INT64.min <= low and high <= _INT64.max
    leaves = np.arange(int(low), int(high), dtype=np.int64) if enumerated else values
    levels = [_cells(spec, at, leaves, f"{source}: column {column.name!r}") for at in range(spec.n_levels)]
    labels = [[names[code] for code in cells.codes] for cells in levels for names in [_labels(cells, whole)]]
    digits = decimals_of(column)
    ends = _Cells(np.zeros(len(leaves), dtype=np.int64), [low], [high])
    bounds = [_bounds(cells, digits, leaves) for cells in levels]
    first, last = _bounds(ends, digits, leaves)
    bounds.append((np.minimum(first, leaves[0]), np.maximum(last, leaves[-1])))
    return from_levels(
        column.name,
        column.kind,
        leaves,
        [*labels, [ROOT] * len(leaves)],
        texts=texts(leaves),
        bounds=None if enumerated else bounds,
        step=0.0 if digits is None else 10.0**-digits,
        missing=missing,
        source=source,
    )


def _domain(spec: IntervalsSpec, values: Array) -> tuple[Decimal, Decimal]:
    """First value and edge after the last, such that the outermost intervals of the coarsest level are whole."""
    least, greatest = exact(values[0]), exact(values[-1])
    after = greatest + 1 if values.dtype.kind == "i" else greatest
    if spec.edges:
        return min(least, spec.edges[0][0]), max(after, spec.edges[0][-1])
    width = spec.widths[-1]
    low = spec.origin + ((least - spec.origin) / width).to_integral_value(ROUND_FLOOR) * width
    high = spec.origin + (((greatest - spec.origin) / width).to_integral_value(ROUND_FLOOR) + 1) * width
    return (
        low if spec.bottom is None else min(least, spec.bottom),
        high if spec.top is None else max(after, spec.top),
    )


def exact(value: Any) -> Decimal:
    """A number of a column, to all of its digits."""
    return Decimal(int(value)) if isinstance(value, np.integer) else Decimal(repr(float(value)))


def _cells(spec: IntervalsSpec, level: int, values: Array, where: str) -> _Cells:
    if spec.edges:
        edges = list(spec.edges[level])
        codes = np.searchsorted(np.array(edges, dtype=values.dtype), values, side="right")
        return _Cells(codes, [None, *edges], [*edges, None])
    codes = np.empty(len(values), dtype=np.int64)
    below = np.zeros(len(values), dtype=bool) if spec.bottom is None else values < values.dtype.type(spec.bottom)
    above = np.zeros(len(values), dtype=bool) if spec.top is None else values >= values.dtype.type(spec.top)
    inside = ~(below | above)
    width = spec.widths[level]
    steps, found = np.unique(_steps(values[inside], width, spec.origin, where), return_inverse=True)
    lower: list[Decimal | None] = [_at_least(spec.origin + width * int(step), spec.bottom) for step in steps]
    upper: list[Decimal | None] = [_at_most(spec.origin + width * (int(step) + 1), spec.top) for step in steps]
    codes[inside] = found.reshape(-1)
    codes[below], codes[above] = len(steps), len(steps) + 1
    return _Cells(codes, [*lower, None, spec.top], [*upper, spec.bottom, None])


def _at_least(edge: Decimal, bottom: Decimal | None) -> Decimal:
    return edge if bottom is None else max(edge, bottom)


def _at_most(edge: Decimal, top: Decimal | None) -> Decimal:
    return edge if top is None else min(edge, top)


def _steps(values: Array, width: Decimal, origin: Decimal, where: str) -> Array:
    """Interval of each value, counted from the origin: exact although 0.3 / 0.1 is below 3 in floating point."""
    if values.dtype.kind == "i":
        found: Array = np.floor_divide(values.astype(object) - int(origin), int(width))
        return found
    guess = np.floor((values - float(origin)) / float(width))
    if len(guess) and not np.abs(guess).max() < _MOST_STEPS:
        raise HierarchyError(f"{where}: intervals of the given width are too narrow for values this large")
    steps = guess.astype(np.int64)
    distinct, place = np.unique(steps, return_inverse=True)
    starts = np.array([float(origin + width * int(step)) for step in distinct])[place]
    ends = np.array([float(origin + width * (int(step) + 1)) for step in distinct])[place]
    exact: Array = steps - (values < starts) + (values >= ends)
    return exact


def _labels(cells: _Cells, whole: bool) -> list[str]:
    return [_label(lower, upper, whole) for lower, upper in zip(cells.lower, cells.upper, strict=True)]


def _label(lower: Decimal | None, upper: Decimal | None, whole: bool) -> str:
    if lower is None or upper is None:
        return f"<{plain(upper)}" if lower is None else f">={plain(lower)}"
    if not whole:
        return f"[{plain(lower)}, {plain(upper)})"
    first, last = int(lower), int(upper) - 1
    if first == last:
        return str(first)
    return f"{first} to {last}" if first < 0 else f"{first}-{last}"


def plain(number: Decimal | None) -> str:
    """A number without needless zeros; empty for none."""
    return "" if number is None else f"{number.normalize():f}"


def _bounds(cells: _Cells, digits: int | None, leaves: Array) -> tuple[Array, Array]:
    low = [leaves[0] if edge is None else _first_from(edge, digits) for edge in cells.lower]
    high = [leaves[-1] if edge is None else _last_below(edge, digits) for edge in cells.upper]
    return _as(leaves, low)[cells.codes], _as(leaves, high)[cells.codes]


def _as(leaves: Array, numbers: list[object]) -> Array:
    if leaves.dtype.kind == "i":
        numbers = [min(max(int(number), _INT64.min), _INT64.max) for number in numbers]  # type: ignore[call-overload]
    return np.array(numbers, dtype=leaves.dtype)


def _first_from(edge: Decimal, digits: int | None) -> Decimal:
    return edge if digits is None else edge.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)


def _last_below(edge: Decimal, digits: int | None) -> Decimal | float:
    if digits is None:
        return float(np.nextafter(float(edge), -np.inf))
    return edge.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING) - Decimal(1).scaleb(-digits)


_MINUTE = 60 * 10**6
_WIDTHS: dict[Period, int] = {
    "minute": _MINUTE,
    "15 minutes": 15 * _MINUTE,
    "hour": 60 * _MINUTE,
    "3 hours": 180 * _MINUTE,
    "6 hours": 360 * _MINUTE,
    "day": 1440 * _MINUTE,
}
"""Microseconds of the periods that are all equally long."""
_MONTHS: dict[Period, int] = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_DECADE_OFFSET = 1970 % 10 * 12
"""Months from the start of a decade to January 1970."""


def build_dates(spec: DatesSpec, column: Column, values: Array, texts: Texts, missing: bool, source: str) -> Hierarchy:
    """The hierarchy of a column of dates, times, or both, from its distinct values, which become the leaves.

    ``day`` is level 0 of a date column and adds no level to it. Nodes are periods from their first to their last day
    (dates) or microsecond (datetimes).
    """
    leaves = np.sort(values)
    finest = column.kind.type.finest
    unit = np.timedelta64(finest, "us")
    levels: list[list[str]] = []
    bounds: list[tuple[Array, Array]] = []
    for period in spec.levels:
        if _WIDTHS.get(period) == finest:
            continue
        index, codes = np.unique(_index(leaves, period), return_inverse=True)
        codes = codes.reshape(-1)
        labels = [_period_label(start, period, column.kind) for start in _start(index, period)]
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
        step=float(finest) if finest > 1 else 0.0,
        missing=missing,
        source=source,
    )


def _index(values: Array, period: Period) -> Array:
    if period in _WIDTHS:
        return np.asarray(values.astype("datetime64[us]").astype(np.int64) // _WIDTHS[period])
    months = values.astype("datetime64[M]").astype(np.int64)
    return np.asarray((months + (_DECADE_OFFSET if period == "decade" else 0)) // _MONTHS[period])


def _start(index: Array, period: Period) -> Array:
    if period in _WIDTHS:
        return (index * _WIDTHS[period]).astype("datetime64[us]")
    months = index * _MONTHS[period] - (_DECADE_OFFSET if period == "decade" else 0)
    return months.astype("datetime64[M]").astype("datetime64[us]")


def _period_label(start: np.datetime64, period: Period, kind: Kind) -> str:
    day = str(start.astype("datetime64[D]"))
    if _WIDTHS.get(period, _WIDTHS["day"]) < _WIDTHS["day"]:
        last = start + np.timedelta64(_WIDTHS[period] - _MINUTE, "us")
        ends = dict.fromkeys(str(moment)[11:16] for moment in (start, last))
        return ("" if kind.measure == "clock" else f"{day} ") + "-".join(ends)
    year, month = day[:-6], int(day[-5:-3])
    if period == "quarter":
        return f"{year}-Q{(month + 2) // 3}"
    return {"day": day, "month": day[:-3], "year": year, "decade": f"{year}s"}[period]
