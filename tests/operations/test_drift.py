"""What counts as a changed table, and what its statistics give away."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import chi2

from hybrid.base.errors import OutputError
from hybrid.base.language import catalogue
from hybrid.operations.drift import (
    STATISTICS,
    Baseline,
    DriftOptions,
    by_chance,
    compare,
    describe,
    find_baseline,
    keep_baseline,
    population_stability,
)
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table

SECRET = b"s" * 32


def people(n_rows: int, seed: int, older: float = 0.0) -> Table:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": pd.Series([f"P{i:05d}" for i in range(n_rows)], dtype="category"),
            "age": pd.Series(rng.normal(45 + older, 15, n_rows).round(), dtype="Int64"),
            "town": pd.Series(rng.choice(["Rome", "Nice", "Bonn"], n_rows, p=[0.6, 0.3, 0.1]), dtype="category"),
            "smoker": pd.Series(rng.random(n_rows) < 0.2, dtype="boolean"),
            "born": pd.Series(pd.Timestamp("1980-01-01") + pd.to_timedelta(rng.integers(0, 9999, n_rows), "D")),
        }
    )
    frame["born"] = frame["born"].astype(DTYPES[Kind.DATE])
    kinds = (Kind.CATEGORICAL, Kind.INTEGER, Kind.CATEGORICAL, Kind.BOOLEAN, Kind.DATE)
    roles = (Role.IDENTIFIER, *[Role.INSENSITIVE] * 4)
    columns = tuple(Column(*about) for about in zip(frame.columns, roles, kinds, strict=True))
    return Table(frame, Schema(columns))


def statuses(old: Table, new: Table) -> dict[str, str]:
    before = describe(old, SECRET)
    found = compare(before, describe(new, SECRET, before), DriftOptions())
    assert all(catalogue("de").say(one.message) != one.message for one in found)
    return {one.subject: one.status for one in found}


def test_index_and_distance_worked_by_hand() -> None:
    # 100 rows in bins of 50, 30, 20, then 200 rows in bins of 80, 60, 60; half a row more in every bin.
    p = np.array([50.5, 30.5, 20.5]) / 101.5
    q = np.array([80.5, 60.5, 60.5]) / 201.5
    expected = sum((b - a) * math.log(b / a) for a, b in zip(p, q, strict=True))
    psi, tv = population_stability(np.array([50, 30, 20]), np.array([80, 60, 60]))
    assert psi == pytest.approx(expected)
    assert tv == pytest.approx((abs(0.4 - 0.5) + abs(0.3 - 0.3) + abs(0.3 - 0.2)) / 2)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20))
def test_index_and_distance_are_symmetric_and_zero_only_for_the_same(counts: list[tuple[int, int]]) -> None:
    old, new = (np.array(column, dtype=float) for column in zip(*counts, strict=True))
    psi, tv = population_stability(old, new)
    assert psi >= 0 and 0 <= tv <= 1
    assert population_stability(new, old) == pytest.approx((psi, tv))
    assert population_stability(old, old) == (0.0, 0.0)


def test_chance_is_exceeded_about_once_in_a_thousand(rng: np.random.Generator) -> None:
    shares = [0.1] * 10
    draws = rng.multinomial(2000, shares, size=(4000, 2)).astype(float)
    limit = by_chance(10, 2000, 2000)
    assert limit == pytest.approx(chi2.ppf(0.999, 9) / 1000)
    beyond = sum(population_stability(old, new)[0] > limit for old, new in draws)
    assert beyond <= 12  # 4 expected


def test_another_sample_of_the_same_people_is_no_drift() -> None:
    assert set(statuses(people(300, 1), people(310, 2)).values()) == {"pass"}


def test_older_people_fewer_rows_and_another_schema() -> None:
    old = people(2000, 1)
    found = statuses(old, people(2000, 2, older=12))
    assert found["age"] == "stop" and found["town"] == "pass"
    assert statuses(old, people(1500, 2))["rows"] == "warn"
    assert statuses(old, people(900, 2))["rows"] == "stop"
    assert statuses(old, people(900, 2))["age"] == "pass"
    assert statuses(old, old.only(["id", "age", "town", "smoker"]))["born"] == "stop"
    assert statuses(old.only(["id", "age"]), old)["town"] == "stop"
    schema = Schema((*old.schema.columns[:-1], Column("born", Role.INSENSITIVE, Kind.DATETIME)))
    assert statuses(old, Table(old.frame, schema))["born"] == "stop"


def test_new_categories_and_missing_values_count() -> None:
    old = people(2000, 1)
    frame = old.frame.copy()
    frame["town"] = frame["town"].cat.add_categories("Oslo")
    frame.loc[:700, "town"] = "Oslo"
    frame.loc[:600, "smoker"] = pd.NA
    found = statuses(old, Table(frame, old.schema))
    assert found["town"] == found["smoker"] == "stop"


@pytest.mark.parametrize("n_rows", [1, 3, 60])
def test_small_constant_and_empty_columns(n_rows: int) -> None:
    table = people(n_rows, 1)
    frame = table.frame.copy()
    frame["age"] = pd.Series([41] * n_rows, dtype="Int64")
    frame["town"] = pd.Series([None] * n_rows, dtype="category")
    constant = Table(frame, table.schema)
    assert set(statuses(constant, constant).values()) == {"pass"}


def test_statistics_hold_no_value_of_anybody() -> None:
    table = people(2000, 3)
    frame = table.frame.copy()
    frame["age"] = pd.Series(np.random.default_rng(4).integers(10**6, 10**9, 2000), dtype="Int64")
    found = describe(Table(frame, table.schema), SECRET)
    text = STATISTICS.dump_json({"": found}).decode()
    assert not any(word in text for word in ("Rome", "Nice", "Bonn", "P00"))
    assert not set(map(float, frame["age"])) & set(found.columns["age"].edges)
    assert found.columns["id"].counts == ()
    few = describe(table.take(np.arange(4)), SECRET)
    assert few.columns["town"].categories == () and few.columns["age"].edges == ()


@given(st.integers(1, 400), st.integers(0, 50))
def test_every_row_is_counted_once(n_rows: int, seed: int) -> None:
    table = people(n_rows, seed)
    found = describe(table, SECRET)
    again = describe(people(n_rows + 7, seed + 1), SECRET, found)
    for name in ("age", "town", "smoker", "born"):
        assert sum(found.columns[name].counts) == n_rows
        assert sum(again.columns[name].counts) == n_rows + 7
        assert found.columns[name].edges == again.columns[name].edges
    assert STATISTICS.validate_json(STATISTICS.dump_json({"": found})) == {"": found}


def test_baselines_are_private_and_a_newer_format_is_refused(tmp_path: Path) -> None:
    kept = Baseline({"": describe(people(100, 1), SECRET)}, {"read": 0.5})
    keep_baseline(tmp_path / "work", "clinic", "tag", kept)
    assert find_baseline(tmp_path / "work", "clinic", "tag") == kept
    assert find_baseline(tmp_path / "work", "clinic", "other") is None
    (path,) = (tmp_path / "work").rglob("*.json")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    older = {
        "format": 1,
        "statistics": STATISTICS.dump_python(kept.statistics, mode="json")[""],
        "seconds": kept.seconds,
    }
    path.write_text(json.dumps(older))
    assert find_baseline(tmp_path / "work", "clinic", "tag") == kept
    path.write_text(json.dumps(older | {"format": 3}))
    with pytest.raises(OutputError, match="newer version"):
        find_baseline(tmp_path / "work", "clinic", "tag")
    path.write_text("{")
    assert find_baseline(tmp_path / "work", "clinic", "tag") is None


def test_limits_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValidationError, match="warn at most stop"):
        DriftOptions(warn=0.3)
