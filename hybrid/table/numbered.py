"""Several synthetic tables of one release, which a column numbers in each file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hybrid.base.arrays import Codes
from hybrid.table.kinds.registry import DTYPES, Kind
from hybrid.table.persons import n_persons
from hybrid.table.schema import Column, Role, Schema, Table

TABLE_NUMBER = "synthetic_table"
"""Column with the number of the table of each row, 1 and up."""


def table_numbers(people: int, tables: int) -> Codes:
    """Number of the table of each of so many people in random order, shape (people,): the first ones are in table 1.

    The tables have equally many people, one more or less.
    """
    found: Codes = np.arange(people) * tables // max(people, 1) + 1
    return found


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
