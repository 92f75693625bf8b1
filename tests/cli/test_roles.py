"""From `hybrid init` to a release: undecided columns enter no run, and no release is made without a decision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from tests.cli.cli_jobs import Run, edit
from tests.jobs.small_job import POLICY, write_small_job

FIRST = ("Anna", "Peter", "Maria", "Hans", "Julia", "Karl", "Sophie", "Lukas")
LAST = ("Muster", "Huber", "Meier", "Schulz", "Fischer", "Weber")
QUICK: dict[str, Any] = {"targets": [], "metrics": ["identical_match", "k_reached"], "baseline": False}
SIGNED = {"decided_by": "Dr Example", "date": "2026-11-21"}


def _visits(folder: Path) -> Path:
    """600 visits of 150 people, with names, phone numbers, and remarks that hold both now and then."""
    rng = np.random.default_rng(5)
    people = pd.DataFrame(
        {
            "Versichertennr": [756_000 + 37 * at for at in range(150)],
            "Patient": [f"{FIRST[at % 8]} {LAST[at % 6]}" for at in range(150)],
            "Rückruf": [f"0170-{5_551_000 + at}" for at in range(150)],
            "age": rng.integers(20, 90, 150),
            "sex": rng.choice(["f", "m"], 150),
        }
    )
    visits = people.iloc[rng.integers(150, size=600)].reset_index(drop=True)
    visits["diagnosis"] = rng.choice(["I10", "E11", "J45"], 600)
    visits["remark"] = ["none" if at % 10 else f"call Mr CANARY{at} tel 0170-{5_551_000 + at}" for at in range(600)]
    visits["ward"] = rng.choice(list("ABCD"), 600)
    visits["readmitted"] = rng.integers(2, size=600)
    folder.mkdir(parents=True, exist_ok=True)
    visits.to_csv(folder / "visits.csv", index=False)
    return folder / "visits.csv"


@pytest.fixture
def started(tmp_path: Path, hybrid: Run) -> Path:
    """The untouched guess of `hybrid init`, with a quick evaluation and a policy that lets everything out."""
    data = _visits(tmp_path / "visits")
    assert hybrid("init", str(data)) == 0
    config = data.parent / "config.yaml"
    (config.parent / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    return config


def _quick(config: Path) -> None:
    edit(config, evaluate=QUICK, policy="policy.yaml")


def test_untouched_guess_is_never_released(
    started: Path, hybrid: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guessed = yaml.safe_load(started.read_text())
    roles = {name: column["role"] for name, column in guessed["data"]["columns"].items()}
    assert roles["Versichertennr"] == roles["Patient"] == roles["Rückruf"] == "identifier"
    assert (roles["remark"], roles["diagnosis"], roles["age"]) == ("undecided", "sensitive", "quasi_identifier")
    assert guessed["data"]["person"] == "Versichertennr"
    assert "key" not in guessed["split"]
    assert guessed["transition"]["method"] == "tree"
    assert guessed["policy"] == "default"
    assert (
        "evaluate" not in guessed and "# evaluate: {targets: [readmitted], secrets: [diagnosis]}" in started.read_text()
    )
    assert guessed["data"]["columns"]["readmitted"]["kind"] == "categorical"
    capsys.readouterr()
    places = ("--work", str(tmp_path / "work"), "--runs", str(tmp_path / "runs"))
    assert hybrid("release", str(started), *places, "--out", str(tmp_path / "releases")) == 2
    assert hybrid("nightly", str(started), *places, "--releases", str(tmp_path / "releases")) == 2
    said = capsys.readouterr().err
    assert "roles.decided_by is not set; undecided columns: remark" in " ".join(said.split())
    assert not list((tmp_path / "releases").glob("*/certificate.json"))
    assert not list(tmp_path.rglob("synthetic.csv"))


def test_undecided_columns_enter_nothing_that_a_run_writes(started: Path, hybrid: Run, tmp_path: Path) -> None:
    _quick(started)
    out = tmp_path / "run"
    assert hybrid("run", str(started), "--seed", "1", "--out", str(out)) == 0
    assert list(pd.read_csv(out / "synthetic.csv").columns) == [
        *("Versichertennr", "Patient", "Rückruf", "age", "sex", "diagnosis", "ward", "readmitted")
    ]
    for path in out.rglob("*"):
        assert b"CANARY" not in path.read_bytes(), path
    verdict = json.loads((out / "evaluation.json").read_text())["verdict"]
    assert verdict["status"] == "review"
    assert verdict["checks"][0]["rule"] == "roles decided"
    assert "undecided and left out: remark" in verdict["checks"][0]["message"]


def test_check_lists_undecided_columns_with_examples_on_a_terminal_only(
    started: Path, hybrid: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hybrid("check", str(started)) == 0
    said = capsys.readouterr().out
    assert "'remark' is undecided: it enters no run and no release" in said
    assert "persons with up to 10 rows each; k counts persons" in said
    assert "CANARY" not in said
    monkeypatch.setenv("HYBRID_SHOW_VALUES", "1")
    assert hybrid("check", str(started)) == 0
    assert "CANARY" in capsys.readouterr().out


def test_decided_roles_stand_in_verdict_and_certificate(started: Path, hybrid: Run, tmp_path: Path) -> None:
    _quick(started)
    edit(started, data__columns__remark={"role": "identifier"}, roles=SIGNED, seed=1)
    places = ("--work", str(tmp_path / "work"), "--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "releases"))
    assert hybrid("release", str(started), *places) == 0
    certificate = json.loads((tmp_path / "releases" / "latest" / "certificate.json").read_text())
    assert certificate["roles"]["decided_by"] == "Dr Example"
    assert certificate["roles"]["as_they_are"] == ["diagnosis", "ward", "readmitted"]
    check = certificate["verdict"]["checks"][0]
    assert check["status"] == "pass"
    assert check["message"] == "by Dr Example on 2026-11-21; left as they are: diagnosis, ward, readmitted"


def test_columns_that_look_like_identifiers_are_a_review(started: Path, hybrid: Run, tmp_path: Path) -> None:
    _quick(started)
    edit(started, data__columns__remark={"role": "insensitive"}, roles=SIGNED, seed=1)
    places = ("--work", str(tmp_path / "work"), "--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "releases"))
    assert hybrid("release", str(started), *places) == 4
    assert not list((tmp_path / "releases").glob("*/certificate.json"))


def test_rows_of_nobody_knows_whom_are_refused(
    started: Path, hybrid: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _quick(started)
    decided = {"data__columns__remark": {"role": "identifier"}, "roles": SIGNED, "data__person": None}
    # A key of the split alone says nothing about k.
    edit(started, **decided, split={"control": 0.3, "key": "Versichertennr"})
    assert hybrid("check", str(started)) == 2
    assert "identifiers repeat and data.person is not set: 'Versichertennr'" in capsys.readouterr().out
    places = ("--work", str(tmp_path / "work"), "--runs", str(tmp_path / "runs"))
    assert hybrid("release", str(started), *places, "--out", str(tmp_path / "releases")) == 2
    mend = "set data.person to the identifier that names the person of a row, or to none"
    assert mend in capsys.readouterr().err
    assert hybrid("nightly", str(started), *places, "--releases", str(tmp_path / "releases")) == 2
    assert mend in capsys.readouterr().err
    edit(started, data__person="none")
    assert hybrid("check", str(started)) == 0
    assert "states that each row is another person" in capsys.readouterr().out


def test_a_run_without_decided_roles_is_not_published_later(
    tmp_path: Path, hybrid: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_small_job(tmp_path / "job")
    content = yaml.safe_load(config.read_text())
    del content["roles"]
    config.write_text(yaml.safe_dump(content))
    assert hybrid("run", str(config), "--out", str(tmp_path / "run")) == 0
    arguments = ("--by", "Dr Example", "--reason", "because", "--work", str(tmp_path / "work"))
    assert hybrid("approve", str(tmp_path / "run"), *arguments, "--releases", str(tmp_path / "releases")) == 2
    assert "nobody has decided the roles" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("signature", [{"decided_by": " ", "date": "2026-11-21"}, {"decided_by": "me"}])
def test_signatures_that_are_none(started: Path, hybrid: Run, signature: dict[str, str]) -> None:
    edit(started, roles=signature)
    assert hybrid("check", str(started)) == 2
