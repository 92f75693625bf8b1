"""Cells of a column without small groups of people, and groups of people made of them.

A figure made of these cells names no category, bound or count that belongs to fewer than ``minimum`` people
(:mod:`hybrid.table.holders`), however many rows they have: rare categories are pooled, sparse intervals are joined
with their neighbours, and the outer intervals are open, with round bounds inside the 1st and 99th percentile of the
people and within the values of the ``minimum``-th smallest and largest person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes, Mask
from hybrid.table.codings import numbers_of
from hybrid.table.holders import NOBODY, all_differ, holders, people_bounds, row_holders, row_weights
from hybrid.table.kinds.registry import Kind
from hybrid.table.schema import Column, Table

MOST_CATEGORIES = 12
MOST_INTERVALS = 26
SEPARATED = 10_000
"""Numbers of a column from which on thousands are separated."""
OTHER = "other"
LEAST_CELL = 5
"""Fewest people that a number of the report may be computed from."""


def least_cell(k: int) -> int:
    """Fewest people behind a number, where classes have at least ``k``."""
    return max(LEAST_CELL, k)


@dataclass(frozen=True)
class Cells:
    """The cells of one column, numbered 0..n-1."""

    labels: tuple[str, ...]
    """What the cells are called; length n."""
    slots: tuple[int, ...]
    """How many steps of the axis a cell spans; 1 for categories; length n."""
    edges: tuple[str, ...] = ()
    """For intervals, the text of every bound between two slots; empty for categories."""
    pooled: int = 0
    """For categories, how many distinct values are in the last cell, the pool; 0 if the real data need none."""
    hidden: bool = False
    """Whether fewer people than the minimum are in the pool: its share is not to be shown."""
    _bounds: Array | None = None
    _categories: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def assign(self, values: pd.Series) -> Array:
        """The cell of each value; shape (n,), int64; missing values get ``len(self)``."""
        missing = values.isna().to_numpy()
        if self._bounds is not None:
            numbers = numbers_of(values.where(~missing))
            codes = np.searchsorted(self._bounds, numbers, side="right")
        else:
            codes, distinct = pd.factorize(_texts(values), use_na_sentinel=True)
            at = pd.Index(self._categories).get_indexer(pd.Index(distinct))
            codes = np.append(np.where(at < 0, len(self) - 1, at), len(self))[codes]
        return np.where(missing, len(self), codes)


def column_cells(table: Table, name: str, minimum: int, most: int = MOST_CATEGORIES) -> Cells | None:
    """Cells for one column of real data.

    Each has no or at least ``minimum`` people with a non-missing value; of more than ``most`` categories, the most
    frequent ones have a cell of their own.

    Returns None if that leaves nothing to show: few people have a value, or the numbers cannot be parted.
    """
    column, whose = table.schema[name], row_holders(table)
    known = table.frame[name].notna().to_numpy()
    if count_people(known, whose) < minimum:
        return None
    if column.kind.is_continuous:
        return _intervals(table.frame[name][known], whose[known], column.kind, minimum)
    cells = _categories(table, name, minimum, most)
    if column.kind is Kind.BOOLEAN:
        spelling = {"True": column.format.true, "False": column.format.false}
        return replace(cells, labels=tuple(spelling.get(label, label) for label in cells.labels))
    return cells


def count_people(rows: Mask, whose: Codes) -> int:
    return int(holders(np.zeros(int(rows.sum()), dtype=np.int64), 1, whose[rows])[0])


def _categories(table: Table, name: str, minimum: int, most: int) -> Cells:
    codes, distinct = pd.factorize(_texts(table.frame[name]))
    counts, whose = np.bincount(codes[codes >= 0], minlength=len(distinct)), row_holders(table)
    order = np.lexsort((distinct.astype(str), -counts))
    enough = order[holders(codes, len(distinct), whose)[order] >= minimum]
    shown = enough if len(distinct) <= most else enough[: most - 1]
    names = tuple(str(distinct[at]) for at in shown)
    pooled = np.append(np.isin(np.arange(len(distinct)), shown, invert=True), False)[codes]
    # The pool is kept even when empty, for values of the synthetic table only.
    return Cells(
        labels=(*names, OTHER),
        slots=(1,) * (len(names) + 1),
        pooled=len(distinct) - len(names),
        hidden=bool(pooled.any()) and count_people(pooled, whose) < minimum,
        _categories=names,
    )


def _intervals(present: pd.Series, whose: Codes, kind: Kind, minimum: int) -> Cells | None:
    numbers = numbers_of(present)
    limits, texts = (
        _limits(numbers, whose, kind, minimum) if kind.is_number else _date_limits(present, whose, kind, minimum)
    )
    if not len(limits):
        return None
    ends = _joined(np.searchsorted(limits, numbers, side="right"), len(limits) + 1, whose, minimum)
    if len(ends) < 2:
        return None
    kept = limits[np.array(ends[:-1], dtype=int) - 1]
    names = [texts[end - 1] for end in ends[:-1]]
    # The ends of the outer intervals would reveal their few records: they get one step, whatever they span.
    slots = [1, *np.diff(ends[:-1]), 1]
    between = (FROM_TO.format(low, high) for low, high in pairwise(names))
    labels = [BELOW.format(names[0]), *between, FROM.format(names[-1])]
    return Cells(tuple(labels), tuple(int(n) for n in slots), edges=tuple(texts[ends[0] - 1 : ends[-2]]), _bounds=kept)


def _joined(places: Array, n_places: int, whose: Codes, minimum: int) -> list[int]:
    """Exclusive ends of joined intervals with no or ``minimum`` people; the outer ones are never empty."""
    order = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[order], np.arange(n_places + 1))

    def held(first: int, end: int) -> int:
        rows = np.ones(starts[end] - starts[first], dtype=bool)
        return count_people(rows, whose[order[starts[first] : starts[end]]])

    ends, first = list[int](), 0
    for at in range(1, n_places + 1):
        empty = starts[at] == starts[first]
        if held(first, at) >= minimum or (empty and ends):
            ends.append(at)
            first = at
    ends = ends or [n_places]
    ends[-1] = n_places
    while len(ends) > 1 and held(ends[-2], n_places) < minimum:
        ends.pop()
        ends[-1] = n_places
    return ends


def _ends(numbers: Array, whose: Codes, minimum: int) -> tuple[float, float] | None:
    """Range of round bounds; None where too few people have a value.

    The 1st and 99th percentile of the people, each of whom weighs as much as any other, and not beyond the values of
    the ``minimum``-th smallest and largest person.
    """
    codes, distinct = pd.factorize(numbers, sort=True)
    limits = people_bounds(codes, minimum, whose)
    if limits is None:
        return None
    low, high = np.quantile(numbers, [0.01, 0.99], method="inverted_cdf", weights=_weights(whose))
    return max(float(low), float(distinct[limits[0]])), min(float(high), float(distinct[limits[1]]))


def _weights(whose: Codes) -> Array:
    return np.ones(len(whose)) if all_differ(whose) else row_weights(whose, whose != NOBODY)


def _limits(numbers: Array, whose: Codes, kind: Kind, minimum: int) -> tuple[Array, list[str]]:
    ends = _ends(numbers, whose, minimum)
    limits = np.array([]) if ends is None else _even_limits(*ends, whole=kind is Kind.INTEGER)
    shares = np.bincount(np.searchsorted(limits, numbers, side="right"), _weights(whose))
    positive = numbers > 0
    if shares.max() > 0.5 * shares.sum() and len(limits) != 1:
        above = _ends(numbers[positive], whose[positive], minimum)
        limits = limits if above is None else _growing_limits(*above, whole=kind is Kind.INTEGER)
    # Years have no separator, nor have other numbers of four digits beside them.
    separated = "," if np.abs(limits).max(initial=0) >= SEPARATED else ""
    return limits, [f"{limit:{separated}.10g}" for limit in limits]


def _even_limits(low: float, high: float, *, whole: bool) -> Array:
    if high <= low:
        return np.array([])
    step = _round_up((high - low) / (MOST_INTERVALS - 2))
    step = max(step, 1.0) if whole else step
    first, last = np.ceil(low / step), np.floor(high / step)
    return np.arange(first, last + 1) * step


def _round_up(step: float) -> float:
    power = 10.0 ** np.floor(np.log10(step))
    return float(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9)))


def _growing_limits(low: float, high: float, *, whole: bool) -> Array:
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for factors in ((1, 2, 5), (1,)):
        limits = np.multiply.outer(10.0**powers, factors).ravel()
        limits = limits[(limits >= low) & (limits <= high) & (limits >= 1 if whole else limits > 0)]
        if len(limits) < MOST_INTERVALS:
            break
    return limits[-MOST_INTERVALS:]


def _date_limits(present: pd.Series, whose: Codes, kind: Kind, minimum: int) -> tuple[Array, list[str]]:
    ends = _ends(numbers_of(present), whose, minimum)
    if ends is None:
        return np.array([]), []
    low, high = (np.datetime64(int(end), "us") for end in ends)
    for unit, every, start in kind.type.axis:
        first, last = (int(end.astype(f"datetime64[{unit}]").astype(np.int64)) for end in (low, high))
        if (last - first) // every < MOST_INTERVALS:
            counts = np.arange(first, last + 1)
            limits = counts[(counts - start) % every == 0].astype(f"datetime64[{unit}]")
            limits = limits[(limits >= low) & (limits <= high)]
            return numbers_of(pd.Series(limits.astype("datetime64[us]"))), kind.type.tick_texts(limits)
    return np.array([]), []


def _texts(values: pd.Series) -> pd.Series:
    return values.astype(object).map(str, na_action="ignore")


MISSING, RARE_TOGETHER = "missing", "rare values together"
EVERYBODY, ALONE = "all people", "alone with their quasi-identifiers"
UNSHARED, SHARED_WITH_FEWER = "shared with no other record", "shared with fewer than {} others"
PART_BY_SIZE = "part {} of {} by size"
BELOW, FROM_TO, FROM = "below {}", "{} to below {}", "{} and above"
"""Names of the program's own for groups, whatever column they are made by; numbers fill the places."""
_NUMBER = r"[-−+<]?\d.*"
_OWN = (
    *(MISSING, RARE_TOGETHER, EVERYBODY, ALONE),
    *(UNSHARED, SHARED_WITH_FEWER.format(_NUMBER), PART_BY_SIZE.format(_NUMBER, _NUMBER)),
    *(BELOW.format(_NUMBER), FROM_TO.format(_NUMBER, _NUMBER), FROM.format(_NUMBER)),
)
_NAMES = re.compile(rf"(.* )?({'|'.join(_OWN)})|\(.*\)", re.DOTALL)
"""Texts that end like a name of the program's own for a group, or are in brackets like one for an estimate."""


def _quoted(value: str) -> str:
    return f"'{value}'" if _NAMES.fullmatch(value) else value


def in_column(column: str, label: str) -> str:
    """A group named with its column; the value is in quotes where both together read like another name."""
    together = f"{column} {label}"
    return f"{column} '{label}'" if _NAMES.fullmatch(together) and not _NAMES.fullmatch(label) else together


MOST_VALUES = 100
"""Categories of a column with a group of their own, at most; the rarer ones are one group."""


@dataclass(frozen=True)
class PeopleGroups:
    """Groups by one column, which have no row in common."""

    column: Column
    """The column that they are made by."""
    cells: Cells
    """Its values, pooled so that no cell stands for few people."""
    named: Array
    """Cells that enough people are in, and not all; the last number stands for missing values; shape (n_groups,),
    int64."""

    def __len__(self) -> int:
        return len(self.named)

    @property
    def labels(self) -> list[str]:
        """Name of each group; a category that reads like a name of the program's own is in quotes."""
        values = len(self.cells._categories)
        names = [*map(_quoted, self.cells.labels[:values]), *self.cells.labels[values:], MISSING]
        if self.cells.pooled:
            names[values] = RARE_TOGETHER
        return [names[at] for at in self.named]

    def places(self, table: Table) -> Array:
        """Group of each row, -1 for none; shape (n,), int64."""
        group = np.full(len(self.cells) + 1, -1, dtype=np.int64)
        group[self.named] = np.arange(len(self.named))
        return group[self.cells.assign(table.frame[self.column.name])]

    def people(self, table: Table) -> Array:
        """People with a row in each group; shape (n_groups,), int64."""
        return holders(self.places(table), len(self), row_holders(table))


def people_groups(train: Table, names: Iterable[str], least: int) -> Iterator[PeopleGroups]:
    """Groups of at least ``least`` training people, column by column; one per column with any that is not everybody.

    Values that fewer people hold are one group, if that is large enough.
    """
    for name in names:
        column = train.schema[name]
        cells = column_cells(train, name, least, MOST_VALUES)
        if cells is None:
            continue
        places = cells.assign(train.frame[name])
        held = holders(places, len(cells) + 1, row_holders(train))
        rows = np.bincount(places, minlength=len(cells) + 1)
        named = np.flatnonzero((held >= least) & (rows < len(train)))
        if len(named):
            yield PeopleGroups(column, cells, named)
