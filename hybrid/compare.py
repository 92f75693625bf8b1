"""Compare strategies: a factorial plan, one run per configuration and seed, stages shared between runs."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import yaml
from pydantic import Field

from hybrid.config import RunConfig, load_config
from hybrid.errors import HybridError
from hybrid.evaluate import REGISTRY
from hybrid.evaluate.measure import Evaluation, Measure
from hybrid.options import Options
from hybrid.pipeline import Walk
from hybrid.progress import Progress, silent
from hybrid.report import describe, render_comparison
from hybrid.run_folder import write_run
from hybrid.store import Store
from hybrid.table.write import atomic, write_text
from hybrid.yaml_files import read_yaml, validated

STORE = ".store"


class ComparePlan(Options):
    """What to compare: a run configuration, and the values to try for some of its keys."""

    version: Literal[1] = 1
    """Version of this format."""
    name: str = "comparison"
    """Title of the report."""
    base: str
    """The run configuration that everything else is taken from, relative to this file."""
    factors: dict[str, list[Any]] = Field(min_length=1)
    """Dotted keys of the run configuration, each with the values to try; every combination is one configuration."""
    seeds: tuple[int, ...] = Field(default=(1, 2, 3), min_length=1)
    """Every configuration runs once with each seed."""


@dataclass(frozen=True)
class Trial:
    """One configuration with one seed: one row of the comparison."""

    configuration: str
    factors: Mapping[str, Any]
    seed: int

    @property
    def folder(self) -> str:
        """Name of the trial's run folder."""
        return f"{self.configuration}-seed{self.seed}"

    def shown_factors(self) -> dict[str, Any]:
        """Factor values as they stand in a table: mappings and lists as one line of YAML."""
        return {name: _shown(value) for name, value in self.factors.items()}


def load_plan(path: Path) -> ComparePlan:
    """Read a comparison plan.

    Raises
    ------
    ConfigError
        The file is missing, malformed, or has unknown keys; all problems at once.
    """
    return validated(ComparePlan, read_yaml(path), str(path))


def trials(plan: ComparePlan) -> list[Trial]:
    """Every combination of the factors' values with every seed, in the order of the plan."""
    combinations = list(itertools.product(*plan.factors.values()))
    width = len(str(len(combinations)))
    return [
        Trial(f"c{i:0{width}d}", dict(zip(plan.factors, values, strict=True)), seed)
        for i, values in enumerate(combinations, start=1)
        for seed in plan.seeds
    ]


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


def metric_names(comparison: pd.DataFrame) -> list[str]:
    """The columns of a comparison that are metrics."""
    return [name for name in comparison.columns if name.partition(".")[0] in ("anonymized", "synthetic", "baseline")]


def write_comparison(plan: ComparePlan, comparison: pd.DataFrame, out: Path) -> Path:
    """Write ``comparison.html``; returns its path."""
    report = out / "comparison.html"
    write_text(
        report,
        render_comparison(
            plan.name, comparison, list(plan.factors), metric_names(comparison), describe(REGISTRY.values())
        ),
    )
    return report


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


def run_trial(base: Path, trial: Trial, out: Path) -> dict[str, Any]:
    """Run one configuration with one seed; a failure is a row with its reason."""
    row = {"configuration": trial.configuration, **trial.shown_factors(), "seed": trial.seed}
    try:
        walk = Walk(_configured(base, trial), seed=trial.seed, store=Store(out / STORE))
        metrics = _metrics(walk.evaluation)
        verdict = walk.verdict.status
        write_run(walk, out / trial.folder)
    except HybridError as error:
        return row | {"status": "failed", "reason": str(error), "verdict": None}
    return row | {"status": "ok", "reason": "", "verdict": verdict} | metrics


def _configured(base: Path, trial: Trial) -> RunConfig:
    return load_config(base, trial.factors)


def _metrics(evaluation: Evaluation) -> dict[str, float]:
    return {
        ".".join(filter(None, (metric.stage, metric.name, metric.column))): metric.outcome.value
        for metric in evaluation.metrics
        if isinstance(metric.outcome, Measure) and metric.stage != "original"
    }


def _shown(value: Any) -> Any:
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000).strip()
