"""A table that stays in Spark is labelled as one in memory is, without a word on the terminal and without a trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from hybrid.anonymize.warehouse import expressions
from hybrid.anonymize.warehouse.expressions import KEY
from hybrid.base import scratch
from hybrid.base.errors import ConfigError, DataError, UnreachableError, VerificationError
from hybrid.table.spark import SparkWarehouse
from hybrid.table.warehouse import Warehouse, open_warehouse
from tests.anonymize.warehouse_job import (
    LIKE_FILES,
    MODELS,
    OTHERS,
    PERSONS,
    Job,
    assert_size_decides,
    suppress_no_row,
    write_people,
)
from tests.jobs.warehouse_clinic import rows_of, write_clinic

pytest.importorskip("pyspark", reason="needs the extra [spark]")
pytestmark = pytest.mark.spark

ALL = {f"{model}, {other}": MODELS[model] | OTHERS[other] for model in MODELS for other in OTHERS}
HEAP = 2**29
Drawn = tuple[dict[str, Any], pa.Table]
PERSONS_OF_A_CLUSTER = {
    "person": "person",
    "sql": {"url_env": "CLUSTER_URL", "table": "clinic.people", "push_down": True},
}


def put(folder: Path, table: pa.Table) -> str:
    """A folder with one Parquet file, and its address."""
    folder.mkdir()
    pq.write_table(table, folder / "people.parquet", row_group_size=100)
    return f"spark:///{folder}"


@pytest.fixture(autouse=True, scope="module")
def short_lived() -> Iterator[None]:
    """JVMs that compile little: a third of the time of a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto")
        yield


def drawn_in_duckdb(job: Job, folder: Path, setting: dict[str, Any], size: int) -> Drawn:
    """The draw of the same rows in DuckDB."""
    file = folder / "people.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.register("given", job.table)
        connection.execute("create table if not exists people as select * from given")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_WAREHOUSE", f"duckdb:///{file}")
        with open_warehouse("TEST_WAREHOUSE") as warehouse:
            return job.draw(warehouse, setting, size)


def by_id(drawn: Drawn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Aggregates of all rows, and the drawn rows in an order that no engine decides."""
    facts, rows = drawn
    return facts, rows.sort_by("id").to_pylist()


def plain(name: str) -> str:
    return "labels_" + "".join(letter if letter.isalnum() else "_" for letter in name)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return write_people(tmp_path_factory.mktemp("job"))


def test_as_in_memory_and_nothing_else(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    work, aside, setting = tmp_path / "work", tmp_path / "aside", ALL["persons, k 4"]
    for folder in (work, aside):
        folder.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(tempfile, "tempdir", str(aside))
    monkeypatch.setattr(scratch, "_held", {})
    monkeypatch.setattr(scratch, "_held", {})
    monkeypatch.setenv("TEST_WAREHOUSE", put(tmp_path / "lake", job.table))
    with open_warehouse("TEST_WAREHOUSE", HEAP) as warehouse:
        assert warehouse.engine == "spark"
        assert job.there(warehouse, setting, "labels") == job.here(setting)
        drawn = job.draw(warehouse, setting, 60)
        with pytest.raises(ConfigError, match="Spark session already"), open_warehouse("TEST_WAREHOUSE"):
            pass
    assert {path.name for path in (tmp_path / "lake").iterdir()} == {"people.parquet", "labels"}
    parts = sorted((tmp_path / "lake" / "labels").glob("*.parquet"))
    written = pa.concat_tables(pq.read_table(part) for part in parts)
    assert written.equals(written.sort_by([(name, "ascending") for name in written.column_names]))
    assert not {"id", "person"} & set(written.column_names)
    assert list(work.iterdir()) == []
    assert [path.name for path in aside.glob("*/*")] == ["alive.lock"]
    assert capfd.readouterr() == ("", "")
    assert by_id(drawn) == by_id(drawn_in_duckdb(job, tmp_path, setting, 60))
    everyone = drawn_in_duckdb(job, tmp_path, setting, job.table.num_rows)[1]["person"].to_pylist()
    chosen = drawn[1]["person"].to_pylist()
    assert 0 < len(chosen) < len(everyone)
    assert Counter(chosen) == Counter(person for person in everyone if person in set(chosen))


def test_the_memory_limit_decides_whether_rows_stay(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_WAREHOUSE", put(tmp_path / "lake", job.table))
    assert_size_decides(job)


@pytest.mark.engines
def test_an_error_repeats_no_value(job: Job, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import ibis

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_WAREHOUSE", put(tmp_path / "lake", job.table))
        with (
            pytest.raises(DataError, match="SQLSTATE 22018") as caught,
            open_warehouse("TEST_WAREHOUSE", HEAP) as warehouse,
        ):
            warehouse.fetch("ward", warehouse.table("people").select(number=ibis._.ward.cast("int64")))
    assert "north" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.engines
def test_spark_connect_from_the_command_line(job: Job, tmp_path: Path) -> None:
    """In processes of its own: one process has sessions of one kind."""
    from tests.helpers.spark_connect import spark_connect

    content = yaml.safe_load(job.path.read_text())
    content["data"] |= PERSONS_OF_A_CLUSTER
    del content["data"]["path"]
    path = job.path.with_name("cluster.yaml")
    path.write_text(yaml.safe_dump(content))
    pq.write_table(job.table, tmp_path / "people.parquet")
    with spark_connect(tmp_path) as address:
        environment = {**os.environ, "CLUSTER_URL": address}
        script = (
            "import sys; from pyspark.sql import SparkSession\n"
            "session = SparkSession.builder.remote(sys.argv[1]).create()\n"
            "session.sql('create schema clinic')\n"
            "session.read.parquet(sys.argv[2]).write.saveAsTable('clinic.people')"
        )
        given = [sys.executable, "-c", script, address, str(tmp_path / "people.parquet")]
        subprocess.run(given, check=True, env=environment, timeout=300)
        command = [sys.executable, "-m", "hybrid", "anonymize", str(path), "--out", str(tmp_path / "out")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "spark: 260 rows stayed there" in done.stdout
    assert done.stderr.split() == ["read", "...", "search", "...", "write", "...", "verify", "..."]
    there = pq.read_table(tmp_path / "tables" / "clinic.db" / "people_labels")
    assert {file.name for file in (tmp_path / "tables" / "clinic.db").iterdir()} == {"people", "people_labels"}
    aggregates, rows = job.here(PERSONS)
    assert there.num_rows == aggregates["records"] - aggregates["suppressed"] == rows.total()


@pytest.mark.engines
def test_no_server_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_WAREHOUSE", "sc://127.0.0.1:9/;token=canary")
    with pytest.raises(UnreachableError, match="Spark Connect server") as caught, open_warehouse("TEST_WAREHOUSE"):
        pass
    assert "canary" not in str(caught.value)


@pytest.fixture(scope="module")
def session(job: Job, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_WAREHOUSE", put(tmp_path_factory.mktemp("session") / "lake", job.table))
        with open_warehouse("TEST_WAREHOUSE", HEAP) as warehouse:
            yield warehouse


@pytest.mark.engines
@pytest.mark.parametrize("name", ALL)
def test_every_setting_as_in_memory(name: str, job: Job, session: Warehouse) -> None:
    assert job.there(session, ALL[name], plain(name)) == job.here(ALL[name])


@pytest.mark.parametrize(
    "name", ["local", *(pytest.param(name, marks=pytest.mark.engines) for name in LIKE_FILES if name != "local")]
)
def test_labels_without_levels_and_models_of_persons(name: str, job: Job, session: Warehouse) -> None:
    assert job.there(session, LIKE_FILES[name], plain(name)) == job.here(LIKE_FILES[name])


@pytest.mark.engines
@pytest.mark.parametrize("name", ["k, k 2", "k, entropy", "persons, k 8", "t, k 8"])
def test_the_draw_of_duckdb(name: str, job: Job, session: Warehouse, tmp_path: Path) -> None:
    there = job.draw(session, ALL[name], 60)
    assert by_id(there) == by_id(drawn_in_duckdb(job, tmp_path, ALL[name], 60))
    assert there[1].num_rows == 60 or "persons" in name


@pytest.mark.engines
def test_the_key_of_a_draw_is_in_no_plan(session: Warehouse) -> None:
    """Plans are logged, and shown by Spark's interface."""
    secret = session.send("key of the sample", pa.table({KEY: ["canary"]}))
    rows = expressions.digested(session.table("people"), ["person"], secret, each_row=False, engine="spark")
    assert isinstance(session, SparkWarehouse)
    query = session._query(rows.filter(rows[expressions.DIGEST] < "8"))
    query.toArrow()
    plan = query._jdf.queryExecution().toString()
    assert "sha2" in plan
    assert "canary" not in plan


@pytest.mark.engines
def test_a_run_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_clinic(tmp_path)
    (tmp_path / "lake").mkdir()
    pq.write_table(pa.Table.from_pandas(rows_of(tmp_path), preserve_index=False), tmp_path / "lake/admissions.parquet")
    told = {}
    for engine, address in (("spark", "spark:///{}/lake"), ("duckdb", "duckdb:///{}/clinic.duckdb")):
        environment = {**os.environ, "CLINIC_URL": address.format(tmp_path)}
        command = [sys.executable, "-m", "hybrid", "run", str(path), "--out", str(tmp_path / engine)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        told[engine] = json.loads((tmp_path / engine / "anonymization.json").read_text())
    assert {path.name for path in (tmp_path / "lake").iterdir()} == {"admissions.parquet"}
    assert told["spark"]["warehouse"]["engine"] == "spark"
    for key in ("levels", "loss", "suppressed", "records", "classes", "drawn", "drawn_persons"):
        assert told["spark"][key] == told["duckdb"][key]


@pytest.mark.engines
def test_what_is_not_kept_is_not_there(job: Job, session: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    suppress_no_row(monkeypatch)
    with pytest.raises(VerificationError):
        job.push_down(session, {"anonymize.k": 4}, "leaky")
    assert not session.exists("leaky")
    assert not session.exists("leaky_unverified")
