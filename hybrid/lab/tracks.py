"""Tracks: one metric over the levels of one series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.rng import rng_for
from hybrid.lab import measures
from hybrid.lab.measures import Drift, Sensitivity, Trend
from hybrid.lab.risk import Series

Key = tuple[str, str, str]
"""Table, risk model, name of the series."""


@dataclass(frozen=True)
class Curve:
    """Excess of one metric over the levels of one series.

    Matrices have shape (n_levels, n_seeds); NaN where there is no number.
    """

    excess: Array
    low: Array
    high: Array

    @property
    def means(self) -> Array:
        """Mean of each level over the seeds; shape (n_levels,).

        NaN where there is no number.
        """
        known = ~np.isnan(self.excess)
        sums = np.where(known, self.excess, 0.0).sum(axis=1)
        return np.asarray(np.where(known.any(axis=1), sums / np.maximum(known.sum(axis=1), 1), np.nan))


@dataclass(frozen=True)
class Track:
    """One metric on one series of tables."""

    data: str
    risk: str
    series: Series
    contestant: str
    """What was measured on what."""
    curve: Curve
    """The numbers."""
    power: tuple[float, ...]
    """Share of trials that noticed the leak, per level with one, made to rise."""
    sensitivity: Sensitivity
    """First position, among the levels with a leak, from which it is noticed."""
    tau: float
    least_tau: float
    """Kendall's tau_b of excess and level, mean and least over seeds; NaN with fewer than three levels."""
    trend: Trend
    """Test of rising levels with seeds as replicates."""
    against: float
    """Share of the variance of level means that no rising curve explains."""
    turns: int
    """Falls between adjacent levels beyond their intervals."""
    calibration: float | None
    """Largest difference between the share leaked and the share read off the curve."""
    coverage: float
    """Share of trials whose interval holds the mean of their level."""

    @property
    def key(self) -> Key:
        """Table, risk model, name of the series."""
        return self.data, self.risk, self.series.name

    @property
    def gaps(self) -> bool:
        """True if some trials gave no number."""
        return bool(np.isnan(self.curve.excess).any())

    @property
    def drift(self) -> Drift | None:
        """Largest change of the mean where the leak is always the same."""
        if self.series.scale != "none" or self.gaps:
            return None
        return measures.drift(self.curve.excess)

    @property
    def mean_power(self) -> float:
        """Share of all trials with a leak that noticed it."""
        return float(np.mean(self.power))

    def at(self, position: int | None) -> float | None:
        """Value of the dial at a position among the leaking levels."""
        return None if position is None else self.series.levels[position + 1].value


def track_of(data: str, risk: str, series: Series, contestant: str, rows: pd.DataFrame, seeds: Sequence[int]) -> Track:
    """Measure one metric on one series."""
    curve = _curve(rows, series, seeds)
    whole = ~np.isnan(curve.excess).any(axis=1)
    told = measures.noticed(curve.low[1:])
    taus = measures.rank_correlations(curve.excess)
    means, leaks = curve.means, np.array([level.value for level in series.levels])
    rng = rng_for(0, "league", data, risk, series.name, contestant)
    excess, low, high = (part[whole] for part in (curve.excess, curve.low, curve.high))
    return Track(
        data,
        risk,
        series,
        contestant,
        curve,
        tuple(measures.isotonic(told.mean(axis=1)[None])[0].tolist()),
        measures.sensitivity(told, rng),
        float(taus.mean()),
        float(taus.min()),
        measures.jonckheere(list(excess)),
        measures.against(means[whole]) if whole.any() else 0.0,
        measures.turns(low, high),
        measures.calibration(leaks, means) if series.scale == "share" and whole.all() else None,
        measures.coverage(excess, low, high) if whole.any() else 0.0,
    )


def _curve(rows: pd.DataFrame, series: Series, seeds: Sequence[int]) -> Curve:
    parts = (
        rows.pivot(index="position", columns="seed", values=name)
        .reindex(index=range(len(series.levels)), columns=list(seeds))
        .to_numpy(float)
        for name in ("excess", "excess_low", "excess_high")
    )
    return Curve(*parts)


def dial_value(track: Track, position: int) -> str:
    """Value of a level as it is written on an axis."""
    value = track.series.levels[position].value
    if track.series.scale == "share":
        return f"{100 * value:g} %"
    if position == 0 and track.series.scale == "order":
        return "none"
    return f"{value:g}"
