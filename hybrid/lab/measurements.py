"""Measurements of the laboratory as one long table, and correlations between metrics for each kind of leak.

One row per trial and contestant: a metric, a metric and the column that it is about, or its number as printed. What has
no control gets the trials without a leak as its yardstick.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy.stats import t as student

from hybrid.analysis.results import BESIDE, EXCESS, metric_names, printed_column
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.engine.intervals import Interval
from hybrid.lab.trials import LabTrials
from hybrid.report.run.inputs import title_of

_NAME = re.compile(r"(?P<metric>[^. ]+)(?:\.(?P<column>.+?))?(?: \(printed (?P<form>[^()]+)\))?")


class Contestant(NamedTuple):
    """Metric in a league, perhaps about one column, perhaps as printed."""

    metric: str
    column: str = ""
    form: str = ""
    """Name of the paper's number in ``details["paper"]``; empty: the metric itself."""

    def __str__(self) -> str:
        """As in ``league.json``: NAME, NAME.COLUMN, NAME (printed FORM)."""
        about = f"{self.metric}.{self.column}" if self.column else self.metric
        return f"{about} (printed {self.form})" if self.form else about

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read a name of a league."""
        found = _NAME.fullmatch(name)
        return cls(name) if found is None else cls(**found.groupdict(default=""))


def is_printed(name: str) -> bool:
    return bool(Contestant.parse(name).form)


def title(contestant: str) -> str:
    """Heading of a metric, its column, or its number as printed."""
    metric, column, form = Contestant.parse(contestant)
    about = title_of(metric) + (f", {column}" if column else "")
    return f"{about} (printed: {form})" if form else about


DIGITS = 12
"""Decimals beyond which differences are rounding."""


def over_nulls(value: float, nulls: Mapping[int, float], own: int | None, *, safe: bool) -> Interval:
    """Excess of a number over that of tables without a leak; NaN where there are fewer than two.

    Its mean over them is what no leak scores. The interval is the prediction interval of one more such table under
    normality, mean +- t(n - 1) s sqrt(1 + 1/n) at 95 % (Hahn and Meeker 1991, section 4.7): a table without a leak lies
    above it with 2.5 %. A table without a leak is itself left out (``own``), or it would be its own yardstick;
    ``safe``: larger numbers are safer, and the sign is turned.
    """
    others = np.array([number for seed, number in nulls.items() if seed != own])
    if len(others) < 2:
        return Interval(math.nan, math.nan, math.nan)
    excess = round((float(others.mean()) - value) * (1 if safe else -1), DIGITS)
    spread = round(float(others.std(ddof=1)), DIGITS)
    half = float(student.ppf(0.975, len(others) - 1)) * spread * math.sqrt(1 + 1 / len(others))
    return Interval(excess, excess - half, excess + half)


COLUMNS = (
    *("data", "risk", "series", "position", "dial", "seed", "contestant", "metric", "column", "form"),
    *("value", *BESIDE, *EXCESS, "cpu_seconds"),
)
"""Columns of :func:`measurements`, and of ``lab.csv``."""
NULL = "no_leak"
"""Risk model of the rows that are null trials."""
SUBJECT = "synthetic"


def measurements(trials: LabTrials, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Numbers of all trials that ended well, from the row of each planned trial; columns as :data:`COLUMNS`.

    A trial that several series share has rows in each; all trials without a leak are also there as the risk model
    :data:`NULL`. What a metric cannot compute has no row; an excess that is not known is NaN. The excess of a number as
    printed is over the trials without a leak (:func:`over_nulls`), which also gives its interval.
    """
    found: dict[str, list[_Trial]] = {}
    for planned, row in zip(trials.planned, rows, strict=True):
        if row["status"] == "ok":
            numbers = dict(_numbers(row))
            found.setdefault(planned.trial.name, []).append(_Trial(planned.trial.seed, numbers))
    extra = set(trials.null_seeds)
    lines: list[dict[str, Any]] = []
    for data, configuration in trials.nulls.items():
        _compare({name: found.get(name, []) for name in _names(trials, data)}, configuration)
        head = {"data": data, "risk": NULL, "series": "", "position": 0, "dial": 0.0}
        lines += [line for trial in found.get(configuration, []) for line in trial.lines(head)]
    for cell in trials.cells:
        head = {
            "data": cell.data,
            "risk": cell.risk,
            "series": cell.series.name,
            "position": cell.position,
            "dial": cell.value,
        }
        here = (each for each in found.get(cell.configuration, []) if each.seed not in extra)
        lines += [line for trial in here for line in trial.lines(head)]
    return pd.DataFrame(lines, columns=list(COLUMNS))


@dataclass(frozen=True)
class _Trial:
    """Numbers of one trial by contestant, as columns of the table."""

    seed: int
    numbers: dict[Contestant, dict[str, float]]

    def lines(self, head: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        for contestant, numbers in self.numbers.items():
            yield {**head, "seed": self.seed, "contestant": str(contestant), **contestant._asdict(), **numbers}


def _names(trials: LabTrials, data: str) -> set[str]:
    return {trials.nulls[data], *(cell.configuration for cell in trials.cells if cell.data == data)}


def _compare(found: Mapping[str, Sequence[_Trial]], without_leak: str) -> None:
    yardsticks: dict[Contestant, dict[int, float]] = {}
    for trial in found[without_leak]:
        for contestant, numbers in trial.numbers.items():
            if contestant.form:
                yardsticks.setdefault(contestant, {})[trial.seed] = numbers["value"]
    for name, tables in found.items():
        for trial in tables:
            own = trial.seed if name == without_leak else None
            for contestant, numbers in trial.numbers.items():
                if contestant.form:
                    safe = contestant.form in REGISTRY[contestant.metric].printed_safe
                    excess = over_nulls(numbers["value"], yardsticks.get(contestant, {}), own, safe=safe)
                    numbers.update(zip(EXCESS, excess, strict=True))


def _numbers(row: Mapping[str, Any]) -> Iterator[tuple[Contestant, dict[str, float]]]:
    """Contestants of one trial; a number as printed has no processor seconds of its own."""
    for name in metric_names(row):
        stage, _, contestant = name.partition(".")
        metric, _, column = contestant.partition(".")
        if stage != SUBJECT or metric not in REGISTRY:
            continue
        beside = {what: row.get(f"{name}_{what}", np.nan) for what in (*BESIDE, *EXCESS)}
        yield Contestant(metric, column), {"value": row[name], **beside, "cpu_seconds": row.get(f"cpu.{name}", np.nan)}
        for form in (*REGISTRY[metric].printed, *REGISTRY[metric].printed_safe):
            if (value := row.get(printed_column(form, name))) is not None:
                yield Contestant(metric, column, form), {"value": value}


CORRELATION_COLUMNS = ("data", "risk", "one", "other", "correlation", "trials")
"""Columns of :func:`correlations`, and of ``correlations.csv``."""
LEAST_TRIALS = 5
"""Trials in common below which two metrics are not compared."""
CORRELATION_DIGITS = 6


class Agreement(NamedTuple):
    """Agreement of the metrics under one kind of leak."""

    risk: str
    pairs: int
    median: float
    """Of the correlations of all pairs."""
    least: tuple[str, str, float]
    """The two metrics that disagree most, and their correlation."""


def correlations(found: pd.DataFrame) -> pd.DataFrame:
    """Spearman's rank correlation of any two metrics over the trials of each kind of leak.

    Of their excess, which is larger the more a metric finds, whichever direction its own number has. What both owe to
    the leak is in it. A trial without a leak that several series of a kind share counts once. Pairs of which one never
    changes have none, nor have numbers as printed.
    """
    own = found[found["excess"].notna() & ~found["contestant"].map(is_printed).astype(bool)]
    rows = [row for key, part in own.groupby(["data", "risk"], sort=False) for row in _of_kind(key, part)]
    return pd.DataFrame(rows, columns=list(CORRELATION_COLUMNS))


def _of_kind(key: tuple[str, str], part: pd.DataFrame) -> Iterator[tuple[str, str, str, str, float, int]]:
    shared = part.assign(series=part["series"].where(part["position"] > 0, ""))
    once = shared.drop_duplicates(["series", "position", "seed", "contestant"])
    names = list(dict.fromkeys(once["contestant"]))
    table = once.pivot(index=["series", "position", "seed"], columns="contestant", values="excess")[names]
    matrix = table.corr(method="spearman", min_periods=LEAST_TRIALS).to_numpy()
    known = table.notna().to_numpy(dtype=np.int64)
    trials = known.T @ known
    for one, other in combinations(range(len(names)), 2):
        if not np.isnan(matrix[one, other]):
            value = round(float(matrix[one, other]), CORRELATION_DIGITS)
            yield (*key, names[one], names[other], value, int(trials[one, other]))


def agreements(table: pd.DataFrame) -> list[Agreement]:
    said = []
    for risk, part in table.groupby("risk", sort=False):
        least = part.loc[part["correlation"].idxmin()]
        pair = str(least["one"]), str(least["other"]), float(least["correlation"])
        said.append(Agreement(str(risk), len(part), float(part["correlation"].median()), pair))
    return said


def matrix_of(table: pd.DataFrame, risk: str, names: Sequence[str]) -> pd.DataFrame:
    """Correlations of one kind of leak between those of the names that have one, symmetric; NaN for none."""
    part = table[table["risk"] == risk]
    kept = [name for name in names if name in set(part["one"]) | set(part["other"])]
    half = part.pivot(index="one", columns="other", values="correlation").reindex(index=kept, columns=kept)
    return half.where(half.notna(), half.T)
