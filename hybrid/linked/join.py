"""Rows beside the rows they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from hybrid.base.arrays import Rows
from hybrid.table import Role, Schema, Table


def beside(table: Table, other: Table, rows: Rows, names: Mapping[str, str]) -> Table:
    """The table with columns of another one.

    Parameters
    ----------
    table : Table, n rows
    other : Table, m rows
    rows : numpy.ndarray, shape (n,), int64
        Row of ``other`` that each row belongs to.
    names : mapping of str to str
        Columns of ``other``, and what they are called; a column of ``table`` with that name is replaced.
    """
    added = {new: other.frame[old].take(rows).reset_index(drop=True) for old, new in names.items()}
    kept = [column for column in table.schema if column.name not in added]
    columns = (*kept, *(replace(other.schema[old], name=new, order=None) for old, new in names.items()))
    frame = pd.DataFrame({column.name: table.frame[column.name] for column in kept} | added)
    return replace(table, frame=frame, schema=Schema(columns))


def renamed(table: Table, names: Mapping[str, str]) -> Table:
    """Some columns of the table under other names, without persons' order."""
    columns = tuple(replace(table.schema[old], name=new, order=None) for old, new in names.items())
    return replace(table, frame=table.frame[list(names)].rename(columns=dict(names)), schema=Schema(columns))


def own_names(other: Table, taken: Table, prefix: str) -> dict[str, str]:
    """Names of another table's columns beside a table.

    Their own, with a prefix where the table has that name. Sampling weights are of persons, and stay out.
    """
    names = [column.name for column in other.schema.without_identifiers() if column.role is not Role.WEIGHT]
    return {name: f"{prefix}.{name}" if name in taken.schema else name for name in names}
