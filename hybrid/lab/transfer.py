"""Agreement of risk models and tables on the order of the metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import rankdata, spearmanr

from hybrid.evaluation.trust import COPIES
from hybrid.lab.measures import residual_correlation
from hybrid.lab.tracks import Key, Track

MOST_MOVED = 6
"""Metrics that are named because their rank changes most."""


@dataclass(frozen=True)
class Move:
    """Rank of a metric under two risk models; 1 notices most."""

    contestant: str
    one: float
    other: float


@dataclass(frozen=True)
class Transfer:
    """Agreement of two risk models or tables on the order of metrics.

    Parameters
    ----------
    one, other : tuple of str
        Table and risk model.
    correlation : float or None
        Spearman's rank correlation, over metrics, of the share of trials that noticed the leak; None where all
        metrics are level.
    metrics : int
        Number of metrics compared.
    moved : tuple of Move
        Metrics whose rank changes most.
    """

    one: tuple[str, str]
    other: tuple[str, str]
    correlation: float | None
    metrics: int
    moved: tuple[Move, ...]


def transfers(tracks: Mapping[tuple[str, str], Sequence[Track]], silent: Sequence[Key]) -> tuple[Transfer, ...]:
    """Compare the order of the metrics between tables and risk models.

    Series in which no metric noticed anything are left out; of several series of a risk model the mean counts.
    """
    rows = [
        ((track.data, track.risk), track.contestant, track.mean_power)
        for each in tracks.values()
        for track in each
        if track.series.scale != "none" and track.key not in silent
    ]
    table = pd.DataFrame(rows, columns=["where", "contestant", "power"])
    powers = table.groupby(["contestant", "where"], sort=False)["power"].mean().unstack()
    return tuple(_compared(powers, one, other) for one, other in combinations(powers.columns, 2))


def _compared(powers: pd.DataFrame, one: tuple[str, str], other: tuple[str, str]) -> Transfer:
    both = powers[[one, other]].dropna()
    ranks = pd.DataFrame({"one": rankdata(-both[one]), "other": rankdata(-both[other])}, index=both.index)
    varied = len(both) > 2 and both[one].nunique() > 1 and both[other].nunique() > 1
    correlation = float(spearmanr(both[one], both[other]).statistic) if varied else None
    moved = ranks.loc[(ranks["one"] - ranks["other"]).abs().sort_values(ascending=False, kind="stable").index]
    largest = moved.head(MOST_MOVED).iterrows()
    named = tuple(Move(str(name), float(row["one"]), float(row["other"])) for name, row in largest)
    return Transfer(one, other, correlation, len(both), named)


def relatives(tracks: Mapping[tuple[str, str], Sequence[Track]]) -> dict[tuple[str, str], tuple[str, float]]:
    """By table and metric, the metric with the most similar errors.

    Correlations of what is left when the means of the levels are taken out.
    """
    leaky = {pair: t.curve.excess for pair, each in tracks.items() for t in each if t.risk in COPIES and not t.gaps}
    found: dict[tuple[str, str], tuple[str, float]] = {}
    for pair, mine in leaky.items():
        others = [(other, residual_correlation(mine, its)) for other, its in leaky.items() if other != pair]
        known = [(name, value) for (data, name), value in others if data == pair[0] and not math.isnan(value)]
        if known and np.shape(mine)[1] > 1:
            found[pair] = max(known, key=lambda each: each[1])
    return found
