"""Attacks with training, through the command line: the whole way is walked again for each training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.cli_jobs import Run, edit

RETRAIN = {"canaries": 10, "records": 2, "shadows": 10, "tests": 10, "rows": 120, "stages": ["synthetic", "baseline"]}


def test_a_run_attacks_the_way_and_the_generator_alone(hybrid: Run, capsys: Any, job: Path, tmp_path: Path) -> None:
    metrics = ["canary", "counting_queries", "identical_match"]
    edit(job, protect=False)  # of 120 records protection would leave one diagnosis
    edit(job, evaluate={"metrics": metrics, "secrets": ["readmitted"], "retrain": RETRAIN})
    assert hybrid("check", job) == 0
    assert "trains cart 60 times on up to 120 records" in capsys.readouterr().out
    assert hybrid("run", job, "--out", tmp_path / "run") == 0
    found = json.loads((tmp_path / "run" / "evaluation.json").read_text())["metrics"]
    retrained = {(m["name"], m["stage"]): m for m in found if m["name"] != "identical_match"}
    assert len(retrained) == 4
    for result in retrained.values():
        assert result["state"] == "ok", result
        assert result["ci"][0] <= result["value"] <= result["ci"][1]
    assert retrained["canary", "synthetic"]["details"]["rows"] == 120
