"""Protected dates that belong together: of one row, of a row and its parent, and of persons with several rows."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Mask
from hybrid.constraints.gaps import after, between, gaps, lengths
from hybrid.protect.numbers import RedrawnColumn, protect_numbers, steps_of
from hybrid.table import DTYPES, Column, Kind, Role, Table
from hybrid.table.holders import all_differ, holders, people_bounds, row_holders, row_persons

_STEPS = Column("steps", Role.INSENSITIVE, Kind.INTEGER)


def redraw(
    values: pd.Series,
    column: Column,
    least: int,
    rng: np.random.Generator,
    persons: Array,
    whose: Array,
    listed: Array | None = None,
) -> RedrawnColumn:
    """Protect a column of numbers or dates; ``whose``: who counts as a holder of each record of some ``persons``.

    By first values and gaps where it orders the rows of persons (:func:`protect_history`), else by values
    (:func:`~hybrid.protect.numbers.protect_numbers`).
    """
    if column.order and listed is None and not all_differ(persons):
        return protect_history(values, column, least, rng, persons, whose)
    return protect_numbers(values, column, least, rng, whose, listed)


def protect_history(
    values: pd.Series,
    column: Column,
    least: int,
    rng: np.random.Generator,
    persons: Array,
    whose: Array,
) -> RedrawnColumn:
    """Redraw each person's first value and the gaps after it.

    Values drawn anew one by one would keep neither the pace of a history nor rows of one moment together: of some
    thousand rows in a year, each is moved by days. So the first values of all persons are protected as
    :func:`~hybrid.protect.numbers.protect_numbers` does, and so are the gaps. No value lies beyond those of the
    ``least``-th smallest and largest person. A record without a key (negative) is a history of its own.

    Columns in which no value is rare, and those without steps, are left to :func:`protect_numbers`.
    """
    codes, distinct = pd.factorize(values, sort=True)
    ends = people_bounds(codes, least, whose) if len(distinct) else None
    held = holders(codes, len(distinct), whose)
    steps = None if ends is None or held.min() >= least else steps_of(pd.Series(distinct), column)
    if steps is None or ends is None or not steps.whole:
        return protect_numbers(values, column, least, rng, whose)
    known = np.flatnonzero(codes >= 0)
    known = known[np.lexsort((codes[known], persons[known]))]
    places, people, counted = steps.values[codes[known]], persons[known], whose[known]
    begins = np.append(True, people[1:] != people[:-1]) | (people < 0)
    gaps = np.diff(places, prepend=places[:1])
    starts, no_start = _redrawn(places[begins], least, rng, counted[begins])
    between, no_gap = _redrawn(gaps[~begins], least, rng, counted[~begins])
    way = np.zeros(len(known), dtype=np.int64)
    way[~begins] = between
    way, history = np.cumsum(way), np.cumsum(begins) - 1
    lacking = no_start[history]
    lacking[~begins] |= no_gap
    drawn, missing = np.zeros(len(codes), dtype=np.int64), codes < 0
    drawn[known] = np.clip(starts[history] + way - way[begins][history], *steps.values[list(ends)])
    missing[known] = lacking
    return RedrawnColumn(steps.series(drawn, missing), len(distinct), int((held < least).sum()))


def _redrawn(places: Array, least: int, rng: np.random.Generator, persons: Array) -> tuple[Array, Array]:
    found = protect_numbers(pd.Series(places, dtype="Int64"), _STEPS, least, rng, persons).values
    return found.fillna(0).to_numpy(dtype=np.int64), found.isna().to_numpy(dtype=bool)


@dataclass(frozen=True)
class Start:
    """Dates of the parents of the rows, from which a date of the rows is counted; shape (n,) each."""

    before: pd.Series
    protected: pd.Series

    def take(self, rows: Array) -> Start:
        return Start(*(values.iloc[rows].reset_index(drop=True) for values in (self.before, self.protected)))


def protect_distances(
    before: Table,
    own: Mapping[str, pd.Series],
    starts: Mapping[str, Start],
    least: int,
    rng: np.random.Generator,
) -> dict[str, pd.Series]:
    """Redraw the distances of dates from those of the rows' parents; ``own`` are the columns redrawn on their own.

    Redrawn on its own, an account would be opened days before or after its owner joined, though most are opened on that
    day. So the date is the protected one of the parent and the distance between them, which is protected as the column
    itself would be (:func:`redraw`).

    Where the sum is the row's own date, and few people hold that, the date is the one redrawn on its own. None lies
    beyond those.
    """
    whose, histories, found = row_holders(before), row_persons(before), dict[str, pd.Series]()
    for name, start in starts.items():
        column, alone = before.schema[name], own[name]
        distances = pd.Series(between(start.before, before.frame[name], column)).astype(DTYPES[Kind.INTEGER])
        counted = Column(name, Role.INSENSITIVE, Kind.INTEGER, order=column.order)
        drawn = redraw(distances, counted, least, rng, histories, whose).values
        placed = after(start.protected, drawn, column).astype(alone.dtype).clip(alone.min(), alone.max())
        again = _Held.of(before.frame[name], least, whose).rare & (placed == before.frame[name]).to_numpy(dtype=bool)
        found[name] = placed.where(placed.notna() & ~again, alone)
    return found


def moved_with(
    before: Table, own: Mapping[str, pd.Series], wanted: Mapping[str, pd.Series], ties: Mapping[str, str]
) -> dict[str, pd.Series]:
    """The columns with their ``wanted`` dates, and those that are counted from them moved by as much."""
    trees, moved = {tree[0]: tree for tree in _trees(ties)}, dict[str, pd.Series]()
    for name, dates in wanted.items():
        found = {one: own[one] for one in trees.get(name, [name])}
        moved |= _moved(before, found, name, dates, np.ones(len(before), dtype=bool), fixed=False)
    return moved


def protect_ties(
    before: Table,
    own: Mapping[str, pd.Series],
    ties: Mapping[str, str],
    least: int,
    rng: np.random.Generator,
    *,
    fixed: Container[str] = (),
) -> dict[str, pd.Series]:
    """Redraw one date of a row, and gaps to the others.

    Dates of a row that are redrawn one by one are drawn apart: a stay of a day would take weeks, or end before it
    starts. So a tied date is the protected one that it is counted from and the gap between them, which is protected as
    any number is (:func:`~hybrid.protect.numbers.protect_numbers`): a gap of few persons is drawn anew, and none is
    longer or shorter than those of ``least`` persons.

    Two values that many people hold can add up to a date that few hold. Where that is the row's own, all dates of the
    row that are tied to it move by as much as its own redrawing would move it. Where a date would lie beyond the
    ``least``-th smallest or largest person's, they move inside.

    ``own`` are the columns redrawn on their own: a tied date is this where the one that it is counted from is missing,
    also after protection. ``fixed`` columns stay as they are there, since they are generalized; of those counted from
    them the gap is protected, and no more.
    """
    persons, new = row_holders(before), dict[str, pd.Series]()
    for tree in _trees(ties):
        found = {tree[0]: own[tree[0]]}
        for name in tree[1:]:
            anchor = found[ties[name]]
            lengths = pd.Series(gaps(before, ties[name], name)).astype(DTYPES[Kind.INTEGER])
            drawn = protect_numbers(lengths, _STEPS, least, rng, persons).values
            placed = after(anchor, drawn, before.schema[name]).astype(DTYPES[before.schema[name].kind])
            found[name] = placed.where(own[name].notna() & placed.notna(), own[name])
        alone = tree[0] in fixed or (before.schema.order in found and not all_differ(persons))
        held = {name: _Held.of(before.frame[name], least, persons) for name in found}
        # Beside a date that is generalized only the gap is learned: its own value comes out of no stage.
        for name in () if tree[0] in fixed else tree[1:]:
            again = held[name].rare & (found[name] == before.frame[name]).to_numpy(dtype=bool)
            found = _moved(before, found, name, own[name], again, fixed=alone)
        for name in tree[tree[0] in fixed :]:
            inside = held[name].inside(found[name])
            found = _moved(before, found, name, inside, (inside != found[name]).to_numpy(dtype=bool), fixed=alone)
        new |= {name: values if name in fixed else held[name].inside(values) for name, values in found.items()}
    return new


def _trees(ties: Mapping[str, str]) -> list[list[str]]:
    trees = [[name] for name in dict.fromkeys(ties.values()) if name not in ties]
    for tree in trees:
        for name in tree:
            tree += [other for other, anchor in ties.items() if anchor == name]
    return trees


@dataclass(frozen=True)
class _Held:
    """Records with a rare value, and bounds of all values."""

    rare: Mask
    ends: tuple[pd.Timestamp, pd.Timestamp] | None

    @classmethod
    def of(cls, values: pd.Series, least: int, persons: Array) -> _Held:
        codes, distinct = pd.factorize(values, sort=True)
        few = np.append(holders(codes, len(distinct), persons) < least, False)
        ends = people_bounds(codes, least, persons) if len(distinct) else None
        return cls(few[codes], None if ends is None else (distinct[ends[0]], distinct[ends[1]]))

    def inside(self, values: pd.Series) -> pd.Series:
        return values if self.ends is None else values.clip(*self.ends)


def _moved(
    before: Table, found: dict[str, pd.Series], name: str, wanted: pd.Series, rows: Mask, *, fixed: bool
) -> dict[str, pd.Series]:
    """All columns of these rows moved as far as one column has to move to its wanted values.

    They move by whole days where a column has dates. ``fixed``: the others stay, since one of them orders the rows of
    persons.
    """
    rows = rows & wanted.notna().to_numpy() & found[name].notna().to_numpy()
    if fixed or not rows.any():
        return found | {name: found[name].mask(rows, wanted)}
    unit = max(before.schema[one].kind.type.finest for one in found)
    way = (wanted - found[name]).dt.total_seconds().where(rows) * (1e6 / unit)
    shift = lengths(np.sign(way) * np.ceil(way.abs()), unit)
    return {one: values.mask(rows, (values + shift).astype(values.dtype)) for one, values in found.items()}
