"""Constraints that share columns leave the shares of a table as they are, through a whole run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from hybrid.cli import app
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.rules.metric import THROWN_OUT
from tests.constraints.police_stops import CONSTRAINTS, police_stops

PLACES = ("region", "state", "county")
NOISE = 0.035
"""Total variation between two tables of so many rows of one distribution over 16 states: .025 to .035."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Places are generalized to the root, so that a state and a county are restored apart."""
    found = tmp_path_factory.mktemp("stops")
    frame = police_stops(6000)
    frame["offence"] = [f"O{one}" for one in np.random.default_rng(1).integers(0, 6, len(frame))]
    frame.to_csv(found / "stops.csv", index=False)
    for name in (*PLACES, "offence"):
        (found / f"{name}.csv").write_text("".join(f"{value};*\n" for value in sorted(frame[name].unique())))
    return found


def settings(folder: Path, constraints: list[dict[str, Any]], **more: Any) -> Path:
    columns: dict[str, dict[str, Any]] = {
        name: {"role": "insensitive"} for name in pd.read_csv(folder / "stops.csv", nrows=1)
    }
    for name in (*PLACES, "offence"):
        columns[name] = {"role": "quasi_identifier", "kind": "categorical", "hierarchy": f"{name}.csv"}
    columns["age"]["kind"] = "integer"
    content = {
        "seed": 5,
        "data": {"path": "stops.csv", "columns": columns},
        "anonymize": {"k": 150, "suppression_limit": 0.0},
        "protect": {"min_count": 10},
        "evaluate": {"metrics": ["constraint_violations"], "power": False, "baseline": False, "original": False},
        "constraints": constraints,
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(content | more))
    return path


def run(folder: Path, constraints: list[dict[str, Any]], **more: Any) -> TableRun:
    config = load_config(settings(folder, constraints, **more))
    return TableRun(config)


def moved(real: pd.Series, drawn: pd.Series) -> float:
    """Total variation distance of the shares of a column's values."""
    shares = [one.astype(str).value_counts(normalize=True) for one in (real, drawn)]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


@pytest.mark.parametrize("order", ["pre", "post"])
def test_shares_stay_as_they_are_without_the_constraints_and_no_row_breaks_one(folder: Path, order: str) -> None:
    """Without redrawing single columns the states move by .12: a state and a county agree most often in large ones."""
    free = run(folder, [], transition={"order": order})
    held = run(folder, CONSTRAINTS, transition={"order": order})
    real, before, table = free.train.frame, free.generated.table.frame, held.generated.table
    assert not held.rules.broken(table).any() and len(table) == len(before)
    for name in PLACES[:2]:
        assert moved(real[name], table.frame[name]) <= moved(real[name], before[name]) + NOISE / 2
    assert moved(real["state"], table.frame["state"]) < 2 * NOISE
    assert moved(real["county"], table.frame["county"]) < moved(real["county"], before["county"]) + NOISE
    redrawn = held.redrawn
    assert redrawn is not None and redrawn.thrown_rate < 0.01 and redrawn.left_out < 0.01 * redrawn.records
    frame = table.frame
    assert (frame["booked"] - frame["stopped"]).dt.days.mean() == pytest.approx(
        (real["booked"] - real["stopped"]).dt.days.mean(), abs=0.5
    )


def test_what_depends_on_a_region_still_does(folder: Path) -> None:
    held = run(folder, CONSTRAINTS)
    real, drawn = (
        table.frame.assign(arrested=table.frame["arrested"].astype(float)).groupby("region", observed=True)
        for table in (held.train, held.generated.table)
    )
    assert (real["arrested"].mean() - drawn["arrested"].mean()).abs().max() < 0.1
    assert (real["age"].mean() - drawn["age"].mean()).abs().max() < 2


def test_the_verdict_says_how_many_draws_were_thrown_out(folder: Path) -> None:
    """There are 6 offences on 365 days, and no two of 800 rows may have the same of both."""
    pd.read_csv(folder / "stops.csv")[["offence", "stopped", "arrested"]].to_csv(folder / "few.csv", index=False)
    content = yaml.safe_load(settings(folder, [{"unique": ["offence", "stopped"]}]).read_text())
    del content["anonymize"]
    columns = {name: {"role": "insensitive"} for name in ("offence", "stopped", "arrested")}
    content |= {"data": {"path": "few.csv", "columns": columns}, "synthesize": {"rows": 800}}
    (folder / "few.yaml").write_text(yaml.safe_dump(content))
    said = CliRunner().invoke(app, ["run", str(folder / "few.yaml"), "--out", str(folder / "out")])
    assert f"review     {THROWN_OUT}: " in said.output, said.output
    (measured,) = json.loads((folder / "out" / "evaluation.json").read_text())["metrics"]
    share = measured["details"]["draws_thrown_out"]
    assert measured["value"] == 0 and 0.1 < share < 0.4 and measured["details"]["records_left_out"] == 0
    words = f"{round(100 * share)} % of the rows that the generator drew were thrown out, since they break constraints"
    assert words in said.output and words in (folder / "out" / "report.html").read_text()
