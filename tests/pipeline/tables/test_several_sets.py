"""Several sets of linked tables in one release: each set is whole, and all are judged together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import hybrid
from hybrid.base.errors import ConfigError
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.nature import made
from hybrid.table.surrogates import TABLE_NUMBER
from tests.cli.cli_jobs import exit_code
from tests.pipeline.tables.hospital import POLICY, content, frames, write

SETS, COPIES = 3, ("identical_match", "synthetic")


def settings() -> dict[str, Any]:
    found = content()
    return found | {"policy": "policy.yaml", "synthesize": {**found["synthesize"], "tables": SETS}}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of a run."""
    folder = tmp_path_factory.mktemp("sets")
    config = write(folder, frames(), settings())
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    assert exit_code("run", config, "--out", folder / "run", "--work", folder / "work") == 0
    return folder / "run"


def read(folder: Path) -> dict[str, pd.DataFrame]:
    return {name: pd.read_csv(folder / f"{name}.csv") for name in ("patients", "visits", "drugs", "hospitals")}


def test_every_file_about_people_numbers_the_sets_and_no_reference_leaves_one(released: Path) -> None:
    found, numbers = read(released), range(1, SETS + 1)
    assert TABLE_NUMBER not in found.pop("hospitals")
    counts = found["patients"][TABLE_NUMBER].value_counts()
    assert sorted(counts.index) == [*numbers] and counts.nunique() == 1
    for name, table in found.items():
        assert list(table)[-1] == TABLE_NUMBER and set(table[TABLE_NUMBER]) == {*numbers}, name
    for child, parent, key in (("visits", "patients", "patient"), ("drugs", "visits", "visit")):
        of = found[parent].set_index(key)[TABLE_NUMBER]
        assert of.index.is_unique
        assert (of.reindex(found[child][key]).to_numpy() == found[child][TABLE_NUMBER].to_numpy()).all()


def test_all_sets_are_judged_together_and_said(released: Path) -> None:
    one = read(released)["patients"]
    evaluation = json.loads((released / "evaluation.json").read_text())
    counted = {each["n"] for each in evaluation["metrics"] if (each["name"], each["stage"]) == COPIES}
    assert len(one) in counted
    config = json.loads((released / "manifest.json").read_text())["config"]
    assert f"Each file about people holds {SETS} tables of one trained generator" in " ".join(made(config, None))


def test_who_repeats_the_process_draws_as_many_sets_unless_told_otherwise(tmp_path: Path) -> None:
    run = Pipeline(load_config(write(tmp_path, frames(), settings() | {"policy": "default"})), seed=1)
    half = np.arange(80)
    assert len(run.with_training(half, 5).tables["patients"].generated.table) == SETS * 80
    run = Pipeline(run.config.with_values({"evaluate.retrain.drawn": 0.5}), seed=1)
    assert len(run.with_training(half, 5).tables["patients"].generated.table) == 40


def test_an_estimate_of_rows_of_visits_says_why_there_is_none(released: Path) -> None:
    found = read(released)
    assert hybrid.estimate("age ~ 1", found["patients"], n=110).estimates[0] > 18
    with pytest.raises(ConfigError, match="different numbers of rows") as caught:
        hybrid.estimate("diagnosis ~ 1", found["visits"], n=110)
    assert "several of a person" in str(caught.value)


def test_a_column_of_that_name_is_refused_with_its_table(tmp_path: Path) -> None:
    tables = frames()
    tables["visits"][TABLE_NUMBER] = 1
    config = load_config(write(tmp_path, tables, settings() | {"policy": "default"}))
    with pytest.raises(ConfigError, match=f"numbers its tables in a column {TABLE_NUMBER}"):
        Pipeline(config, seed=1).check()
