"""Page of the laboratory, for readers without statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from hybrid.evaluation import REGISTRY
from hybrid.evaluation.trust import COPIES
from hybrid.lab import words
from hybrid.lab.advice import Advice, Believing, believing
from hybrid.lab.contestants import Contestant, title
from hybrid.lab.correlations import agreements, matrix_of
from hybrid.lab.design import Design, GivenTable
from hybrid.lab.league import Entry, Judged, League
from hybrid.lab.measurements import NULL
from hybrid.lab.measures import Share
from hybrid.lab.risk import KNOWN as RISK_MODELS
from hybrid.lab.tracks import Track, dial_value
from hybrid.lab.trials import LabTrials
from hybrid.lab.verdicts import RULES
from hybrid.report.charts.exploration import CostPoint, cost_chart, curve_chart, sparkline
from hybrid.report.charts.figures import heat_map
from hybrid.report.run.render import environment

MOST_SHOWN = 24
"""Metrics in the picture of a correlation matrix; all are in the file."""
WITHOUT_LEAK = "Trials without a leak"
ACCESS = {"no_box": "the table alone", "black_box": "the table and repeated training", "white_box": "the model"}


def render_lab(
    plan: Design,
    trials: LabTrials,
    found: League,
    failures: Mapping[str, int],
    related: pd.DataFrame,
    given: GivenTable | None = None,
) -> str:
    """Render the league as one self-contained HTML document.

    Parameters
    ----------
    plan : Design
        What was tried.
    trials : LabTrials
        Its trials.
    found : League
        The judged metrics.
    failures : mapping of str to int
        Reasons of failed trials, with their number.
    related : pandas.DataFrame
        Correlations of the metrics; see :func:`hybrid.lab.correlations.correlations`.
    given : GivenTable, optional
        The table from elsewhere, where leaks were planted into one.

    Returns
    -------
    str
        HTML with inline styles and figures: no script, no request, aggregates alone.
    """
    advised = {about.table: about for about in believing(found)}
    tables = [
        _table(table, plan, found)
        | {"believing": _believing(advised[table], given), "agreement": _agreement(related, table, found)}
        for table in found.tables
    ]
    answer = words.answer(found) if given is None else words.answer_on_given(found, given)
    return (
        _templates()
        .get_template("lab.html")
        .render(
            title=plan.name,
            n_trials=len(trials.planned),
            n_tables=trials.n_configurations,
            plan=plan,
            risks=[RISK_MODELS[name] for name in plan.risk_models],
            answer=answer,
            given=given,
            tables=tables,
            transfers=[words.transfer(each) for each in found.transfers],
            rules=RULES,
            silent=[words.silent(key) for key in found.silent],
            uncompared=[f"{title(name)} ({table})" for table, name in found.uncompared],
            failures=failures,
        )
    )


def _templates() -> Environment:
    templates = environment()
    assert templates.loader is not None
    templates.loader = ChoiceLoader([PackageLoader("hybrid.lab"), templates.loader])
    return templates


def _table(table: str, plan: Design, found: League) -> dict[str, Any]:
    entries = [entry for entry in found.entries if entry.data == table]
    n = plan.records(table)
    risks = [name for name in plan.risk_models if any(name in entry.verdicts for entry in entries)]
    noises = list(dict.fromkeys(name for entry in entries for name in entry.retention))
    costs = [
        CostPoint(title(each.contestant), each.cpu_seconds, each.mean_power, each.overall.word == "trusted")
        for each in entries
        if each.met_leaks and not each.is_printed
    ]
    return {
        "name": table,
        "n": n,
        "risks": [RISK_MODELS[name].title for name in risks],
        "rows": [_row(entry, risks, n) for entry in entries],
        "costs": cost_chart(costs) if costs else "",
        "curves": [part for name in plan.risk_models for part in _curves(name, entries)],
        "noises": noises,
        "retention": [
            {"title": title(e.contestant), "values": [e.retention.get(noise) for noise in noises]}
            for e in entries
            if e.retention
        ],
        "removals": [
            {"title": title(e.contestant), "changes": {each.series: each for each in e.removals}}
            for e in entries
            if e.removals
        ],
        "ways": list(dict.fromkeys(each.series for e in entries for each in e.removals)),
    }


def _believing(about: Believing, given: GivenTable | None) -> dict[str, Any]:
    """Metrics to believe, as rows of text."""
    return {
        "believe": [_advised(each, given) for each in about.believe],
        "doubt": [{"title": title(each.entry.contestant), "because": each.against} for each in about.doubt],
        "best": [
            {"title": RISK_MODELS[each.risk].title, "from": each.size, "first": words.named(each.metrics)}
            for each in about.best
        ],
        "unseen": [RISK_MODELS[kind].title for kind in about.unseen],
        "not_computable": [] if given is None else [(title(n), why) for n, why in given.not_computable.items()],
    }


def _advised(advice: Advice, given: GivenTable | None) -> dict[str, Any]:
    entry = advice.entry
    excess = None if given is None else given.excesses.get(entry.contestant)
    return {
        "title": title(entry.contestant),
        "sentence": REGISTRY[Contestant.parse(entry.contestant).metric].sentence,
        "noticed": [each.words for each in advice.noticed],
        "missed": [RISK_MODELS[kind].title.lower() for kind in advice.missed],
        "power": entry.mean_power,
        "alarms": _alarms(entry.false_alarms),
        "excess": excess,
        "sees": excess is not None and excess[1] > 0,
    }


def _agreement(related: pd.DataFrame, table: str, found: League) -> list[dict[str, Any]]:
    """Agreement of the metrics per kind of leak, with its picture."""
    here = related[related["data"] == table]
    names = [e.contestant for e in found.entries if e.data == table and not e.is_printed]
    names = [name for name in names if name in set(here["one"]) | set(here["other"])][:MOST_SHOWN]
    return [
        {
            "title": WITHOUT_LEAK if each.risk == NULL else RISK_MODELS[each.risk].title,
            "pairs": each.pairs,
            "median": each.median,
            "least": [title(name) for name in each.least[:2]],
            "correlation": each.least[2],
            "chart": _correlations(matrix_of(here, each.risk, names)),
        }
        for each in agreements(here)
    ]


def _row(entry: Entry, risks: Sequence[str], n: int | None) -> dict[str, Any]:
    metric = REGISTRY[Contestant.parse(entry.contestant).metric]
    copied = next((each.track for each in entry.on(*COPIES)), None)
    return {
        "title": title(entry.contestant),
        "printed": entry.is_printed,
        "sentence": metric.sentence,
        "word": entry.overall.word,
        "reasons": entry.overall.reasons,
        "spark": "" if copied is None else sparkline(copied.curve.means, _levels(copied)),
        "by_risk": [_noticed(entry.on(risk), n) for risk in risks],
        "alarms": _alarms(entry.false_alarms),
        "tau": None if copied is None or math.isnan(copied.least_tau) else copied.least_tau,
        "calibration": None if copied is None else copied.calibration,
        "coverage": None if copied is None else copied.coverage,
        "drift": entry.drift and entry.drift.value,
        "cpu": words.seconds(entry.cpu_seconds),
        "pillar": metric.pillar,
        "criterion": metric.risk,
        "access": ACCESS.get(str(metric.access), ""),
        "knows": metric.knows,
        "relative": None if entry.relative is None else (title(entry.relative[0]), entry.relative[1]),
    }


def _chart(track: Track, entry: Entry) -> Markup:
    position, curve = track.sensitivity.position, track.curve
    noticed = None if position is None or track.series.scale == "none" else position + 1
    return curve_chart(curve.excess, curve.means, entry.null_band, _levels(track), track.series.dial, noticed)


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


def _curves(risk: str, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Small multiples of one risk model, one group per series."""
    names = dict.fromkeys(each.track.series.name for entry in entries for each in entry.on(risk))
    groups = []
    for name in names:
        cards = [
            {
                "title": title(entry.contestant),
                "word": "" if judged.verdict is None else judged.verdict.word,
                "chart": _chart(judged.track, entry),
            }
            for entry in entries
            for judged in entry.on(risk)
            if judged.track.series.name == name
        ]
        dial = next(j.track.series.dial for e in entries for j in e.on(risk) if j.track.series.name == name)
        model = RISK_MODELS[risk]
        groups.append({"title": model.title, "sentence": model.sentence, "series": name, "dial": dial, "cards": cards})
    return groups


def _correlations(matrix: pd.DataFrame) -> Markup:
    values = matrix.to_numpy()
    description = "Rank correlations of the metrics, in hundredths"
    return Markup(heat_map([title(one) for one in matrix.index], values, values, description, signed=True))
