"""Protected numbers and dates: coded at both ends, drawn anew where few people hold a value, as whole steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.keys import pack
from hybrid.table import Column
from hybrid.table.codings import exact_numbers, numbers_of
from hybrid.table.holders import all_differ, holders, n_distinct, people_bounds

WIDEST = 2**62
"""Range of whole numbers beyond which a column is treated as one without steps."""
_LIMIT = 2**63 - 1024


@dataclass(frozen=True)
class Steps:
    """Distinct values of a column as whole numbers of steps.

    A value is ``base + step * i``, divided by ``scale``.
    """

    column: Column
    """Its kind gives the dtype."""
    values: Array
    """Position of every distinct value, ascending: its ``i``; the value itself where the column has no steps; shape
    (m,), int64 or float64."""
    base: int = 0
    step: int = 1
    scale: int = 1
    """Of the values; 0, 1, 1 where the column has no steps."""
    listed: Array | None = None
    """The values that the column can have, ascending, where they are listed: positions are places in it; shape (l,)."""

    @property
    def whole(self) -> bool:
        """True if the column has steps."""
        return self.values.dtype == np.int64

    def positions(self, values: pd.Series, *, up: bool = False) -> Array:
        """Position at or below each value (``up``: at or above), of a column whose values are not listed."""
        if not self.whole:
            return numbers_of(values)
        offsets = self.column.kind.type.whole(values, self.scale) - self.base
        return -(-offsets // self.step) if up else offsets // self.step

    def series(self, positions: Array, missing: Array) -> pd.Series:
        """Column with these positions, shape (n,), in its kind's dtype; those in the mask ``missing`` have no value."""
        kind = self.column.kind
        there = np.where(missing, self.values[0], positions)
        values = there * self.step + self.base if self.listed is None else self.listed[there]
        if values.dtype == np.float64 and not kind.type.has_decimals:
            values = np.rint(values).clip(-_LIMIT, _LIMIT).astype(np.int64)
        return kind.type.series(values, missing, self.scale)


def steps_of(distinct: pd.Series, column: Column, listed: Array | None = None) -> Steps:
    """Find the widest step that reaches all distinct values, which ascend; of ``listed`` ones, if these hold all."""
    if listed is not None and distinct.isin(pd.Series(listed, dtype=distinct.dtype)).all():
        every = np.unique(_plain(pd.Series(listed, dtype=distinct.dtype)))
        return Steps(column, np.searchsorted(every, _plain(distinct)), listed=every)
    scale = column.kind.type.scale(distinct, column.format)
    if scale is None:
        return Steps(column, distinct.to_numpy(dtype=np.float64))
    whole = column.kind.type.whole(distinct, scale)
    base = int(whole[0])
    if int(whole[-1]) - base >= WIDEST:
        return Steps(column, whole.astype(np.float64))
    offsets = whole - base
    step = int(np.gcd.reduce(offsets)) or 1
    return Steps(column, offsets // step, base, step, scale)


def _plain(values: pd.Series) -> Array:
    return exact_numbers(values.to_numpy(dtype=np.int64) if values.dtype == "Int64" else values.to_numpy())


LEAST_BLOCK = 10
"""Fewest people whose values are drawn from one range."""
LEAST_VALUES = 500
"""Values of the column's grid that a block spans, if it is not a larger share of the people than:"""
MOST_OF_ALL = 0.01
MOST_DRAWS = 10
"""Draws of one value, of which all but the last may be rejected."""


@dataclass(frozen=True)
class RedrawnColumn:
    """A protected column."""

    values: pd.Series
    """The column, in its dtype; shape (n,)."""
    distinct: int
    rare: int
    """Distinct values before, and how many of them too few people held."""


def protect_numbers(
    values: pd.Series,
    column: Column,
    least: int,
    rng: np.random.Generator,
    persons: Array,
    listed: Array | None = None,
) -> RedrawnColumn:
    """Code both ends of a column and redraw its rare values, from those that a file lists where one does.

    Rare are values that fewer than ``least`` people hold. Nothing lies beyond the values of the ``least``-th smallest
    and largest person. Values that enough people hold stay. The others are sorted and cut into blocks of at least
    ``max(2 * least, 10)`` people; each is drawn from the values of the column's grid between its block's neighbours,
    all equally likely but those that enough people hold, so the distribution function changes by at most a block.

    Blocks are narrow where many records lie. So they grow, up to a hundredth of the records, until they span 500 values
    of the grid; and a draw that hits the value of n of the b records of its block is rejected with probability n / b,
    which leaves each of them out of the density at his own value. A value that a person has is then as likely as one
    that nobody has, also after a generator has smoothed the draws. Equal values of a person are drawn once: who is born
    on one day in nearly all rows still is.

    Where the values of fewer people are rare, they become the nearest value that enough people hold; where there is
    none, missing.
    """
    codes, distinct = pd.factorize(values, sort=True)
    if not len(distinct):
        return RedrawnColumn(values, 0, 0)
    steps = steps_of(pd.Series(distinct), column, listed)
    held = holders(codes, len(distinct), persons)
    ends = people_bounds(codes, least, persons)
    rare = int((held < least).sum())
    if ends is None:
        return RedrawnColumn(
            steps.series(np.zeros(len(codes), dtype=np.int64), np.ones(len(codes), bool)), len(held), rare
        )
    if not rare:
        return RedrawnColumn(values, len(held), 0)
    coded = np.where(codes >= 0, np.clip(codes, *ends), -1)
    drawn, missing = _drawn(steps, coded, held >= least, max(2 * least, LEAST_BLOCK), persons, rng)
    return RedrawnColumn(steps.series(drawn, missing), len(held), rare)


def _drawn(
    steps: Steps, codes: Array, stays: Array, block: int, persons: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Positions of all records after the draw, and a missing mask; ``stays`` (m,) marks the values that are kept."""
    missing = codes < 0
    positions = steps.values[codes]
    rows = np.flatnonzero(~missing & ~stays[codes])
    people = n_distinct(persons[rows])
    if people >= block:
        drawn = _from_blocks(steps, codes[rows], stays, block * len(rows) / people, rng)
        positions[rows] = drawn[_first_alike(codes[rows], persons[rows])]
    elif stays.any():
        positions[rows] = _nearest(steps.values[stays], positions[rows], rng)
    else:
        missing[rows] = True
    return positions, missing


def _first_alike(codes: Array, persons: Array) -> Array:
    """Position of the first record of the same person and value; records without a person (below 0) are alone."""
    if all_differ(persons):
        return np.arange(len(persons))
    alone = np.where(persons < 0, persons.max(initial=0) + 1 + np.arange(len(persons)), persons)
    pairs, _ = pack(((alone, int(alone.max(initial=0)) + 1), (codes, int(codes.max(initial=0)) + 1)), len(codes))
    _, first, back = np.unique(pairs, return_index=True, return_inverse=True)
    alike: Array = first[back]
    return alike


def _from_blocks(steps: Steps, codes: Array, stays: Array, block: float, rng: np.random.Generator) -> Array:
    """A position for each rare value, from the range of its block of at least ``block`` records."""
    rare, at, counts = np.unique(codes, return_inverse=True, return_counts=True)
    block_of = _blocks(steps.values[rare], counts, block, steps.whole)
    first = np.flatnonzero(np.diff(block_of, prepend=-1))
    last = np.append(first[1:], len(rare)) - 1
    known = np.flatnonzero(stays | np.isin(np.arange(len(stays)), rare))
    inside = steps.values[known]
    start, end = _ranges(inside, np.searchsorted(known, rare[first]), np.searchsorted(known, rare[last]), steps.whole)
    of, sizes = block_of[at], np.bincount(block_of[at])
    if not steps.whole:
        anywhere: Array = start[of] + rng.random(len(codes)) * (end - start)[of]
        return anywhere
    free = _Free(steps.values[stays])
    low, high = free.index(start)[of], free.index(end + 1)[of]
    drawn, rows = np.empty(len(codes), dtype=np.int64), np.arange(len(codes))
    for _ in range(MOST_DRAWS):
        drawn[rows] = free.position(low[rows] + (rng.random(len(rows)) * (high - low)[rows]).astype(np.int64))
        own = _records_at(steps.values[rare], counts, drawn[rows]) / sizes[of[rows]]
        rows = rows[rng.random(len(rows)) < own]
    return drawn


def _blocks(values: Array, counts: Array, block: float, whole: bool) -> Array:
    """Number of each value's block, from 0.

    Blocks have at least ``block`` records; on a grid (``whole``) so many more, up to a share :data:`MOST_OF_ALL` of
    all, that they span about :data:`LEAST_VALUES` of its values: of the draws about one in that number hits a value
    more often because its own holder makes the block narrow.
    """
    before, total = np.cumsum(counts) - counts, int(counts.sum())
    wide = np.full(len(values), block)
    if whole:
        most = max(math.ceil(MOST_OF_ALL * total), math.ceil(block))
        low = np.searchsorted(before, before - most)
        high = np.searchsorted(before, before + most, "right") - 1
        density = (before[high] + counts[high] - before[low]) / (values[high] - values[low] + 1)
        wide = np.clip(LEAST_VALUES * density, block, most)
    reached = np.cumsum(counts / wide)
    n_blocks = max(int(reached[-1]), 1)
    number = ((reached - counts / wide) * (n_blocks / reached[-1])).astype(np.int64)
    numbers: Array = np.unique(np.minimum(number, n_blocks - 1), return_inverse=True)[1]
    return numbers


def _records_at(values: Array, counts: Array, drawn: Array) -> Array:
    at = np.minimum(np.searchsorted(values, drawn), len(values) - 1)
    return np.where(values[at] == drawn, counts[at], 0)


def _ranges(inside: Array, first: Array, last: Array, whole: bool) -> tuple[Array, Array]:
    """First and last position of each block: half-way to the values beside it, or its own value at the ends."""
    below = inside[np.maximum(first - 1, 0)]
    above = inside[np.minimum(last + 1, len(inside) - 1)]
    if not whole:
        return (below + inside[first]) / 2, (inside[last] + above) / 2
    start = below + (inside[first] - below) // 2 + 1
    return np.where(first == 0, inside[first], start), inside[last] + (above - inside[last]) // 2


@dataclass(frozen=True)
class _Free:
    """Positions that are not taken, numbered. ``taken`` (m,), int64, ascending."""

    taken: Array

    def index(self, position: Array) -> Array:
        """Number of free positions below a position, but for a constant."""
        below: Array = position - np.searchsorted(self.taken, position)
        return below

    def position(self, index: Array) -> Array:
        at: Array = index + np.searchsorted(self.taken - np.arange(len(self.taken)), index, side="right")
        return at


def _nearest(kept: Array, positions: Array, rng: np.random.Generator) -> Array:
    """The nearest kept position; of two, either."""
    at = np.searchsorted(kept, positions)
    low, high = kept[np.maximum(at - 1, 0)], kept[np.minimum(at, len(kept) - 1)]
    to_low, to_high = np.abs(positions - low), np.abs(high - positions)
    upper = (to_high < to_low) | ((to_high == to_low) & (rng.random(len(positions)) < 0.5))
    nearest: Array = np.where(upper, high, low)
    return nearest
