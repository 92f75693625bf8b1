"""Test folders of the rooms that differ from the main branch: `python -m tests.helpers.changed_rooms`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
ALSO = {
    "configs": "pipeline",
    "hierarchies": "hierarchy",
    "flows": "flows",
    "deploy": "flows",
    "tools": "tools",
    "locks": "tools",
}
"""Rooms whose tests read what lies in a folder beside the package."""


def changed_files(base: str = "main") -> list[str]:
    """Paths that differ from the last common commit with the base, uncommitted and new files included."""
    known = subprocess.run(["git", "rev-parse", "--verify", "-q", base], cwd=ROOT, capture_output=True)
    start = _git("merge-base", "HEAD", base)[0] if known.returncode == 0 else "HEAD"
    return sorted({*_git("diff", "--name-only", start), *_git("ls-files", "--others", "--exclude-standard")})


def folders_of_tests(files: Iterable[str], root: Path = ROOT) -> list[str]:
    """The folders below `tests` that mirror the changed files; one without tests is left out."""
    rooms = set()
    for file in files:
        top, *rest = PurePosixPath(file).parts
        if top in ("hybrid", "tests") and len(rest) > 1:
            rooms.add(rest[0])
        elif top in ALSO:
            rooms.add(ALSO[top])
    return [f"tests/{room}" for room in sorted(rooms) if any((root / "tests" / room).rglob("test_*.py"))]


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1]


if __name__ == "__main__":
    print(*folders_of_tests(changed_files(*sys.argv[1:2])))
