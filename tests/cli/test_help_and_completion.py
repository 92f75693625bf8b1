"""Pages and completion of the command line: what hints name exists, and shells complete commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.cli_jobs import Run


def test_a_page_by_its_topic(hybrid: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert hybrid("help") == 0
    listed = capsys.readouterr().out
    assert "guides/nights" in listed and "Every night" in listed
    assert hybrid("help", "verdict") == 0
    assert capsys.readouterr().out.startswith("# How to read a verdict")
    assert hybrid("help", "verdit") == 2
    assert "did you mean 'verdict'?" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_for_shells(hybrid: Run, capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert hybrid("completion", shell) == 0
    assert "_HYBRID_COMPLETE" in capsys.readouterr().out


def test_a_shell_completes_commands() -> None:
    script = "import sys; sys.argv[0] = 'hybrid'; from hybrid.cli import command; command()"
    asked = {"_HYBRID_COMPLETE": "complete_bash", "COMP_WORDS": "hybrid che", "COMP_CWORD": "1"}
    shown = subprocess.run([sys.executable, "-c", script], env=os.environ | asked, capture_output=True, text=True)
    assert "check" in shown.stdout


def test_a_fresh_folder_is_no_error(
    hybrid: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hybrid("status") == 0
    assert "nothing is released yet" in capsys.readouterr().out
