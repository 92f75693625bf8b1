"""Interactive page of a comparison: privacy and utility of every strategy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from markupsafe import Markup

from hybrid.analysis import Answers, Results
from hybrid.analysis.contrasts import CONFIDENCE, half_interval
from hybrid.analysis.differences import PairedDifference, headlines
from hybrid.analysis.ranking import RankedConfiguration
from hybrid.analysis.results import STRONGEST, ResultColumn
from hybrid.base.language import ENGLISH, Language, in_language
from hybrid.base.sentence import sentence, sentences
from hybrid.report.comparison import words
from hybrid.report.comparison.data import (
    STRONGEST_TEXT,
    best_relative,
    comparison_json,
    name_of,
    relative,
    runs_json,
    text_of,
)
from hybrid.report.run.inputs import MetricText
from hybrid.report.run.metrics import BETTER, number
from hybrid.report.run.render import environment

SCRIPTS = ("data.js", "draw.js", "front.js", "effects.js", "figures.js", "table.js")
FIGURES = (
    ("5.3", "generator", "effect of the generator"),
    ("5.4", "transition", "effect of the transition strategy"),
    ("5.5", "k", "effect of k"),
    ("5.6", "beta", "effect of sampling: the share beta"),
    ("5.6", "sampling", "effect of sampling: the method"),
    ("", "order", "effect of the order: transition before or after the generator"),
)
"""Figures of chapter 5 and the facet each shows. The thesis has no figure of the order: it is in the text."""
SCATTER = ("5.7", "singling out against ML efficacy by generator")
EFFICACY = ("discriminator", "tstr")
"""What the thesis calls ML efficacy is a classifier that tells real from synthetic rows; where that was not measured,
models trained on the rows."""
MOST_RANKED = 10


def render_comparison(
    title: str,
    answers: Answers,
    texts: Mapping[str, MetricText],
    left_out: Sequence[str] = (),
    notes: Sequence[str] = (),
    language: Language = ENGLISH,
) -> str:
    """A comparison as one self-contained HTML document.

    Parameters
    ----------
    left_out : sequence of str
        The reason of every combination that the plan left out.
    notes : sequence of str
        What a reader must know beside the promises: what all private tables spend, what is for research only.

    Returns
    -------
    str
        HTML with inline styles, data and script. Its content security policy allows that one script and no request.
    """

    def draw(chosen: Language, note: str) -> str:
        return _drawn(title, answers, _said(texts, chosen), left_out, notes, chosen, note)

    return in_language(language, draw)


def _said(texts: Mapping[str, MetricText], language: Language) -> dict[str, MetricText]:
    """Explanations in a language."""
    say = language.say
    known = {STRONGEST: STRONGEST_TEXT, **texts}
    return {name: replace(one, title=say(one.title), sentence=say(one.sentence)) for name, one in known.items()}


def _drawn(
    title: str,
    answers: Answers,
    texts: Mapping[str, MetricText],
    left_out: Sequence[str],
    notes: Sequence[str],
    language: Language,
    note: str,
) -> str:
    results = answers.results
    found = comparison_json(title, answers, texts)
    recommended = found["recommendation"] and found["recommendation"]["chosen"]
    script = _script()
    data = found | {
        "metrics": [one | {"better": language.say(one["better"])} for one in found["metrics"]],
        "runs": runs_json(results),
        "halves": _halves(len(results.seeds), results.overlap),
        "recommended": recommended and recommended["configuration"],
        "words": {text: _PLACE_KIND.sub("}", language.template(text)) for text in _SAID.findall(script)},
        "decimal": language.decimal,
        "thousands": language.thousands,
    }
    return (
        environment(language.code)
        .get_template("comparison.html")
        .render(
            title=title,
            note=note,
            script=Markup(script),
            script_hash=Markup(_hash(script)),
            data=_embedded(data),
            n_configurations=len(results.configurations),
            n_seeds=len(results.seeds),
            n_runs=len(results.table),
            n_failed=len(results.table) - len(results.ok),
            n_ended=len(results.ok) if results.columns else 0,
            seeds_note=words.seeds_note(results),
            advice=words.advice(answers, texts),
            has_file=recommended is not None,
            promises=_promises(results),
            notes=notes,
            paradox_words=words.paradox(answers.paradox.differences, results.margin, texts),
            paradox={
                "differences": _differences(answers.paradox.differences, texts),
                "by": [
                    {"facet": facet, "level": level, "differences": _differences(rows, texts)}
                    for (facet, level), rows in answers.paradox.by.items()
                ],
                "alone": _differences(answers.paradox.alone, texts),
            },
            has_effects=any(each.main for each in answers.effects),
            figures=_figures(answers, texts),
            beside=_beside(answers, texts),
            least=number(results.margin),
            ranking=_ranking(answers, texts),
            concerns=words.concern_titles(answers, texts),
            n_level=_level_with_first(answers),
            per_metric=_per_metric(answers, texts),
            failures=_failures(results),
            left_out=list(pd.Series(left_out, dtype=object).value_counts().items()),
            texts=_explained(results, texts),
        )
    )


_SAID = re.compile(r'\bsay\("([^"]+)"')
"""A message in the script."""
_PLACE_KIND = re.compile(r":\w+\}")


def _script() -> str:
    loader = environment().loader
    assert loader is not None
    parts = (loader.get_source(environment(), f"comparison/{name}")[0] for name in SCRIPTS)
    return '"use strict";\n{\n' + "\n".join(parts) + "}\n"


def _hash(script: str) -> str:
    """The script's source expression for the content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _embedded(data: Mapping[str, Any]) -> Markup:
    """JSON without ``<``, so no text can end the script."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))


def _halves(seeds: int, overlap: float) -> dict[int, float]:
    """Half intervals of means of 2 to ``seeds`` seeds, in standard deviations."""
    return {n: half_interval(n, CONFIDENCE, overlap) for n in range(2, seeds + 1)}


def _better(column: ResultColumn) -> str:
    return BETTER[column.family, column.direction]


def _differences(rows: Sequence[PairedDifference], texts: Mapping[str, MetricText]) -> list[dict[str, Any]]:
    return [
        {
            "title": name_of(row.column, texts),
            "better": _better(row.column),
            "one": row.one,
            "other": row.other,
            "difference": words.with_interval(row.estimate, signed=True),
            "judgement": row.judgement,
            "pairs": row.pairs,
        }
        for row in rows
    ]


def _figures(answers: Answers, texts: Mapping[str, MetricText]) -> list[dict[str, Any]]:
    # The charts of each figure of the thesis, or why there is none.
    stages = [_place(each.column, texts) for each in answers.stages if each.means]
    figures: list[dict[str, Any]] = [
        {"number": "5.2", "title": "the stages side by side", "places": stages, "missing": "Nothing was measured."}
    ]
    shown = {column.name: column for column in headlines(answers.results)}
    for at, facet, title in FIGURES:
        places = [
            _place(shown[each.column], texts) | {"facet": facet}
            for each in answers.facets
            if each.column in shown and facet in each.main
        ]
        places.sort(key=lambda place: list(shown).index(place["column"]))
        missing = sentence("compared.not_varied", facet=facet)
        figures.append({"number": at, "title": title, "places": places, "missing": missing})
    return [*figures, _scatter(answers, texts)]


def _scatter(answers: Answers, texts: Mapping[str, MetricText]) -> dict[str, Any]:
    measured = [c for c in answers.results.columns.values() if c.stage == "synthetic"]
    risk = next((c for c in measured if c.metric == "singling_out"), None)
    useful = next((c for name in EFFICACY for c in measured if c.metric == name), None)
    at, title = SCATTER
    figure: dict[str, Any] = {"number": at, "title": title, "places": [], "missing": ""}
    if risk is None or useful is None:
        return figure | {"missing": "It takes singling out, and the discriminator or TSTR."}
    place = _place(risk, texts) | {
        "across": useful.name,
        "title": sentence("compared.against", up=name_of(risk, texts), across=name_of(useful, texts)),
    }
    return figure | {"places": [place]}


def _place(column: ResultColumn, texts: Mapping[str, MetricText]) -> dict[str, Any]:
    said = {"title": name_of(column, texts), "better": _better(column)}
    return {"column": column.name, **said, "facet": "", "across": ""}


def _beside(answers: Answers, texts: Mapping[str, MetricText]) -> list[dict[str, Any]]:
    rows = _differences(answers.against_baseline, texts)
    relatives = [relative(each, answers.results.margin) for each in answers.against_baseline]
    return [row | {"relative": _per_cent(change)} for row, change in zip(rows, relatives, strict=True)]


def _per_cent(change: float | None) -> str:
    return "–" if change is None else f"{change:+.1f} %".replace("-", "−")


def _ranking(answers: Answers, texts: Mapping[str, MetricText]) -> list[dict[str, Any]]:
    titles = words.concern_titles(answers, texts)
    behind: dict[str, str] = {"verdict": "the gate", "shown": "what is shown"} | {
        str(concern): concern for concern in titles
    }
    return [
        {
            "name": each.configuration,
            "verdict": each.verdict or "–",
            "values": [number(each.values[concern].value) for concern in titles],
            "behind": behind.get(each.behind, ""),
            "shown": _shown(each) or ("no difference" if at else ""),
        }
        for at, each in enumerate(answers.ranking[:MOST_RANKED])
    ]


def _shown(ranked: RankedConfiguration) -> str:
    sides = {"compared.shown.worse": ranked.worse, "compared.shown.better": ranked.better}
    return sentences(*(sentence(name, by=tuple(by)) for name, by in sides.items() if by), between="further")


def _level_with_first(answers: Answers) -> str:
    """Number of ranked configurations not distinguishable from the first."""
    ranked = answers.ranking
    if len(ranked) < 2 or len(answers.results.seeds) < 2:
        return sentence("compared.ranked", n=len(ranked))
    level = sum(not each.better and not each.worse for each in ranked[1:])
    return sentence("compared.ranked.level", n=len(ranked), level=level)


def _per_metric(answers: Answers, texts: Mapping[str, MetricText]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    shown = {column.name for column in headlines(answers.results)}
    rows = [
        {
            "shown": each.column.name in shown,
            "title": name_of(each.column, texts),
            "better": _better(each.column),
            "name": each.configuration,
            "value": words.with_interval(each.value, wide=True),
            "again": "–" if each.again is None else number(each.again),
            "gain": "–" if each.gain is None else words.with_interval(each.gain, signed=True, wide=True),
            "relative": _per_cent(best_relative(each, answers.results.margin)),
            "wins": each.wins,
            "seeds": each.value.seeds,
            "near": each.near,
        }
        for each in answers.per_metric
    ]
    return [row for row in rows if row["shown"]], [row for row in rows if not row["shown"]]


def _promises(results: Results) -> list[tuple[str, list[str]]]:
    if "promise" not in results.ok.columns:
        return []
    first = results.ok.drop_duplicates("configuration")
    found = first["configuration"].map(words.quoted).groupby(first["promise"], sort=False).agg(list)
    return [(str(promise), list(names)) for promise, names in found.items()]


def _failures(results: Results) -> list[dict[str, Any]]:
    failed = results.table[results.table["status"] != "ok"]
    rows = []
    for reason, runs in failed.groupby("reason", sort=False, dropna=False):
        seeds = runs.groupby("configuration", sort=False)["seed"].agg(lambda column: ", ".join(map(str, column)))
        which = "; ".join(f"{words.quoted(str(name))}: {text}" for name, text in seeds.items())
        rows.append({"reason": reason, "runs": len(runs), "which": which})
    return rows


def _explained(results: Results, texts: Mapping[str, MetricText]) -> list[dict[str, str]]:
    distinct = {column.metric: column for column in results.columns.values()}
    return [
        {"title": text_of(c, texts).title, "sentence": text_of(c, texts).sentence, "better": _better(c)}
        for c in distinct.values()
    ]
