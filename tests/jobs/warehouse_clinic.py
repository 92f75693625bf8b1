"""The simulated admissions of several patients in a DuckDB file, and a configuration of a run that samples them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
import yaml

from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun
from tests.jobs.small_job import write_small_job

QUASI_IDENTIFIERS = ["age", "sex", "postcode", "nationality", "occupation", "admission_date"]


def write_clinic(folder: Path, rows: int = 700, sample_rows: int = 250) -> Path:
    """The job of ``write_small_job`` with its rows in ``clinic.duckdb``, whose URL is in CLINIC_URL."""
    config = write_small_job(folder, rows=rows, several=True, sample={"method": "none"})
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(f"create table admissions as select * from read_csv('{folder}/admissions.csv')")
    content = yaml.safe_load(config.read_text())
    data = content["data"]
    for key in ("path", "max_rows", "order", "separator"):
        del data[key]
    data["sql"] = {"url_env": "CLINIC_URL", "table": "admissions", "push_down": True, "sample_rows": sample_rows}
    content["anonymize"].pop("models")
    config.write_text(yaml.safe_dump(content))
    return config


def here(config: Path, **overrides: Any) -> TableRun:
    """A pipeline of the same rows in memory."""
    content = yaml.safe_load(config.read_text())
    del content["data"]["sql"]
    content["data"]["path"] = "admissions.csv"
    path = config.with_name("here.yaml")
    path.write_text(yaml.safe_dump(content))
    return TableRun(load_config(path, overrides))


def rows_of(folder: Path) -> pd.DataFrame:
    """All rows of the table."""
    with duckdb.connect(str(folder / "clinic.duckdb"), read_only=True) as connection:
        return connection.execute("select * from admissions").df()


def labels(pipeline: TableRun) -> pd.DataFrame:
    assert pipeline.anonymized is not None
    return pipeline.anonymized.labels.to_table().frame[QUASI_IDENTIFIERS].astype(str)


def all_rows_have_the_labels_of(there: TableRun, expected: TableRun) -> None:
    """Every labelled row of a source was drawn, and they are those of the same rows in memory."""
    assert there.anonymized is not None and expected.anonymized is not None
    found, wanted = there.anonymized.result, expected.anonymized.result
    for key in ("levels", "suppressed", "records", "persons", "suppressed_persons", "classes", "min_class_persons"):
        assert getattr(found, key) == getattr(wanted, key), key
    assert found.loss["value"] == pytest.approx(wanted.loss["value"])
    assert found.drawn == found.records - found.suppressed
    assert found.drawn_share == 1
    assert sorted(map(tuple, labels(there).to_numpy())) == sorted(map(tuple, labels(expected).to_numpy()))
