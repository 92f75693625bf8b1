"""Execute a recipe page: write its files, apply its diffs, run its commands."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "developing"
_FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.S | re.M)


@dataclass(frozen=True)
class Block:
    """A code block of a page."""

    language: str
    title: str
    text: str


def blocks_of(page: str) -> list[Block]:
    """All code blocks of a page of the chapter Developing, in order."""
    text = (PAGES / page).read_text(encoding="utf-8")
    return [Block(*found) for found in _FENCE.findall(text)]


def patched(text: str, diff: str) -> str:
    """Apply a diff whose hunks are found by their context.

    Raises
    ------
    AssertionError
        The lines of a hunk do not occur exactly once, one after the other.
    """
    for hunk in re.split(r"^@@.*\n", diff, flags=re.M):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        assert text.count(old) == 1, f"the page's context is not (or not only) in the file:\n{old}"
        text = text.replace(old, new)
    return text


class Workshop:
    """A copy of the package and an empty folder to work in.

    Parameters
    ----------
    folder : Path
        Empty; gets ``package/hybrid`` and ``work``.
    """

    def __init__(self, folder: Path) -> None:
        self.package, self.work = folder / "package", folder / "work"
        self.work.mkdir(parents=True)
        shutil.copytree(ROOT / "hybrid", self.package / "hybrid")
        self.new: list[str] = []
        self.changed: list[str] = []

    def follow(self, page: str) -> None:
        """Do what a page says, from top to bottom."""
        for block in blocks_of(page):
            if block.language == "console":
                self._run(block.text)
            elif block.language == "diff":
                target = self.package / block.title
                target.write_text(patched(target.read_text(encoding="utf-8"), block.text), encoding="utf-8")
                self.changed.append(block.title)
            elif block.title.startswith("hybrid/"):
                target = self.package / block.title
                assert not target.exists(), f"{block.title} is no new file"
                target.write_text(block.text, encoding="utf-8")
                self.new.append(block.title)
            elif block.title:
                (self.work / block.title).write_text(block.text, encoding="utf-8")

    def _run(self, session: str) -> None:
        """Run every line after ``$``; the lines below it must be in what it prints, in that order."""
        for part in re.split(r"^\$ ", session, flags=re.M)[1:]:
            line, *expected = part.splitlines()
            printed = self.command(line)
            at = 0
            for wanted in expected:
                found = printed.find(" ".join(wanted.split()), at)
                assert found >= 0, f"{line}\nprinted\n{printed}\nand not\n{wanted}"
                at = found

    def command(self, line: str) -> str:
        """Run one command with the copy of the package; white space of its output as single spaces."""
        line, may_fail, _ = line.partition(" || true")
        program, *arguments = shlex.split(line)
        module = ["-m", "hybrid"] if program == "hybrid" else []
        assert program in ("hybrid", "python"), line
        environment = os.environ | {"PYTHONPATH": str(self.package), "COLUMNS": "200"}
        done = subprocess.run(
            [sys.executable, *module, *arguments],
            cwd=self.work,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = " ".join((done.stdout + done.stderr).split())
        assert (done.returncode != 0) == bool(may_fail), f"{line}: exit code {done.returncode}\n{printed}"
        return printed
