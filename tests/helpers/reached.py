"""Tests that reach a line, from one run of all tests under coverage."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import pytest
from coverage import CoverageData

MARKS = "not generators and not engines"
LACKING = "tabddpm,ctgan,realtabformer,spark"
CONFIG = "[run]\nsource = hybrid\nparallel = true\n"


def record(tree: Path, data: Path, jobs: int) -> bool:
    """Run every test of the first environment and keep which lines each reached; gives whether they ran.

    Tests that fail are kept, too; they can kill no mutant, since they fail without one.

    Parameters
    ----------
    tree : pathlib.Path
        Of the project; the recorded paths lie below it.
    data : pathlib.Path
        The file that is written. Code that runs in processes of its own is not seen.
    jobs : int
        Tests at the same time.
    """
    config = data.with_name(f"{data.name}-coverage.ini")  # coverage erases every file named like its data with a dot
    config.write_text(f"{CONFIG}data_file = {data}\n", encoding="utf-8")
    options = ["-n", str(jobs), "--dist", "loadfile", "-q", "-m", MARKS, "--may-lack", LACKING]
    traced = ["--cov=hybrid", "--cov-context=test", f"--cov-config={config}", "--cov-report="]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, *traced]
    done = subprocess.run(command, cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)})
    if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        data.unlink(missing_ok=True)
        return False
    return True


class Reached:
    """What each test reached.

    Parameters
    ----------
    data : pathlib.Path
        As :func:`record` wrote it.
    """

    def __init__(self, data: Path) -> None:
        self._data = CoverageData(basename=str(data))
        self._data.read()

    @cached_property
    def _files(self) -> dict[str, str]:
        """Recorded paths by their name from the package on."""
        return {path[path.rindex("/hybrid/") + 1 :]: path for path in self._data.measured_files() if "/hybrid/" in path}

    def tests(self, file: str, line: int) -> list[str]:
        """Tests to ask about a line, those first that reached it themselves.

        A line that runs at import is everybody's: all tests are asked that reached any line of the file. What a fixture
        reached, every test of its file may have used.
        """
        recorded = self._files.get(file)
        if recorded is None:
            return []
        contexts = self._data.contexts_by_lineno(recorded)
        of_line = set(contexts.get(line, ())) - {""}
        return asked(of_line or set().union(*contexts.values()))


def asked(contexts: Iterable[str]) -> list[str]:
    """Names of tests and files of tests, from contexts such as `tests/a/test_b.py::test_c|run`."""
    parts = [context.rpartition("|") for context in contexts if context]
    whole = {name.partition("::")[0] for name, _, phase in parts if phase != "run"}
    single = {name for name, _, phase in parts if phase == "run" and "\n" not in name}
    return [*sorted(single), *sorted(whole)]
