"""League of the laboratory: detections and verdict of each metric, changes by removing outliers, and agreement."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import rankdata, spearmanr
from scipy.stats import t as student

from hybrid.base.sentence import sentence
from hybrid.evaluation.trust import COPIES, WORDS, Word
from hybrid.lab import measures
from hybrid.lab.measurements import NULL, is_printed
from hybrid.lab.measures import Drift, Share, residual_correlation
from hybrid.lab.risk import NO_NOISE, OUTLIERS, Series
from hybrid.lab.trials import LabTrials
from hybrid.lab.verdicts import (
    Evidence,
    Key,
    MetricVerdict,
    Track,
    is_alarmist,
    is_short,
    judge,
    over_all_kinds,
    track_of,
    worst,
)

MOST_MOVED = 6
"""Metrics that are named because their rank changes most."""


@dataclass(frozen=True)
class Move:
    """Rank of a metric under two risk models; 1 notices most."""

    contestant: str
    one: float
    other: float


@dataclass(frozen=True)
class OrderAgreement:
    """Agreement of two risk models or tables on the order of metrics."""

    one: tuple[str, str]
    other: tuple[str, str]
    """Table and risk model."""
    correlation: float | None
    """Spearman's rank correlation, over metrics, of the share of trials that noticed the leak; None where all metrics
    are level."""
    metrics: int
    moved: tuple[Move, ...]


def transfers(tracks: Mapping[tuple[str, str], Sequence[Track]], silent: Sequence[Key]) -> tuple[OrderAgreement, ...]:
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


def _compared(powers: pd.DataFrame, one: tuple[str, str], other: tuple[str, str]) -> OrderAgreement:
    both = powers[[one, other]].dropna()
    ranks = pd.DataFrame({"one": rankdata(-both[one]), "other": rankdata(-both[other])}, index=both.index)
    varied = len(both) > 2 and both[one].nunique() > 1 and both[other].nunique() > 1
    correlation = float(spearmanr(both[one], both[other]).statistic) if varied else None
    moved = ranks.loc[(ranks["one"] - ranks["other"]).abs().sort_values(ascending=False, kind="stable").index]
    largest = moved.head(MOST_MOVED).iterrows()
    named = tuple(Move(str(name), float(row["one"]), float(row["other"])) for name, row in largest)
    return OrderAgreement(one, other, correlation, len(both), named)


def relatives(tracks: Mapping[tuple[str, str], Sequence[Track]]) -> dict[tuple[str, str], tuple[str, float]]:
    """By table and metric, the one whose errors correlate most with its own, means of the levels taken out."""
    leaky = {pair: t.curve.excess for pair, each in tracks.items() for t in each if t.risk in COPIES and not t.gaps}
    found: dict[tuple[str, str], tuple[str, float]] = {}
    for pair, mine in leaky.items():
        others = [(other, residual_correlation(mine, its)) for other, its in leaky.items() if other != pair]
        known = [(name, value) for (data, name), value in others if data == pair[0] and not math.isnan(value)]
        if known and np.shape(mine)[1] > 1:
            found[pair] = max(known, key=lambda each: each[1])
    return found


@dataclass(frozen=True)
class Removal:
    """Change of one metric by one removal."""

    series: str
    """Name of the series: generator, way, and people at risk."""
    share: float
    """Share of the people removed, 0..0.5."""
    change: float
    """Mean over repetitions of its excess after the removal minus that after a removal by chance; below 0: the metric
    sees less risk."""
    low: float | None
    high: float | None
    """Student's 95 % interval of the mean, paired within repetitions; None with a single one."""

    @property
    def is_certain(self) -> bool:
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def removals(tracks: Sequence[Track]) -> tuple[Removal, ...]:
    """Changes of one metric by each removal of the largest share."""
    named = {track.series.name: track for track in tracks if track.risk == OUTLIERS.name}
    pairs = [(track, named[track.series.control]) for track in named.values() if track.series.control in named]
    return tuple(found for pair in pairs if (found := _beyond(*pair)) is not None)


def _beyond(track: Track, control: Track) -> Removal | None:
    differences = track.curve.excess[-1] - control.curve.excess[-1]
    if np.isnan(differences).any():
        return None
    n, mean = len(differences), float(differences.mean())
    share = track.series.levels[-1].value
    if n < 2:
        return Removal(track.series.name, share, mean, None, None)
    half = float(student.ppf(0.975, n - 1)) * float(differences.std(ddof=1)) / math.sqrt(n)
    return Removal(track.series.name, share, mean, mean - half, mean + half)


Pair = tuple[str, str]
"""Table and contestant."""
Groups = dict[tuple[str, str, str, str], pd.DataFrame]
"""Numbers by table, risk model, series and contestant."""
Overall = Callable[[Mapping[str, MetricVerdict]], MetricVerdict]
NOT_JUDGED = MetricVerdict("unknown", ("tried on no table that is known to leak more than another",))
RETAINED_AT = 0.5
"""Leak at which noise is compared with none."""


@dataclass(frozen=True)
class Judged:
    """A track and its verdict; None where no verdict is possible."""

    track: Track
    verdict: MetricVerdict | None


@dataclass(frozen=True)
class Entry:
    """One metric on one table."""

    data: str
    contestant: str
    """The table; the metric, with the column that it is about, or its number as printed
    (:class:`hybrid.lab.measurements.Contestant`)."""
    false_alarms: Share
    voids: Share
    """Trials without a leak whose interval lies above, and below, what is expected."""
    cpu_seconds: float
    """Median over all trials; NaN for a number as printed."""
    judged: tuple[Judged, ...]
    drift: Drift | None
    """Largest change of its number with the size of the table; None where size was not varied."""
    retention: Mapping[str, float]
    """Excess with a noise, as a share of that without, by noise."""
    removals: tuple[Removal, ...]
    """Change of its excess by removing outliers, beyond a removal by chance."""
    verdicts: Mapping[str, MetricVerdict]
    """By risk model in which a metric noticed anything: the worst over its series."""
    overall: MetricVerdict
    """Over risk models: the worst, or by :func:`hybrid.lab.verdicts.by_kind`."""
    relative: tuple[str, float] | None
    """The metric that errs most like it, and how much alike."""
    null_band: tuple[float, float]
    """Middle 95 % of its excess in trials without a leak."""

    @property
    def is_printed(self) -> bool:
        return is_printed(self.contestant)

    def on(self, *risks: str) -> list[Judged]:
        return [each for each in self.judged if each.track.risk in risks]

    @property
    def met_leaks(self) -> bool:
        """True if some of its tables are known to leak more."""
        return any(each.track.series.scale != "none" for each in self.judged)

    @property
    def mean_power(self) -> float:
        """Share of trials that noticed a leak, over all series with one."""
        powers = [each.track.mean_power for each in self.judged if each.track.series.scale != "none"]
        return float(np.mean(powers)) if powers else 0.0


@dataclass(frozen=True)
class League:
    """Everything that a laboratory found."""

    entries: tuple[Entry, ...]
    """The best first, table by table; numbers as printed behind the metrics. Where a metric is compared with others,
    they do not count: trials without a leak, their yardstick, are nothing that an evaluation has."""
    silent: tuple[Key, ...]
    """Series in which no metric noticed anything."""
    transfers: tuple[OrderAgreement, ...]
    uncompared: tuple[Pair, ...]
    """Metrics without an excess."""

    def by_word(self) -> dict[Word, list[str]]:
        """Metrics but numbers as printed, by their worst verdict over the tables, best first."""
        found: dict[str, Word] = {}
        for entry in (entry for entry in self.entries if not entry.is_printed):
            words = (found.get(entry.contestant, entry.overall.word), entry.overall.word)
            found[entry.contestant] = max(words, key=WORDS.index)
        return {word: names for word in WORDS if (names := [name for name in found if found[name] == word])}

    @property
    def tables(self) -> list[str]:
        return list(dict.fromkeys(entry.data for entry in self.entries))


def league(trials: LabTrials, found: pd.DataFrame, overall: Overall = over_all_kinds) -> League:
    compared = found[found["excess"].notna()]
    groups: Groups = dict(iter(compared.groupby(["data", "risk", "series", "contestant"], sort=False)))
    pairs: list[Pair] = list(dict.fromkeys(zip(compared["data"], compared["contestant"], strict=True)))
    alarms = {pair: _nulls(groups.get((pair[0], NULL, "", pair[1]))) for pair in pairs}
    tracks = {pair: list(_tracks(pair, trials, groups)) for pair in pairs}
    own = {pair: each for pair, each in tracks.items() if not is_printed(pair[1])}
    printed = {pair: each for pair, each in tracks.items() if is_printed(pair[1])}
    first = _first_to_notice(own, {pair: each[0] for pair, each in alarms.items()})
    silent = tuple(key for key, position in first.items() if position is None)
    adjusted, near = _adjusted(own) | _adjusted(printed), relatives(own)
    costs = found.groupby(["data", "contestant"])["cpu_seconds"].median()
    entries = []
    for pair, mine in tracks.items():
        drift = _drift(mine)
        judged = []
        for track in mine:
            at = first.get(track.key)
            evidence = None if at is None else Evidence(track, alarms[pair][0], *adjusted[pair, track.key], drift, at)
            judged.append(Judged(track, None if evidence is None else _verdict(evidence)))
        verdicts = _by_risk(judged)
        entries.append(
            Entry(
                *pair,
                *alarms[pair],
                float(costs[pair]),
                tuple(judged),
                drift,
                _retention(mine),
                removals(mine),
                verdicts,
                overall(verdicts) if any(track.series.scale != "none" for track in mine) else NOT_JUDGED,
                near.get(pair),
                _band(groups.get((pair[0], NULL, "", pair[1]))),
            )
        )
    entries.sort(key=_rank)
    everything = dict.fromkeys(zip(found["data"], found["contestant"], strict=True))
    return League(tuple(entries), silent, transfers(own, silent), tuple(p for p in everything if p not in tracks))


def _verdict(evidence: Evidence) -> MetricVerdict | None:
    """Verdict on a series; on a short one none, but that a metric misses the leak or misleads."""
    verdict = judge(evidence)
    serious = WORDS.index(verdict.word) >= WORDS.index("unknown")
    return verdict if serious or not is_short(evidence.track, evidence.first) else None


def _rank(entry: Entry) -> tuple[str, bool, int, float, float]:
    seconds = 0.0 if entry.is_printed else entry.cpu_seconds
    return entry.data, entry.is_printed, WORDS.index(entry.overall.word), -entry.mean_power, seconds


def _tracks(pair: Pair, trials: LabTrials, groups: Groups) -> list[Track]:
    series: dict[Key, Series] = {(c.data, c.risk, c.series.name): c.series for c in trials.cells if c.data == pair[0]}
    found = ((key, groups.get((*key, pair[1]))) for key in series)
    return [track_of(*key[:2], series[key], pair[1], rows, trials.seeds) for key, rows in found if rows is not None]


def _nulls(rows: pd.DataFrame | None) -> tuple[Share, Share]:
    low, high = (np.empty(0) if rows is None else rows[f"excess_{end}"].to_numpy(float) for end in ("low", "high"))
    return measures.share(measures.noticed(low)), measures.share(np.nan_to_num(high, nan=1.0) < 0)


def _band(rows: pd.DataFrame | None) -> tuple[float, float]:
    if rows is None:
        return 0.0, 0.0
    low, high = np.quantile(rows["excess"].to_numpy(float), [0.025, 0.975])
    return float(low), float(high)


def _first_to_notice(tracks: Mapping[Pair, Sequence[Track]], alarms: Mapping[Pair, Share]) -> dict[Key, int | None]:
    """Position from which a metric without too many false alarms notices a series; None where none does."""
    found: dict[Key, int | None] = {}
    for pair, mine in tracks.items():
        for track in (track for track in mine if track.series.scale != "none"):
            known, position = found.setdefault(track.key, None), track.sensitivity.position
            if position is not None and not is_alarmist(alarms[pair]):
                found[track.key] = position if known is None else min(known, position)
    return found


def _adjusted(tracks: Mapping[Pair, Sequence[Track]]) -> dict[tuple[Pair, Key], tuple[float, float]]:
    by_key: dict[Key, list[tuple[Pair, Track]]] = {}
    for pair, mine in tracks.items():
        for track in mine:
            by_key.setdefault(track.key, []).append((pair, track))
    found: dict[tuple[Pair, Key], tuple[float, float]] = {}
    for key, here in by_key.items():
        rising = measures.holm([track.trend.p for _, track in here])
        falling = measures.holm([track.trend.p_falling for _, track in here])
        found |= {(pair, key): (up, down) for (pair, _), up, down in zip(here, rising, falling, strict=True)}
    return found


def _by_risk(judged: Sequence[Judged]) -> dict[str, MetricVerdict]:
    found: dict[str, list[MetricVerdict]] = {}
    for track, verdict in ((each.track, each.verdict) for each in judged):
        if verdict is not None:
            reasons = verdict.reasons
            if series := track.series.name:
                reasons = tuple(sentence("lab.series", series=series, found=reason) for reason in reasons)
            found.setdefault(track.risk, []).append(replace(verdict, reasons=reasons))
    return {risk: worst(verdicts) for risk, verdicts in found.items()}


def _drift(tracks: Sequence[Track]) -> Drift | None:
    found = [track.drift for track in tracks if track.risk == "size" and track.drift is not None]
    return Drift(max(each.value for each in found), max(each.certain for each in found)) if found else None


def _retention(tracks: Sequence[Track]) -> dict[str, float]:
    """Excess with each noise, as a share of that without, at the leak nearest to one half."""
    noisy = {track.series.name: track for track in tracks if track.risk == "noisy" and not track.gaps}
    plain = noisy.pop(NO_NOISE, None)
    if plain is None:
        return {}
    leaks = np.array([level.value for level in plain.series.levels])
    at = int(np.abs(leaks - RETAINED_AT).argmin())
    whole = plain.curve.means[at]
    return {name: float(track.curve.means[at] / whole) for name, track in noisy.items()} if whole > 0 else {}
