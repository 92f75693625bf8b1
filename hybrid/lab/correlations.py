"""Correlations between metrics, per kind of leak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from hybrid.lab.measurements import is_printed

COLUMNS = ("data", "risk", "one", "other", "correlation", "trials")
"""Columns of :func:`correlations`, and of ``correlations.csv``."""
LEAST_TRIALS = 5
"""Trials in common below which two metrics are not compared."""
DIGITS = 6


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
    return pd.DataFrame(rows, columns=list(COLUMNS))


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
            value = round(float(matrix[one, other]), DIGITS)
            yield (*key, names[one], names[other], value, int(trials[one, other]))


def agreements(table: pd.DataFrame) -> list[Agreement]:
    said = []
    for risk, part in table.groupby("risk", sort=False):
        least = part.loc[part["correlation"].idxmin()]
        pair = str(least["one"]), str(least["other"]), float(least["correlation"])
        said.append(Agreement(str(risk), len(part), float(part["correlation"].median()), pair))
    return said


def matrix_of(table: pd.DataFrame, risk: str, names: Sequence[str]) -> pd.DataFrame:
    """Correlations of one kind of leak as a symmetric matrix, NaN where there is none.

    In the order of the names; those without any correlation are left out.
    """
    part = table[table["risk"] == risk]
    kept = [name for name in names if name in set(part["one"]) | set(part["other"])]
    half = part.pivot(index="one", columns="other", values="correlation").reindex(index=kept, columns=kept)
    return half.where(half.notna(), half.T)
