"""Mixed records as points: numbers on a common scale, codes of categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes, Counts, Numbers, Rows
from hybrid.table import Column, Kind, Table
from hybrid.table.codings import numbers_of, written

_HOLDERS = 2
"""Persons whose values make the number of a group, at least."""


@dataclass(frozen=True)
class Axis:
    """Column of a table as an axis, with the way back.

    Numbers and dates are standardized; ordered categories are ranks over the range of ranks; other categories,
    booleans, and whether a value is missing are codes, and two codes are equal (0) or different (1), as in
    Domingo-Ferrer and Torra 2005 (doi 10.1007/s10618-005-0007-5).
    """

    column: Column
    dtype: object
    numbers: Numbers | None
    """Positions; 0 where the value is missing. None for categories without an order; shape (n,), float64."""
    codes: Codes | None
    """Code of each value: of the category, or 1 where a number is missing; None for numbers without missing ones; shape
    (n,), int64."""
    values: Array
    """Value of each rank or code, the missing one (if any) last; of numbers their mean and standard deviation."""
    ordinal: bool = False
    """Whether the column is one of ordered categories."""


@dataclass(frozen=True)
class RecordSpace:
    """Axes of all columns of a table.

    The squared distance of two records is the sum over the axes.
    """

    axes: tuple[Axis, ...]

    @property
    def numbers(self) -> list[Numbers]:
        """Positions on every axis that has some; each of shape (n,)."""
        return [axis.numbers for axis in self.axes if axis.numbers is not None]

    @property
    def codes(self) -> list[Codes]:
        """Codes of every axis that has some; each of shape (n,)."""
        return [axis.codes for axis in self.axes if axis.codes is not None]


def space_of(table: Table, columns: Sequence[str], orders: Mapping[str, Sequence[str]]) -> RecordSpace:
    """Axes of some columns; ``orders`` lists the categories of ordered columns, ascending."""
    return RecordSpace(tuple(_axis(table.schema[name], table.frame[name], orders.get(name)) for name in columns))


def _axis(column: Column, values: pd.Series, order: Sequence[str] | None) -> Axis:
    missing = values.isna().to_numpy()
    lacking = missing.astype(np.int64) if missing.any() else None
    if column.kind.is_continuous:
        plain = numbers_of(values)
        known = plain[~missing]
        mean = float(known.mean()) if len(known) else 0.0
        spread = float(known.std()) or 1.0 if len(known) else 1.0
        numbers = np.where(missing, 0.0, (plain - mean) / spread)
        return Axis(column, values.dtype, numbers, lacking, np.array([mean, spread]))
    if order is not None:
        ranks = pd.Index(order).get_indexer(pd.Index(values.astype(object))).astype(np.float64)
        numbers = np.where(missing, 0.0, ranks / max(len(order) - 1, 1))
        return Axis(column, values.dtype, numbers, lacking, np.array([*order, None], dtype=object), ordinal=True)
    codes, known = pd.factorize(values.astype(object), sort=True)
    codes = np.where(codes < 0, len(known), codes).astype(np.int64)
    return Axis(column, values.dtype, None, codes, np.array([*known, None], dtype=object))


def centroids(axis: Axis, groups: Codes, n_groups: int, persons: Codes) -> pd.Series:
    """Value of each group, in the dtype of the column.

    Mean of numbers, lower median of ordered categories, the most frequent of others. Numbers and ordered categories are
    missing where most members have no value, or those that have one are a single person's, whose own value would come
    out. Of equally frequent categories the one that most records of the table have, then the first in their order: a
    rare value of one member is not the group's. Numbers and dates are rounded as :func:`hybrid.table.codings.written`.
    """
    sizes = np.bincount(groups, minlength=n_groups)
    if axis.numbers is None:
        assert axis.codes is not None
        return _categories(axis, _modes(groups, axis.codes, len(axis.values)))
    lacking = np.zeros(len(groups), dtype=bool) if axis.codes is None else axis.codes == 1
    there = sizes - np.bincount(groups, lacking, minlength=n_groups)
    without = 2 * there < sizes
    if lacking.any():
        holders = _holders(groups[~lacking], persons[~lacking], n_groups)
        without |= holders < np.minimum(sizes, _HOLDERS)
    if axis.ordinal:
        ranks = np.rint(axis.numbers * max(len(axis.values) - 2, 1)).astype(np.int64)
        middle = _lower_medians(groups[~lacking], ranks[~lacking], n_groups)
        return _categories(axis, np.where(without, len(axis.values) - 1, middle))
    sums = np.bincount(groups, np.where(lacking, 0.0, axis.numbers), minlength=n_groups)
    mean, spread = axis.values
    positions = mean + spread * sums / np.maximum(there, 1)
    return written(np.where(without, np.nan, positions), axis.column)


def _categories(axis: Axis, codes: Codes) -> pd.Series:
    values = pd.Series(axis.values[codes], dtype=object)
    return values.astype(axis.dtype if axis.column.kind is Kind.CATEGORICAL else axis.column.kind.type.dtype)


def _holders(groups: Codes, persons: Codes, n_groups: int) -> Counts:
    named = persons >= 0
    n_persons = int(persons.max(initial=0)) + 1
    pairs = np.unique(groups[named] * n_persons + persons[named])
    return np.bincount(pairs // n_persons, minlength=n_groups)


def _modes(groups: Codes, codes: Codes, n_codes: int) -> Codes:
    pairs, counts = np.unique(groups * n_codes + codes, return_counts=True)
    group, code = np.divmod(pairs, n_codes)
    overall = np.bincount(codes, minlength=n_codes)
    best = np.lexsort((code, -overall[code], -counts, group))
    first: Codes = code[best][np.unique(group[best], return_index=True)[1]]
    return first


def _lower_medians(groups: Codes, ranks: Rows, n_groups: int) -> Codes:
    """Lower median of each group's ranks; 0 for a group without any."""
    order = np.lexsort((ranks, groups))
    sizes = np.bincount(groups, minlength=n_groups)
    found = np.zeros(n_groups, dtype=np.int64)
    some = np.flatnonzero(sizes)
    starts = np.cumsum(sizes)[some] - sizes[some]
    found[some] = ranks[order][starts + (sizes[some] - 1) // 2]
    return found
