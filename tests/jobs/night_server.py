"""Runs `hybrid release` night after night in forked children, each with a fault at a chosen point.

One process imports the package once and forks for every night, so that a fault costs a second and not five. It reads
one JSON object per line: ``arguments`` of the command line, ``fault``, ``point`` and ``when`` (before or after). It
answers with the child's wait status and what it printed.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

# Whatever a run imports is imported before the first fork.
import scipy.stats
import sklearn.tree

import hybrid.cli.run
import hybrid.evaluation.engine.block_kernels
import hybrid.evaluation.engine.search_kernels
import hybrid.jobs.release
import hybrid.jobs.run
import hybrid.publication.publish
from hybrid.base.hashing import code_version
from hybrid.pipeline.starter import column_names
from hybrid.pipeline.table_run import TableRun
from hybrid.publication import rare_values
from hybrid.report.run import render, sections


def kill(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)


def disk_full(_: Any) -> None:
    """From here on no file can grow: every write fails as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def out_of_memory(_: Any) -> None:
    raise MemoryError


def source_gone(source: str) -> None:
    Path(source).unlink(missing_ok=True)


def policy_gone(source: str) -> None:
    for path in Path(source).parent.glob("policy.yaml"):
        path.unlink()


def store_gone(source: str) -> None:
    shutil.rmtree(Path(source).parent / "work" / "store", ignore_errors=True)


def clock_back(_: Any) -> None:
    """The clock of the machine is set back by three days."""

    class Earlier(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) - timedelta(days=3)

    hybrid.publication.publish.datetime = Earlier  # type: ignore[misc, attr-defined]
    hybrid.jobs.run.datetime = Earlier  # type: ignore[misc, attr-defined]


FAULTS: dict[str, Callable[[str], None]] = {
    function.__name__: function  # type: ignore[attr-defined]
    for function in (kill, interrupt, disk_full, out_of_memory, source_gone, policy_gone, store_gone, clock_back)
}


def plant(fault: str, point: str, when: str, source: str) -> None:
    """Let the fault happen before or after the first call of ``module:attribute``, or of a stage of the pipeline."""
    strike = FAULTS[fault]
    if ":" not in point:
        plant_in_stage(strike, point, when, source)
        return
    module, _, name = point.partition(":")
    owner: Any = importlib.import_module(module)
    *parents, last = name.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    original = getattr(owner, last)

    def struck(*arguments: Any, **options: Any) -> Any:
        if when == "before":
            strike(source)
        result = original(*arguments, **options)
        if when == "after":
            strike(source)
        return result

    setattr(owner, last, struck)


def plant_in_stage(strike: Callable[[str], None], stage: str, when: str, source: str) -> None:
    """Before: once the stage's inputs are there; after: once its result is kept."""
    original = TableRun._stage

    def struck(pipeline: TableRun, name: str, *parts: Any) -> Any:
        *others, compute = parts

        def computed() -> Any:
            if name == stage and when == "before":
                strike(source)
            return compute()

        result = original(pipeline, name, *others, computed)
        if name == stage and when == "after":
            strike(source)
        return result

    TableRun._stage = struck  # type: ignore[method-assign]


def night(request: dict[str, Any]) -> dict[str, Any]:
    printed, end = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(end, 1)
        os.dup2(end, 2)
        os.chdir(request["folder"])
        if request.get("fault"):
            plant(request["fault"], request["point"], request["when"], request["source"])
        run(request["arguments"])
    os.close(end)
    with os.fdopen(printed) as output:
        text = output.read()
    _, status = os.waitpid(child, 0)
    return {"code": os.waitstatus_to_exitcode(status), "printed": text}


def run(arguments: list[str]) -> NoReturn:
    from hybrid.cli import command

    sys.argv = ["hybrid", *arguments]
    try:
        command()
    except SystemExit as end:
        sys.stdout.flush()
        os._exit(int(end.code or 0))
    finally:
        os._exit(99)


if __name__ == "__main__":
    assert hybrid.cli.run and hybrid.publication.publish and hybrid.jobs.run and scipy.stats and sklearn.tree
    # What is the same every night, however it ends, is made before the first fork.
    code_version(), column_names.vocabulary(), rare_values.vocabulary()
    for section in sections.SECTIONS:
        render._compiled(section.template, "en")
    os.fsync = lambda _: None  # what outlives a power cut cannot be seen here
    gc.freeze()  # no night copies memory to count what the others use
    for line in sys.stdin:
        print(json.dumps(night(json.loads(line))), flush=True)
