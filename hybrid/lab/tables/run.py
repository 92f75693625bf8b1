"""Run the laboratory on a table from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from hybrid.analysis.results import EXCESS
from hybrid.base.progress import Progress, silent
from hybrid.comparison.results import ROWS, Rows, filled_alone, metric_names
from hybrid.comparison.schedule import Planned
from hybrid.evaluation.price import sizes_of, total_price
from hybrid.lab.design import GivenTable
from hybrid.lab.league import league
from hybrid.lab.measurements import SUBJECT, measurements
from hybrid.lab.run import KIND, Laboratory, write_results
from hybrid.lab.tables.plan import TablesPlan
from hybrid.lab.tables.trials import AS_IT_IS, NO_LEAK, NOT_COMPUTABLE, cannot_be_planted, run_trials, tables_trials
from hybrid.lab.trials import LabTrials
from hybrid.lab.verdicts import by_kind

OF_A_TABLE = 0.4
"""Price of a table with a leak, as a share of that of a table: what the leak leaves as it was is not computed again."""


@dataclass(frozen=True)
class TablesForecast:
    """Trials of a plan and their time."""

    trials: int
    done: int
    without_leak: int
    """Those of the trials in which nothing is planted."""
    kinds: Sequence[str]
    """Kinds of leak, by their title."""
    seconds: float
    """Of one core, for what is left."""
    measured: bool
    """Whether the seconds are those of finished trials, and not a rough price."""
    not_planted: Mapping[str, str]


def foresee_tables(plan: TablesPlan, out: Path) -> TablesForecast:
    """Count what a plan measures, without measuring anything.

    Parameters
    ----------
    plan, out
        As for :func:`run_on_tables`.
    """
    plan = replace(plan, not_planted=cannot_be_planted(plan))
    trials = tables_trials(plan)
    rows = Rows(out / ROWS).read()
    todo = [each for each in trials.planned if each.key not in rows]
    known: dict[str, list[float]] = {}
    for row in rows.values():
        for name in (name for name in row if name.startswith("seconds.")):
            known.setdefault(name.removeprefix("seconds."), []).append(row[name])
    whole = _price(plan)
    price = {"planted": OF_A_TABLE * whole, "no_leak": whole, "as_it_is": whole}
    seconds = price | {name: mean(values) for name, values in known.items()}
    return TablesForecast(
        len(trials.planned),
        len(trials.planned) - len(todo),
        sum(each.trial.configuration == NO_LEAK for each in trials.planned),
        [model.title for model, _ in plan.risk_models.values()],
        sum(seconds[_what(each)] for each in todo),
        {_what(each) for each in todo} <= set(known),
        plan.not_planted,
    )


def run_on_tables(
    plan: TablesPlan, out: Path, progress: Progress = silent, *, retry_failed: bool = False
) -> Laboratory:
    """Plant leaks of known size into a table, and measure every metric on each.

    Parameters
    ----------
    plan : TablesPlan
        The tables, and what is tried on them.
    out : Path
        Private. Gets the files of :func:`hybrid.lab.run_lab`. Interrupted, the same call continues there.
    progress : Progress
        Called after every trial.
    retry_failed : bool
        Whether trials that failed earlier are run again.

    Returns
    -------
    Laboratory
        The league, and every number.

    Raises
    ------
    ConfigError
        ``out`` holds anything but a laboratory, or another process fills it.
    """
    plan = replace(plan, not_planted=cannot_be_planted(plan))
    trials = tables_trials(plan)
    with filled_alone(out, plan.name, KIND, None, None):
        rows = Rows(out / ROWS)
        done = {key: row for key, row in rows.read().items() if row["status"] == "ok" or not retry_failed}
        todo = [each for each in trials.planned if each.key not in done]
        progress("lab", len(trials.planned) - len(todo), len(trials.planned))
        for each, row in run_trials(plan, todo):
            rows.append(each.key, row)
            done[each.key] = row
            progress("lab", sum(one.key in done for one in trials.planned), len(trials.planned))
        return _written(plan, trials, [done[each.key] for each in trials.planned], out)


def _written(plan: TablesPlan, trials: LabTrials, rows: Sequence[Mapping[str, Any]], out: Path) -> Laboratory:
    found = measurements(trials, rows)
    failures = Counter(str(row["reason"]) for row in rows if row["status"] != "ok")
    judged = league(trials, found, overall=by_kind)
    result = Laboratory(judged, found, len(rows) - failures.total(), dict(failures))
    write_results(plan, trials, result, out, _given(plan, trials, rows))
    return result


def _given(plan: TablesPlan, trials: LabTrials, rows: Sequence[Mapping[str, Any]]) -> GivenTable:
    """The table itself, from the trial as it is."""
    train, control = plan.originals
    sizes = {"train": len(train), "control": 0 if control is None else len(control), "synthetic": len(plan.synthetic)}
    lacking: dict[str, str] = {}
    excesses: dict[str, tuple[float, float, float]] = {}
    for each, row in zip(trials.planned, rows, strict=True):
        if each.trial.configuration in (AS_IT_IS, NO_LEAK):
            lacking = row.get(NOT_COMPUTABLE, {}) | lacking
        if each.trial.configuration == AS_IT_IS:
            names = (name for name in metric_names(row) if f"{name}_{EXCESS[0]}" in row)
            excesses = {n.removeprefix(f"{SUBJECT}."): _excess(row, n) for n in names}
    used = {name: count for name, count in sizes.items() if count}
    return GivenTable(used, excesses, plan.not_planted, lacking, plan.audited.notes)


def _excess(row: Mapping[str, Any], name: str) -> tuple[float, float, float]:
    value, low, high = (float(row[f"{name}_{what}"]) for what in EXCESS)
    return value, low, high


def _what(planned: Planned) -> str:
    """Kind of a trial, as its seconds are called."""
    return {AS_IT_IS: "as_it_is", NO_LEAK: "no_leak"}.get(planned.trial.configuration, "planted")


def _price(plan: TablesPlan) -> float:
    """Seconds of one core that one table takes, roughly."""
    train, control = plan.originals
    rows = len(train), len(train) if control is None else len(control), len(plan.synthetic)
    return total_price(plan.metrics, sizes_of(plan.synthetic.schema, rows, plan.options), plan.options, 1)
