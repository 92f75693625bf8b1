"""`split: {control: cross}` from the command line: every statement of a release is true of it, and of 30 % control."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.cli_jobs import Run, edit
from tests.jobs.small_job import write_small_job

SIGNED = {"decided_by": "Dr Example", "date": "2026-11-21"}
OF_ONE_FOLD = "of the first fold alone for the others"
APART = "were kept apart to test attacks"
NOBODY = "Nobody was kept apart"
METRICS = ["identical_match", "hitting_rate", "k_reached", "total_variation", "dcr_share", "tstr"]


def _job(folder: Path, control: Any, **changes: Any) -> Path:
    config = write_small_job(folder, roles=SIGNED, **changes)
    edit(config, split={"control": control, "folds": 3}, evaluate__metrics=METRICS)
    return config


@pytest.mark.parametrize("control", ["cross", 0.3])
def test_every_statement_of_a_release_is_true_of_its_split(control: Any, tmp_path: Path, hybrid: Run) -> None:
    config = _job(tmp_path / "job", control)
    assert hybrid("release", config, "--out", tmp_path / "releases", "--work", tmp_path / "work") == 0
    release = next(path.parent for path in (tmp_path / "releases").rglob("certificate.json"))
    certificate = json.loads((release / "certificate.json").read_text())
    texts = [" ".join(certificate["summary"]["table"]), (release / "README.md").read_text()]
    texts.append((release / "report.html").read_text())
    metrics = {one["name"]: one for one in certificate["metrics"] if one["stage"] == "synthetic"}
    crossed = control == "cross"
    for text in texts:
        assert (NOBODY in text) == crossed
        assert ("3 further tables" in text) == crossed
        assert (APART in text) != crossed
    assert ("3 further tables" in certificate["guarantee"]) == crossed
    assert metrics["identical_match"]["reference"] is not None
    assert metrics["hitting_rate"]["state"] == "ok"
    assert metrics["tstr"]["state"] == "ok"
    # The released table is from everybody, and what needs no control is measured on it.
    assert metrics["k_reached"]["n"] == (400 if crossed else 280)
    likeness = [check for check in certificate["verdict"]["checks"] if check["rule"].startswith("like the judged")]
    assert len(likeness) == 2 * crossed
    assert hybrid("verify", release) == 0


def test_with_sampling_the_first_page_says_that_chance_alone_hides_who_was_used(tmp_path: Path, hybrid: Run) -> None:
    config = _job(tmp_path / "job", "cross", sample={"method": "beta", "beta": 0.8})
    assert hybrid("run", config, "--out", tmp_path / "out") == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Only the random choice of records hides" in page
    assert "known to be among those" not in page


def test_a_run_is_repeated_by_its_seed_and_continued_from_kept_folds(tmp_path: Path, hybrid: Run) -> None:
    config = _job(tmp_path / "job", "cross")
    found = []
    for out, work in (("a", "work"), ("b", "work"), ("c", "other")):
        assert hybrid("run", config, "--out", tmp_path / out, "--work", tmp_path / work) == 0
        evaluation = json.loads((tmp_path / out / "evaluation.json").read_text())
        numbers = [(one["name"], one["column"], one["value"], one["ci"]) for one in evaluation["metrics"]]
        found.append(((tmp_path / out / "synthetic.csv").read_bytes(), numbers, evaluation["crossed"]))
        assert _folds(evaluation) == {"original": None, "anonymized": None, "synthetic": 3}
        assert OF_ONE_FOLD in (tmp_path / out / "report-details.html").read_text()
    assert found[0] == found[1] == found[2]


def _folds(evaluation: Any) -> dict[str, int | None]:
    """Folds that copies were measured in, of each table."""
    found = (one for one in evaluation["metrics"] if one["name"] == "identical_match")
    return {one["stage"]: one["details"].get("folds") for one in found}


def test_check_says_what_folds_cost_and_refuses_what_needs_people_apart(
    tmp_path: Path, hybrid: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _job(tmp_path / "job", "cross")
    assert hybrid("check", config) == 0
    assert "the table is made from everybody. To judge how it is made, 3 more are made" in " ".join(
        capsys.readouterr().out.split()
    )
    assert hybrid("check", config, "--set", "synthesize.filter={score: distance}") != 0
    said = capsys.readouterr()
    assert "cross keeps nobody apart for synthesize.filter" in " ".join((said.out + said.err).split())
