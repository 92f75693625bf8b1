"""Suggest hierarchies from the values of a column.

What they give is a description (see :mod:`hybrid.hierarchy.spec`) to be saved, looked at and kept: the same file
is used every night, whatever tomorrow's data look like. Groups that were chosen by looking at the data say
something about the data; a differentially private claim needs others.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal, localcontext
from itertools import pairwise

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import HierarchyError
from hybrid.hierarchy.intervals import EXACT_DIGITS, exact
from hybrid.hierarchy.levels import distinct_values, texts_of
from hybrid.hierarchy.spec import DatesSpec, GroupsSpec, IntervalsSpec, MaskSpec
from hybrid.table import Column
from hybrid.table.codings import decimals_of

_NICE = (Decimal(1), Decimal(2), Decimal(5), Decimal(10))
OTHERS = "Other"
QUANTILES = (16, 8, 4, 2)
"""Intervals on levels 1, 2, ... that hold about equally many records."""
_AROUND = 0.25
"""Part of an interval within which its edge may lie from the quantile."""
_MOST_TRIED = 10
"""Multiples of a step that are tried as an edge."""


_INTERVALS, _LEVELS = 20, 3
"""Intervals on level 1, about, for the middle 98 percent of the values; levels, fewer where two intervals are left."""


def equal_width(values: pd.Series) -> IntervalsSpec:
    """Intervals of equal, round width, doubled on every level; one percent at either end is one group.

    Widths are 1, 2 or 5 times a power of ten, whole where all values are. ``bottom`` and ``top`` are set where values
    lie beyond the outermost intervals of the middle.
    """
    known = values.dropna().to_numpy(dtype=np.float64)
    low, high = np.quantile(known, [0.01, 0.99])
    with localcontext(prec=EXACT_DIGITS):
        span = max(exact(high) - exact(low), Decimal(0))
        width = _nice(span / _INTERVALS, whole=bool((known == np.round(known)).all()))
        widths = [width * 2**at for at in range(_LEVELS)]
        widths = [wide for wide in widths if wide == width or wide * 2 <= span]
        coarsest = widths[-1]
        bottom = (exact(low) / coarsest).to_integral_value(ROUND_FLOOR) * coarsest
        top = ((exact(high) / coarsest).to_integral_value(ROUND_FLOOR) + 1) * coarsest
        return IntervalsSpec(
            widths=tuple(widths),
            bottom=bottom if exact(known.min()) < bottom else None,
            top=top if exact(known.max()) >= top else None,
        )


def _nice(width: Decimal, whole: bool) -> Decimal:
    """Next larger number that is 1, 2 or 5 times 10^n."""
    if width <= 0:
        return Decimal(1)
    power = Decimal(10) ** width.adjusted()
    nice = next(factor * power for factor in _NICE if factor * power >= width)
    return max(nice, Decimal(1)) if whole else nice


def quantiles(column: Column, values: pd.Series, counts: Sequence[int] = QUANTILES) -> IntervalsSpec:
    """Intervals that hold about equally many records, with round edges.

    There are ``counts`` of them on levels 1, 2, ...; each divides the one before. There are fewer where a value is so
    frequent, or a number of a single record, that there is no edge. Inner edges only: the first and the last interval
    are open, so no label shows the least or greatest value. An edge is the roundest number (1, 2 or 5 times a power of
    ten, times a whole number) that lies within a quarter of an interval of its quantile, and no value that a single
    record has.
    """
    if any(below % above for below, above in pairwise(counts)) or min(counts) < 2:
        raise HierarchyError("quantile intervals: each count must divide the one before, and be 2 or more")
    known, held = np.unique(values.dropna().to_numpy(dtype=column.kind.type.plain_dtype), return_counts=True)
    edges: list[Decimal | None] = []
    with localcontext(prec=EXACT_DIGITS):
        single = {exact(value) for value in known[held == 1]}
        unit, finest = _units(column, known, held)
        for at in range(1, counts[0]):
            around = ((at + off) / counts[0] * held.sum() for off in (-_AROUND, _AROUND))
            low, high = (known[np.searchsorted(np.cumsum(held), rank)] for rank in around)
            edges.append(_roundest(exact(low), exact(high), finest, unit, single) if low < high else None)
    found: list[tuple[Decimal, ...]] = []
    for count in counts:
        step = counts[0] // count
        level = tuple(sorted({edge for edge in edges[step - 1 :: step] if edge is not None}))
        if level and (not found or set(level) < set(found[-1])):
            found.append(level)
    if not found:
        raise HierarchyError(f"column {column.name!r} has too few different values for quantile intervals")
    return IntervalsSpec(edges=tuple(found))


def _units(column: Column, known: Array, held: Array) -> tuple[Decimal, Decimal]:
    """Unit of the last digit that a column writes, 0 for any; power of ten below a hundredth of its middle's span."""
    written = decimals_of(column)
    unit = Decimal(0) if written is None else Decimal(1).scaleb(-written)
    ends = np.searchsorted(np.cumsum(held), np.array([0.01, 0.99]) * held.sum())
    span = exact(known[ends[1]]) - exact(known[ends[0]]) if len(known) else Decimal(0)
    return unit, Decimal(1).scaleb(span.adjusted() - 2) if span > 0 else Decimal(1)


def _roundest(low: Decimal, high: Decimal, finest: Decimal, unit: Decimal, single: set[Decimal]) -> Decimal | None:
    first = max(abs(low), abs(high)).adjusted()
    # Two digits say enough of a small number in a column of large ones.
    least = max(min(finest, Decimal(1).scaleb(first - 1)), unit)
    for exponent in range(first, least.adjusted() - 1, -1):
        for step in (Decimal(digit).scaleb(exponent) for digit in (5, 2, 1)):
            number = (low / step).to_integral_value(ROUND_FLOOR)
            edges = [(number + at) * step for at in range(1, _MOST_TRIED)]
            if step >= least and (fit := [edge for edge in edges if edge <= high and edge not in single]):
                return min(fit, key=lambda edge: abs(edge - (low + high) / 2))
    return None


def usual_periods(column: Column, values: pd.Series) -> DatesSpec:
    """Periods to start from, such as months, quarters, years, and decades where dates span more than twenty years."""
    return DatesSpec.model_validate({"levels": column.kind.type.usual_periods(values)})


def prefixes(column: Column, values: pd.Series) -> MaskSpec:
    """Masks of codes: half of the hidden characters per level for long ones, one for short ones.

    Codes of different lengths are masked without showing their length.
    """
    lengths = {len(text) for text in texts_of(distinct_values(values, column), column)}
    longest = max(lengths, default=2)
    step = max(1, longest // 5)
    keep = tuple(range(longest - step, 0, -step))
    return MaskSpec(keep=keep, length="keep" if len(lengths) <= 1 else "hide")


def by_frequency(column: Column, values: pd.Series, keep: Sequence[int] = (8, 3)) -> GroupsSpec:
    """The ``keep`` most frequent values stay themselves on levels 1, 2, ..., the others are one group.

    It is a catch-all, so that values which only come tomorrow are covered. For categories without a taxonomy.
    """
    counts = values.dropna().value_counts()
    ordered = sorted(counts.index, key=lambda value: (-counts[value], str(value)))
    dtype = distinct_values(values, column).dtype
    texts = texts_of(np.array(ordered[: keep[0]], dtype=dtype), column)
    others = OTHERS
    while others in texts:
        others += " values"
    levels: list[dict[str, tuple[str, ...]]] = [{text: (text,) for text in texts}]
    levels += [{others: (*texts[n:], others)} for n in keep[1:] if n < len(texts)]
    return GroupsSpec(levels=tuple(levels), others=others)
