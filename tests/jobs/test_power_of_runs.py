"""A run says what its verdict would have noticed, in its files and in its report."""

from __future__ import annotations

import copy
import html
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import hybrid
from hybrid.cli.console import print_verdict
from hybrid.jobs.run import summary
from hybrid.pipeline.config import load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.facts import summary_of
from hybrid.publication.finished_run import read_run
from hybrid.publication.power import not_tried
from tests.helpers.pages import report_text
from tests.jobs.small_job import POLICY, write_small_job


def demanding_job(folder: Path) -> Path:
    job = write_small_job(folder)
    policy: dict[str, Any] = copy.deepcopy(POLICY)
    policy["rules"][0] |= {"compare": "excess", "review": 0.05}
    policy |= {"must_detect": {"copy": 0.5}, "power": {"trials": 3}}
    (folder / "policy.yaml").write_text(yaml.safe_dump(policy))
    return job


def test_a_run_says_what_its_verdict_would_have_noticed(tmp_path: Path) -> None:
    job, out = demanding_job(tmp_path / "job"), tmp_path / "run"
    pipeline = hybrid.run(job, out=out)
    assert pipeline.verdict.status == "pass"
    (leak,) = json.loads((out / "evaluation.json").read_text())["power"]["leaks"]
    assert (leak["kind"], leak["made"], leak["noticed"]) == ("copy", 3, 3)
    assert read_run(out).power == pipeline.power
    assert "would have noticed 50 % copied rows (3 of 3 trials" in report_text(out)
    assert "power" in pipeline.keys


def test_what_was_not_planted_is_said_wherever_the_verdict_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job, out = demanding_job(tmp_path / "job"), tmp_path / "run"
    pipeline = hybrid.run(job, out=out)
    sentence = not_tried(pipeline.verdict.checks)
    assert "copies of a whole group" in sentence
    print_verdict(pipeline.verdict)
    assert sentence in " ".join(capsys.readouterr().out.split())
    assert f"\n{sentence}\n" in summary(pipeline)
    assert html.unescape((out / "report-details.html").read_text()).count(sentence) == 1
    assert "further forms were not planted; the details name them" in (out / "report.html").read_text()
    found = read_run(out)
    assert sentence in summary_of(found, pipeline.verdict, "2026-11-23").not_attacked


def test_without_trials_what_must_be_noticed_is_a_review(tmp_path: Path) -> None:
    job = demanding_job(tmp_path / "job")
    assert hybrid.run(job, overrides={"evaluate.power": False}).verdict.status == "review"


def test_compared_runs_are_judged_without_planted_leaks(tmp_path: Path) -> None:
    pipeline = Pipeline(load_config(demanding_job(tmp_path / "job")), judge_power=False)
    assert pipeline.verdict.status == "pass" and pipeline.power is None
