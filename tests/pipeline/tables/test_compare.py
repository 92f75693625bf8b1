"""Linked tables in a comparison, and their labels alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from hybrid.comparison.trial import metric_columns
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from tests.cli.cli_jobs import exit_code
from tests.pipeline.tables.hospital import content, frames, write


def plan_in(folder: Path, **changes: Any) -> Path:
    plan = {
        "name": "strategies",
        "base": "config.yaml",
        "factors": {"transition.method": ["single", "uniform"]},
        "seeds": [1, 2],
        **changes,
    }
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump(plan))
    return path


def test_strategies_for_linked_tables_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = content()
    settings["tables"]["visits"]["columns"]["diagnosis"] = {"role": "sensitive", "target": True}
    settings["evaluate"] |= {"metrics": ["identical_match", "total_variation", "orphans", "tstr", "discriminator"]}
    write(tmp_path, frames(200), settings)
    plan, out = plan_in(tmp_path), tmp_path / "found"
    assert exit_code("compare", plan, "--dry-run", "--out", out) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2 configurations x 2 seeds = 4 runs" in said and "visits:" in said
    assert exit_code("compare", plan, "--out", out) == 0
    rows = pd.read_csv(out / "comparison.csv")
    assert (rows["status"] == "ok").all() and len(rows) == 4 and rows["verdict"].isin(["pass", "review", "block"]).all()
    # The number of the whole is that of the worst table.
    of_tables = rows[[f"synthetic.identical_match.{name}" for name in ("patients", "visits", "drugs")]]
    assert len(rows["synthetic.identical_match"]) == 4
    assert rows["synthetic.identical_match"].isin(of_tables.to_numpy().ravel()).all()
    assert "synthetic.tstr.visits.diagnosis" in rows and (rows["synthetic.orphans"] == 0).all()
    assert rows["seconds.visits: synthesize"].notna().all() and (rows["records"] == 200).all()
    run = out / "single-seed1"
    released = {name: pd.read_csv(run / f"{name}.csv") for name in ("patients", "visits", "drugs")}
    assert set(released["visits"]["patient"]) <= set(released["patients"]["patient"])
    recommended = load_config(out / "recommended.yaml")
    assert set(recommended.views) == {"patients", "visits", "drugs"} and recommended.seed is None
    assert len(Pipeline(recommended).sources.tables["visits"]) == len(frames(200)["visits"])
    # Again it computes nothing.
    before = (out / "comparison.csv").read_bytes()
    assert exit_code("compare", plan, "--out", out) == 0
    assert (out / "comparison.csv").read_bytes() == before


def test_what_linked_tables_do_not_have_is_a_failed_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, frames(60), content())
    levels = {"usual": {"anonymize.k": 3}, "parts": {"synthesize.part_rows": 30}}
    plan = plan_in(tmp_path, factors={"what": levels}, seeds=[1], runs="none")
    assert exit_code("compare", plan, "--out", tmp_path / "found") == 1  # one failed
    rows = pd.read_csv(tmp_path / "found" / "comparison.csv").set_index("what")
    assert rows.loc["usual", "status"] == "ok"
    assert "synthesize.part_rows is for single tables" in rows.loc["parts", "reason"]
    capsys.readouterr()


def measured(table: str, value: float, name: str = "singling_out", **more: Any) -> MetricResult:
    family = "privacy" if name == "singling_out" else "utility"
    direction = "lower" if name == "singling_out" else "higher"
    outcome = Measure(value, value - 0.1, value + 0.1, 0.5, 10, {}, **more)
    return MetricResult(name, family, "synthetic", direction, outcome, table=table)  # type: ignore[arg-type]


def test_the_worst_table_speaks_for_all() -> None:
    higher = {"excess": (0.3, 0.1, 0.5)}
    found = Evaluation(
        (
            measured("people", 0.9, excess=(0.0, -0.1, 0.1)),
            measured("visits", 0.4, **higher),
            measured("people", 0.8, "trtr"),
            measured("visits", 0.6, "trtr"),
            measured("visits", 0.1, "lost_prediction", parts={"ward": Measure(0.1, 0.04, 0.16), "lone": Measure(0.2)}),
        )
    )
    row = metric_columns(found)
    assert row["synthetic.singling_out.people"] == 0.9 and row["synthetic.singling_out.visits"] == 0.4
    # By what strangers do not have; where more is better, by the least.
    assert row["synthetic.singling_out"] == 0.4 and row["synthetic.singling_out_excess_low"] == 0.1
    assert row["synthetic.trtr"] == 0.6
    # Where a number is the worst of several, they are columns of their own.
    parts = {"part.synthetic.lost_prediction.visits.ward": 0.1, "part.synthetic.lost_prediction.visits.lone": 0.2}
    parts |= {"part_low.synthetic.lost_prediction.visits.ward": 0.04}
    assert {name: value for name, value in row.items() if name.startswith("part")} == parts


def test_labels_of_the_person_table_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write(tmp_path, frames(200), content())
    assert exit_code("anonymize", config, "--out", tmp_path / "labels") == 0
    assert "the person table, patients" in " ".join(capsys.readouterr().out.split())
    labels = pd.read_parquet(tmp_path / "labels" / "anonymized.parquet")
    kept = labels[labels["age"] != "*"]
    assert kept.groupby(["age", "sex"], observed=True).size().min() >= 3
    assert not {"visit", "diagnosis", "patient"} & set(labels.columns)
