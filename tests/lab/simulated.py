"""Simulated metrics of known behaviour on simulated series."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from hybrid.lab.measurements import COLUMNS, NULL
from hybrid.lab.risk import Level, Series
from hybrid.lab.trials import Cell, LabTrials

SEEDS, NULLS = (1, 2, 3, 4, 5), tuple(range(100, 140))
LEAKS = (0.0, 0.02, 0.05, 0.1, 0.5, 1.0)
HALF = 0.02
Metric = Callable[[float, np.random.Generator], float]


def ordered(name: str) -> Series:
    return Series(name, "dial", "order", tuple(Level(value, {}) for value in (0.0, 50, 20, 5, 1)))


SERIES = {
    "leaky": Series("", "share of records leaked", "share", tuple(Level(f, {}) for f in LEAKS)),
    "overfit": ordered("cart"),
    "size": Series("leak of 20 %", "size", "none", (Level(0.5, {}), Level(1, {}))),
}
LEVELS_OF_OVERFIT = (0.0, 0.02, 0.1, 0.4, 1.0)
METRICS: dict[str, Metric] = {
    "sharp": lambda leak, rng: leak + rng.normal(0, HALF / 8),
    "dull": lambda leak, rng: 0.15 * leak + rng.normal(0, HALF / 8),
    "constant": lambda leak, rng: 0.0,
    "alarmist": lambda leak, rng: leak + 0.5 + rng.normal(0, HALF / 8),
    "inverted": lambda leak, rng: -leak + rng.normal(0, HALF / 8),
    "bent": lambda leak, rng: leak * (1.5 - leak) + rng.normal(0, HALF / 8),
    "swelling": lambda leak, rng: leak + rng.normal(0, HALF / 8),
    "late": lambda leak, rng: max(leak - 0.05, 0) + rng.normal(0, HALF / 8),
}


def simulated(metrics: dict[str, Metric] = METRICS) -> tuple[LabTrials, pd.DataFrame]:
    rng = np.random.default_rng(4)
    rows: list[dict[str, object]] = []

    def add(risk: str, name: str, position: int, dial: float, seed: int, contestant: str, excess: float) -> None:
        numbers = {"value": excess, "excess": excess, "excess_low": excess - HALF, "excess_high": excess + HALF}
        head = dict(zip(COLUMNS[:8], ("people", risk, name, position, dial, seed, contestant, contestant), strict=True))
        rows.append({**dict.fromkeys(COLUMNS, np.nan), **head, "column": "", **numbers, "cpu_seconds": 0.1})

    cells = []
    for risk, series in SERIES.items():
        for position, level in enumerate(series.levels):
            cells.append(Cell("people", risk, series, position, "c"))
            leak = {"leaky": level.value, "overfit": LEVELS_OF_OVERFIT[min(position, 4)], "size": 0.2}[risk]
            for seed in SEEDS:
                for name, metric in metrics.items():
                    excess = metric(leak, rng)
                    swells = 0.1 * level.value if risk == "size" and name == "swelling" else 0.0
                    add(risk, series.name, position, level.value, seed, name, excess + swells)
    for seed in NULLS:
        for name, metric in metrics.items():
            add(NULL, "", 0, 0.0, seed, name, metric(0.0, rng))
    return LabTrials(tuple(cells), {"people": "c"}, (), NULLS, SEEDS), pd.DataFrame(rows, columns=list(COLUMNS))
