"""Unique rows, columns that name people, functional dependencies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from hybrid.table.dependencies import formulas, functional_dependencies, never_repeats, no_secrets, unique_share


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
    assert functional_dependencies(table, ["school", "years", "same"], table.schema.names) == [("years", "school")]
    # One exception in thirty rows is no dependency.
    broken = table_of(years=years, school=["high", *school[1:]])
    assert functional_dependencies(broken, ["school"], ["years"]) == []


def test_a_dependency_needs_five_rows_of_each_value_on_average() -> None:
    five = table_of(a=["p", "q"] * 5, b=["1", "2"] * 5)
    assert functional_dependencies(five, ["b"], ["a"]) == [("a", "b")]
    fewer = table_of(a=(["p", "q"] * 5)[:9], b=(["1", "2"] * 5)[:9])
    assert functional_dependencies(fewer, ["b"], ["a"]) == []


def test_a_constant_and_what_another_column_tells_are_no_secrets() -> None:
    years, school = ["9", "13", "10"] * 10, ["low", "high", "low"] * 10
    table = table_of(years=years, school=school, again=years, same=["s"] * 30, free=["a", "b", "b", "a", "a"] * 6)
    names = table.schema.names
    reasons = {"same": "constant", "school": "each value of years goes with one of its values"}
    assert no_secrets(table, names, names) == reasons | {"again": "each value of years goes with one of its values"}
    assert no_secrets(table, names, ["free"]) == {"same": "constant"}
    assert no_secrets(table, ["years", "free"], names) == {"years": "each value of again goes with one of its values"}


def test_what_one_person_has_is_told_by_chance() -> None:
    """A rare illness: the place of the only ill person has no other inhabitant, or others who are well."""
    place = [str(at) for at in range(10)] * 10
    ill = ["no"] * 100 + ["yes"]
    table = table_of(place=[*place, "far away"], ill=ill)
    assert functional_dependencies(table, ["ill"], ["place"]) == [("place", "ill")]
    assert no_secrets(table, ["ill"], ["place"]) == {}
    confirmed = table_of(place=[*place, *["far away"] * 6], ill=["no"] * 100 + ["yes"] * 6)
    assert list(no_secrets(confirmed, ["ill"], ["place"])) == ["ill"]


def test_rows_of_a_person_confirm_nothing() -> None:
    """Each height is one person's, in all of six rows: it tells the sex of nobody else."""
    persons = np.repeat(np.arange(40), 6)
    table = table_of(height=[str(at) for at in persons], sex=[str(at % 2) for at in persons])
    assert functional_dependencies(table, ["sex"], ["height"]) == [("height", "sex")]
    assert no_secrets(table, ["sex"], ["height"]) == {"sex": "each value of height goes with one of its values"}
    assert no_secrets(replace(table, named_persons=persons), ["sex"], ["height"]) == {}
    again = np.tile(np.arange(8), 30)  # five persons of each height confirm one another
    tall = table_of(height=[str(at) for at in again], sex=[str(at % 2) for at in again])
    assert list(no_secrets(replace(tall, named_persons=np.arange(240)), ["sex"], ["height"])) == ["sex"]


def test_values_that_a_spreadsheet_runs_are_counted() -> None:
    table = table_of(note=["=cmd|'/C calc'!A0", "@SUM(1)", "+1+1", "-1-1", "a=b", "1", None, "@SUM(1)"])
    column = table.schema["note"]
    assert formulas(column, table.frame["note"]) == 5
    assert formulas(Column("n", Role.INSENSITIVE, Kind.INTEGER), pd.Series([-1, -2])) == 0
