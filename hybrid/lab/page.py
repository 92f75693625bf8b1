"""Page of the laboratory, for readers without statistics, and its findings as sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from hybrid.base.language import ENGLISH, Language, in_language, language_of
from hybrid.base.sentence import sentence, sentences
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.trust import COPIES, Word
from hybrid.lab.advice import MOST_NAMED, believing
from hybrid.lab.league import Entry, Judged, League
from hybrid.lab.measurements import NULL, Agreement, Contestant, agreements, matrix_of, title
from hybrid.lab.measures import Share
from hybrid.lab.plan import GivenTable, LabDesign
from hybrid.lab.risk import KNOWN as RISK_MODELS
from hybrid.lab.trials import LabTrials
from hybrid.lab.verdicts import RULES, Track, dial_value
from hybrid.report.charts.exploration import CostPoint, cost_chart, curve_chart, sparkline
from hybrid.report.charts.figures import heat_map
from hybrid.report.run.metrics import number
from hybrid.report.run.render import environment

TURNED, KEPT = 0.3, 0.7
"""Rank correlations below and above which an order turns over, or holds."""


def answer(found: League) -> list[str]:
    if not found.tables:
        return ["Nothing was measured: no trial ended well, or no metric gave a number to compare."]
    said: list[str] = []
    for table in found.tables:
        entries = [entry for entry in found.entries if entry.data == table and not entry.is_printed]
        about = (_trusted(entries), _sharpest(entries), _misleading(entries))
        said += about if len(found.tables) == 1 else [sentence("lab.on", table=table, found=each) for each in about]
    return [*said, *_turned(found)]


def answer_on_given(found: League, given: GivenTable) -> list[str]:
    if not found.tables:
        return answer(found)
    (about,) = believing(found)
    n = len(about.believe) + len(about.doubt)
    if not about.believe:
        return [sentence("lab.believe.none", n=n)]
    first = about.believe[0].entry
    most, share = title(first.contestant), round(100 * first.mean_power)
    said: list[str] = [sentence("lab.believe", n=len(about.believe), m=n, name=most, share=share)]
    if about.unseen:
        kinds = tuple(RISK_MODELS[kind].title.lower() for kind in about.unseen)
        said.append(sentence("lab.unseen", kinds=kinds))
    else:
        said.append("Every kind of leak that was planted is noticed by some of them.")
    return [*said, _as_it_is(found, given)]


def _as_it_is(found: League, given: GivenTable) -> str:
    if not given.has_control:
        return (
            "There are no control records: half of the training records stood in for them, so the smallest leaks are "
            "those of half the people, and no metric can say anything about the table itself."
        )
    (about,) = believing(found)
    names = [each.entry.contestant for each in about.believe if each.entry.contestant in given.excesses]
    alarmed = tuple(name for name in names if given.excesses[name][1] > 0)
    if not alarmed:
        return sentence("lab.as_it_is.none", n=len(names))
    return sentence("lab.as_it_is", n=len(alarmed), m=len(names), names=_first(alarmed))


def named(contestants: Sequence[str]) -> str:
    return sentence("lab.metrics", names=_first(contestants))


def _first(contestants: Sequence[str]) -> tuple[str, ...]:
    """Titles of some metrics, and the number of the others."""
    more = len(contestants) - MOST_NAMED
    shown = tuple(title(name) for name in contestants[:MOST_NAMED])
    return (*shown, sentence("lab.more", n=more)) if more > 0 else shown


def seconds(value: float) -> str:
    """Processor seconds with two decimals; a dash where they are not known."""
    if 0 <= value < 0.005:
        return sentence("lab.seconds.under")
    return sentence("value", n="–" if math.isnan(value) else f"{value:.2f}")


def _trusted(entries: list[Entry]) -> str:
    names = _judged(entries, "trusted")
    if names:
        return sentence("lab.trusted", names=names)
    usable = _judged(entries, "usable")
    return sentence("lab.usable", names=usable) if usable else sentence("lab.trusted.none")


def _judged(entries: list[Entry], word: Word) -> tuple[str, ...]:
    return tuple(title(entry.contestant) for entry in entries if entry.overall.word == word)


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
    level, name = dial_value(track, position + 1), title(entry.contestant)
    if several == 1:
        return sentence("lab.sharpest", level=level, name=name, cpu=seconds(cpu))
    return sentence("lab.sharpest.several", level=level, n=several, name=name, cpu=seconds(cpu))


def _misleading(entries: list[Entry]) -> str:
    wrong, blind = _judged(entries, "misleading"), _judged(entries, "blind")
    found = sentences(
        sentence("lab.misleading", names=wrong) if wrong else sentence("lab.misleading.none"),
        sentence("lab.blind", names=blind) if blind else "",
        between="further",
    )
    return sentence("lab.said", found=found)


def _turned(found: League) -> list[str]:
    return [
        sentence("lab.turned", one=_where(each.one), other=_where(each.other), r=number(each.correlation))
        for each in found.transfers
        if each.correlation is not None and each.correlation < TURNED
    ]


def _order(correlation: float | None) -> str:
    if correlation is None:
        return "all level: nothing to compare"
    if correlation < TURNED:
        return "turns over"
    return "holds" if correlation > KEPT else "holds in part"


def _kind(risk: str) -> str:
    return WITHOUT_LEAK if risk == NULL else RISK_MODELS[risk].title


def _where(place: tuple[str, str]) -> str:
    return sentence("lab.place", kind=_kind(place[1]), table=place[0])


MOST_SHOWN = 24
"""Metrics in the picture of a correlation matrix; all are in the file."""
WITHOUT_LEAK = "Trials without a leak"
ACCESS = {"no_box": "the table alone", "black_box": "the table and repeated training", "white_box": "the model"}


def render_lab(
    plan: LabDesign,
    trials: LabTrials,
    found: League,
    failures: Mapping[str, int],
    related: pd.DataFrame,
    given: GivenTable | None = None,
    language: Language | None = None,
) -> str:
    """Render the league (``given``: on a table from elsewhere) as one HTML document without script or request."""
    spoken = language_of(None) if language is None else language
    return in_language(spoken, lambda chosen, note: _page(plan, trials, found, failures, related, given, chosen, note))


def _page(
    plan: LabDesign,
    trials: LabTrials,
    found: League,
    failures: Mapping[str, int],
    related: pd.DataFrame,
    given: GivenTable | None,
    language: Language,
    note: str,
) -> str:
    advised = {about.table: about for about in believing(found)}
    tables = [
        _table(table, plan, found, language)
        | {"believing": advised[table], "agreement": _agreement(related, table, found, language)}
        for table in found.tables
    ]
    sentences = answer(found) if given is None else answer_on_given(found, given)
    return (
        _templates(language)
        .get_template("lab.html")
        .render(
            title=plan.name,
            note=note,
            n_trials=len(trials.planned),
            n_tables=trials.n_configurations,
            plan=plan,
            risks=[RISK_MODELS[name] for name in plan.risk_models],
            answer=sentences,
            given=given,
            tables=tables,
            league=found,
            rules=RULES,
            failures=failures,
        )
    )


def _templates(language: Language) -> Environment:
    templates = environment(language.code).overlay()
    assert templates.loader is not None
    templates.loader = ChoiceLoader([PackageLoader("hybrid.lab"), templates.loader])
    filters = {"metric": title, "named": named, "kind": _kind, "where": _where, "order": _order, "alarms": _alarms}
    templates.filters = {**templates.filters, **filters}
    return templates


def _table(table: str, plan: LabDesign, found: League, language: Language) -> dict[str, Any]:
    entries = [entry for entry in found.entries if entry.data == table]
    n = plan.records(table)
    risks = [name for name in plan.risk_models if any(name in entry.verdicts for entry in entries)]
    costs = [
        CostPoint(
            language.own(title(each.contestant)), each.cpu_seconds, each.mean_power, each.overall.word == "trusted"
        )
        for each in entries
        if each.met_leaks and not each.is_printed
    ]
    return {
        "name": table,
        "n": n,
        "risks": [RISK_MODELS[name].title for name in risks],
        "entries": entries,
        "rows": [_row(entry, risks, n, language) for entry in entries],
        "costs": cost_chart(costs, language) if costs else "",
        "curves": [part for name in plan.risk_models for part in _curves(name, entries, language)],
        "noises": list(dict.fromkeys(name for entry in entries for name in entry.retention)),
        "ways": list(dict.fromkeys(each.series for e in entries for each in e.removals)),
    }


def _agreement(related: pd.DataFrame, table: str, found: League, language: Language) -> list[tuple[Agreement, Markup]]:
    here = related[related["data"] == table]
    names = [e.contestant for e in found.entries if e.data == table and not e.is_printed]
    names = [name for name in names if name in set(here["one"]) | set(here["other"])][:MOST_SHOWN]
    return [(each, _correlations(matrix_of(here, each.risk, names), language)) for each in agreements(here)]


def _row(entry: Entry, risks: Sequence[str], n: int | None, language: Language) -> dict[str, Any]:
    metric = REGISTRY[Contestant.parse(entry.contestant).metric]
    copied = next((each.track for each in entry.on(*COPIES)), None)
    return {
        "entry": entry,
        "metric": metric,
        "spark": "" if copied is None else sparkline(copied.curve.means, _levels(copied), language),
        "by_risk": [_noticed(entry.on(risk), n) for risk in risks],
        "tau": None if copied is None or math.isnan(copied.least_tau) else copied.least_tau,
        "calibration": None if copied is None else copied.calibration,
        "coverage": None if copied is None else copied.coverage,
        "cpu": seconds(entry.cpu_seconds),
        "access": ACCESS.get(str(metric.access), ""),
    }


def _chart(track: Track, entry: Entry, language: Language = ENGLISH) -> Markup:
    position, curve = track.sensitivity.position, track.curve
    noticed = None if position is None or track.series.scale == "none" else position + 1
    drawn = curve.excess, curve.means, entry.null_band, _levels(track), track.series.dial, noticed
    return curve_chart(*drawn, language)


def _levels(track: Track) -> list[str]:
    return [dial_value(track, at) for at in range(len(track.series.levels))]


def _noticed(judged: Sequence[Judged], n: int | None) -> dict[str, str]:
    """From where on a leak is noticed; of several series the worst."""
    tracks = [each.track for each in judged if each.verdict is not None]
    if not tracks:
        return {"from": "–", "people": ""}
    position = max(len(t.power) if t.sensitivity.position is None else t.sensitivity.position for t in tracks)
    track = max(tracks, key=lambda t: -1 if t.sensitivity.position is None else t.sensitivity.position)
    if any(t.sensitivity.position is None for t in tracks):
        return {"from": "not noticed", "people": ""}
    shown = dial_value(track, position + 1)
    if track.series.scale == "share":
        share = track.series.levels[position + 1].value
        return {"from": shown, "people": "" if n is None else f"{round(share * n):,} of {n:,} records"}
    return {"from": f"level {position + 1} of {len(track.power)}", "people": f"{track.series.dial}: {shown}"}


def _alarms(found: Share) -> str:
    if not found.trials:
        return "not measured"
    return f"{found.hits} of {found.trials} ({100 * found.low:.0f}–{100 * found.high:.0f} %)"


def _curves(risk: str, entries: Sequence[Entry], language: Language) -> list[dict[str, Any]]:
    names = dict.fromkeys(each.track.series.name for entry in entries for each in entry.on(risk))
    groups = []
    for name in names:
        cards = [
            {
                "title": title(entry.contestant),
                "word": "" if judged.verdict is None else judged.verdict.word,
                "chart": _chart(judged.track, entry, language),
            }
            for entry in entries
            for judged in entry.on(risk)
            if judged.track.series.name == name
        ]
        dial = next(j.track.series.dial for e in entries for j in e.on(risk) if j.track.series.name == name)
        model = RISK_MODELS[risk]
        groups.append({"title": model.title, "sentence": model.sentence, "series": name, "dial": dial, "cards": cards})
    return groups


def _correlations(matrix: pd.DataFrame, language: Language) -> Markup:
    values, names = matrix.to_numpy(), [language.own(title(one)) for one in matrix.index]
    description = "Rank correlations of the metrics, in hundredths"
    return Markup(heat_map(names, values, values, description, signed=True, language=language))
