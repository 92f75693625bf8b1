"""Leagues of the laboratory, read and written by the scripts behind docs/evidence/privacy-metrics.md."""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hybrid.evaluation.trust import WORDS

RISKS = {"leaky": "copies", "noisy": "noisy copies", "overfit": "`cart`"}
"""Risk models that every table was tried with."""
PAPERS: dict[str, tuple[str, float, float]] = {
    "identical_match": ("IMS", 0.0, 1.0),
    "dcr_score": ("DCR", 0.0011, 1.0),
    "singling_out": ("singling out", 0.0060, 0.9990),
    "linkability": ("linkability", 0.0015, 0.6433),
    "inference": ("AIA, distance", 0.0835, 0.9922),
    "gtcap": ("GTCAP", 0.0019, 0.9665),
    "membership_density": ("DOMIAS", 0.0020, 0.2684),
}
"""Metrics of the thesis and what it prints for Adult without a leak and for a copy (Table 4.3).

DOMIAS as AUC beyond .5, half of its advantage.
"""
Metric = Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """Metrics of all leagues, by table and name; those as papers print them apart."""

    tables: tuple[str, ...]
    metrics: Mapping[tuple[str, str], Metric]
    printed: Mapping[tuple[str, str], Metric]

    @property
    def names(self) -> list[str]:
        """Metrics that every table has, the best first: by the worst verdict, then by the trials that noticed."""
        every = {name for _, name in self.metrics}
        whole = [name for name in every if all((table, name) in self.metrics for table in self.tables)]
        return sorted(whole, key=lambda name: (WORDS.index(self.worst(name)), -self.mean_power(name), name))

    def worst(self, name: str) -> Any:
        """The worst verdict over the tables."""
        return max((self.metrics[table, name]["verdict"] for table in self.tables), key=WORDS.index)

    def mean_power(self, name: str) -> float:
        """Share of trials that noticed a leak, over the risk models and tables."""
        return float(np.mean([power(self.metrics[table, name], risk) for table in self.tables for risk in RISKS]))


def read(paths: Sequence[Path]) -> Found:
    """Read leagues; of several columns that a metric is about, the first counts."""
    tables: list[str] = []
    metrics: dict[tuple[str, str], Metric] = {}
    printed: dict[tuple[str, str], Metric] = {}
    for path in paths:
        text = lzma.decompress(path.read_bytes()).decode() if path.suffix == ".xz" else path.read_text()
        league = json.loads(text)
        tables += league["tables"]
        for metric in league["metrics"]:
            form = f" ({metric['printed']})" if metric["printed"] else ""
            group = printed if form else metrics
            group.setdefault((metric["table"], metric["metric"] + form), metric)
    return Found(tuple(tables), metrics, printed)


def series(metric: Metric, risk: str, name: str | None = None) -> list[Mapping[str, Any]]:
    """Series of a risk model, all or that of a name."""
    return [each for each in metric["series"] if each["risk"] == risk and name in (None, each["series"])]


def power(metric: Metric, risk: str) -> float:
    """Share of trials with a leak that noticed it, mean over the series of a risk model."""
    return float(np.mean([np.mean(each["power"]) for each in series(metric, risk)]))


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)]


def number(value: float | None, digits: int = 2) -> str:
    """Number without the zero before the point."""
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:.{digits}f}"
    text = text.lstrip("-") if float(text) == 0 else text
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def interval(value: float, low: float, high: float, digits: int = 2) -> str:
    """Number with its interval."""
    return f"{number(value, digits)} ({number(low, digits)} to {number(high, digits)})"


def dial(value: float | None, *, share: bool) -> str:
    if value is None:
        return "never"
    return f"{100 * value:g}" if share else f"{value:g}"


def small(p: float) -> str:
    return "<.001" if p < 0.001 else number(p, 3)
