"""Surrogates: fresh identifiers that no source record has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from hybrid.table.persons import constant_within
from hybrid.table.schema import DTYPES, Column, Kind, Schema, Table

SURROGATES = "^SY*[0-9]+$"
"""Regular expression of texts that surrogates may equal."""


def with_surrogates(
    table: Table,
    schema: Schema,
    source: Table,
    person: Sequence[str] = (),
    elsewhere: Mapping[str, tuple[int, int]] | None = None,
    after: tuple[int, int] = (0, 0),
) -> Table:
    """Add the missing identifier columns of ``schema``, filled with surrogates.

    Parameters
    ----------
    table : Table, n rows
        Synthetic records without identifiers.
    schema : Schema
        The columns of the result, in order.
    source : Table
        The records whose identifiers must not occur.
    person : sequence of str
        Identifiers of the person of a row. Where the table knows the persons of its rows, these and all other
        identifiers that are constant within the persons of ``source`` are the same in all rows of a person.
    elsewhere : mapping of str to (int, int), optional
        Of records that are not in ``source``: length of each identifier's longest value, and of the longest one that
        matches :data:`SURROGATES`; 0 for none.
    after : (int, int)
        Rows and persons of other tables that were numbered before, which no surrogate repeats.

    Returns
    -------
    Table
        n rows; integers are numbered above the source's longest identifier, texts are "S" and a number with
        another letter where the source uses that form; dates, decimals and booleans are left missing.
    """
    owners = None if table.persons is None else pd.factorize(table.persons)[0]
    of_person = {*person, *constant_within(source, schema.identifiers)}
    known = {
        column.name: _known(column, source, elsewhere or {}) for column in schema if column.name not in table.schema
    }
    frame = {}
    for column in schema:
        if column.name in table.schema:
            frame[column.name] = table.frame[column.name]
        elif owners is not None and column.name in of_person:
            numbers = _surrogates(column, int(owners.max(initial=-1)) + 1, known[column.name], after[1])
            frame[column.name] = numbers.take(owners).reset_index(drop=True)
        else:
            frame[column.name] = _surrogates(column, len(table), known[column.name], after[0])
    return Table(pd.DataFrame(frame, index=pd.RangeIndex(len(table))), schema, table.persons)


def _known(column: Column, source: Table, elsewhere: Mapping[str, tuple[int, int]]) -> pd.Series:
    """Identifiers that must not occur.

    With others in the place of those of records that are elsewhere.
    """
    values = source.frame[column.name]
    longest, alike = elsewhere.get(column.name, (0, 0))
    if column.kind is Kind.INTEGER and longest:
        return pd.concat([values, pd.Series([10 ** min(longest, 18) - 1], dtype=values.dtype)])
    if column.kind is Kind.CATEGORICAL and alike:
        others = [f"S{'Y' * length}0" for length in range(alike - 1)]
        return pd.concat([values.astype(object), pd.Series(others, dtype=object)])
    return values


def _surrogates(column: Column, n: int, source: pd.Series, after: int = 0) -> pd.Series:
    if column.kind is Kind.INTEGER:
        longest = int(source.dropna().abs().astype(str).str.len().max()) if source.notna().any() else 1
        first = 10 ** min(longest, 17) + after
        return pd.Series(range(first + 1, first + n + 1), dtype="Int64")
    if column.kind is Kind.CATEGORICAL:
        taken = set(source.dropna().astype(str))
        width = max(6, len(str(after + n)))
        prefix = "S"
        while any(text.startswith(prefix) and text[len(prefix) :].isdigit() for text in taken):
            prefix += "Y"
        return pd.Series([f"{prefix}{i:0{width}d}" for i in range(after + 1, after + n + 1)], dtype="category")
    return pd.Series([None] * n, dtype=DTYPES[column.kind])
