"""Run a plan of the laboratory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from hybrid.base.atomic import atomic_file, write_text
from hybrid.base.errors import MissingExtraError, Problem
from hybrid.base.ownership import seal
from hybrid.base.progress import Progress, silent
from hybrid.comparison.forecast import Forecast, foreseen
from hybrid.comparison.results import collect, filled_alone, kept_store
from hybrid.comparison.trial import Workplace
from hybrid.lab.files import league_json, league_table
from hybrid.lab.league import League, Overall, league
from hybrid.lab.measurements import correlations, measurements
from hybrid.lab.page import render_lab
from hybrid.lab.plan import GivenTable, LabDesign, LabPlan
from hybrid.lab.trials import LabTrials, lab_trials
from hybrid.lab.verdicts import over_all_kinds
from hybrid.synthesize.registry import require

KIND = "laboratory"
TABLE = "lab.csv"
CORRELATIONS = "correlations.csv"
LEAGUE_TABLE = "league.csv"
LEAGUE = "league.json"
REPORT = "lab.html"


@dataclass(frozen=True)
class Laboratory:
    """Results of a plan."""

    league: League
    measurements: pd.DataFrame
    """Every number; see :func:`hybrid.lab.measurements.measurements`."""
    ended: int
    """Trials that ended well."""
    failures: Mapping[str, int]
    """Reasons of those that failed, with their number."""

    @property
    def failed(self) -> int:
        return sum(self.failures.values())


def foresee(plan: LabPlan, folder: Path, out: Path) -> Forecast:
    """Count what a plan computes, without computing anything."""
    trials = lab_trials(plan, folder)
    return foreseen(trials.planned, out, plan.store, trials.n_configurations)


def run_lab(
    plan: LabPlan,
    folder: Path,
    out: Path,
    jobs: int = 1,
    progress: Progress = silent,
    *,
    scheduler: str | None = None,
    retry_failed: bool = False,
) -> Laboratory:
    """Try every metric on tables with a known leak.

    Base configurations are relative to ``folder``. The private folder ``out`` gets ``rows.jsonl`` with every trial as
    soon as it has ended, and then aggregates: ``lab.csv`` with every number, ``correlations.csv`` with how far any two
    metrics agree, ``league.csv`` and ``league.json`` with what became of each metric, and the page ``lab.html``.
    Interrupted, the same call continues there. ``jobs`` trials run at a time, each in its own process, or on the
    workers of the Dask scheduler at an address.

    ConfigError: a base configuration is wrong, ``out`` holds anything but a laboratory, another process fills it, or a
    cluster is to share a store in this machine's memory. MissingExtraError: the packages of a generator are neither
    here nor in its environment, and no cluster has them; nothing is run.
    """
    trials = lab_trials(plan, folder)
    if scheduler is None:
        _refuse_missing(trials)
    with filled_alone(out, plan.name, KIND, plan.store, scheduler):
        with kept_store(plan.store, out) as store:
            place = Workplace(store, None)
            rows = collect(trials.planned, place, out, jobs, progress, scheduler=scheduler, retry_failed=retry_failed)
        return write_results(plan, trials, rows, out)


def _refuse_missing(trials: LabTrials) -> None:
    configs = [each.trial.config for each in trials.planned if each.trial.config is not None]
    engines = {type(engine): engine for engine in (c.synthesize.engine for c in configs if not c.synthesize.is_off)}
    problems: list[Problem] = []
    for engine in engines.values():
        try:
            require(engine)
        except MissingExtraError as error:
            problems += error.problems
    if problems:
        raise MissingExtraError(problems)


def write_results(
    plan: LabDesign,
    trials: LabTrials,
    rows: Sequence[Mapping[str, Any]],
    out: Path,
    overall: Overall = over_all_kinds,
    given: GivenTable | None = None,
) -> Laboratory:
    """Judge all metrics by the rows of the trials, write the files but ``rows.jsonl``, and seal their folder."""
    found = measurements(trials, rows)
    failures = Counter(str(row["reason"]) for row in rows if row["status"] != "ok")
    result = Laboratory(league(trials, found, overall), found, len(rows) - failures.total(), dict(failures))
    related = correlations(found)
    for name, table in ((TABLE, found), (CORRELATIONS, related), (LEAGUE_TABLE, league_table(result.league))):
        with atomic_file(out / name) as temporary:
            table.to_csv(temporary, index=False)
    text = json.dumps(league_json(plan, result.league, given), ensure_ascii=False, allow_nan=False, indent=1)
    write_text(out / LEAGUE, text + "\n")
    write_text(out / REPORT, render_lab(plan, trials, result.league, result.failures, related, given))
    seal(out, plan.name, KIND)
    return result
