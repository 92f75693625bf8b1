"""Measurements of the laboratory as one long table.

One row per trial and contestant: a metric, or a metric and the column that it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hybrid.analysis.results import BESIDE, EXCESS
from hybrid.comparison.results import metric_names
from hybrid.evaluation import REGISTRY
from hybrid.lab.trials import LabTrials

COLUMNS = (
    *("data", "risk", "series", "position", "dial", "seed", "contestant", "metric", "column"),
    *("value", *BESIDE, *EXCESS, "cpu_seconds"),
)
"""Columns of :func:`measurements`, and of ``lab.csv``."""
NULL = "no_leak"
"""Risk model of the rows that are null trials."""


def measurements(trials: LabTrials, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Numbers of all trials that ended well.

    Parameters
    ----------
    trials : LabTrials
        What was planned.
    rows : sequence of mapping
        The row of each planned trial, in that order.

    Returns
    -------
    pandas.DataFrame
        Columns as :data:`COLUMNS`. A trial that several series share has rows in each; all trials without a leak are
        also there as the risk model :data:`NULL`. What a metric cannot compute has no row; an excess that is not
        known is NaN.
    """
    found: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    for planned, row in zip(trials.planned, rows, strict=True):
        if row["status"] == "ok":
            found.setdefault(planned.trial.configuration, []).append((planned.trial.seed, row))
    extra = set(trials.null_seeds)
    lines: list[dict[str, Any]] = []
    for data, configuration in trials.nulls.items():
        head = {"data": data, "risk": NULL, "series": "", "position": 0, "dial": 0.0}
        lines += _lines(head, found.get(configuration, []))
    for cell in trials.cells:
        head = {
            "data": cell.data,
            "risk": cell.risk,
            "series": cell.series.name,
            "position": cell.position,
            "dial": cell.value,
        }
        lines += _lines(head, [each for each in found.get(cell.configuration, []) if each[0] not in extra])
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _lines(head: Mapping[str, Any], found: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[dict[str, Any]]:
    for seed, row in found:
        for name in metric_names(row):
            stage, _, contestant = name.partition(".")
            metric, _, column = contestant.partition(".")
            if stage != "synthetic" or metric not in REGISTRY:
                continue
            yield {
                **head,
                "seed": seed,
                "contestant": contestant,
                "metric": metric,
                "column": column,
                "value": row[name],
                **{what: row.get(f"{name}_{what}", np.nan) for what in (*BESIDE, *EXCESS)},
                "cpu_seconds": row.get(f"cpu.{name}", np.nan),
            }
