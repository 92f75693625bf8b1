"""The guide to audits of tables from language models: its programs and commands, executed in order."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid.evaluation import REGISTRY
from tests.docs.documentation_pages import DOCS, ROOT

PAGE = (DOCS / "guides" / "audit-language-models.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', PAGE, re.S | re.M)
PROGRAMS = {"hybrid": ["-m", "hybrid"], "python": []}


def execute(line: str, folder: Path) -> str:
    """One command as the reader enters it; white space of its output as single spaces."""
    program, *arguments = shlex.split(line)
    command = [sys.executable, *PROGRAMS[program], *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return " ".join(done.stdout.split())


@pytest.mark.slow
def test_every_program_and_command_of_the_guide(tmp_path: Path) -> None:
    printed: dict[str, str] = {}
    for language, title, text in BLOCKS:
        if title:
            (tmp_path / title).write_text(text, encoding="utf-8")
        elif not language:
            lines = text.replace("\\\n", " ").splitlines()
            printed |= {line.split()[-1]: execute(line, tmp_path) for line in lines}
        else:
            assert " ".join(text.split()) in printed["audit-repeated"]
    rules = {
        name: re.findall(r"(?:review|block) +([\w ]+):", printed[name]) for name in ("audit-fresh", "audit-repeated")
    }
    assert "PASS" in printed["audit-fresh"] and "REVIEW" in printed["audit-repeated"]
    assert rules == {"audit-fresh": [], "audit-repeated": ["copied digits"]}
    found = re.findall(r"(\w+) excess (\S+) found at 1 % of false alarms (\S+)", printed["numbers.py"])
    assert [(name, float(excess) > 0.01) for name, excess, _ in found] == [("fresh", False), ("repeated", True)]
    assert float(found[1][2]) > float(found[0][2])


def test_it_has_the_commands_and_names_metrics_that_exist() -> None:
    commands = [line for language, title, text in BLOCKS if not language + title for line in text.splitlines()]
    assert len([line for line in commands if line.startswith("hybrid ")]) == 3
    named = re.findall(r"^\| [^|]+\? \| ([^|]+) \|", PAGE, re.M)
    metrics = [name for cell in named for name in re.findall(r"`(\w+)`", cell)]
    assert len(metrics) > 10
    assert [name for name in metrics if name not in REGISTRY or not REGISTRY[name].by_default] == []
