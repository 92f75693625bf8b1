"""Run every trial of a plan, and collect one row each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

from hybrid.compare.plan import ComparePlan, Trial, trials
from hybrid.compare.trial import STORE, run_trial
from hybrid.config import load_config
from hybrid.progress import Progress, silent
from hybrid.table.write import atomic


def compare(plan: ComparePlan, folder: Path, out: Path, jobs: int = 1, progress: Progress = silent) -> pd.DataFrame:
    """Run every trial and collect one row each.

    Parameters
    ----------
    plan : ComparePlan
        What to run.
    folder : Path
        Where ``plan.base`` is relative to.
    out : Path
        Gets one run folder per trial, and ``comparison.csv`` once all have ended. Stage results are shared
        through a private store in it, which is removed when all is done; interrupted, the same call goes on
        where it was.
    jobs : int
        Trials at a time, each in its own process.
    progress : Progress
        Told about every trial that ends.

    Returns
    -------
    pandas.DataFrame
        One row per trial: ``configuration``, a column per factor, ``seed``, ``status`` (``ok`` or ``failed``),
        ``reason``, ``verdict``, and ``<stage>.<metric>[.<column>]`` for every metric; a metric that could not be
        computed is missing.

    Raises
    ------
    ConfigError
        The base configuration is wrong by itself; a combination that makes no sense is a failed row instead.
    """
    base = folder / plan.base
    load_config(base)
    todo = trials(plan)
    rows: dict[int, dict[str, Any]] = {}
    progress("compare", 0, len(todo))
    for position, row in _run_all(base, todo, out, jobs):
        rows[position] = row
        progress("compare", len(rows), len(todo))
    result = pd.DataFrame([rows[i] for i in range(len(todo))])
    with atomic(out / "comparison.csv") as temporary:
        result.to_csv(temporary, index=False)
    shutil.rmtree(out / STORE, ignore_errors=True)
    return result


def _run_all(base: Path, todo: list[Trial], out: Path, jobs: int) -> Iterator[tuple[int, dict[str, Any]]]:
    if jobs == 1:
        for position, trial in enumerate(todo):
            yield position, run_trial(base, trial, out)
        return
    # Fresh processes: a forked one would inherit the threads of the numerical libraries in any state.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        pending: dict[Future[dict[str, Any]], int] = {
            pool.submit(run_trial, base, trial, out): position for position, trial in enumerate(todo)
        }
        try:
            while pending:
                for done in wait(pending, return_when=FIRST_COMPLETED).done:
                    yield pending.pop(done), done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
