"""Constraints to suggest: places that lie in one another, and columns of rows beside those of their persons."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

from hybrid.base.arrays import Rows
from hybrid.base.rng import rng_for
from hybrid.constraints import Constraint
from hybrid.constraints.constraint import LEAST_ROWS
from hybrid.constraints.discover import LEAST_PEOPLE, Suggestion, derivations
from hybrid.constraints.kinds.combinations import Combinations
from hybrid.constraints.kinds.order import Le
from hybrid.pipeline.starter.column_names import has_phrase, vocabulary
from hybrid.pipeline.starter.columns import GuessedColumn
from hybrid.pipeline.starter.references import Reference
from hybrid.table import Kind, Schema, Table

_LEAST_ROWS = 50
"""Rows of small places that occur again, at least, to judge by."""
_SURE = 0.8
"""Agreement beyond chance from which a place lies in a larger one."""


def nested_places(table: Table, columns: Sequence[GuessedColumn]) -> list[Suggestion]:
    """Find columns of places of which the smaller lie in the larger ones.

    Columns of categories with a role and a name for places are compared. Sure ones: each names columns that belong
    together, the largest places first. Of two rows with the same small place nearly all have the same large one:
    Cohen's kappa of such pairs is at least 0.8. Towns of the same name in several states do not prevent that.
    """
    known = vocabulary()
    names = [
        one.column.name
        for one in columns
        if one.role.role.is_learned
        and one.column.kind is Kind.CATEGORICAL
        and has_phrase(known.without_fillers(known.split(one.column.name)), known.places)
    ]
    size = {name: int(table.frame[name].nunique()) for name in names}
    groups: list[set[str]] = []
    for pair in combinations(sorted(names, key=size.__getitem__), 2):
        if _agreement(table.frame, *pair) >= _SURE:
            joined = [group for group in groups if group & {*pair}]
            groups = [group for group in groups if group not in joined] + [set(pair).union(*joined)]
    found = [Combinations(combinations=tuple(sorted(group, key=size.__getitem__))) for group in groups]
    return [Suggestion(one, 0, sure=True) for one in found]


def with_sure(table: Table, columns: Sequence[GuessedColumn], found: Sequence[Suggestion]) -> list[Suggestion]:
    """Suggestions of :func:`nested_places`, and those found that are not about the same places.

    Dates of columns with a role that are in order in every row are sure: no absence ends before it begins.
    """
    places = nested_places(table, columns)
    joined = [set(one.constraint.columns) for one in places]
    dates = {one.column.name for one in columns if one.column.kind.is_temporal and one.role.role.is_learned}
    others = (one for one in found if not any(set(one.constraint.columns) <= names for names in joined))
    return [*places, *(replace(one, sure=_in_order(one, dates)) for one in others)]


def _in_order(one: Suggestion, dates: Container[str]) -> bool:
    return isinstance(one.constraint, Le) and not one.broken and all(name in dates for name in one.constraint.le)


def _agreement(frame: pd.DataFrame, large: str, small: str) -> float:
    """Cohen's kappa of the large places of two rows with the same small one, at most 1; 0 for too few rows."""
    rows = frame[[large, small]].dropna().astype(object)
    pairs = rows.groupby([small, large]).size()
    towns = pairs.groupby(level=0).sum()
    again = towns[towns > 1]
    if again.sum() < _LEAST_ROWS:
        return 0.0
    same = (pairs * (pairs - 1)).groupby(level=0).sum()[again.index]
    observed = float((same / (again - 1)).sum() / again.sum())
    chance = float(np.square(rows[large].value_counts(normalize=True)).sum())
    return (observed - chance) / (1 - chance) if chance < 1 else 0.0


MOST_GROUPS = 10
"""Values of a person's column at most, such as a sex, that rule out values of a row."""
MOST_LEVELS = 1_000
"""Values of a column of rows at most, such as a code, that are ruled out."""
LEAST_EXPECTED = 12
"""People expected among those who have a value, from a group that has none of them: by chance, once in 160,000."""
MOST_PAIRS = 3
"""Pairs of columns that rule out values of one another, at most for a table."""


def person_rows(name: str, tables: Mapping[str, Table], parents: Mapping[str, Reference]) -> Rows:
    """Row of the person table that each row belongs to, -1 for rows without a person; shape (n_rows,), int64."""
    found = np.arange(len(tables[name]))
    while name in parents:
        link = parents[name]
        keys = pd.Index(tables[link.parent].frame[link.key].astype("string"))
        keys = keys[~keys.duplicated()]
        owners = keys.get_indexer(pd.Index(tables[name].frame[link.column].astype("string")))
        found = np.where(found < 0, -1, owners[found])
        name = link.parent
    return found.astype(np.int64)


def constraints_across(table: Table, person: str, people: Table, rows: Rows) -> tuple[Suggestion, ...]:
    """Constraints between columns and those of their persons that hold in all rows, or nearly all.

    Orders of dates, columns that are computed from a date of the person, and values that a group of people does not
    have.

    Both tables have the columns that constraints may name; ``person`` is the name of the person table, which stands
    before its columns, and ``rows`` as :func:`person_rows`.
    """
    known = rows >= 0
    called = {name: f"{person}.{name}" for name in people.schema.names}
    theirs = people.take(rows[known]).frame.rename(columns=called)
    own = table.take(known)
    frame = pd.concat([own.frame.reset_index(drop=True), theirs.reset_index(drop=True)], axis=1)
    schema = Schema((*own.schema, *(replace(one, name=called[one.name]) for one in people.schema)))
    joined = Table(frame, schema, rows[known])
    added = set(called.values())
    found = [one for one in _found(joined, own.schema.names, added) if _is_across(one, added)]
    return tuple(Suggestion(one, int(one.broken(joined).sum())) for one in found)


def implied_orders(
    people: Table, person: str, orders: Sequence[tuple[str, str]], known: Sequence[Suggestion]
) -> Iterator[Suggestion]:
    """Orders of the persons' own dates that follow from what lies between them in other tables.

    Who has care after birth and none after death was born before death, however few have died.
    """
    pairs = {(low, high) for low, middle in orders for other, high in orders if middle == other}
    found = {one.constraint.columns for one in known}
    for low, high in sorted(pairs):
        names = [name.removeprefix(f"{person}.") for name in (low, high)]
        if not all(name.startswith(f"{person}.") for name in (low, high)) or names[0] == names[1]:
            continue
        one = Le(le=(names[0], names[1]))
        if one.columns not in found and not one.broken(people).any():
            yield Suggestion(one, 0)


def _is_across(constraint: Constraint, added: set[str]) -> bool:
    first, *others = constraint.columns
    told = first in added if constraint.key == "derived" else added.issuperset(constraint.columns)
    return not told and bool({first, *others} & added)


def _found(joined: Table, own: list[str], added: set[str]) -> Iterator[Constraint]:
    dates = joined.only([one.name for one in joined.schema if one.kind.is_temporal])
    for one in Le.candidates(dates, rng_for(0, "discover constraints across")):
        both = joined.frame[list(one.columns)].notna().all(axis=1).to_numpy()
        if len(np.unique(joined.persons[both])) >= LEAST_PEOPLE:
            yield one
    yield from derivations(joined)
    pairs = {(theirs, ours): _ruled_out(joined, theirs, ours) for theirs in sorted(added) for ours in own}
    ordered = sorted((pair for pair, people in pairs.items() if people), key=lambda pair: -pairs[pair])
    yield from (Combinations(combinations=pair) for pair in ordered[:MOST_PAIRS])


def _ruled_out(joined: Table, theirs: str, ours: str) -> float:
    """People expected, but for chance, in groups that never have a value that others have.

    Each person counts once for each of their values.
    """
    kinds = {joined.schema[name].kind for name in (theirs, ours)}
    if kinds - {Kind.CATEGORICAL, Kind.BOOLEAN, Kind.INTEGER} or joined.schema[theirs].kind is Kind.INTEGER:
        return 0.0
    groups, n_groups = _codes(joined.frame[theirs])
    values, n_values = _codes(joined.frame[ours])
    if not (1 < n_groups <= MOST_GROUPS and 1 < n_values <= MOST_LEVELS):
        return 0.0
    once = pd.DataFrame({"person": joined.persons, "group": groups, "value": values}).drop_duplicates()
    once = once[(once["group"] >= 0) & (once["value"] >= 0)]
    if len(once) < LEAST_ROWS:
        return 0.0
    counts = np.zeros((n_groups, n_values))
    np.add.at(counts, (once["group"].to_numpy(), once["value"].to_numpy()), 1)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    return float(expected[(counts == 0) & (expected >= LEAST_EXPECTED)].sum())


def _codes(values: pd.Series) -> tuple[Rows, int]:
    codes, levels = pd.factorize(values)
    return codes.astype(np.int64), len(levels)
