"""Findings of the laboratory as sentences."""

from __future__ import annotations

import math
from typing import Any

from hybrid.lab.contestants import Contestant
from hybrid.lab.league import Entry, League
from hybrid.lab.risk import REGISTRY as RISK_MODELS
from hybrid.lab.tracks import Key, Track
from hybrid.lab.transfer import Transfer
from hybrid.report.run.inputs import title_of
from hybrid.report.run.metrics import number

TURNED, KEPT = 0.3, 0.7
"""Rank correlations below and above which an order turns over, or holds."""


def answer(found: League) -> list[str]:
    """The findings of every table in a few sentences."""
    nothing = "Nothing was measured: no trial ended well, or no metric gave a number to compare."
    sentences = [] if found.tables else [nothing]
    for table in found.tables:
        entries = [entry for entry in found.entries if entry.data == table and not entry.is_printed]
        about = f"On {table}: " if len(found.tables) > 1 else ""
        sentences += [about + each for each in (_trusted(entries), _sharpest(entries), _misleading(entries))]
    return sentences + _turned(found)


def transfer(each: Transfer) -> dict[str, Any]:
    """A comparison of two risk models for the page."""
    return {
        "one": _where(each.one),
        "other": _where(each.other),
        "correlation": each.correlation,
        "word": _order(each.correlation),
        "metrics": each.metrics,
        "moved": [f"{title(m.contestant)} {m.one:g} → {m.other:g}" for m in each.moved if m.one != m.other],
    }


def seconds(value: float) -> str:
    """Processor seconds with two decimals; a dash where they are not known."""
    if math.isnan(value):
        return "–"
    return "under 0.01" if value < 0.005 else f"{value:.2f}"


def title(contestant: str) -> str:
    """Heading of a metric, its column, or its number as printed."""
    metric, column, form = Contestant.parse(contestant)
    about = title_of(metric) + (f", {column}" if column else "")
    return f"{about} (printed: {form})" if form else about


def silent(key: Key) -> str:
    """A series in which no metric noticed anything."""
    table, risk, series = key
    return f"{RISK_MODELS[risk].title}{f', {series}' if series else ''} ({table})"


def _trusted(entries: list[Entry]) -> str:
    names = [title(entry.contestant) for entry in entries if entry.overall.word == "trusted"]
    if names:
        return f"Trusted by the rules below, for every kind of leak that was tried: {_listed(names)}."
    usable = [title(entry.contestant) for entry in entries if entry.overall.word == "usable"]
    if usable:
        return f"No metric is trusted for every kind of leak that was tried; usable with limits: {_listed(usable)}."
    return "No metric is trusted or usable for every kind of leak that was tried."


def _sharpest(entries: list[Entry]) -> str:
    tracks = [
        (judged.track.sensitivity.position, entry.cpu_seconds, entry, judged.track)
        for entry in entries
        for judged in entry.on("leaky")
        if judged.track.sensitivity.position is not None and entry.overall.word != "misleading"
    ]
    if not tracks:
        return "Copied records were noticed by no metric, or not tried."
    position, cpu, entry, track = min(tracks, key=lambda each: each[:2])
    several = sum(each[0] == position for each in tracks)
    by = "which only" if several == 1 else f"which {several} metrics notice; the cheapest of them is"
    return (
        f"The smallest share of copied records noticed in at least four of five trials is "
        f"{dial_value(track, position + 1)}, {by} {title(entry.contestant)}{' does' if several == 1 else ''} "
        f"({seconds(cpu)} processor seconds)."
    )


def _misleading(entries: list[Entry]) -> str:
    wrong = [title(entry.contestant) for entry in entries if entry.overall.word == "misleading"]
    blind = [title(entry.contestant) for entry in entries if entry.overall.word == "blind"]
    said = [f"misleading: {_listed(wrong)}"] if wrong else ["no metric cries wolf beyond doubt"]
    if blind:
        said.append(f"blind to at least one kind of leak: {_listed(blind)}")
    text = "; ".join(said) + "."
    return text[0].upper() + text[1:]


def _turned(found: League) -> list[str]:
    return [
        f"The order of the metrics turns over between {_where(each.one)} and {_where(each.other)} (rank correlation "
        f"{number(each.correlation)}): a metric that notices one kind of leak early may notice the other late."
        for each in found.transfers
        if each.correlation is not None and each.correlation < TURNED
    ]


def _order(correlation: float | None) -> str:
    if correlation is None:
        return "all level: nothing to compare"
    if correlation < TURNED:
        return "turns over"
    return "holds" if correlation > KEPT else "holds in part"


def _where(place: tuple[str, str]) -> str:
    title = RISK_MODELS[place[1]].title
    return f"“{title[0].lower()}{title[1:]}” ({place[0]})"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{'; '.join(names[:-1])}; and {names[-1]}"


def dial_value(track: Track, position: int) -> str:
    """Value of a level as it is written on an axis."""
    value = track.series.levels[position].value
    if track.series.scale == "share":
        return f"{100 * value:g} %"
    if position == 0 and track.series.scale == "order":
        return "none"
    return f"{value:g}"
