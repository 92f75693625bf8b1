"""One trial: one configuration with one seed, from the data to a row of the comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hybrid.compare.plan import Trial
from hybrid.compare.table import BESIDE, STAGES
from hybrid.config import RunConfig, load_config
from hybrid.errors import HybridError
from hybrid.evaluate.measure import Evaluation, Measure
from hybrid.pipeline import Walk
from hybrid.run_folder import write_run
from hybrid.store import Store

STORE = ".store"


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
    row = {}
    for metric in evaluation.metrics:
        if isinstance(metric.outcome, Measure) and metric.stage in STAGES:
            name = ".".join(filter(None, (metric.stage, metric.name, metric.column)))
            row[name] = metric.outcome.value
            beside = {f"{name}_{what}": getattr(metric.outcome, what) for what in BESIDE}
            row |= {key: value for key, value in beside.items() if value is not None}
    return row
