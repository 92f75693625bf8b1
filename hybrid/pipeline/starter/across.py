"""Constraints between the rows of a table and the person they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Rows
from hybrid.base.rng import rng_for
from hybrid.constraints import Constraint
from hybrid.constraints.constraint import LEAST_ROWS
from hybrid.constraints.discover import LEAST_PEOPLE, Suggestion, derivations
from hybrid.constraints.kinds.combinations import Combinations
from hybrid.constraints.kinds.order import Le
from hybrid.pipeline.starter.references import Reference
from hybrid.table import Kind, Schema, Table

MOST_GROUPS = 10
"""Values of a person's column at most, such as a sex, that rule out values of a row."""
MOST_LEVELS = 1_000
"""Values of a column of rows at most, such as a code, that are ruled out."""
LEAST_EXPECTED = 12
"""People expected among those who have a value, from a group that has none of them: by chance, once in 160,000."""
MOST_PAIRS = 3
"""Pairs of columns that rule out values of one another, at most for a table."""


def person_rows(name: str, tables: Mapping[str, Table], parents: Mapping[str, Reference]) -> Rows:
    """Row of the person table that each row of a table belongs to; shape (n_rows,), int64.

    -1 for rows without a person.
    """
    found = np.arange(len(tables[name]))
    while name in parents:
        link = parents[name]
        keys = pd.Index(tables[link.parent].frame[link.key].astype("string"))
        keys = keys[~keys.duplicated()]
        owners = keys.get_indexer(pd.Index(tables[name].frame[link.column].astype("string")))
        found = np.where(found < 0, -1, owners[found])
        name = link.parent
    return found.astype(np.int64)


def across(table: Table, person: str, people: Table, rows: Rows) -> tuple[Suggestion, ...]:
    """Constraints that hold in all rows, or nearly all, between their columns and those of their persons.

    Orders of dates, columns that are computed from a date of the person, and values that a group of people does not
    have.

    Parameters
    ----------
    table : Table, n rows
        Its columns that constraints may name.
    person : str
        Name of the person table, which stands before its columns.
    people : Table
        The person table, with the columns that constraints may name.
    rows : numpy.ndarray, shape (n,), int64
        As :func:`person_rows`.
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
        assert joined.persons is not None
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
