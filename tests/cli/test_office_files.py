"""Files of Stata, SPSS and Excel through the command line: guessed, decided, checked, run, released, audited."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import frictionless
import mlcroissant
import numpy as np
import pandas as pd
import pyreadstat
import pytest
import yaml

from tests.cli.cli_jobs import Run, edit
from tests.cli.conftest import POLICY

LABELS = {
    "sex": {1: "Male", 2: "Female"},
    "region": {1: "North", 2: "South", 3: "East", 4: "Only Ann lives here"},
    "health": {1: "Good", 2: "Fair", 3: "Bad", 9: "No answer"},
}


def people(rows: int = 300) -> pd.DataFrame:
    draw = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "person_id": [f"P{at:04d}" for at in range(rows)],
            "sex": draw.choice([1.0, 2], rows),
            "age": draw.integers(18, 80, rows).astype(float),
            "region": draw.choice([1.0, 2, 3], rows),
            "health": draw.choice([1.0, 2, 3, 9], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "asked": [date(2024, 1, 1) + timedelta(int(day)) for day in draw.integers(0, 300, rows)],
            "smoker": draw.choice(["yes", "no"], rows),
            "income": np.round(draw.lognormal(7, 0.5, rows), 2),
        }
    )


def stata(path: Path) -> None:
    pyreadstat.write_dta(people(), path, file_label="Asked by Ann", variable_value_labels=LABELS)


def spss(path: Path) -> None:
    missing: dict[str, Any] = {"health": [9]}
    labels = {"column_labels": {"income": "Net income, EUR"}, "variable_value_labels": LABELS}
    pyreadstat.write_sav(people(), path, note="Asked by Ann", missing_ranges=missing, **labels)


def excel(path: Path) -> None:
    labelled = {name: people()[name].map(texts) for name, texts in LABELS.items()}
    people().assign(**labelled).to_excel(path, sheet_name="people", index=False)


def decide(config: Path) -> None:
    """What a person writes into a guessed configuration, with an evaluation of seconds."""
    content = yaml.safe_load(config.read_text())
    for column in content["data"]["columns"].values():
        column["role"] = "insensitive" if column["role"] == "undecided" else column["role"]
    config.write_text(yaml.safe_dump(content, sort_keys=False))
    quick = {"metrics": ["identical_match", "k_reached"], "baseline": False}
    roles = {"decided_by": "a person", "date": "2024-12-31"}
    edit(config, seed=1, split={"control": 0.3}, roles=roles, evaluate=quick, policy="policy.yaml")
    (config.parent / "policy.yaml").write_text(yaml.safe_dump(POLICY))


@pytest.mark.parametrize(("suffix", "write"), [(".dta", stata), (".sav", spss), (".xlsx", excel)])
def test_from_a_file_to_a_release(
    suffix: str, write: Callable[[Path], None], hybrid: Run, tmp_path: Path, capsys: Any
) -> None:
    data, config = tmp_path / f"people{suffix}", tmp_path / "config.yaml"
    write(data)
    assert hybrid("init", data) == 0
    assert ("#     income: {description: 'Net income, EUR'}" in config.read_text()) == (suffix == ".sav")
    decide(config)
    assert hybrid("check", config) == 0
    zones = ("--out", tmp_path / "releases", "--runs", tmp_path / "runs", "--work", tmp_path / "work")
    assert hybrid("release", config, *zones) == 0, capsys.readouterr().err
    release = tmp_path / "releases" / "latest"
    assert hybrid("verify", release) == 0
    synthetic = release / f"synthetic{suffix}"
    assert b"Ann" not in synthetic.read_bytes()
    found = {".dta": pd.read_stata, ".sav": pd.read_spss, ".xlsx": pd.read_excel}[suffix](synthetic)
    assert list(found) == list(people()) and len(found) > 100
    assert set(found["region"]) <= {"North", "South", "East"}
    assert found["asked"].notna().all() and found["income"].dtype == float
    described = json.loads((release / "datapackage.json").read_text())
    assert described["resources"][0]["format"] == suffix[1:]
    if suffix == ".xlsx":
        report = frictionless.Package.from_descriptor(str(release / "datapackage.json")).validate()
        assert report.valid, report.flatten(["message"])
    assert not mlcroissant.Dataset(jsonld=str(release / "croissant.json")).metadata.ctx.issues.errors
    audited = ("--train", data, "--synthetic", synthetic, "--config", config, "--out", tmp_path / "audit")
    assert hybrid("audit", *audited) in (0, 3)


def test_sheet_of_a_workbook(hybrid: Run, tmp_path: Path) -> None:
    with pd.ExcelWriter(tmp_path / "people.xlsx") as book:
        pd.DataFrame({"note": ["x", "y"]}).to_excel(book, sheet_name="notes", index=False)
        people().to_excel(book, sheet_name="people", index=False)
    assert hybrid("init", tmp_path / "people.xlsx", "--sheet", "people") == 0
    assert yaml.safe_load((tmp_path / "config.yaml").read_text())["data"]["sheet"] == "people"
    assert hybrid("check", tmp_path / "config.yaml") == 0
