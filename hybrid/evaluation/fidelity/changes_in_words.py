"""Changes of a column, or between two columns, in the data's own words and units.

Values and bounds that are named are those of groups of people that are large enough to be named.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context
from hybrid.table import Kind
from hybrid.table.cells import PeopleGroups, people_groups
from hybrid.table.persons import n_persons
from hybrid.table.schema import Table

FEWEST_SHARE = 0.05
"""Groups of fewer people are not named: their own numbers are chance."""


class _Figure(NamedTuple):
    """A number of each of some groups, in the real table and in the judged one."""

    what: str
    real: Array
    there: Array
    unit: str

    def at(self, group: int) -> tuple[str, str]:
        return tuple(f"{number[group]:,.{self._digits}f}{self.unit}" for number in (self.real, self.there))  # type: ignore[return-value]

    @property
    def _digits(self) -> int:
        largest = float(np.nanmax(np.abs(self.real), initial=0))
        return 0 if largest >= 100 else 1 if largest >= 1 else 3


def column_in_words(context: Context, name: str) -> str | None:
    """The group of a column whose share changed most; None where no group is large enough."""
    groups = _groups(context, name)
    if groups is None:
        return None
    real, there = (_shares(groups, side) for side in (context.train, context.table))
    at = int(np.argmax(np.abs(real - there)))
    percent = [f"{100 * share:.0f} %" for share in (there[at], real[at])]
    return f"{name} {groups.labels[at]}: {percent[0]} of the rows instead of {percent[1]}"


def relation_in_words(context: Context, a: str, b: str) -> str | None:
    """Values of one column where another says most about it, in the real table and in the judged one.

    The explained column is the one with fewer groups; its mean where it is a number, else the share of the value that
    differs most. None where no two groups of the other column are large enough.
    """
    groups = {name: _groups(context, name) for name in (a, b)}
    counted = {name: 0 if of is None else len(of) for name, of in groups.items()}
    x, y = (a, b) if counted[a] >= counted[b] else (b, a)
    by = groups[x]
    if by is None or len(by) < 2:
        return None
    figure = _means(context, by, y) if _is_number(context, y) else _value_shares(context, by, groups[y])
    if figure is None or np.isnan(figure.real).any():
        return None
    least, most = int(np.argmin(figure.real)), int(np.argmax(figure.real))
    parts = [f"{figure.at(at)[1]} instead of {figure.at(at)[0]} where {x} is {by.labels[at]}" for at in (least, most)]
    return f"{figure.what}: {parts[0]}, and {parts[1]}"


def _groups(context: Context, name: str) -> PeopleGroups | None:
    least = max(context.options.min_cell, int(FEWEST_SHARE * n_persons(context.train)))
    return next(people_groups(context.train, [name], least), None)


def _is_number(context: Context, name: str) -> bool:
    return context.schema[name].kind in (Kind.INTEGER, Kind.DECIMAL)


def _shares(of: PeopleGroups, table: Table) -> Array:
    found: Array = np.bincount(of.places(table) + 1, minlength=len(of) + 1)[1:] / max(len(table), 1)
    return found


def _means(context: Context, by: PeopleGroups, y: str) -> _Figure:
    real, there = (_mean_of(by, side, side.frame[y].to_numpy(np.float64, na_value=np.nan)) for side in _sides(context))
    return _Figure(f"mean {y}", real, there, "")


def _value_shares(context: Context, by: PeopleGroups, of: PeopleGroups | None) -> _Figure | None:
    if of is None:
        return None
    train, table = _sides(context)
    marks = of.places(train)
    real = np.array([_mean_of(by, train, (marks == at).astype(np.float64)) for at in range(len(of))])
    # Of two values that mirror each other, such as yes and no, the rarer one.
    at = int(np.lexsort((real.mean(axis=1), -np.ptp(real, axis=1).round(6)))[0])
    there = _mean_of(by, table, (of.places(table) == at).astype(np.float64))
    return _Figure(f"{of.column.name} is {of.labels[at]}", 100 * real[at], 100 * there, " %")


def _sides(context: Context) -> tuple[Table, Table]:
    return context.train, context.table


def _mean_of(by: PeopleGroups, table: Table, values: Array) -> Array:
    """Mean of each group's known values, shape (n_groups,); NaN where there are none."""
    places, known = by.places(table), ~np.isnan(values)
    rows = (places >= 0) & known
    counts = np.bincount(places[rows], minlength=len(by))
    sums = np.bincount(places[rows], values[rows], minlength=len(by))
    return np.divide(sums, counts, out=np.full(len(by), np.nan), where=counts > 0)
