"""A run of a file larger than the memory limit: labels of all rows, a sample that is learned, sentences on both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import yaml

from hybrid.base.errors import ConfigError, DataError
from hybrid.base.scratch import scratch
from hybrid.cli import main
from hybrid.pipeline import placement
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.placement import placed
from hybrid.pipeline.table_run import TableRun
from tests.helpers.pages import report_text
from tests.jobs.small_job import write_small_job
from tests.jobs.warehouse_clinic import all_rows_have_the_labels_of

LITTLE = {"anonymize.memory_limit": 0.0005}
"""GiB: less than 700 rows take."""
ALONE = {"protect": "off", "split.control": 0}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Configuration beside the same rows as CSV, as Parquet, and as a folder of two Parquet files."""
    folder = tmp_path_factory.mktemp("clinic")
    config = write_small_job(folder, rows=700, several=True, sample={"method": "none"})
    content = yaml.safe_load(config.read_text())
    content["anonymize"].pop("models")
    del content["data"]["max_rows"]
    config.write_text(yaml.safe_dump(content))
    rows = pyarrow.csv.read_csv(folder / "admissions.csv")
    pq.write_table(rows, folder / "admissions.parquet")
    (folder / "parts").mkdir()
    pq.write_table(rows.slice(0, 300), folder / "parts" / "a.parquet")
    pq.write_table(rows.slice(300), folder / "parts" / "b.parquet")
    return config


def sampled(job: Path, **overrides: Any) -> TableRun:
    return Pipeline(load_config(job, LITTLE | overrides)).person


@pytest.mark.parametrize("file", ["admissions.csv", "admissions.parquet", "parts"])
def test_all_rows_drawn_are_those_with_labels_in_memory(file: str, job: Path) -> None:
    there = sampled(job, **ALONE, **{"data.path": file, "split.rows": 10**6})
    expected = TableRun(load_config(job, ALONE | {"data.path": "admissions.csv" if file == "parts" else file}))
    assert there.inputs.whole is not None and expected.inputs.whole is None
    all_rows_have_the_labels_of(there, expected)
    kinds = {column.name: (column.kind, column.format.arrow_type) for column in there.table.schema}
    if file != "parts":
        assert kinds == {column.name: (column.kind, column.format.arrow_type) for column in expected.table.schema}
        assert there.layout == expected.layout


def test_persons_come_whole_whatever_the_order_of_the_file(job: Path, tmp_path: Path) -> None:
    drawn = sampled(job, **{"data.path": "admissions.parquet", "split.rows": 250, "protect": "off"})
    assert 150 < len(drawn.table) < 350
    rows = pq.read_table(job.parent / "admissions.parquet")
    of_each = rows["patient_id"].to_pandas().value_counts()
    came = drawn.table.frame["patient_id"].astype(str).value_counts()
    assert (came <= of_each[came.index]).all() and (came == of_each[came.index]).mean() > 0.8
    mixed = job.parent / "mixed.parquet"
    pq.write_table(rows.take(np.random.default_rng(1).permutation(len(rows))), mixed)
    again = sampled(job, **{"data.path": str(mixed), "split.rows": 250, "protect": "off"})
    assert set(again.table.frame["patient_id"]) == set(drawn.table.frame["patient_id"])
    other = TableRun(placed(load_config(job, LITTLE | {"split.rows": 250})), seed=2)
    assert set(other.table.frame["patient_id"].astype(str)) != set(came.index)


def test_from_the_command_line_to_a_release(job: Path, tmp_path: Path) -> None:
    out, work, releases = tmp_path / "out", tmp_path / "work", tmp_path / "releases"
    asked = ("--set", "anonymize.memory_limit=0.0005", "--set", "split.rows=250")
    assert exit_code("run", job, "--out", out, "--work", work, *asked) == 0
    told = json.loads((out / "anonymization.json").read_text())
    assert told["records"] == 700 > told["drawn"]
    assert told["warehouse"]["engine"] == "duckdb"
    page = report_text(out)
    assert "stay there; labels were found and verified on all" in page
    assert "on all rows of the source, none kept apart" in page
    assert "arehouse" not in page
    assert exit_code("release", out, "--out", releases, "--work", work) == 0
    certificate = json.loads(next(releases.glob("*/certificate.json")).read_text())
    words = " ".join(
        [certificate["guarantee"], *certificate["summary"]["protection"], *certificate["summary"]["table"]]
    )
    assert "which stayed in its source with all records" in words
    assert "chosen and checked in the source, on all of about 700 records" in words
    assert "arehouse" not in words
    assert pd.read_csv(out / "synthetic.csv").shape[0] < 300
    with scratch("seen") as folder:
        assert [one.name for one in Path(folder).parent.iterdir() if one.name.startswith("rows-")] == []


def test_a_check_counts_all_rows(job: Path) -> None:
    found = diagnose(load_config(job, LITTLE | {"protect": "off"}))
    assert not [finding for finding in found if finding.level == "error"]
    assert any("duckdb: 700 rows stay there; verified on all of them" in finding.message for finding in found)


def test_a_file_is_read_where_memory_or_the_configuration_says_so(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not placed(load_config(job)).rows_stay
    assert placed(load_config(job, LITTLE)).rows_stay
    assert not placed(load_config(job, LITTLE | {"data.accept": ["more_than_memory"]})).rows_stay
    monkeypatch.setattr(placement, "find_spec", lambda _: None)
    assert not placed(load_config(job, LITTLE)).rows_stay


def test_what_a_sample_cannot_have_is_refused_at_once(job: Path) -> None:
    asked = {"anonymize.recoding": "local", "anonymize.suppression_limit": 0, "anonymize.known_rows": 2}
    with pytest.raises(ConfigError) as caught:
        _ = sampled(job, **asked).table
    said = [problem.message for problem in caught.value.problems]
    for rule in ("local recoding has none", "known_rows compares"):
        assert any(rule in message for message in said), rule
    hints = [problem.hint for problem in caught.value.problems]
    assert any("raise anonymize.memory_limit" in hint for hint in hints)


def test_rows_without_a_person_are_refused(job: Path, tmp_path: Path) -> None:
    rows = pq.read_table(job.parent / "admissions.parquet")
    names = pc.if_else(pa.array(np.arange(len(rows)) == 3), None, rows["patient_id"])
    pq.write_table(rows.set_column(0, "patient_id", names), tmp_path / "nameless.parquet")
    assert rows.column_names[0] == "patient_id"
    with pytest.raises(DataError, match="1 rows lack a value"):
        _ = sampled(job, **{"data.path": str(tmp_path / "nameless.parquet")}).table


@pytest.mark.parametrize("file", ["admissions.csv", "admissions.parquet"])
def test_identifiers_of_several_rows_are_refused(file: str, job: Path) -> None:
    with pytest.raises(ConfigError, match="identifiers repeat and data\\.person is not set: 'patient_id'"):
        _ = sampled(job, **{"data.path": file, "data.person": None, "data.order": None}).table


def exit_code(*arguments: object) -> object:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return caught.value.code
