"""Numbers that a release adds: surrogates, which no source record has, and those of several synthetic tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes, Mask
from hybrid.table.kinds.registry import DTYPES, Kind
from hybrid.table.persons import constant_within, n_persons
from hybrid.table.schema import Column, Role, Schema, Table

SURROGATES = "^SY*[0-9]+$"
"""Regular expression of texts that surrogates may equal."""
_FEW = 5
"""Gaps, or values, up to which an identifier is filled, or empty, throughout: fewer would tell of few people."""
MOST_TELLING = 20
"""Values of a column up to which each of them may tell whether an identifier is empty."""


def with_surrogates(
    table: Table,
    schema: Schema,
    source: Table,
    person: Sequence[str] = (),
    elsewhere: Mapping[str, tuple[int, int]] | None = None,
    after: tuple[int, int] = (0, 0),
) -> Table:
    """The table with the missing identifier columns of ``schema``, filled with surrogates.

    An identifier is empty where that of ``source`` is: in the rows that a column of the table tells, if each of its
    values (or its gaps) always goes with a gap or never, and else in as many rows. The surrogates of a row differ from
    column to column. Those of ``person``, and all identifiers that are constant within the persons of the source, are
    the same in all rows of a person; those of ``person`` have no gaps.

    Integers are numbered above the source's longest identifier, texts are "S" and a number with another letter where
    the source uses that form; decimals are numbered as integers are if all of the source's are whole (3.0, as programs
    write whole numbers with gaps). Dates, booleans and other decimals are left missing.

    ``elsewhere`` is about records that are not in the source: length of each identifier's longest value, and of the
    longest one that matches :data:`SURROGATES`; 0 for none. ``after``: rows and persons of other tables that were
    numbered before, which no surrogate repeats.
    """
    owners = pd.factorize(table.persons)[0]
    of_person = {*person, *constant_within(source, schema.identifiers)}
    absent = [column for column in schema if column.name not in table.schema]
    frame = {name: table.frame[name] for name in table.schema.names}
    for place, column in enumerate(absent):
        known, step = _known(column, source, elsewhere or {}), (place, len(absent))
        if column.name in of_person:
            numbers = _surrogates(column, int(owners.max(initial=-1)) + 1, known, after[1], step)
            found = numbers.take(owners).reset_index(drop=True)
        else:
            found = _surrogates(column, len(table), known, after[0], step)
        gaps = None if column.name in person else gaps_like(source, column.name, table)
        frame[column.name] = found if gaps is None else found.mask(gaps)
    ordered = pd.DataFrame(frame, index=pd.RangeIndex(len(table)), columns=pd.Index(schema.names))
    return Table(ordered, schema, table.named_persons)


def gaps_like(source: Table, name: str, table: Table) -> Mask | None:
    """Mask of the rows of a table that get no identifier; None where fewer than five rows of the source have none.

    All rows where fewer than five have one. Where no column that both tables have tells the gaps, all rows of a person
    have them or none.
    """
    empty = source.frame[name].isna().to_numpy()
    if empty.sum() < _FEW:
        return None
    if (~empty).sum() < _FEW:
        return np.ones(len(table), dtype=bool)
    for column in table.schema:
        if column.name in source.schema:
            values, own = source.frame[column.name], table.frame[column.name]
            if values.nunique() > MOST_TELLING:
                values, own = values.isna(), own.isna()
            both = pd.concat([values.astype(object), own.astype(object)], ignore_index=True)
            codes = pd.factorize(both, use_na_sentinel=False)[0]
            with_gap, without = codes[: len(empty)][empty], codes[: len(empty)][~empty]
            if not np.isin(with_gap, without).any():
                return np.isin(codes[len(empty) :], with_gap)
    places = pd.factorize(table.persons)[0]
    share = float(empty.mean())
    return np.asarray(np.floor((places + 1) * share) > np.floor(places * share))


def _known(column: Column, source: Table, elsewhere: Mapping[str, tuple[int, int]]) -> pd.Series:
    values = source.frame[column.name]
    longest, alike = elsewhere.get(column.name, (0, 0))
    if column.kind is Kind.INTEGER and longest:
        return pd.concat([values, pd.Series([10 ** min(longest, 18) - 1], dtype=values.dtype)])
    if column.kind is Kind.CATEGORICAL and alike:
        others = [f"S{'Y' * length}0" for length in range(alike - 1)]
        return pd.concat([values.astype(object), pd.Series(others, dtype=object)])
    return values


def _surrogates(column: Column, n: int, source: pd.Series, after: int, step: tuple[int, int]) -> pd.Series:
    """Surrogates after those of other tables; of several columns, each takes every so-manieth number."""
    place, columns = step
    numbers = range(after * columns + place + 1, (after + n) * columns + place + 1, columns)
    if column.kind is Kind.INTEGER or (column.kind.type.has_decimals and _are_whole(source)):
        longest = len(f"{source.dropna().abs().max():.0f}") if source.notna().any() else 1
        first = 10 ** min(longest, 17 if column.kind is Kind.INTEGER else 15)
        return pd.Series([first + number for number in numbers], dtype=DTYPES[column.kind])
    if column.kind is Kind.CATEGORICAL:
        taken = set(source.dropna().astype(str))
        width = max(6, len(str((after + n) * columns)))
        prefix = "S"
        while any(text.startswith(prefix) and text[len(prefix) :].isdigit() for text in taken):
            prefix += "Y"
        return pd.Series([f"{prefix}{number:0{width}d}" for number in numbers], dtype="category")
    return pd.Series([None] * n, dtype=DTYPES[column.kind])


def _are_whole(values: pd.Series) -> bool:
    known = values.dropna()
    return len(known) > 0 and bool((known % 1 == 0).all())


TABLE_NUMBER = "synthetic_table"
"""Column with the number of the table of each row, 1 and up."""


def table_numbers(people: int, tables: int) -> Codes:
    """Number of the table of each of so many people in random order, shape (people,): the first ones are in table 1.

    The tables have equally many people, one more or less.
    """
    return np.arange(people) * tables // max(people, 1) + 1


def with_table_numbers(table: Table, tables: int) -> Table:
    """Rows in random order as so many tables, numbered by the last column.

    The tables have equally many persons, and so equally many rows where each row is another person. Rows of a person
    must follow each other.
    """
    order = table.persons if table.rows_are_persons else np.cumsum(np.diff(table.persons, prepend=-1) != 0) - 1
    return numbered(table, table_numbers(n_persons(table), tables)[order])


def numbered(table: Table, numbers: Codes) -> Table:
    """Rows with the number of the table that each is in, shape (n_rows,), as the last column."""
    schema = Schema((*table.schema, Column(TABLE_NUMBER, Role.INSENSITIVE, Kind.INTEGER)))
    frame = table.frame.assign(**{TABLE_NUMBER: numbers}).astype({TABLE_NUMBER: DTYPES[Kind.INTEGER]})
    return replace(table, frame=frame, schema=schema)
