"""Unique rows, columns that name people, functional dependencies."""

from __future__ import annotations

import pandas as pd
import pytest

from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from hybrid.table.checks import formulas, giveaways, never_repeats, unique_share


def table_of(**columns: list[object]) -> Table:
    frame = pd.DataFrame({name: pd.Series(values, dtype="category") for name, values in columns.items()})
    return Table(frame, Schema(tuple(Column(name, Role.INSENSITIVE, Kind.CATEGORICAL) for name in columns)))


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (Kind.INTEGER, list(range(20)), True),
        (Kind.INTEGER, list(range(19)), False),
        (Kind.INTEGER, [*range(19), 0], False),
        (Kind.INTEGER, [*range(20), None], True),
        (Kind.DECIMAL, [at + 0.5 for at in range(30)], False),
        (Kind.CATEGORICAL, [str(at) for at in range(20)], True),
    ],
)
def test_columns_that_never_repeat(kind: Kind, values: list[object], expected: bool) -> None:
    column = Column("code", Role.INSENSITIVE, kind)
    assert never_repeats(column, pd.Series(values, dtype=DTYPES[kind])) is expected


def test_unique_share_counts_rows_that_no_other_row_equals() -> None:
    table = table_of(a=["x", "x", "y", "y", None], b=["1", "1", "1", "2", "1"])
    assert unique_share(table, ["a"]) == 1 / 5
    assert unique_share(table, ["b"]) == 1 / 5
    assert unique_share(table, ["a", "b"]) == 3 / 5
    assert unique_share(table, []) == 0.0


def test_functional_dependencies() -> None:
    years, school = ["9", "13", "10"] * 10, ["low", "high", "low"] * 10
    table = table_of(years=years, school=school, same=["s"] * 30, each=[str(at) for at in range(30)])
    assert giveaways(table, ["school", "years", "same"], table.schema.names) == [("years", "school")]
    # One exception in thirty rows is no dependency.
    broken = table_of(years=years, school=["high", *school[1:]])
    assert giveaways(broken, ["school"], ["years"]) == []


def test_a_dependency_needs_five_rows_of_each_value_on_average() -> None:
    five = table_of(a=["p", "q"] * 5, b=["1", "2"] * 5)
    assert giveaways(five, ["b"], ["a"]) == [("a", "b")]
    fewer = table_of(a=(["p", "q"] * 5)[:9], b=(["1", "2"] * 5)[:9])
    assert giveaways(fewer, ["b"], ["a"]) == []


def test_values_that_a_spreadsheet_runs_are_counted() -> None:
    table = table_of(note=["=cmd|'/C calc'!A0", "@SUM(1)", "+1+1", "-1-1", "a=b", "1", None, "@SUM(1)"])
    column = table.schema["note"]
    assert formulas(column, table.frame["note"]) == 5
    assert formulas(Column("n", Role.INSENSITIVE, Kind.INTEGER), pd.Series([-1, -2])) == 0
