"""Metrics to believe: for each, kinds of leak and the smallest size it notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hybrid.base.sentence import sentence
from hybrid.lab.league import Entry, Judged, League
from hybrid.lab.risk import KNOWN, PLANTED
from hybrid.lab.verdicts import Track, dial_value, is_alarmist

MOST_NAMED = 3
"""Metrics named for a kind of leak; the others are counted."""


@dataclass(frozen=True)
class Noticed:
    """A kind of leak that a metric notices."""

    risk: str
    size: str
    """Smallest leak that it notices in at least four of five trials, in words; of several series the largest such
    one."""
    value: float
    """That size as the dial shows it."""
    position: int
    """Of that size among the levels with a leak."""
    series: int
    of: int
    """Series of the kind in which it notices a leak, and all there are."""

    @property
    def words(self) -> str:
        kind = KNOWN[self.risk].title.lower()
        if self.series < self.of:
            return sentence("lab.kind_from.ways", kind=kind, size=self.size, n=self.series, of=self.of)
        return sentence("lab.kind_from", kind=kind, size=self.size)


@dataclass(frozen=True)
class MetricAdvice:
    """A metric, to be believed or not."""

    entry: Entry
    noticed: tuple[Noticed, ...]
    missed: tuple[str, ...]
    """Kinds that it does not notice, and another metric does."""
    against: str
    """Why it is not to be believed; empty: it is."""

    @property
    def believed(self) -> bool:
        """True if its alarms and, for what it notices, its silence mean something."""
        return not self.against


@dataclass(frozen=True)
class Best:
    """A kind of leak, and the metrics that notice the smallest leak of it."""

    risk: str
    size: str
    value: float
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Believing:
    """Advice about one table."""

    table: str
    believe: tuple[MetricAdvice, ...]
    doubt: tuple[MetricAdvice, ...]
    """Metrics to believe, those that notice most of the planted leaks first; the others."""
    best: tuple[Best, ...]
    """Per kind of leak that some metric to believe notices."""
    unseen: tuple[str, ...]
    """Kinds of leak that none of them notices."""


def believing(found: League) -> tuple[Believing, ...]:
    return tuple(_about(table, [e for e in found.entries if e.data == table]) for table in found.tables)


def _about(table: str, entries: Sequence[Entry]) -> Believing:
    own = [entry for entry in entries if not entry.is_printed and entry.met_leaks]
    kinds = list(dict.fromkeys(each.track.risk for entry in own for each in _dials(entry)))
    seen = {kind for entry in own if not _against(entry) for kind in kinds if _noticed(kind, entry)}
    advice = [_advice(entry, kinds, seen) for entry in own]
    believe = sorted((each for each in advice if each.believed), key=_rank)
    doubt = tuple(each for each in advice if not each.believed)
    return Believing(
        table, tuple(believe), doubt, tuple(_best(kinds, believe)), tuple(k for k in kinds if k not in seen)
    )


def _advice(entry: Entry, kinds: Sequence[str], seen: set[str]) -> MetricAdvice:
    noticed = [each for kind in kinds if (each := _noticed(kind, entry)) is not None]
    missed = tuple(kind for kind in kinds if kind in seen and kind not in {each.risk for each in noticed})
    against = _against(entry)
    if not against and not noticed:
        against = "notices none of the leaks in four of five trials, up to the largest that was tried"
    return MetricAdvice(entry, tuple(noticed), missed, against)


def _rank(advice: MetricAdvice) -> tuple[float, float]:
    return -advice.entry.mean_power, advice.entry.cpu_seconds


def _against(entry: Entry) -> str:
    """The reason to believe a metric for no leak, whatever it notices."""
    alarms = entry.false_alarms
    if is_alarmist(alarms):
        return sentence("lab.alarmist", n=alarms.hits, trials=alarms.trials)
    falling = [each for each in entry.judged if each.verdict is not None and each.verdict.word == "misleading"]
    if falling:
        return sentence("lab.falls", kind=KNOWN[falling[0].track.risk].title.lower())
    return ""


def _dials(entry: Entry) -> Iterator[Judged]:
    """Series whose levels leak more and more."""
    return (each for each in entry.judged if each.track.series.scale != "none")


def _noticed(kind: str, entry: Entry) -> Noticed | None:
    tracks = [each.track for each in _dials(entry) if each.track.risk == kind]
    told = [(each.sensitivity.position, each) for each in tracks if each.sensitivity.position is not None]
    if not told:
        return None
    position, track = max(told, key=lambda each: each[0])
    value = track.series.levels[position + 1].value
    return Noticed(kind, _size(track, position + 1), value, position, len(told), len(tracks))


def _size(track: Track, position: int) -> str:
    shown, series = dial_value(track, position), track.series
    if series.scale == "share":
        return shown
    if track.risk in PLANTED:
        return f"{shown} % {series.dial.removeprefix('percent ')}"
    return f"{series.dial} = {shown}"


def _best(kinds: Sequence[str], believe: Sequence[MetricAdvice]) -> Iterator[Best]:
    for kind in kinds:
        found = [(each, advice) for advice in believe for each in advice.noticed if each.risk == kind]
        if not found:
            continue
        # A metric that notices every series of a kind is better than one that notices some of them earlier.
        first = min((each.of - each.series, each.position) for each, _ in found)
        here = [(each, advice) for each, advice in found if (each.of - each.series, each.position) == first]
        yield Best(kind, here[0][0].size, here[0][0].value, tuple(advice.entry.contestant for _, advice in here))
