"""Several synthetic tables of one release in one file, which a column numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hybrid.table.kinds.registry import DTYPES, Kind
from hybrid.table.persons import n_persons
from hybrid.table.schema import Column, Role, Schema, Table

TABLE_NUMBER = "synthetic_table"
"""Column with the number of the table of each row, 1 and up."""


def with_table_numbers(table: Table, tables: int) -> Table:
    """Rows in random order as so many tables, numbered by the last column.

    The tables have equally many persons, and so equally many rows where each row is another person. Rows of a person
    must follow each other.
    """
    order = table.persons if table.rows_are_persons else np.cumsum(np.diff(table.persons, prepend=-1) != 0) - 1
    number = order * tables // max(n_persons(table), 1) + 1
    schema = Schema((*table.schema, Column(TABLE_NUMBER, Role.INSENSITIVE, Kind.INTEGER)))
    frame = table.frame.assign(**{TABLE_NUMBER: number}).astype({TABLE_NUMBER: DTYPES[Kind.INTEGER]})
    return replace(table, frame=frame, schema=schema)
