"""Tracks of a metric over the levels of a series, verdicts on it, and the rules behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.rng import rng_for
from hybrid.base.sentence import sentence
from hybrid.evaluation.trust import WORDS, Word
from hybrid.lab import measures
from hybrid.lab.measures import POWER, Drift, Sensitivity, Share, Trend
from hybrid.lab.risk import KNOWN, Series

Key = tuple[str, str, str]
"""Table, risk model, name of the series."""


@dataclass(frozen=True)
class ExcessCurve:
    """Excess of one metric over the levels of one series; shape (n_levels, n_seeds), NaN where there is none."""

    excess: Array
    low: Array
    high: Array

    @property
    def means(self) -> Array:
        """Mean of each level over the seeds; shape (n_levels,), NaN where there is no number."""
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
    curve: ExcessCurve
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


def _curve(rows: pd.DataFrame, series: Series, seeds: Sequence[int]) -> ExcessCurve:
    parts = (
        rows.pivot(index="position", columns="seed", values=name)
        .reindex(index=range(len(series.levels)), columns=list(seeds))
        .to_numpy(float)
        for name in ("excess", "excess_low", "excess_high")
    )
    return ExcessCurve(*parts)


def dial_value(track: Track, position: int) -> str:
    """Value of a level as it is written on an axis."""
    value = track.series.levels[position].value
    if track.series.scale == "share":
        return f"{100 * value:g} %"
    if position == 0 and track.series.scale == "order":
        return "none"
    return f"{value:g}"


ALARMS = 0.05
"""Rate of false alarms: twice the nominal 2.5 % of a one-sided interval of 95 %."""
TRUSTED_TAU, TRUSTED_LEAK, USABLE_LEAK = 0.9, 0.05, 0.2
TRUSTED_LATER, USABLE_LATER = 1, 2
"""Levels by which a metric may notice later than the best one, where levels are no shares."""
DRIFT = 0.02
SIGNIFICANT = 0.001
LEAST_NULLS, LEAST_SEEDS, LEAST_LEVELS = 20, 3, 4
RULES: dict[Word, str] = {
    "trusted": sentence(
        "lab.rule.trusted",
        alarms=100 * ALARMS,
        tau=TRUSTED_TAU,
        leak=100 * TRUSTED_LEAK,
        later=TRUSTED_LATER,
        drift=DRIFT,
    ),
    "usable": sentence(
        "lab.rule.usable", p=SIGNIFICANT, leak=100 * USABLE_LEAK, later=USABLE_LATER, levels=LEAST_LEVELS
    ),
    "coarse": sentence("lab.rule.coarse", power=100 * POWER),
    "unknown": sentence("lab.rule.unknown", nulls=LEAST_NULLS, seeds=LEAST_SEEDS, levels=LEAST_LEVELS),
    "blind": sentence("lab.rule.blind", missed=100 - 100 * POWER),
    "misleading": sentence("lab.rule.misleading", alarms=100 * ALARMS),
}


@dataclass(frozen=True)
class MetricVerdict:
    """A word and the reasons for it."""

    word: Word
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """Grounds of a verdict on one series."""

    track: Track
    alarms: Share
    """False alarms of the trials without a leak."""
    p_rising: float
    p_falling: float
    """Of the trend, adjusted for the number of metrics."""
    drift: Drift | None
    """Change of its number with the size of the table; None where size was not varied."""
    first: int
    """Position from which the best metric notices the series."""


def is_short(track: Track, first: int) -> bool:
    """True for a dial that leaks noticeably (from position ``first`` on) at too few levels, so that they show no rise.

    Shares of leaked records are known at every level.
    """
    levels = len(track.series.levels)
    return track.series.scale == "order" and levels >= LEAST_LEVELS > levels - first


def is_alarmist(alarms: Share) -> bool:
    """True if more false alarms than allowed are certain."""
    return alarms.low > ALARMS


def judge(evidence: Evidence) -> MetricVerdict:
    """Apply the rules, the worst word first."""
    track, alarms = evidence.track, evidence.alarms
    if is_alarmist(alarms):
        reason = sentence("lab.false_alarms", n=alarms.hits, trials=alarms.trials)
        return MetricVerdict("misleading", (reason,))
    if track.tau < 0 and evidence.p_falling < SIGNIFICANT:
        return MetricVerdict("misleading", ("its number falls as the leak grows",))
    if missing := _missing(evidence):
        return MetricVerdict("unknown", tuple(missing))
    if track.sensitivity.position is None:
        noticed = round(100 * track.power[-1]) if track.power else 0
        return MetricVerdict("blind", (sentence("lab.noticed_largest", share=noticed),))
    against_trust = list(_against_trust(evidence))
    if not against_trust:
        return MetricVerdict("trusted", ())
    against_use = list(_against_use(evidence))
    return MetricVerdict("coarse" if against_use else "usable", tuple(against_use or against_trust))


def worst(verdicts: Iterable[MetricVerdict]) -> MetricVerdict:
    """The worst of several verdicts; undecided where there is none."""
    found = list(verdicts)
    if not found:
        return MetricVerdict("unknown", ("nothing was noticed by any metric",))
    return max(found, key=lambda verdict: WORDS.index(verdict.word))


def over_all_kinds(verdicts: Mapping[str, MetricVerdict]) -> MetricVerdict:
    """The worst verdict over risk models."""
    return worst(verdicts.values())


def by_kind(verdicts: Mapping[str, MetricVerdict]) -> MetricVerdict:
    """The best verdict over kinds of planted leaks, of which no metric notices all; one that misleads is misleading."""
    judged = {kind: each for kind, each in verdicts.items() if each.word != "unknown"}
    if not judged or any(each.word == "misleading" for each in judged.values()):
        return worst(verdicts.values())
    word = min((each.word for each in judged.values()), key=WORDS.index)
    if word == "blind":
        return MetricVerdict(word, ("notices none of the planted leaks",))
    best, blind = ([kind for kind, each in judged.items() if each.word == one] for one in (word, "blind"))
    reasons = [sentence("lab.for_kinds", kinds=_titles(best))] if len(best) < len(judged) else []
    return MetricVerdict(word, (*reasons, *([sentence("lab.misses", kinds=_titles(blind))] if blind else [])))


def _titles(kinds: Iterable[str]) -> tuple[str, ...]:
    return tuple(KNOWN[kind].title.lower() for kind in kinds)


def _missing(evidence: Evidence) -> Iterable[str]:
    track = evidence.track
    counts = {
        "lab.few.trials": (evidence.alarms.trials, LEAST_NULLS),
        "lab.few.repetitions": (track.curve.excess.shape[1], LEAST_SEEDS),
        "lab.few.levels": (len(track.series.levels), LEAST_LEVELS),
    }
    few: list[str] = [sentence(name, n=n, least=least) for name, (n, least) in counts.items() if n < least]
    return few + (["not every trial gave a number"] if track.gaps else [])


def _against_trust(evidence: Evidence) -> Iterable[str]:
    track = evidence.track
    if track.least_tau < TRUSTED_TAU:
        yield sentence("lab.rises_not_always", tau=round(track.least_tau, 2))
    yield from _late(evidence, TRUSTED_LEAK, TRUSTED_LATER)
    if evidence.drift is not None and evidence.drift.certain > DRIFT:
        yield sentence("lab.drifts", by=round(evidence.drift.value, 2))


def _against_use(evidence: Evidence) -> Iterable[str]:
    if evidence.p_rising >= SIGNIFICANT:
        yield "no clear rise with the leak"
    yield from _late(evidence, USABLE_LEAK, USABLE_LATER)


def _late(evidence: Evidence, leak: float, later: int) -> Iterable[str]:
    track = evidence.track
    position = track.sensitivity.position
    assert position is not None
    if track.series.scale == "share":
        value = track.at(position)
        if value is not None and value > leak:
            yield sentence("lab.from", share=100 * value)
    elif position > evidence.first + later:
        yield sentence("lab.later", n=position - evidence.first)
