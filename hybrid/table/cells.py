"""Cells of a column without small groups of real records.

A figure made of these cells names no category, bound or count that belongs to fewer than ``minimum`` real
records: rare categories are pooled, sparse intervals are joined with their neighbours, and the outer intervals
are open, with round bounds inside the 1st and 99th percentile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.table.schema import Column, Kind

MOST_CATEGORIES = 12
MOST_INTERVALS = 26
OTHER = "other"
LEAST_CELL = 5
"""Fewest real records that a number of the report may be computed from."""


def least_cell(k: int) -> int:
    """Fewest real records behind a number, where classes have at least ``k``."""
    return max(LEAST_CELL, k)


@dataclass(frozen=True)
class Cells:
    """The cells of one column, numbered 0..n-1.

    Parameters
    ----------
    labels : tuple of str, length n
        What the cells are called.
    slots : tuple of int, length n
        How many steps of the axis a cell spans; 1 for categories.
    edges : tuple of str
        For intervals, the text of every bound between two slots; empty for categories.
    pooled : int
        For categories, how many distinct values are in the last cell, the pool; 0 if the real data need none.
    hidden : bool
        Whether the pool holds fewer real records than the minimum: its share is not to be shown.
    """

    labels: tuple[str, ...]
    slots: tuple[int, ...]
    edges: tuple[str, ...] = ()
    pooled: int = 0
    hidden: bool = False
    _bounds: Array | None = None
    _categories: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def assign(self, values: pd.Series) -> Array:
        """The cell of each value; shape (n,), int64; missing values get ``len(self)``."""
        missing = values.isna().to_numpy()
        if self._bounds is not None:
            numbers = _numbers(values.where(~missing))
            codes = np.searchsorted(self._bounds, numbers, side="right")
        else:
            codes, distinct = pd.factorize(_texts(values), use_na_sentinel=True)
            at = pd.Index(self._categories).get_indexer(pd.Index(distinct))
            codes = np.append(np.where(at < 0, len(self) - 1, at), len(self))[codes]
        return np.where(missing, len(self), codes)


def part(values: pd.Series, column: Column, minimum: int, most: int = MOST_CATEGORIES) -> Cells | None:
    """Cells for one column of real data.

    Each has no or at least ``minimum`` non-missing real values; of more than ``most`` categories, the most frequent
    ones have a cell of their own.

    Returns None if that leaves nothing to show: fewer than ``minimum`` values, or numbers that cannot be parted.
    """
    present = values.dropna()
    if len(present) < minimum:
        return None
    if column.kind.is_continuous:
        return _intervals(present, column.kind, minimum)
    cells = _categories(present, minimum, most)
    if column.kind is Kind.BOOLEAN:
        spelling = {"True": column.format.true, "False": column.format.false}
        return replace(cells, labels=tuple(spelling.get(label, label) for label in cells.labels))
    return cells


def _categories(present: pd.Series, minimum: int, most: int) -> Cells:
    counts = _texts(present).value_counts()
    counts = counts.iloc[np.lexsort((counts.index.astype(str), -counts.to_numpy()))]
    shown = min(int((counts >= minimum).sum()), len(counts) if len(counts) <= most else most - 1)
    names = tuple(str(name) for name in counts.index[:shown])
    # The pool is kept even when empty, for values of the synthetic table only.
    return Cells(
        labels=(*names, OTHER),
        slots=(1,) * (shown + 1),
        pooled=len(counts) - shown,
        hidden=0 < int(counts.iloc[shown:].sum()) < minimum,
        _categories=names,
    )


def _intervals(present: pd.Series, kind: Kind, minimum: int) -> Cells | None:
    numbers = _numbers(present)
    bounds, texts = _date_bounds(present) if kind.is_temporal else _number_bounds(numbers, kind)
    if not len(bounds):
        return None
    counts = np.bincount(np.searchsorted(bounds, numbers, side="right"), minlength=len(bounds) + 1)
    ends = _joined(counts, minimum)
    if len(ends) < 2:
        return None
    kept = bounds[np.array(ends[:-1], dtype=int) - 1]
    names = [texts[end - 1] for end in ends[:-1]]
    # The ends of the outer intervals would reveal their few records: they get one step, whatever they span.
    slots = [1, *np.diff(ends[:-1]), 1]
    labels = [f"below {names[0]}", *(f"{a} to below {b}" for a, b in pairwise(names)), f"{names[-1]} and above"]
    return Cells(tuple(labels), tuple(int(n) for n in slots), edges=tuple(texts[ends[0] - 1 : ends[-2]]), _bounds=kept)


def _joined(counts: Array, minimum: int) -> list[int]:
    """Exclusive ends of joined intervals with no or ``minimum`` records.

    The outer runs are never empty.
    """
    ends: list[int] = []
    held = 0
    for at, count in enumerate(counts, start=1):
        held += int(count)
        if held >= minimum or (held == 0 and ends):
            ends.append(at)
            held = 0
    ends[-1] = len(counts)
    while len(ends) > 1 and counts[ends[-2] :].sum() < minimum:
        ends.pop()
        ends[-1] = len(counts)
    return ends


def _number_bounds(numbers: Array, kind: Kind) -> tuple[Array, list[str]]:
    low, high = np.quantile(numbers, [0.01, 0.99])
    bounds = _even_bounds(low, high, whole=kind is Kind.INTEGER)
    counts = np.bincount(np.searchsorted(bounds, numbers, side="right"))
    positive = numbers[numbers > 0]
    if counts.max() > 0.5 * len(numbers) and len(bounds) != 1 and len(positive) > 1:
        bounds = _growing_bounds(*np.quantile(positive, [0.01, 0.99]), whole=kind is Kind.INTEGER)
    return bounds, [f"{bound:,.10g}" for bound in bounds]


def _even_bounds(low: float, high: float, *, whole: bool) -> Array:
    """Multiples of a round step within [low, high]."""
    if high <= low:
        return np.array([])
    step = _round_up((high - low) / (MOST_INTERVALS - 2))
    step = max(step, 1.0) if whole else step
    first, last = np.ceil(low / step), np.floor(high / step)
    return np.arange(first, last + 1) * step


def _round_up(step: float) -> float:
    power = 10.0 ** np.floor(np.log10(step))
    return float(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9)))


def _growing_bounds(low: float, high: float, *, whole: bool) -> Array:
    """Round numbers 1, 2, 5, 10, ... within [low, high].

    Every power of ten only if these are too many.
    """
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for factors in ((1, 2, 5), (1,)):
        bounds = np.multiply.outer(10.0**powers, factors).ravel()
        bounds = bounds[(bounds >= low) & (bounds <= high) & (bounds >= 1 if whole else bounds > 0)]
        if len(bounds) < MOST_INTERVALS:
            break
    return bounds[-MOST_INTERVALS:]


_DATE_STEPS = (
    *(("h", 1, 0), ("h", 6, 0), ("D", 1, 0), ("D", 7, 4), ("M", 1, 0), ("M", 3, 0)),
    *(("Y", years, -1970) for years in (1, 2, 5, 10, 20, 50, 100, 500)),
)
"""NumPy unit, how many of them, and where counting starts (weeks on Mondays, years at 0)."""


def _date_bounds(present: pd.Series) -> tuple[Array, list[str]]:
    instants = np.sort(present.to_numpy(dtype="datetime64[us]"))
    low, high = instants[len(instants) // 100], instants[-1 - len(instants) // 100]
    for unit, every, start in _DATE_STEPS:
        first, last = (int(end.astype(f"datetime64[{unit}]").astype(np.int64)) for end in (low, high))
        if (last - first) // every < MOST_INTERVALS:
            counts = np.arange(first, last + 1)
            bounds = counts[(counts - start) % every == 0].astype(f"datetime64[{unit}]")
            bounds = bounds[(bounds >= low) & (bounds <= high)]
            return _numbers(pd.Series(bounds.astype("datetime64[us]"))), [str(bound) for bound in bounds]
    return np.array([]), []


def _numbers(values: pd.Series) -> Array:
    """Numbers as they are, dates as microseconds; missing values as NaN."""
    if pd.api.types.is_datetime64_any_dtype(values):
        instants = values.to_numpy(dtype="datetime64[us]")
        numbers: Array = np.where(np.isnat(instants), np.nan, instants.astype(np.int64))
        return numbers
    plain: Array = values.to_numpy(dtype="float64", na_value=np.nan)
    return plain


def _texts(values: pd.Series) -> pd.Series:
    """Categories as text, missing ones kept missing."""
    return values.astype(object).map(str, na_action="ignore")
