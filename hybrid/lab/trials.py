"""Trials of a plan, each distinct table once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hybrid.base.config_files import read_yaml
from hybrid.base.hashing import fingerprint
from hybrid.comparison.schedule import Planned, planned_trials
from hybrid.comparison.trial import Configuration
from hybrid.evaluation import REGISTRY as METRICS
from hybrid.lab.plan import DataChoice, LabPlan
from hybrid.lab.risk import NO_LEAK, Level, Series
from hybrid.pipeline.config import configured


@dataclass(frozen=True)
class Cell:
    """One level of one series on one table."""

    data: str
    risk: str
    series: Series
    position: int
    configuration: str
    """Name of the configuration that makes the table; cells may share one."""

    @property
    def value(self) -> float:
        return self.series.levels[self.position].value


@dataclass(frozen=True)
class LabTrials:
    """Everything that a plan runs."""

    cells: tuple[Cell, ...]
    nulls: Mapping[str, str]
    """Configuration without a leak, by table."""
    planned: tuple[Planned, ...]
    null_seeds: tuple[int, ...]
    """Seeds that only tables without a leak are made with."""
    seeds: tuple[int, ...]
    """Seeds of all other tables."""

    @property
    def n_configurations(self) -> int:
        return len({each.trial.name for each in self.planned})


def lab_trials(plan: LabPlan, folder: Path) -> LabTrials:
    """Plan every trial, without computing anything; base configurations are relative to the folder."""
    found: dict[str, Configuration] = {}
    cells, nulls = [], {}
    for data, choice in plan.data.items():
        base = folder / choice.base
        named = partial(_named, found, data, read_yaml(base), _common(plan, choice), base)
        nulls[data] = named(NO_LEAK)
        for risk, (model, options) in plan.risk_models.items():
            cells += [
                Cell(data, risk, series, position, named(level))
                for series in model.series(options)
                for position, level in enumerate(series.levels)
            ]
    extra = [(found[name], seed) for name in nulls.values() for seed in plan.null_seed_numbers]
    pairs = [(configuration, seed) for configuration in found.values() for seed in plan.seeds] + extra
    return LabTrials(tuple(cells), nulls, planned_trials(pairs, write=False), plan.null_seed_numbers, plan.seeds)


def _named(
    found: dict[str, Configuration],
    data: str,
    content: Mapping[str, Any],
    common: Mapping[str, Any],
    base: Path,
    level: Level,
) -> str:
    """Name of the configuration of a level; equal ones have one name."""
    config = configured(content, {**common, **level.settings}, base)
    # The name stays the same when a plan gets further levels, so that finished rows are found again.
    name = f"{data}-{fingerprint(config)[:12]}"
    found.setdefault(name, Configuration(name, {}, config))
    return name


def _common(plan: LabPlan, choice: DataChoice) -> dict[str, Any]:
    needs = {need for name in plan.metric_names for need in METRICS[name].needs}
    return {
        "stages": None,
        "protect": "off",
        "anonymize": None,
        "transition": None,
        "sample": {"method": "none"},
        "split.release": plan.split.release,
        "split.control": plan.split.control,
        "split.rows": choice.rows,
        "synthesize.rows": "same",
        "synthesize.filter": None,
        "evaluate.families": ["privacy"],
        "evaluate.metrics": list(plan.metric_names),
        "evaluate.original": False,
        "evaluate.baseline": False,
        "evaluate.power": False,
        "evaluate.retrain": None,
        "evaluate.encoder": {"engine": "untrained"} if "encoder" in needs else None,
        "evaluate.privacy_score": {} if "privacy_score" in needs else None,
        "evaluate.paper": plan.paper,
        **choice.set,
    }
