"""Protected times of persons with several rows: first ones and gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.protect.numbers import Redrawn, protect_numbers
from hybrid.protect.steps import steps_of
from hybrid.table import Column, Kind, Role
from hybrid.table.holders import holders, people_bounds

_STEPS = Column("steps", Role.INSENSITIVE, Kind.INTEGER)


def redraw(
    values: pd.Series,
    column: Column,
    least: int,
    rng: np.random.Generator,
    persons: Array | None,
    whose: Array | None,
    listed: Array | None = None,
) -> Redrawn:
    """Protect a column of numbers or dates.

    By first values and gaps where it orders the rows of persons (:func:`protect_history`), else by values
    (:func:`~hybrid.protect.numbers.protect_numbers`). ``whose``: who counts as a holder of each record.
    """
    if column.order and persons is not None and listed is None:
        return protect_history(values, column, least, rng, persons, whose)
    return protect_numbers(values, column, least, rng, whose, listed)


def protect_history(
    values: pd.Series,
    column: Column,
    least: int,
    rng: np.random.Generator,
    persons: Array,
    whose: Array | None = None,
) -> Redrawn:
    """Redraw each person's first value and the gaps after it.

    Values drawn anew one by one would keep neither the pace of a history nor rows of one moment together: of some
    thousand rows in a year, each is moved by days. So the first values of all persons are protected as
    :func:`~hybrid.protect.numbers.protect_numbers` does, and so are the gaps. No value lies beyond those of the
    ``least``-th smallest and largest person.

    Columns in which no value is rare, and those without steps, are left to :func:`protect_numbers`.

    Parameters
    ----------
    values : pandas.Series, shape (n,)
        The column that orders the rows of a person, in the dtype of its kind.
    column, least, rng
        As for :func:`protect_numbers`.
    persons : numpy.ndarray, shape (n,), int
        Person of each record. Negative ones have no key: each is a history of its own.
    whose : numpy.ndarray, shape (n,), int, optional
        Who counts as a holder of each record: its household, or by default its person.
    """
    counted = persons if whose is None else whose
    codes, distinct = pd.factorize(values, sort=True)
    ends = people_bounds(codes, least, counted) if len(distinct) else None
    held = holders(codes, len(distinct), counted)
    steps = None if ends is None or held.min() >= least else steps_of(pd.Series(distinct), column)
    if steps is None or ends is None or not steps.whole:
        return protect_numbers(values, column, least, rng, counted)
    known = np.flatnonzero(codes >= 0)
    known = known[np.lexsort((codes[known], persons[known]))]
    places, people, counted = steps.values[codes[known]], persons[known], counted[known]
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
    return Redrawn(steps.series(drawn, missing), len(distinct), int((held < least).sum()))


def _redrawn(places: Array, least: int, rng: np.random.Generator, persons: Array) -> tuple[Array, Array]:
    """Protected whole numbers, and a mask of those that are missing now."""
    found = protect_numbers(pd.Series(places, dtype="Int64"), _STEPS, least, rng, persons).values
    return found.fillna(0).to_numpy(dtype=np.int64), found.isna().to_numpy(dtype=bool)
