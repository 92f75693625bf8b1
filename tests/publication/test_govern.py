"""approve, status and retain, as an operator calls them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid.cli import main
from hybrid.evaluation.measure import Evaluation
from hybrid.publication.policy import Policy
from hybrid.publication.publish import publish

RunMaker = Callable[..., Path]


@pytest.fixture
def zones(tmp_path: Path) -> list[str]:
    return ["--releases", str(tmp_path / "releases"), "--work", str(tmp_path / "work")]


def code(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return int(caught.value.code or 0)


def state(zones: list[str], capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, Any]:
    capsys.readouterr()
    found = code(["status", *zones, "--json", *more])
    return found, json.loads(capsys.readouterr().out)


def test_two_people_let_a_run_out(
    make_run: RunMaker, zones: list[str], policy: Policy, evaluation: Callable[..., Evaluation],
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    two = Policy.model_validate(policy.model_dump() | {"approvals": 2})
    run = make_run(measured=evaluation(copies=0.0017), judged_by=two)
    assert code(["approve", str(run), "--by", "Ada", "--reason", "rare rows", *zones]) == 4
    assert "1 accepted so far" in capsys.readouterr().err
    found, content = state(zones, capsys)
    assert (found, content["problems"]) == (4, [])
    assert "review: 1 of 2 approvals" in content["waiting"][0]["message"]
    monkeypatch.setattr("hybrid.publication.approvals.account", lambda: "bob@ward")
    assert code(["approve", str(run), "--by", "Bob", "--reason", "agreed", *zones]) == 0
    found, content = state(zones, capsys)
    assert found == 0
    assert [entry["status"] for entry in content["releases"]] == ["review"]
    assert [event["outcome"] for event in content["events"]] == ["waiting", "released"]
    assert content["latest"] == content["releases"][0]["release"]


def test_status_says_what_is_wrong(
    make_run: RunMaker, zones: list[str], tmp_path: Path, evaluation: Callable[..., Evaluation],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    found, content = state(zones, capsys)
    assert (found, content["problems"]) == (0, [])  # a fresh folder is no error
    found, content = state(zones, capsys, "--max-age", "24")
    assert found == 1 and "there is no release" in content["problems"][0]["message"]
    release = publish(make_run("one"), tmp_path / "releases", tmp_path / "work")
    assert state(zones, capsys)[0] == 0
    assert state(zones, capsys, "--max-age", "0")[0] == 1
    blocked = make_run("two", measured=evaluation(copies=0.9), data_fingerprint="a" * 64)
    assert code(["approve", str(blocked), "--by", "Ada", "--reason", "want it", *zones]) == 3
    found, content = state(zones, capsys)
    assert (found, content["problems"][0]["message"]) == (1, "adult: the last night: refused: blocked by copies")
    (release / "synthetic.csv").chmod(0o644)
    (release / "synthetic.csv").write_text("age\n1\n")
    messages = [problem["message"] for problem in state(zones, capsys)[1]["problems"]]
    assert f"{release.name}: synthetic.csv was changed" in messages
    assert state([*zones[:2], "--work", str(tmp_path / "other")], capsys)[0] == 1


def test_status_as_a_table(
    make_run: RunMaker, zones: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = publish(make_run(), tmp_path / "releases", tmp_path / "work")
    assert code(["status", *zones]) == 0
    printed = capsys.readouterr().out
    assert f"the last release is {release.name}" in printed
    assert "adult  released" in printed


def test_retain_keeps_the_newest(
    make_run: RunMaker, zones: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [make_run(f"r{at}", data_fingerprint=str(at) * 64) for at in range(3)]
    names = [publish(run, tmp_path / "releases", tmp_path / "work").name for run in runs]
    assert code(["retain", "--keep", "1", *zones, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert f"2 releases would be removed: {names[0]}, {names[1]}" in shown and "0 releases removed, 3 kept" in shown
    assert code(["retain", "--keep", "1", *zones]) == 0
    shown = capsys.readouterr().out
    assert f"2 releases are removed: {names[0]}, {names[1]}" in shown and "2 releases removed, 1 kept" in shown
    assert len(state(zones, capsys)[1]["releases"]) == 3, "what is out stays in the ledger"


def test_status_survives_a_name_with_markup_and_control_characters(
    make_run: RunMaker, zones: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An older ledger, or another program, may have entered such a name."""
    publish(make_run(), tmp_path / "releases", tmp_path / "work")
    with sqlite3.connect(tmp_path / "work" / "ledger.sqlite") as database:
        accepted = json.dumps([{"by": "Bob [/x]\x1b[2J", "reason": "\u202e"}])
        database.execute("UPDATE releases SET acceptances = ?", (accepted,))
        database.execute("INSERT INTO events VALUES ('adult', '2026-01-01T00:00:00+00:00', 'kept', '\x1b[31m[/]')")
    assert code(["status", *zones]) == 0
    shown = capsys.readouterr().out
    assert "[/x]" in shown and r"\x1b[31m[/]" in shown and "\x1b" not in shown
    assert code(["status", *zones, "--json"]) == 0
    shown = capsys.readouterr().out
    assert "\u202e" not in shown and json.loads(shown)["releases"][0]["acceptances"][0]["reason"] == "\u202e"
