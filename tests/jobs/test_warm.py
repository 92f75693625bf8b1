"""Compiling ahead: what `hybrid warm` leaves for later processes."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import hybrid
from hybrid.jobs.warm import LOOPS, loops_of

USE = """
from pathlib import Path
from hybrid.anonymize import AnonymizeOptions
from hybrid.anonymize.search import branch_and_bound
from hybrid.anonymize.search.problem import prepare
from hybrid.demo import write_demo
from hybrid.pipeline.config import load_config
from hybrid.pipeline.table_run import TableRun
from tests.anonymize.cases import wide_table

task = prepare(*wide_table(10, 3000), AnonymizeOptions(), None)
branch_and_bound.search(task.checker(task.lattice), task.loss(task.lattice), task.allowed, 60.0)
TableRun(load_config(write_demo(Path("demo"), rows=800, seed=2))).evaluation
"""


def test_every_module_of_loops_is_compiled() -> None:
    package = Path(hybrid.__file__).parent
    users = [
        path for path in package.rglob("*.py") if "from hybrid.base.jit import" in path.read_text(encoding="utf-8")
    ]
    assert {".".join(("hybrid", *path.relative_to(package).with_suffix("").parts)) for path in users} == set(LOOPS)
    assert all(loops_of(import_module(name)) for name in LOOPS)


@pytest.mark.engines  # compiles for half a minute
@pytest.mark.slow
def test_later_processes_compile_nothing(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(Path(hybrid.__file__).parents[1])}

    def run(code: str) -> str:
        command = [sys.executable, "-c", code]
        return subprocess.run(command, cwd=tmp_path, env=environment, text=True, check=True, capture_output=True).stdout

    folders = run("from hybrid.jobs.warm import warm; print(*warm(), sep='\\n')").split()
    assert folders and all(Path(folder).is_relative_to(cache) for folder in folders)
    compiled = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")}
    assert compiled
    run(USE)
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")} == compiled
