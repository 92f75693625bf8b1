"""Findings of the laboratory as sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hybrid.evaluation.trust import COPIES
from hybrid.lab.advice import MOST_NAMED, believing
from hybrid.lab.contestants import title
from hybrid.lab.design import GivenTable
from hybrid.lab.league import Entry, League
from hybrid.lab.risk import KNOWN as RISK_MODELS
from hybrid.lab.tracks import Key, dial_value
from hybrid.lab.transfer import Transfer
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


def answer_on_given(found: League, given: GivenTable) -> list[str]:
    """The metrics to believe on a table from elsewhere, in a few sentences."""
    if not found.tables:
        return answer(found)
    (about,) = believing(found)
    n = len(about.believe) + len(about.doubt)
    if not about.believe:
        return [f"None of {n} metrics notices any of the leaks that were planted: believe none of them on this table."]
    first = about.believe[0]
    sentences = [
        f"{len(about.believe)} of {n} metrics are to be believed on this table, each for some kinds of leak. "
        f"{title(first.entry.contestant)} notices most: {100 * first.entry.mean_power:.0f} % of the leaks that were "
        "planted."
    ]
    if about.unseen:
        kinds = _listed([RISK_MODELS[kind].title.lower() for kind in about.unseen])
        sentences.append(
            f"No metric notices {kinds}, up to the largest leak that was planted: their silence says nothing of these."
        )
    else:
        sentences.append("Every kind of leak that was planted is noticed by some of them.")
    return [*sentences, _as_it_is(found, given)]


def _as_it_is(found: League, given: GivenTable) -> str:
    """The findings of those metrics on the table itself."""
    if not given.has_control:
        return (
            "There are no control records: half of the training records stood in for them, so the smallest leaks are "
            "those of half the people, and no metric can say anything about the table itself."
        )
    (about,) = believing(found)
    names = [each.entry.contestant for each in about.believe if each.entry.contestant in given.excesses]
    alarmed = tuple(name for name in names if given.excesses[name][1] > 0)
    if not alarmed:
        return f"On the table as it is, none of these {len(names)} metrics sees a leak."
    return (
        f"On the table as it is, {len(alarmed)} of these {len(names)} metrics see a leak: {named(alarmed)}. By chance "
        "alone about one metric in forty would."
    )


def named(contestants: Sequence[str]) -> str:
    """The first metrics, and how many more there are."""
    shown = [title(name) for name in contestants[:MOST_NAMED]]
    more = len(contestants) - len(shown)
    return _listed([*shown, f"{more} more"] if more else shown)


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
        for judged in entry.on(*COPIES)
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
