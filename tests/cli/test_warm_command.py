"""The command that compiles ahead says where the machine code is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.cli_jobs import Run


def test_the_command_names_the_folders(
    hybrid: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hybrid.jobs.warm.warm", lambda progress: [Path("here")])
    assert hybrid("warm") == 0
    assert "machine code in here" in capsys.readouterr().out
    monkeypatch.setattr("hybrid.jobs.warm.warm", lambda progress: [])
    assert hybrid("warm") == 0
    assert "every process compiles anew" in capsys.readouterr().out
