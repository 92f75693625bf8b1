"""Visits with a time of arrival, through the command line: guessed, generalized, restored, learned, written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mlcroissant
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from tests.cli.cli_jobs import Run, edit
from tests.cli.conftest import POLICY

CENTRE = {"emergency": 20.0, "surgery": 8.0, "maternity": 13.0, "eye clinic": 10.5}
"""Hours around which people arrive."""
QUICK = {"metrics": ["identical_match", "k_reached"], "baseline": False, "power": False}


def visits(rows: int) -> pd.DataFrame:
    """Made-up visits, two of each patient."""
    draw = np.random.default_rng(3)
    department = draw.choice(list(CENTRE), rows, p=[0.4, 0.25, 0.15, 0.2])
    minutes = np.clip(draw.normal([60 * CENTRE[one] for one in department], 75), 0, 1439).astype(int)
    return pd.DataFrame(
        {
            "patient": [f"P{at // 2:04d}" for at in range(rows)],
            "department": department,
            "arrival": [f"{at // 60}:{at % 60:02d}" for at in minutes],
            "age": draw.integers(18, 90, rows),
            "sex": draw.choice(["f", "m"], rows),
        }
    )


def hours(times: pd.Series) -> pd.Series:
    parts = times.str.split(":", expand=True).astype(float)
    return parts[0] + parts[1] / 60


def guessed(folder: Path, hybrid: Run, rows: int, **changes: Any) -> Path:
    visits(rows).to_csv(folder / "visits.csv", index=False)
    assert hybrid("init", folder / "visits.csv") == 0
    config = folder / "config.yaml"
    content = yaml.safe_load(config.read_text())
    assert content["data"]["columns"]["arrival"] == {"role": "insensitive", "kind": "time", "format": "%H:%M"}
    (folder / "arrival.yaml").write_text("type: dates\nlevels: [15 minutes, hour, 3 hours, 6 hours]\n")
    arrival = {"role": "quasi_identifier", "kind": "time", "hierarchy": "arrival.yaml"}
    data = content["data"] | {"person": "patient", "columns": content["data"]["columns"] | {"arrival": arrival}}
    edit(config, seed=1, data=data, split={"control": 0.3}, evaluate=QUICK, **changes)
    return config


def test_two_thousand_visits_of_persons(hybrid: Run, tmp_path: Path, capsys: Any) -> None:
    config = guessed(tmp_path, hybrid, 2000)
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    edit(config, policy="policy.yaml", roles={"decided_by": "a person", "date": "2024-12-31"})
    assert hybrid("check", config) == 0, capsys.readouterr().err
    zones = ("--out", tmp_path / "releases", "--runs", tmp_path / "runs", "--work", tmp_path / "work")
    assert hybrid("release", config, *zones) == 0, capsys.readouterr().err
    release = tmp_path / "releases" / "latest"
    table, real = pd.read_csv(release / "synthetic.csv"), visits(2000)
    assert table["arrival"].head(20).str.fullmatch(r"([1-9]?[0-9]):[0-5][0-9]").all()
    assert table["arrival"].str.fullmatch(r"(1?[0-9]|2[0-3]):[0-5][0-9]").all(), "written as they came, inside the day"
    assert hours(table["arrival"]).nunique() > 200
    kept, found = (hours(one["arrival"]).groupby(one["department"]).mean() for one in (real, table))
    assert (kept - found).abs().max() < 1
    described = json.loads((release / "datapackage.json").read_text())["resources"][0]["schema"]["fields"]
    assert next(one for one in described if one["name"] == "arrival") | {"type": "time", "format": "%H:%M"} in described
    assert not mlcroissant.Dataset(jsonld=str(release / "croissant.json")).metadata.ctx.issues.errors
    page = (release / "report-details.html").read_text()
    assert "10:00 to below 11:00" in page and "1970-01-01" not in page


@pytest.mark.parametrize(
    ("method", "generator"),
    [("uniform", "baynet"), ("conditional", "cart")],
)
def test_below_labels_and_by_every_sort_of_generator(
    method: str, generator: str, hybrid: Run, tmp_path: Path, capsys: Any
) -> None:
    changes = {"transition": {"method": method}, "synthesize": {"generator": generator}, "sample": {"method": "none"}}
    anonymize = {"k": 5, "suppression_limit": 0.1, "models": []}
    config = guessed(tmp_path, hybrid, 400, **changes, anonymize=anonymize)
    assert hybrid("run", config, "--out", tmp_path / "out") == 0, capsys.readouterr().err
    labels = pq.read_table(tmp_path / "out" / "anonymized.parquet").column("arrival").to_pylist()
    assert {"*"} | set(labels) > {"*"} and all(one == "*" or one.count(":") in (1, 2) for one in labels)
    table = pd.read_csv(tmp_path / "out" / "synthetic.csv")
    assert table["arrival"].str.fullmatch(r"(1?[0-9]|2[0-3]):[0-5][0-9]").all()


def test_learned_with_a_privacy_budget_in_whole_minutes(hybrid: Run, tmp_path: Path, capsys: Any) -> None:
    visits(400).drop(columns="patient").to_csv(tmp_path / "visits.csv", index=False)
    config, columns = tmp_path / "config.yaml", {"department": {"kind": "categorical"}, "sex": {"kind": "categorical"}}
    columns |= {"arrival": {"kind": "time"}, "age": {"kind": "integer"}}
    config.write_text(
        "version: 1\nname: visits\nprivacy:\n  mode: dp\n  epsilon: 3\n  delta: 1.0e-6\n  columns:\n"
        "    arrival: {bounds: ['06:00', '23:59']}\n    age: {bounds: [18, 90]}\n"
    )
    data = {"path": "visits.csv", "person": "none", "columns": columns}
    edit(config, data=data, split={"control": 0.3}, synthesize={"generator": "aim"}, evaluate=QUICK)
    assert hybrid("run", config, "--out", tmp_path / "out") == 0, capsys.readouterr().err
    table = pd.read_csv(tmp_path / "out" / "synthetic.csv")
    assert table["arrival"].str.fullmatch(r"(0[6-9]|1[0-9]|2[0-3]):[0-5][0-9]").all()
