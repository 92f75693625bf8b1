"""Persons behind the rows of a table, the unit of privacy, and their households.

A row whose key is missing has a person of its own, with a negative number: draws treat it as somebody else, and
nobody may be counted on its account, since it may be a row of any person. The members of a household know each other
and are known together: split and samples keep them together, and who recognizes one of them has recognized the
household.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes, Mask
from hybrid.base.errors import ConfigError, DataError
from hybrid.base.keys import group_rows, pack_small
from hybrid.table.holders import all_differ, n_distinct
from hybrid.table.schema import Role, Schema, Table


def with_persons(table: Table, names: Sequence[str]) -> Table:
    """The table with the person of each row, by columns whose values together name one; none: as it is."""
    if not names:
        return table
    unknown = [name for name in names if name not in table.schema]
    if unknown:
        raise unknown_person(unknown, table.schema.names)
    columns = [pd.factorize(table.frame[name])[0].astype(np.int64) for name in names]
    return replace(table, named_persons=person_codes(columns))


def with_order(table: Table, name: str | None) -> Table:
    """The table with its rows sorted by the date, time or number that orders the rows of a person.

    Rows without a value come last, rows with equal values keep their order. Without such a column, or where it is
    undecided, and so enters no run, the table stays as it is.
    """
    if name is None:
        return table
    if name not in table.schema:
        raise ConfigError(
            f"data.order names the column {name!r}, which the data does not have",
            hint=f"use one of: {', '.join(table.schema.names)}",
        )
    column = table.schema[name]
    if column.role is Role.UNDECIDED:
        return table
    if not column.kind.is_continuous:
        raise ConfigError(
            f"data.order: {name!r} is a {column.kind} column, which has no order",
            hint="use a date, a time or a number, such as a visit number; or state its kind under data.columns",
        )
    columns = tuple(replace(each, order=True if each.name == name else None) for each in table.schema)
    return replace(table, schema=Schema(columns)).take(np.argsort(_ranks(table.frame[name]), kind="stable"))


def _ranks(values: pd.Series) -> Codes:
    codes, distinct = pd.factorize(values, sort=True)
    return np.where(codes < 0, len(distinct), codes).astype(np.int64)


def harmonized(table: Table, static: Sequence[str] | None) -> Table:
    """The table with static columns and order made true per person, for values that were drawn row by row.

    All known static values of a person become the first of them, missing ones stay missing; the values of the column
    that orders the rows are sorted among them, missing ones last. Where ``static`` is None, or each row another person,
    the table stays as it is.
    """
    if static is None or all_differ(table.persons):
        return table
    groups, frame = person_groups(table.persons), table.frame.copy()
    for name in static:
        known = np.flatnonzero(frame[name].notna().to_numpy())
        source, (owners, first) = np.arange(len(table)), np.unique(groups[known], return_index=True)
        source[known] = known[first][np.searchsorted(owners, groups[known])]
        frame[name] = frame[name].take(source).reset_index(drop=True)
    order = table.schema.order
    if order is not None and order not in static:
        places, ranked = np.argsort(groups, kind="stable"), np.lexsort((_ranks(frame[order]), groups))
        source = np.empty(len(table), dtype=np.int64)
        source[places] = ranked
        frame[order] = frame[order].take(source).reset_index(drop=True)
    return replace(table, frame=frame)


def unknown_person(unknown: Sequence[str], names: Sequence[str]) -> ConfigError:
    return ConfigError(
        f"data.person names columns that the data does not have: {', '.join(map(repr, unknown))}",
        hint=f"use some of: {', '.join(names)}",
    )


def person_codes(columns: Sequence[Codes]) -> Codes:
    """Number persons by the values of their key columns, each (n,) in the order of appearance, -1 where missing.

    0, 1, ... in the order of appearance; -1, -2, ... for rows that lack a value.
    """
    known = np.logical_and.reduce([column >= 0 for column in columns])
    codes = np.empty(len(known), dtype=np.int64)
    if len(columns) == 1:
        codes[known] = columns[0][known]
    else:
        parts = ((column[known], int(column.max(initial=0)) + 1) for column in columns)
        codes[known] = group_rows(*pack_small(parts, int(known.sum())))[0]
        codes[known] = pd.factorize(codes[known])[0]
    codes[~known] = -1 - np.arange(int((~known).sum()))
    return codes


def person_groups(persons: Codes) -> Codes:
    """Persons (or a part of them) as numbers without gaps, those without a key last; shape (n,), int64."""
    if (persons[1:] > persons[:-1]).all() and not (persons < 0).any():
        return np.arange(len(persons))
    groups, distinct = pd.factorize(persons, use_na_sentinel=False)
    order = np.lexsort((np.where(distinct < 0, -distinct, distinct), distinct < 0))
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[order] = np.arange(len(distinct))
    return np.asarray(rank[groups])


def n_persons(table: Table) -> int:
    """Number of persons of a table, of whom each row without a key is another."""
    return n_distinct(table.persons)


def first_rows(table: Table) -> Table:
    """The first row of each person, in the table's order."""
    if all_differ(table.persons):
        return table
    return table.take(np.sort(np.unique(table.persons, return_index=True)[1]))


def with_any_of(table: Table, rows: Mask) -> Mask:
    """All rows of the persons who have any of these rows; shape (n_rows,), bool."""
    groups = person_groups(table.persons)
    return np.asarray(np.bincount(groups, rows)[groups] > 0)


def row_limit_mask(persons: Codes, most: int, rng: np.random.Generator) -> Mask:
    """Mask of at most ``most`` rows of each person, drawn at random; shape (n,), bool."""
    order = np.lexsort((rng.random(len(persons)), persons))
    kept = np.zeros(len(persons), dtype=bool)
    kept[order] = pd.Series(persons[order]).groupby(persons[order]).cumcount() < most
    return kept


def drawn_rows(persons: Codes, rng: np.random.Generator) -> Array:
    """Positions of one random row of each person, in random order; shape (n_persons,), int64."""
    order = rng.permutation(len(persons))
    return np.asarray(order[np.sort(np.unique(persons[order], return_index=True)[1])])


def with_row_limit(table: Table, most: int | None, rng: np.random.Generator) -> Table:
    """Table with at most ``most`` rows of each person, drawn at random; None: all rows."""
    if most is None or all_differ(table.persons):
        return table
    return table.take(row_limit_mask(table.persons, most, rng))


def constant_within(table: Table, names: Sequence[str]) -> list[str]:
    """Columns with one known value in the rows of every person.

    Missing values do not count. None where no person has several rows with a value.
    """
    if all_differ(table.persons):
        return []
    groups = person_groups(table.persons)
    n_groups = int(groups.max(initial=-1)) + 1
    found = []
    for name in names:
        codes, distinct = pd.factorize(table.frame[name], use_na_sentinel=True)
        known = codes >= 0
        values = pd.factorize(groups[known] * max(len(distinct), 1) + codes[known])[1]
        persons = np.bincount(groups[known], minlength=n_groups)
        if (persons > 1).any() and len(values) == int((persons > 0).sum()):
            found.append(name)
    return found


def with_households(table: Table, names: Sequence[str]) -> Table:
    """The table with the household of each row, by columns whose values together name one; none: as it is.

    Rows without a key are a household of their own, with all rows of their person.
    """
    if not names:
        return table
    unknown = [name for name in names if name not in table.schema]
    if unknown:
        raise ConfigError(
            f"data.household names columns that the data does not have: {', '.join(map(repr, unknown))}",
            hint=f"use some of: {', '.join(table.schema.names)}",
        )
    households = person_codes([pd.factorize(table.frame[name])[0].astype(np.int64) for name in names])
    persons = person_groups(table.persons)
    households = np.where(households < 0, -1 - persons, households)
    pairs = pd.DataFrame({"person": persons, "household": households}).drop_duplicates()
    moved = int(pairs["person"].duplicated().sum())
    if moved:
        raise DataError(
            f"data.household: {moved:,} times a person is in another household than in its first row",
            hint="give every row of a person the household of one date, or leave data.household out",
        )
    return replace(table, named_households=households)


def kept_together(table: Table) -> Codes:
    """Group of each row whose rows are drawn together, 0..n_groups-1: households, or else persons."""
    return person_groups(table.households)
