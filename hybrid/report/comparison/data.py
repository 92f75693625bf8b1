"""Results of a comparison as JSON types.

For ``comparison.json`` and the page's script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from hybrid.analysis import Answers, Results
from hybrid.analysis.contrasts import CONFIDENCE, Estimate
from hybrid.analysis.differences import PairedDifference, ParadoxVerdict, headlines, paradox_verdict, relative_change
from hybrid.analysis.effects import MetricEffects
from hybrid.analysis.ranking import BestByMetric
from hybrid.analysis.recommend import CandidateConfiguration, Recommendation
from hybrid.analysis.results import STRONGEST, ResultColumn
from hybrid.report.run.inputs import MetricText, title_of
from hybrid.report.run.metrics import BETTER

INTERVALS = ("value", "low", "high", "wide_low", "wide_high")
DIGITS, DIGITS_OF_ENDS, DIGITS_OF_WIDE_ENDS = 5, 2, 3
"""Significant digits of a number, of the ends of the interval of a run, and of those corrected for many comparisons."""
STRONGEST_TEXT = MetricText(
    "Strongest attack",
    "Leakage of the attack that gets most, of copies, singling out, linkability, inference and distances: 0 is what "
    "people outside the data score, or less, 1 what an exact copy scores. The largest of several noisy numbers is "
    "somewhat above 0 even where nothing leaks.",
    "value without any leak",
    "privacy",
    "lower",
)


def comparison_json(title: str, answers: Answers, texts: Mapping[str, MetricText]) -> dict[str, Any]:
    """All answers as JSON types; the runs are in ``comparison.csv``.

    Estimates are objects with ``value``, ``low`` and ``high`` (95 % over the seeds), ``wide_low`` and ``wide_high``
    (together with all of their family) and ``seeds``; differences also with ``least`` and ``most`` (one-sided 95 %).
    What is not known is left out. ``overlap`` is the correlation of two seeds that all intervals reckon with.
    """
    results = answers.results
    return {
        "name": title,
        "confidence": CONFIDENCE,
        "seeds": len(results.seeds),
        "overlap": rounded(results.overlap),
        "margins": results.concerns,
        "factors": list(results.factors),
        "configurations": _configurations(results),
        "metrics": [_metric(column, texts) for column in results.columns.values()],
        "headlines": [column.name for column in headlines(results)],
        "effects": [_effects(each, interactions=True) for each in answers.effects],
        "facets": [_effects(each, interactions=False) for each in answers.facets],
        "stages": [
            {
                "column": each.column.name,
                "means": {stage: _estimate(mean) for stage, mean in each.means.items()},
                "steps": {name: _estimate(step) for name, step in each.steps.items()},
            }
            for each in answers.stages
        ],
        "paradox": {
            "differences": [_difference(each) for each in answers.paradox.differences],
            "by": [
                {"facet": facet, "level": level, "differences": [_difference(each) for each in rows]}
                for (facet, level), rows in answers.paradox.by.items()
            ],
            "alone": [_difference(each) for each in answers.paradox.alone],
            "verdict": _verdict(paradox_verdict(answers.paradox.differences, results.margin)),
        },
        "against_baseline": [
            _difference(each) | {"relative": relative(each, results.margin)} for each in answers.against_baseline
        ],
        "concerns": {each.concern: each.column.name for each in (answers.contest.criteria if answers.contest else ())},
        "ranking": [
            {
                "configuration": each.configuration,
                "verdict": each.verdict,
                **{concern: _estimate(value) for concern, value in each.values.items()},
                "behind": each.behind,
                "better": each.better,
                "worse": each.worse,
            }
            for each in answers.ranking
        ],
        "per_metric": [
            {
                "column": each.column.name,
                "configuration": each.configuration,
                "value": _estimate(each.value),
                "again": None if each.again is None else rounded(each.again),
                "wins": each.wins,
                "near": each.near,
                "gain": None if each.gain is None else _estimate(each.gain),
                "relative": best_relative(each, results.margin),
            }
            for each in answers.per_metric
        ],
        "recommendation": _recommendation(answers.recommendation),
    }


def runs_json(results: Results) -> dict[str, Any]:
    """The runs by column, for the script; frequent values are numbered.

    A column is a list of values, or ``{"values": [...], "codes": [...]}`` where that is shorter.
    """
    table = results.table
    texts = ["configuration", *results.factors, "seed", "status", "verdict", "promise", "reason"]
    shown = {name: table[name].map(_text).tolist() for name in texts if name in table.columns}
    numbers = [name for column in results.columns.values() for name in _with_interval(column, table)]
    for name in numbers:
        digits = DIGITS if name in results.columns else DIGITS_OF_ENDS
        shown[name] = [rounded(value, digits) for value in table[name].to_numpy(float, na_value=np.nan)]
    return {name: _coded(values) for name, values in shown.items()}


def rounded(value: float, digits: int = DIGITS) -> float | None:
    """A number with a few significant digits, or None."""
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def text_of(column: ResultColumn, texts: Mapping[str, MetricText]) -> MetricText:
    """Explanation of a column's metric."""
    unknown = MetricText(title_of(column.metric), "", family=column.family)
    return texts.get(column.metric, STRONGEST_TEXT if column.metric == STRONGEST else unknown)


def name_of(column: ResultColumn, texts: Mapping[str, MetricText]) -> str:
    """Title of a column: that of its metric, and the column it is about."""
    return text_of(column, texts).title + (f", {column.about}" if column.about else "")


def _with_interval(column: ResultColumn, table: pd.DataFrame) -> list[str]:
    ends = [f"{column.name}_{end}" for end in ("low", "high")] if column.stage == "synthetic" else []
    return [name for name in (column.name, *ends) if name in table.columns]


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _coded(values: Sequence[Any]) -> Any:
    distinct = list(dict.fromkeys(values))
    if 3 * len(distinct) > len(values):
        return values
    codes = {value: at for at, value in enumerate(distinct)}
    return {"values": distinct, "codes": [codes[value] for value in values]}


def _configurations(results: Results) -> list[dict[str, Any]]:
    runs = results.table.groupby("configuration", sort=False)["status"]
    ended = runs.agg(lambda status: int((status == "ok").sum())).to_dict()
    return [
        {
            "name": str(name),
            "factors": {str(factor): level for factor, level in row.items()},
            "facets": {key: value for key, value in results.facets.get(str(name), {}).items() if key != "rest"},
            "ended": ended[name],
        }
        for name, row in results.configurations.iterrows()
    ]


def _metric(column: ResultColumn, texts: Mapping[str, MetricText]) -> dict[str, Any]:
    text = text_of(column, texts)
    return {
        "column": column.name,
        "stage": column.stage,
        "name": column.metric,
        "about": column.about,
        "title": name_of(column, texts),
        "family": column.family,
        "direction": column.direction,
        "range": column.range,
        "better": BETTER[column.family, column.direction],
        "sentence": text.sentence,
    }


def _estimate(estimate: Estimate, also: Sequence[str] = ()) -> dict[str, Any]:
    numbers = {name: getattr(estimate, name) for name in (*INTERVALS, *also)}
    digits = dict.fromkeys(("wide_low", "wide_high"), DIGITS_OF_WIDE_ENDS)
    return {name: rounded(value, digits.get(name, DIGITS)) for name, value in numbers.items() if value is not None}


def _verdict(verdict: ParadoxVerdict) -> dict[str, Any]:
    lists = ("losses", "gains", "unsure_losses", "unsure_gains")
    names = {name: [each.column.name for each in getattr(verdict, name)] for name in lists}
    return {"answer": verdict.answer, "margin": verdict.margin, **names}


def _difference(difference: PairedDifference) -> dict[str, Any]:
    return {
        "column": difference.column.name,
        "one": rounded(difference.one),
        "other": rounded(difference.other),
        "difference": _estimate(difference.estimate, ("least", "most")),
        "pairs": difference.pairs,
        "judgement": difference.judgement,
    }


def _effects(effects: MetricEffects, interactions: bool) -> dict[str, Any]:
    main = {
        factor: [
            {
                "level": level.level,
                "runs": level.runs,
                "mean": level.mean and _estimate(level.mean),
                "effect": level.effect and _estimate(level.effect),
            }
            for level in levels
        ]
        for factor, levels in effects.main.items()
        if factor != "rest"
    }
    found = {
        "column": effects.column,
        "configurations": effects.configurations,
        "seeds": effects.seeds,
        "main": main,
    }
    if not interactions:
        return found
    pairs = [
        {"factors": pair, "cells": [{"levels": cell.levels, **_estimate(cell.effect)} for cell in cells]}
        for pair, cells in effects.interactions.items()
    ]
    return found | {"interactions": pairs}


def relative(difference: PairedDifference, least: float) -> float | None:
    """Equation 5.3 of pipelines against their generators alone; None where these score less than ``least``."""
    return _rounded(relative_change(difference.one, difference.other, difference.column.sign, least))


def best_relative(best: BestByMetric, least: float) -> float | None:
    """Equation 5.3 of the best configuration by a metric."""
    if best.gain is None:
        return None
    return _rounded(relative_change(best.value.value, best.value.value - best.gain.value, best.column.sign, least))


def _rounded(value: float | None) -> float | None:
    return None if value is None else rounded(value)


def _recommendation(found: Recommendation | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "chosen": found.chosen and _candidate(found.chosen),
        "verdict": found.verdict,
        "ended": found.ended,
        "admitted": found.admitted,
        "best": {concern: _candidate(each) for concern, each in found.best.items()},
        "kept": found.kept,
        "refused": found.refused and _candidate(found.refused),
        "on_front": found.on_front,
        "settled": found.is_settled,
        "lags": [
            {
                "concern": lag.concern,
                "most": rounded(lag.most),
                "margin": lag.margin,
                "others": lag.others,
                "settled": lag.is_settled,
            }
            for lag in found.lags
        ],
        "differing_pairs": found.differing,
        "better": found.better,
        "worse": found.worse,
        "levels": [
            {
                "concern": each.concern,
                "factor": each.factor,
                "level": each.level,
                "effect": _estimate(each.effect),
                "better": each.is_better,
            }
            for each in found.levels
        ],
        "needed": found.needed and (asdict(found.needed) | {"rows": rounded(found.needed.rows)}),
        "again": {concern: rounded(value) for concern, value in found.again.items()},
    }


def _candidate(candidate: CandidateConfiguration) -> dict[str, Any]:
    values = {str(concern): _estimate(value) for concern, value in candidate.values.items()}
    return {"configuration": candidate.configuration, **values}
