"""One table of people, written as `data:` and as `tables:` of one: the same rows, numbers, verdict and findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import RunConfig, load_config, parse_config
from hybrid.pipeline.pipeline import Pipeline
from tests.pipeline.tables.hospital import content, write

COLUMNS: dict[str, Any] = {
    "home": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "kind": "integer", "hierarchy": "age.yaml"},
    "sex": {"role": "quasi_identifier", "hierarchy": "sex.csv"},
    "illness": {"role": "sensitive"},
    "remark": {"role": "undecided"},
    "weight": {"role": "excluded"},
}
SETTINGS: dict[str, Any] = {
    "name": "people",
    "seed": 5,
    "split": {"control": 0.3},
    "anonymize": {"k": 5, "recoding": "local"},
    "synthesize": {"options": {"min_leaf": 10}},
    "evaluate": {"power": False, "baseline": False, "original": False, "metrics": ["identical_match"]},
}
WAYS: dict[str, dict[str, Any]] = {
    "global": {"anonymize": {"k": 5, "suppression_limit": 0.2}},
    "folds, and an attacker who repeats them": {
        "split": {"control": "cross"},
        "evaluate": SETTINGS["evaluate"] | {"metrics": ["membership_trained"], "retrain": {"halves": 20, "pool": 100}},
    },
    "persons who meet a condition": {"synthesize": {"options": {"min_leaf": 10}, "where": "age > 50"}},
    "sampled first, nothing protected": {
        "sample": {"method": "beta", "beta": 0.5, "order": "pre"},
        "protect": False,
    },
    "three sets, nothing anonymized": {"anonymize": None, "synthesize": {"tables": 3, "rows": 90}},
    "masked": {"anonymize": {"k": 5, "technique": "microaggregation"}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng, n = tmp_path_factory.mktemp("one"), np.random.default_rng(1), 240
    age = rng.integers(18, 80, n)
    born = pd.Timestamp("2025-01-01") - pd.to_timedelta(age * 365 + rng.integers(0, 365, n), "D")
    frame = pd.DataFrame(
        {
            "person": [f"P{number:04d}" for number in rng.permutation(n)],
            "home": [f"H{number // 2:03d}" for number in range(n)],
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "income": (rng.gamma(2, 1000, n) * (age > 25)).round(),
            "illness": rng.choice(["flu", "cold", "rare"], n, p=[0.5, 0.49, 0.01]),
            "joined": (born + pd.to_timedelta(rng.integers(16 * 365, 18 * 365, n), "D")).strftime("%Y-%m-%d"),
            "remark": rng.choice(["a", "b"], n),
            "weight": rng.uniform(1, 3, n).round(2),
        }
    )
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "age.yaml").write_text("type: intervals\nwidths: [10, 20, 40]\n")
    (folder / "sex.csv").write_text("f,*\nm,*\n")
    return folder


def written(folder: Path, way: dict[str, Any]) -> tuple[RunConfig, RunConfig]:
    own = {
        "person": "person",
        "household": "home",
        "max_rows": 1,
        "columns": {"person": {"role": "identifier"}, **COLUMNS},
    }
    linked = {"key": "person", "household": "home", "columns": COLUMNS}
    alone = {**SETTINGS, **way, "data": {"path": "people.csv", **own}}
    tables = {**SETTINGS, **way, "person": "people", "tables": {"people": {"path": "people.csv", **linked}}}
    return parse_config(alone, folder=folder), parse_config(tables, folder=folder)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_run_is_the_same_however_its_table_is_written(folder: Path, way: dict[str, Any]) -> None:
    runs = [Pipeline(config) for config in written(folder, way)]
    single, linked = ([*run.released.values()] for run in runs)
    assert len(linked) == 1 and single[0].frame.equals(linked[0].frame)
    measured = [[metric.to_json() for metric in run.evaluation.metrics] for run in runs]
    for one in (one for each in measured for one in each):
        del one["seconds"]
        one.pop("table", None)
    assert measured[0] == measured[1] and measured[0][0]["state"] == "ok"
    statuses = [[(check.rule, check.status) for check in run.verdict.checks] for run in runs]
    assert statuses[0] == statuses[1]


def test_check_finds_the_same(folder: Path) -> None:
    found = [{f"{one.level} {one.message} {one.hint}" for one in diagnose(config)} for config in written(folder, {})]
    single, linked = found
    assert any("'remark' is undecided" in one for one in single) and any("9 columns" in one for one in single)
    same = {
        one.replace("data.", "tables.people.").replace("undecided columns: ", "undecided columns: people.")
        for one in single
    }
    assert same == {one.replace("people: ", "", 1) for one in linked}


def test_check_names_what_is_undecided_below_persons_and_counts_a_tables_own_columns(tmp_path: Path) -> None:
    settings = content()
    settings["tables"]["visits"]["columns"] = {"diagnosis": {"role": "undecided"}}
    del settings["roles"]
    found = [one.message for one in diagnose(load_config(write(tmp_path, settings=settings)))]
    assert "visits: 'diagnosis' is undecided: it enters no run and no release" in found
    (asked,) = [one for one in found if "a release needs roles" in one]
    assert asked.endswith("roles.decided_by is not set; undecided columns: visits.diagnosis")
    assert any(one.startswith("visits: ") and "6 columns, 2 identifiers, 0 quasi-identifiers" in one for one in found)
    assert len([one for one in found if "alone on the quasi-identifiers" in one]) == 1
