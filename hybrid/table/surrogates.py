"""Surrogates: fresh identifiers that no source record has."""

from __future__ import annotations

import pandas as pd

from hybrid.table.schema import DTYPES, Column, Kind, Schema, Table


def with_surrogates(table: Table, schema: Schema, source: Table) -> Table:
    """Add the missing identifier columns of ``schema``, filled with surrogates.

    Parameters
    ----------
    table : Table, n rows
        Synthetic records without identifiers.
    schema : Schema
        The columns of the result, in order.
    source : Table
        The records whose identifiers must not occur.

    Returns
    -------
    Table
        n rows; integers are numbered above the source's longest identifier, texts are "S" and a number with
        another letter where the source uses that form; dates, decimals and booleans are left missing.
    """
    frame = {
        column.name: table.frame[column.name]
        if column.name in table.schema
        else _surrogates(column, len(table), source.frame[column.name])
        for column in schema
    }
    return Table(pd.DataFrame(frame, index=pd.RangeIndex(len(table))), schema)


def _surrogates(column: Column, n: int, source: pd.Series) -> pd.Series:
    if column.kind is Kind.INTEGER:
        longest = int(source.dropna().abs().astype(str).str.len().max()) if source.notna().any() else 1
        first = 10 ** min(longest, 17)
        return pd.Series(range(first + 1, first + n + 1), dtype="Int64")
    if column.kind is Kind.CATEGORICAL:
        taken = set(source.dropna().astype(str))
        width = max(6, len(str(n)))
        prefix = "S"
        while any(text.startswith(prefix) and text[len(prefix) :].isdigit() for text in taken):
            prefix += "Y"
        return pd.Series([f"{prefix}{i:0{width}d}" for i in range(1, n + 1)], dtype="category")
    return pd.Series([None] * n, dtype=DTYPES[column.kind])
