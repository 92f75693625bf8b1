"""What `hybrid check` accepts of two columns, a run can hold: all kinds of constraints, on all pairs of kinds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import ConfigError
from hybrid.constraints import KINDS, Form, Rules, restore_held
from hybrid.constraints.checks import refuse_misfits
from hybrid.constraints.discover import discover
from hybrid.protect import ProtectOptions, protect
from hybrid.table import Column, ColumnFormat, Kind, Role, Schema, Table
from tests.constraints.small_tables import declared, table_of

ROWS = 240
LARGE = 2**62


def column_of(kind: Kind, rng: np.random.Generator, *, far: bool) -> list[Any]:
    """Values with some missing ones; ``far``: at the ends of what the kind can hold."""
    small = rng.integers(0, 30, ROWS)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(small, unit="D")
    values: dict[Kind, list[Any]] = {
        Kind.INTEGER: list(small),
        Kind.DECIMAL: list(np.round(small + rng.random(ROWS), 3)),
        Kind.CATEGORICAL: [f"c{n % 4}" for n in small],
        Kind.BOOLEAN: [bool(n % 2) for n in small],
        Kind.DATE: [np.datetime64(day, "us") for day in days],
        Kind.DATETIME: [np.datetime64(day + pd.Timedelta(minutes=37), "us") for day in days],
        Kind.TIME: [np.datetime64(int(at) * 37, "m") for at in small],
    }
    ends: dict[Kind, tuple[Any, Any]] = {
        Kind.INTEGER: (-LARGE, LARGE),
        Kind.DECIMAL: (-1.5e308, 1.5e308),
        Kind.CATEGORICAL: ("\u202e=1+1", ""),
        Kind.BOOLEAN: (True, False),
        Kind.DATE: (np.datetime64("0001-01-01", "us"), np.datetime64("9999-12-31", "us")),
        Kind.DATETIME: (np.datetime64("0001-01-01T00:01", "us"), np.datetime64("9999-12-31T23:59", "us")),
        Kind.TIME: (np.datetime64("1970-01-01T00:00", "us"), np.datetime64("1970-01-01T23:59", "us")),
    }
    found = values[kind]
    if far:
        for at in range(0, ROWS, 9):
            found[at] = ends[kind][rng.integers(2)]
    for at in range(4, ROWS, 20):
        found[at] = None
    return found


def pair(first: Kind, second: Kind, *, far: bool) -> Table:
    """Columns a and b of these kinds, a third and fourth of the second's, and people with three rows each."""
    rng = np.random.default_rng(0)
    kinds = {"a": first, "b": second, "c": second, "d": first}
    people = np.arange(ROWS) // 3
    return table_of(people, **{name: (kind, column_of(kind, rng, far=far)) for name, kind in kinds.items()})


def about(first: str, second: str) -> Iterator[dict[str, Any]]:
    """A constraint of every kind about two columns."""
    yield {"le": [first, second]}
    yield {"tied": [first, second]}
    yield {"equal": [first, second, "c"]}
    yield from ({"derived": {first: text}} for text in (f"{second} + c", f"{second} - c", second, f"{second} > 3"))
    yield {"derived": {first: f"years({second}, c) * 1.5"}}
    yield {"combinations": [first, second]}
    yield from (
        {"range": {first: limits}} for limits in ([0, 20], ["2024-01-05", None], [0.5, None], ["06:00", "22:00"])
    )
    yield {"missing_together": [first, second]}
    yield {"unique": [first, second]}
    yield {"counter": {"column": first, "by": second}}
    yield {"counter": {"column": first, "within": "d", "by": second}}
    signs = (
        "a + b > 3",
        "a / b < 2",
        "a == b",
        "a < b",
        "a - b < 9",
        "not a",
        "min(a, b) > 1",
        "a > '2024-01-09'",
        "a > '06:00'",
        "hour(a) > 5",
    )
    yield from ({"formula": text} for text in signs)


def test_a_constraint_of_every_kind_is_tried() -> None:
    assert {next(iter(constraint)) for constraint in about("a", "b")} == set(KINDS)


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("first", Kind)
def test_what_check_accepts_is_held_by_everything_that_holds_rules(first: Kind, far: bool) -> None:
    tried = 0
    for second in Kind:
        table = pair(first, second, far=far)
        for constraint in about("a", "b"):
            rules = declared(constraint)
            try:
                refuse_misfits(rules, table.schema)
            except ConfigError:
                continue
            tried += 1
            hold(Rules.fit(rules, table, 5), table)
    assert tried >= 25


def hold(rules: Rules, table: Table) -> None:
    """Everything that a run does with rules."""
    rng = np.random.default_rng(1)
    protected = protect(table, ProtectOptions(), rng, ties=ties(rules, table), decided=True).table
    repaired = rules.repair(protected, table, rng)
    assert len(repaired) == len(table) and repaired.schema.names == table.schema.names
    assert len(rules.broken(repaired)) == len(table)
    settled = rules.settle(table)
    if rules.of_rows.broken(settled).all():
        return
    form = Form.of(rules, table)
    assert len(form.decode(form.encoded)) == len(form.learned)
    orders = [rng.permutation(len(table)) for _ in range(200)]

    def restore(rows: np.ndarray, copies: int) -> Table:
        mixed = table.frame.assign(b=table.frame["b"].to_numpy()[orders.pop()])
        return Table(mixed.astype(table.frame.dtypes), table.schema, table.persons).take(np.tile(rows, copies))

    assert len(restore_held(restore, rules, len(table), ["b"])[0]) == len(table)


def ties(rules: Rules, table: Table) -> dict[str, str]:
    return {rule.other: rule.anchor for rule in rules.tied(table)}


@pytest.mark.parametrize("far", [False, True])
def test_constraints_are_looked_for_in_columns_of_every_pair_of_kinds(far: bool) -> None:
    for first, second in product(Kind, repeat=2):
        table = pair(first, second, far=far)
        for constraint in (one.constraint for one in discover(table) if not one.broken):
            refuse_misfits([constraint], table.schema)
            assert not constraint.broken(table).any()


def test_a_larger_column_is_raised_to_the_least_value_it_can_have() -> None:
    """A decimal below an integer, a time before a date: equal values may not exist."""
    day, minute = np.datetime64("2024-01-01", "us"), np.timedelta64(1, "m")
    low, between, above = {}, {}, {}
    low[Kind.INTEGER], between[Kind.INTEGER], above[Kind.INTEGER] = 1, 2, 4
    low[Kind.DECIMAL], between[Kind.DECIMAL], above[Kind.DECIMAL] = 1.0, 2.5, 3.25
    low[Kind.DATE], between[Kind.DATE], above[Kind.DATE] = day, day + 1440 * minute, day + 4320 * minute
    low[Kind.DATETIME], between[Kind.DATETIME], above[Kind.DATETIME] = day, day + 30 * minute, day + 3000 * minute
    for first, second in product(low, repeat=2):
        if first.is_temporal != second.is_temporal:
            continue
        before = table_of(a=(first, [low[first]]), b=(second, [between[second]]))
        after = table_of(a=(first, [above[first]]), b=(second, [between[second]]))
        rules = Rules.fit(declared({"le": ["a", "b"]}), before, 1)
        assert rules.broken(after).all() and not rules.broken(before).any()
        repaired = rules.repair(after, before, np.random.default_rng(0))
        assert not rules.broken(repaired).any()
        assert repaired.frame["b"].dtype == before.frame["b"].dtype
        if first is second:
            assert repaired.frame["b"].equals(after.frame["a"].rename("b"))


def test_a_number_beyond_all_whole_numbers_leaves_the_row_as_it_is() -> None:
    before = table_of(a=(Kind.DECIMAL, [1.0, 1.0]), b=(Kind.INTEGER, [2, 2]))
    after = table_of(a=(Kind.DECIMAL, [1e300, 2.5]), b=(Kind.INTEGER, [2, 2]))
    repaired = Rules.fit(declared({"le": ["a", "b"]}), before, 1).repair(after, before, np.random.default_rng(0))
    assert list(repaired.frame["b"]) == [2, 3]


def test_a_decimal_is_raised_to_one_that_its_column_can_write() -> None:
    schema = Schema(
        (
            Column("a", Role.INSENSITIVE, Kind.DECIMAL, format=ColumnFormat(decimals=3)),
            Column("b", Role.INSENSITIVE, Kind.DECIMAL, format=ColumnFormat(decimals=1)),
        )
    )
    before = Table(pd.DataFrame({"a": [1.0], "b": [2.0]}), schema)
    after = Table(pd.DataFrame({"a": [2.345], "b": [2.0]}), schema)
    repaired = Rules.fit(declared({"le": ["a", "b"]}), before, 1).repair(after, before, np.random.default_rng(0))
    assert list(repaired.frame["b"]) == [2.4]
