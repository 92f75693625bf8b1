"""Suggest hierarchies from the values of a column.

What they give is a description (see :mod:`hybrid.hierarchy.spec`) to be saved, looked at and kept: the same file
is used every night, whatever tomorrow's data look like. Groups that were chosen by looking at the data say
something about the data; a differentially private claim needs others.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from itertools import pairwise

import numpy as np
import pandas as pd

from hybrid.base.errors import HierarchyError
from hybrid.hierarchy.intervals import EXACT_DIGITS
from hybrid.hierarchy.spec import DatesSpec, GroupsSpec, IntervalsSpec, MaskSpec, Period
from hybrid.hierarchy.values import distinct_values, texts_of
from hybrid.table import Column, Kind

_NICE = (Decimal(1), Decimal(2), Decimal(5), Decimal(10))
OTHERS = "Other"


def equal_width(column: Column, values: pd.Series, intervals: int = 20, levels: int = 3) -> IntervalsSpec:
    """Intervals of equal, round width, doubled on every level.

    The longest one percent at either end are one group.

    Parameters
    ----------
    column : Column
        Integer or decimal.
    values : pandas.Series, shape (n,)
        At least one of them not missing.
    intervals : int
        About how many there are on level 1, for the middle 98 percent of the values.
    levels : int
        How many levels; fewer where two intervals are left before.

    Returns
    -------
    IntervalsSpec
        Widths 1, 2 or 5 times a power of ten (whole for integers), and ``bottom`` and ``top`` where values lie
        beyond the outermost intervals of the middle.
    """
    known = values.dropna().to_numpy(dtype=np.float64)
    low, high = np.quantile(known, [0.01, 0.99])
    with localcontext(prec=EXACT_DIGITS):
        span = max(Decimal(repr(float(high))) - Decimal(repr(float(low))), Decimal(0))
        width = _nice(span / intervals, whole=column.kind is Kind.INTEGER)
        widths = [width * 2**at for at in range(levels)]
        widths = [wide for wide in widths if wide == width or wide * 2 <= span]
        coarsest = widths[-1]
        bottom = (Decimal(repr(float(low))) / coarsest).to_integral_value(ROUND_FLOOR) * coarsest
        top = ((Decimal(repr(float(high))) / coarsest).to_integral_value(ROUND_FLOOR) + 1) * coarsest
        return IntervalsSpec(
            widths=tuple(widths),
            bottom=bottom if Decimal(repr(float(known.min()))) < bottom else None,
            top=top if Decimal(repr(float(known.max()))) >= top else None,
        )


def _nice(width: Decimal, whole: bool) -> Decimal:
    """Next larger number that is 1, 2 or 5 times 10^n."""
    if width <= 0:
        return Decimal(1)
    power = Decimal(10) ** width.adjusted()
    nice = next(factor * power for factor in _NICE if factor * power >= width)
    return max(nice, Decimal(1)) if whole else nice


def quantiles(column: Column, values: pd.Series, counts: Sequence[int] = (16, 8, 4, 2)) -> IntervalsSpec:
    """Intervals that hold about equally many records.

    Parameters
    ----------
    column : Column
        Integer or decimal.
    values : pandas.Series, shape (n,)
        At least two different values.
    counts : sequence of int
        How many intervals there are on levels 1, 2, ...; each count divides the one before. Fewer where a value is
        so frequent that edges coincide.

    Returns
    -------
    IntervalsSpec
        Inner edges only: the first and the last interval are open, so no label shows the least or greatest value.

    Raises
    ------
    HierarchyError
        Counts that do not divide each other, or a constant column.
    """
    if any(below % above for below, above in pairwise(counts)) or min(counts) < 2:
        raise HierarchyError("quantile intervals: each count must divide the one before, and be 2 or more")
    known = values.dropna().to_numpy(dtype=np.float64)
    inner = np.quantile(known, np.arange(1, counts[0]) / counts[0]) if len(known) else np.empty(0)
    digits = 0 if column.kind is Kind.INTEGER else column.format.decimals
    edges = [_rounded(float(edge), digits) for edge in inner]
    # Whole numbers beyond 2**53 are not exact as floats: an edge must not lie beyond the greatest value.
    least, greatest = (Decimal(str(end)) for end in (values.min(), values.max())) if len(known) else (Decimal(0),) * 2
    found: list[tuple[Decimal, ...]] = []
    for count in counts:
        step = counts[0] // count
        level = tuple(sorted({edge for edge in edges[step - 1 :: step] if least < edge <= greatest}))
        if level and (not found or set(level) < set(found[-1])):
            found.append(level)
    if not found:
        raise HierarchyError(f"column {column.name!r} has too few different values for quantile intervals")
    return IntervalsSpec(edges=tuple(found))


def _rounded(edge: float, digits: int | None) -> Decimal:
    with localcontext(prec=EXACT_DIGITS):
        exact = Decimal(repr(edge))
        return exact if digits is None else exact.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)


def calendar(values: pd.Series) -> DatesSpec:
    """Calendar levels: months, quarters, years, and decades for long spans.

    Decades where the dates span more than twenty years.
    """
    known = values.dropna()
    years = known.dt.year.max() - known.dt.year.min() if len(known) else 0
    levels: tuple[Period, ...] = ("month", "quarter", "year")
    return DatesSpec(levels=(*levels, "decade") if years > 20 else levels)


def prefixes(column: Column, values: pd.Series) -> MaskSpec:
    """Masks of codes.

    Half of the hidden characters per level for long ones, one for short ones.

    Codes of different lengths are masked without showing their length.
    """
    lengths = {len(text) for text in texts_of(distinct_values(values, column), column)}
    longest = max(lengths, default=2)
    step = max(1, longest // 5)
    keep = tuple(range(longest - step, 0, -step))
    return MaskSpec(keep=keep, length="keep" if len(lengths) <= 1 else "hide")


def by_frequency(column: Column, values: pd.Series, keep: Sequence[int] = (8, 3)) -> GroupsSpec:
    """Frequent values stay themselves, the others are one group.

    Parameters
    ----------
    column : Column
        Any kind; meant for categories without a taxonomy.
    values : pandas.Series, shape (n,)
        The column.
    keep : sequence of int
        How many of the most frequent values stay on levels 1, 2, ..., descending.

    Returns
    -------
    GroupsSpec
        With a catch-all group, so that values which only come tomorrow are covered.
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
