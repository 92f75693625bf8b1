"""A large table of labels is written in parts, and nobody can tell from it how the rows came."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.anonymize.warehouse import expressions
from hybrid.anonymize.warehouse.write_labels import parts_of, rows_at_once
from hybrid.table.warehouse import open_warehouse
from tests.anonymize.warehouse_job import MODELS, OTHERS, Job, put, write_people

MOST = 60
"""Rows of a part of 260."""


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(1, 40))
def test_each_class_is_in_one_part(records: list[int], most: int) -> None:
    parts = list(parts_of(np.array(records), most))
    assert [at for first, last in parts for at in range(first, last + 1)] == list(range(len(records)))
    assert all(first == last or sum(records[first : last + 1]) <= most for first, last in parts)


def test_neighbours_share_a_part_as_long_as_they_fit() -> None:
    assert list(parts_of(np.array([3, 4, 9, 12, 2, 5, 5]), 10)) == [(0, 1), (2, 2), (3, 3), (4, 5), (6, 6)]


def test_parts_grow_with_memory_and_shrink_with_columns() -> None:
    assert rows_at_once(4 * 2**30, 9) > 4e7
    assert rows_at_once(2**30, 9) == rows_at_once(4 * 2**30, 9) / 4 > rows_at_once(2**30, 30)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return write_people(tmp_path_factory.mktemp("job"))


@pytest.mark.parametrize("name", ["k, k 2", "persons, k 4", "t, k 8"])
def test_as_in_memory_whatever_the_order_of_the_source(
    name: str, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, other = name.split(", ")
    setting, asked, tables = MODELS[model] | OTHERS[other], [], []
    in_order = expressions.in_content_order
    monkeypatch.setattr(expressions, "in_content_order", lambda *given: asked.append(given) or in_order(*given))
    shuffled = job.table.take(pa.array(np.random.default_rng(1).permutation(job.table.num_rows)))
    for at, (table, most) in enumerate(((job.table, np.inf), (job.table, MOST), (shuffled, MOST))):
        put(tmp_path / f"{at}.duckdb", table)
        monkeypatch.setenv("TEST_WAREHOUSE", f"duckdb:///{tmp_path}/{at}.duckdb")
        with open_warehouse("TEST_WAREHOUSE", memory=2**28) as warehouse:
            warehouse.sort_bytes = most / rows_at_once(1, len(table.column_names) - 2)
            assert job.there(warehouse, setting, "labelled") == job.here(setting)
            tables.append(warehouse.fetch("all", warehouse.table("labelled")))
    at_once, written, again = tables
    assert len(asked) >= 1 + 2 * 2
    assert written.schema == at_once.schema
    first = ["age", "sex", "weight"]
    in_order = [*first, *(column for column in written.column_names if column not in first)]
    assert written.sort_by([(column, "ascending") for column in in_order]).equals(at_once)
    assert written.equals(again)


def test_rows_of_missing_values_have_their_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: Job) -> None:
    """Where the label of a missing value is in no part, or in several, rows are lost or doubled."""
    at = job.table.column_names.index("ward")
    gaps = pa.array(
        [None if row % 3 else value for row, value in enumerate(job.table["ward"].to_pylist())], pa.string()
    )
    put(tmp_path / "gaps.duckdb", table := job.table.set_column(at, "ward", gaps))
    monkeypatch.setenv("TEST_WAREHOUSE", f"duckdb:///{tmp_path}/gaps.duckdb")
    with open_warehouse("TEST_WAREHOUSE", memory=2**28) as warehouse:
        found = []
        for most in (np.inf, 20):
            warehouse.sort_bytes = most / rows_at_once(1, len(table.column_names) - 2)
            found.append(
                job.there(warehouse, {"anonymize.k": 2, "anonymize.suppression_limit": 0.1}, f"part_{len(found)}")
            )
    assert found[0] == found[1]
    assert found[0][1].total() > 200
