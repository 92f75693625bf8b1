"""Attacks with training, through the command line: the whole way is walked again for each training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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


ATTACK = {"metrics": ["membership_trained", "membership_trained_random", "identical_match"], "secrets": ["readmitted"]}


@pytest.mark.usefixtures("repeated")
def test_every_run_is_attacked_by_repeating_the_whole_process(
    hybrid: Run, capsys: Any, job: Path, tmp_path: Path
) -> None:
    # Without a generator each row lies on a person's: this is certain at the first look.
    edit(job, protect=False, policy="default", synthesize={"generator": "none"})
    edit(job, evaluate=ATTACK | {"power": False})
    assert hybrid("check", job) == 0
    assert "measuring takes about" in capsys.readouterr().out
    hybrid("run", job, "--out", tmp_path / "run")
    found = json.loads((tmp_path / "run" / "evaluation.json").read_text())["metrics"]
    repeated = [each for each in found if each["name"].startswith("membership_trained")]
    assert {each["name"]: each["stage"] for each in repeated} == dict.fromkeys(ATTACK["metrics"][:2], "synthetic")
    assert all(each["state"] == "ok" and each["details"]["trainings"] == 32 for each in repeated), repeated
    checks = json.loads((tmp_path / "run" / "evaluation.json").read_text())["verdict"]["checks"]
    judged = [check for check in checks if str(check["metric"]).startswith("membership_trained")]
    for check, result in zip(sorted(judged, key=lambda one: one["metric"]), repeated, strict=True):
        limit = {"membership_trained": 0.6, "membership_trained_random": 0.56}[check["metric"]]
        assert (check["status"] == "pass") == (result["ci"][1] <= limit)
        assert f"in {round(100 * result['value'], 1):g} of 100 cases" in check["message"]


def test_what_takes_too_long_is_not_tried_and_never_passes(hybrid: Run, capsys: Any, job: Path, tmp_path: Path) -> None:
    edit(job, policy="default", evaluate=ATTACK | {"power": False})
    assert hybrid("check", job) == 0
    assert "no attacker repeats the whole process: 128 trainings of cart would take" in " ".join(
        capsys.readouterr().out.split()
    )
    hybrid("run", job, "--out", tmp_path / "run")
    checks = json.loads((tmp_path / "run" / "evaluation.json").read_text())["verdict"]["checks"]
    judged = [check for check in checks if str(check["metric"]).startswith("membership_trained")]
    assert [(check["status"], check["applies"]) for check in judged] == [("not judged", False)] * 2
    assert "Not tried: an attacker who can repeat the whole process" in (tmp_path / "run" / "report.html").read_text()


def test_the_earlier_name_of_a_metric_is_one_error_with_its_mend(hybrid: Run, capsys: Any, job: Path) -> None:
    edit(job, evaluate={"metrics": ["membership_pool"]})
    assert hybrid("check", job) != 0
    assert "write membership_trained instead of membership_pool" in " ".join(capsys.readouterr().out.split())
