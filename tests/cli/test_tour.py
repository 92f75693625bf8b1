"""The tour: its first steps for real, and every command of it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import typer

from hybrid.cli import app
from hybrid.cli.tour import shell_line, tour_steps
from hybrid.pipeline.config import load_config
from hybrid.pipeline.draft import Draft
from tests.cli.cli_jobs import Run


def test_the_steps_before_the_run_lead_to_a_signed_and_checked_configuration(hybrid: Run, tmp_path: Path) -> None:
    steps = {step.command[0]: step for step in tour_steps(600)}
    for name in ("demo", "init", "check"):
        assert hybrid(*steps[name].command) == 0, name
    config = load_config(tmp_path / "demo" / "config.yaml")
    assert config.roles is not None and not Draft.read(tmp_path / "demo" / "config.yaml").undecided
    assert Draft.read(tmp_path / "mine" / "config.yaml").undecided, "guesses, for people to compare with"
    assert [steps[name].answers for name in ("run", "release")] == [(0,), (0, 3, 4)]
    assert steps["run"].command[1] == "demo/config.yaml" and steps["release"].command[1] == steps["run"].command[3]


def test_every_command_of_the_tour_exists_with_its_options() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for step in tour_steps(600):
        command = commands[step.command[0]]
        known = {option for part in command.params for option in (*part.opts, *part.secondary_opts)}
        assert {word for word in step.command if word.startswith("--")} <= known, shell_line(step)


@pytest.mark.parametrize(("waits", "last"), [(0, "verify"), (4, "verify"), (1, "status")])
def test_a_person_decides_where_a_run_waits_and_no_blocked_one_is_verified(
    waits: int, last: str, hybrid: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[str] = []

    def answered(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        called.append(command[3])
        codes = {"release": {0: 0, 4: 4}.get(waits, 3), "status": waits}
        return subprocess.CompletedProcess(command, codes.get(command[3], 0))

    monkeypatch.setattr("subprocess.run", answered)
    assert hybrid("tour", "new", "--yes") == 0
    assert called[-1] == last and ("approve" in called) == (waits == 4)
    numbers = [int(found) for found in re.findall(r"^(\d) of \d: ", capsys.readouterr().out, re.MULTILINE)]
    assert numbers == [*range(1, len(called) + 1)], "no number is left out"


def test_a_tour_asks_first_and_never_enters_a_folder_with_files(
    hybrid: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    assert hybrid("tour", "new") == 0
    assert "$ hybrid demo demo --rows 30000" in capsys.readouterr().out
    assert not list((tmp_path / "new").iterdir())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "own.txt").write_text("mine")
    assert hybrid("tour", "full", "--yes") == 2
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["own.txt"]
