"""Persons with several rows through the whole walk, with the transition before and after the generator."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun
from hybrid.table.persons import constant_within
from tests.helpers.whole_demo import write_whole_demo

STATIC = {"age", "sex", "postcode", "nationality", "occupation", "smoker", "bmi"}
WALKS: dict[str, dict[str, Any]] = {
    "pre": {},
    "post": {"transition.order": "post"},
    "local": {"anonymize.recoding": "local", "anonymize.loss": {"name": "loss"}},
    "not anonymized": {
        "anonymize": None,
        "transition": None,
        "sample": {"method": "none"},
        "protect.replace": "sample",
        "protect.columns": {"diagnosis": "sample", "postcode": "sample", "occupation": "sample"},
    },
}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_whole_demo(tmp_path_factory.mktemp("demo"), rows=900, several=True)


@pytest.mark.parametrize("walk", WALKS)
def test_people_come_out(config: Path, walk: str) -> None:
    pipeline = TableRun(load_config(config, {"data.max_rows": 4, "evaluate.baseline": False, **WALKS[walk]}))
    table, train = pipeline.generated.table, pipeline.train
    assert set(pipeline.static or ()) == STATIC
    assert not table.rows_are_persons and not train.rows_are_persons
    persons = len(np.unique(train.persons))
    assert len(np.unique(table.persons)) == 10 * round(persons / 10)
    rows = np.unique(table.persons, return_counts=True)[1]
    assert rows.max() <= 4 and rows.mean() == pytest.approx(len(train) / persons, rel=0.15)
    assert set(constant_within(table, sorted(STATIC))) == STATIC
    adjacent = table.persons[1:] == table.persons[:-1]
    assert adjacent.sum() == len(table) - len(rows)
    gaps = np.diff(table.frame["admission_date"].to_numpy())[adjacent]
    assert (gaps >= np.timedelta64(0)).all() and (gaps > np.timedelta64(0)).any()
    synthetic = pipeline.synthetic
    assert synthetic.schema.names == pipeline.table.schema.names
    assert synthetic.frame["patient_id"].nunique() == len(rows)
    assert not set(synthetic.frame["patient_id"]) & set(pipeline.table.frame["patient_id"])
    if pipeline.restored is not None:
        assert set(constant_within(pipeline.restored.table, sorted(STATIC))) == STATIC


def test_as_many_rows_as_asked_for_come_out_about(config: Path) -> None:
    pipeline = TableRun(load_config(config, {"synthesize.rows": 400}))
    assert len(pipeline.generated.table) == pytest.approx(400, rel=0.1)


def test_without_an_order_and_with_a_number_as_the_order(config: Path) -> None:
    changes = WALKS["not anonymized"]
    table = TableRun(load_config(config, {"data.order": None, **changes})).generated.table
    assert not table.rows_are_persons and table.schema.order is None
    found = TableRun(load_config(config, {"data.order": "length_of_stay", **changes})).generated.table
    assert not found.rows_are_persons and found.schema.order == "length_of_stay"
    stays = found.frame["length_of_stay"].groupby(found.persons)
    assert all(rows.dropna().is_monotonic_increasing for _, rows in stays)


def test_a_check_says_what_comes_out(config: Path) -> None:
    def said(**changes: Any) -> str:
        return " ".join(f"{one.message} {one.hint}" for one in diagnose(load_config(config, changes)))

    assert "cart draws persons with all their rows, in the order of admission_date" in said()
    single = said(**{"data.order": None, "synthesize.generator": "copula"})
    assert "copula draws single rows: each synthetic row has a person number of its own" in single
    assert "data.order: 'ward' is a categorical column" in said(**{"data.order": "ward"})


def test_values_that_rarely_change_within_their_label_rarely_change_again(config: Path, tmp_path: Path) -> None:
    """An age that is static in the demo is made one year more in some later rows."""
    folder = tmp_path / "demo"
    shutil.copytree(config.parent, folder)
    source = pd.read_csv(folder / "admissions.csv", dtype=str)
    later = source.sort_values("admission_date", kind="stable")["patient_id"].duplicated()
    chosen = later[later].index[::9]
    source.loc[chosen, "age"] = (source.loc[chosen, "age"].astype(int) + 1).astype(str)
    source.to_csv(folder / "admissions.csv", index=False)
    fixed = {"anonymize.levels": {"age": 2}, "anonymize.suppression_limit": 0.3, "protect": "off"}

    def alike(**changes: Any) -> float:
        pipeline = TableRun(load_config(folder / "config.yaml", {**fixed, **changes}))
        assert pipeline.static is not None and "age" not in pipeline.static and pipeline.restored is not None
        table = pipeline.restored.table
        assert not table.rows_are_persons
        rows = np.argsort(table.persons, kind="stable")
        labels = pipeline.sampled.anonymized.labels.to_table().frame["age"].astype(str).to_numpy()[rows]  # type: ignore[union-attr]
        ages = table.frame["age"].to_numpy(float)[rows]
        pairs = (np.diff(table.persons[rows]) == 0) & (labels[1:] == labels[:-1])
        return float((ages[1:] == ages[:-1])[pairs].mean())

    assert alike() > 0.75, "eight of nine later rows have the age of the row before"
    assert alike(**{"transition.method": "uniform"}) < 0.5, "no original value is read"
