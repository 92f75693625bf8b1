"""The optima of ARX, found from combinations that DuckDB, PostgreSQL and Spark counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hybrid.anonymize.decide import AnonymizationRequest, CountedRows, decide
from hybrid.anonymize.warehouse.count_rows import WarehouseRows, count_rows
from hybrid.base.progress import silent
from hybrid.table.data_options import DataOptions
from hybrid.table.warehouse import Warehouse, open_warehouse
from tests.anonymize.adult import Q8, content, records, reference, reference_options, takes_long

SETTINGS = reference("arx_adult.csv")
FEW = [row for row in SETTINGS if row["limit"] == "0.02" and row["metric"] in ("loss_geo", "nuentropy_norm_arith")]


def with_people(engine: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """Address of a warehouse whose table ``people`` is Adult."""
    frame = records()[Q8]
    table = pa.Table.from_pandas(frame.assign(age=frame["age"].astype("int64")), preserve_index=False)
    if engine == "spark":
        pytest.importorskip("pyspark", reason="needs the extra [spark]")
        pq.write_table(table, folder / "people.parquet")
        return f"spark:///{folder}"
    if engine == "postgres":
        from tests.helpers.postgres_server import postgres

        server = postgres()
        request.addfinalizer(lambda: server.__exit__(None, None, None))
        address = server.__enter__().url
    else:
        import duckdb

        duckdb.connect(str(folder / "w.duckdb")).close()
        address = f"duckdb:///{folder}/w.duckdb"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_WAREHOUSE", address)
        with open_warehouse("TEST_WAREHOUSE", 2.0**28) as warehouse:
            warehouse.load("people", table.to_reader())
    return address


@pytest.fixture(
    scope="module",
    params=[
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.engines),
        pytest.param("spark", marks=pytest.mark.spark),
    ],
)
def warehouse(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_WAREHOUSE", with_people(request.param, tmp_path_factory.mktemp("adult"), request))
        patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto")
        with open_warehouse("TEST_WAREHOUSE", 2.0**29) as opened:
            yield opened


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The hierarchy of each column."""
    folder = tmp_path_factory.mktemp("hierarchies")
    for name in Q8:
        (folder / f"{name}.csv").write_bytes(content(f"adult_hierarchy_{name}.csv"))
    return {name: folder / f"{name}.csv" for name in Q8}


def assert_as_arx(settings: list[dict[str, str]], warehouse: Warehouse, files: dict[str, Path]) -> None:
    """Combinations are counted once for all settings with the same columns."""
    counted: dict[tuple[str, ...], CountedRows] = {}
    for row in settings:
        levels = {name: int(level) for name, level in (pair.split("=") for pair in row["levels_by_attr"].split())}
        options = reference_options(row)
        columns = tuple(dict.fromkeys([*levels, *options.attributes]))
        roles: dict[str, Any] = {
            name: {"role": "quasi_identifier" if name in levels else "sensitive"} for name in columns
        }
        data = DataOptions.model_validate(
            {"sql": {"url_env": "TEST_WAREHOUSE", "table": "people", "push_down": True}, "columns": roles}
        )
        asked = AnonymizationRequest("people", columns, data, {name: files[name] for name in levels}, options)
        if columns not in counted:
            rows = WarehouseRows(warehouse, warehouse.table("people").select(*columns), ())
            counted[columns] = count_rows(rows, asked, 10**6).counted
        found = decide(asked, counted[columns], silent)
        where = f"{row['qi_set']} k={row['k']} {row['l_model']} limit={row['limit']} {row['metric']}"
        assert found.recoding.levels == levels, where
        assert found.recoding.score.value == pytest.approx(float(row["loss"]), abs=1e-9, rel=1e-12), where
        suppressed = int(found.task.records.counts[found.recoding.suppressed].sum())
        assert suppressed == int(row["suppressed_flagged"]), where


def test_some_optima_of_arx(warehouse: Warehouse, files: dict[str, Path]) -> None:
    assert len(FEW) >= 8 and not any(map(takes_long, FEW))
    assert_as_arx(FEW, warehouse, files)


@pytest.mark.engines
def test_all_optima_of_arx(warehouse: Warehouse, files: dict[str, Path]) -> None:
    assert len(SETTINGS) == 80
    assert_as_arx(SETTINGS, warehouse, files)
