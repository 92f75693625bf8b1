"""League of the laboratory: detections and verdict of each metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hybrid.evaluation.trust import WORDS, Word
from hybrid.lab import measures
from hybrid.lab.contestants import is_printed
from hybrid.lab.measurements import NULL
from hybrid.lab.measures import Drift, Share
from hybrid.lab.removal import Removal, removals
from hybrid.lab.risk import Series
from hybrid.lab.risk.noisy import NO_NOISE
from hybrid.lab.tracks import Key, Track, track_of
from hybrid.lab.transfer import Transfer, relatives, transfers
from hybrid.lab.trials import LabTrials
from hybrid.lab.verdicts import Evidence, Verdict, is_alarmist, is_short, judge, over_all_kinds, worst

Pair = tuple[str, str]
"""Table and contestant."""
Groups = dict[tuple[str, str, str, str], pd.DataFrame]
"""Numbers by table, risk model, series and contestant."""
Overall = Callable[[Mapping[str, Verdict]], Verdict]
NOT_JUDGED = Verdict("unknown", ("tried on no table that is known to leak more than another",))
RETAINED_AT = 0.5
"""Leak at which noise is compared with none."""


@dataclass(frozen=True)
class Judged:
    """A track and its verdict; None where no verdict is possible."""

    track: Track
    verdict: Verdict | None


@dataclass(frozen=True)
class Entry:
    """One metric on one table.

    Parameters
    ----------
    data, contestant : str
        The table; the metric, with the column that it is about, or its number as printed
        (:class:`hybrid.lab.contestants.Contestant`).
    false_alarms, voids : Share
        Trials without a leak whose interval lies above, and below, what is expected.
    cpu_seconds : float
        Median over all trials; NaN for a number as printed.
    judged : tuple of Judged
        Its tracks.
    drift : Drift or None
        Largest change of its number with the size of the table; None where size was not varied.
    retention : mapping of str to float
        Excess with a noise, as a share of that without, by noise.
    removals : tuple of Removal
        Change of its excess by removing outliers, beyond a removal by chance.
    verdicts : mapping of str to Verdict
        By risk model in which a metric noticed anything: the worst over its series.
    overall : Verdict
        Over risk models: the worst, or by :func:`hybrid.lab.verdicts.by_kind`.
    relative : tuple of (str, float) or None
        The metric that errs most like it, and how much alike.
    null_band : tuple of float
        Middle 95 % of its excess in trials without a leak.
    """

    data: str
    contestant: str
    false_alarms: Share
    voids: Share
    cpu_seconds: float
    judged: tuple[Judged, ...]
    drift: Drift | None
    retention: Mapping[str, float]
    removals: tuple[Removal, ...]
    verdicts: Mapping[str, Verdict]
    overall: Verdict
    relative: tuple[str, float] | None
    null_band: tuple[float, float]

    @property
    def is_printed(self) -> bool:
        """True for a number as a paper prints it."""
        return is_printed(self.contestant)

    def on(self, *risks: str) -> list[Judged]:
        """Its tracks of some risk models."""
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
    """Everything that a laboratory found.

    Parameters
    ----------
    entries : tuple of Entry
        The best first, table by table; numbers as printed behind the metrics. Where a metric is compared with others,
        they do not count: trials without a leak, their yardstick, are nothing that an evaluation has.
    silent : tuple of Key
        Series in which no metric noticed anything.
    transfers : tuple of Transfer
        Where the order of the metrics holds.
    uncompared : mapping of Pair to str
        Metrics without an excess.
    """

    entries: tuple[Entry, ...]
    silent: tuple[Key, ...]
    transfers: tuple[Transfer, ...]
    uncompared: tuple[Pair, ...]

    def by_word(self) -> dict[Word, list[str]]:
        """Metrics by their worst verdict over the tables, best first.

        Without numbers as printed.
        """
        found: dict[str, Word] = {}
        for entry in (entry for entry in self.entries if not entry.is_printed):
            words = (found.get(entry.contestant, entry.overall.word), entry.overall.word)
            found[entry.contestant] = max(words, key=WORDS.index)
        return {word: names for word in WORDS if (names := [name for name in found if found[name] == word])}

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        return list(dict.fromkeys(entry.data for entry in self.entries))


def league(trials: LabTrials, found: pd.DataFrame, overall: Overall = over_all_kinds) -> League:
    """Judge every metric.

    Parameters
    ----------
    trials : LabTrials
        What was planned.
    found : pandas.DataFrame
        Every number; see :func:`hybrid.lab.measurements.measurements`.
    overall : callable
        Verdict of a metric from its verdicts by risk model.
    """
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


def _verdict(evidence: Evidence) -> Verdict | None:
    """Verdict on a series.

    On a short one none, but that a metric misses the leak or misleads.
    """
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
    """False alarms and voids of the trials without a leak."""
    low, high = (np.empty(0) if rows is None else rows[f"excess_{end}"].to_numpy(float) for end in ("low", "high"))
    return measures.share(measures.noticed(low)), measures.share(np.nan_to_num(high, nan=1.0) < 0)


def _band(rows: pd.DataFrame | None) -> tuple[float, float]:
    if rows is None:
        return 0.0, 0.0
    low, high = np.quantile(rows["excess"].to_numpy(float), [0.025, 0.975])
    return float(low), float(high)


def _first_to_notice(tracks: Mapping[Pair, Sequence[Track]], alarms: Mapping[Pair, Share]) -> dict[Key, int | None]:
    """Position from which any metric notices a series; None where none does.

    Metrics with too many false alarms do not count.
    """
    found: dict[Key, int | None] = {}
    for pair, mine in tracks.items():
        for track in (track for track in mine if track.series.scale != "none"):
            known, position = found.setdefault(track.key, None), track.sensitivity.position
            if position is not None and not is_alarmist(alarms[pair]):
                found[track.key] = position if known is None else min(known, position)
    return found


def _adjusted(tracks: Mapping[Pair, Sequence[Track]]) -> dict[tuple[Pair, Key], tuple[float, float]]:
    """P-values for rising and falling, adjusted over the metrics."""
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


def _by_risk(judged: Sequence[Judged]) -> dict[str, Verdict]:
    """The worst verdict of each risk model, with its series."""
    found: dict[str, list[Verdict]] = {}
    for track, verdict in ((each.track, each.verdict) for each in judged):
        if verdict is not None:
            named = tuple(
                f"{track.series.name}: {reason}" if track.series.name else reason for reason in verdict.reasons
            )
            found.setdefault(track.risk, []).append(replace(verdict, reasons=named))
    return {risk: worst(verdicts) for risk, verdicts in found.items()}


def _drift(tracks: Sequence[Track]) -> Drift | None:
    """Largest and largest certain change with the size of the table."""
    found = [track.drift for track in tracks if track.risk == "size" and track.drift is not None]
    return Drift(max(each.value for each in found), max(each.certain for each in found)) if found else None


def _retention(tracks: Sequence[Track]) -> dict[str, float]:
    """Excess with each noise, as a share of that without.

    At the leak nearest to one half.
    """
    noisy = {track.series.name: track for track in tracks if track.risk == "noisy" and not track.gaps}
    plain = noisy.pop(NO_NOISE, None)
    if plain is None:
        return {}
    leaks = np.array([level.value for level in plain.series.levels])
    at = int(np.abs(leaks - RETAINED_AT).argmin())
    whole = plain.curve.means[at]
    return {name: float(track.curve.means[at] / whole) for name, track in noisy.items()} if whole > 0 else {}
