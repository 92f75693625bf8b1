"""A table that stays in Spark is labelled as one in memory is, without a word on the terminal and without a trace."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from hybrid.anonymize.warehouse import write_labels
from hybrid.base.errors import ConfigError, DataError, UnreachableError, VerificationError
from hybrid.table.warehouse import Warehouse, opened
from tests.anonymize.warehouse_job import MODELS, OTHERS, PERSONS, Job, write_people

pytest.importorskip("pyspark", reason="needs the extra [spark]")
pytestmark = pytest.mark.spark

ALL = {f"{model}, {other}": MODELS[model] | OTHERS[other] for model in MODELS for other in OTHERS}
HEAP = 2**29
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
    monkeypatch.setenv("TEST_WAREHOUSE", put(tmp_path / "lake", job.table))
    with opened("TEST_WAREHOUSE", HEAP) as warehouse:
        assert warehouse.engine == "spark"
        assert job.there(warehouse, setting, "labels") == job.here(setting)
        with pytest.raises(ConfigError, match="Spark session already"), opened("TEST_WAREHOUSE"):
            pass
    assert {path.name for path in (tmp_path / "lake").iterdir()} == {"people.parquet", "labels"}
    parts = sorted((tmp_path / "lake" / "labels").glob("*.parquet"))
    written = pa.concat_tables(pq.read_table(part) for part in parts)
    assert written.equals(written.sort_by([(name, "ascending") for name in written.column_names]))
    assert not {"id", "person"} & set(written.column_names)
    assert list(work.iterdir()) == []
    assert list(aside.iterdir()) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.engines
def test_an_error_repeats_no_value(job: Job, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import ibis

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_WAREHOUSE", put(tmp_path / "lake", job.table))
        with pytest.raises(DataError, match="SQLSTATE 22018") as caught, opened("TEST_WAREHOUSE", HEAP) as warehouse:
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
    with pytest.raises(UnreachableError, match="Spark Connect server") as caught, opened("TEST_WAREHOUSE"):
        pass
    assert "canary" not in str(caught.value)


@pytest.fixture(scope="module")
def session(job: Job, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_WAREHOUSE", put(tmp_path_factory.mktemp("session") / "lake", job.table))
        with opened("TEST_WAREHOUSE", HEAP) as warehouse:
            yield warehouse


@pytest.mark.engines
@pytest.mark.parametrize("name", ALL)
def test_every_setting_as_in_memory(name: str, job: Job, session: Warehouse) -> None:
    assert job.there(session, ALL[name], plain(name)) == job.here(ALL[name])


@pytest.mark.engines
def test_what_is_not_kept_is_not_there(job: Job, session: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_labels, "_suppressed", lambda *_: pa.table({}))
    with pytest.raises(VerificationError):
        job.push_down(session, {"anonymize.k": 4}, "leaky")
    assert not session.exists("leaky")
    assert not session.exists("leaky_unverified")
