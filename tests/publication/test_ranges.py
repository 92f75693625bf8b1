"""Every printed number of a metric lies in the range that the metric declares, whatever was computed."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from hybrid.analysis.contrasts import estimates
from hybrid.analysis.results import STRONGEST
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.display import displayed, displayed_evaluation, excess_range, range_of, spans
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.publication.criteria import criterion_of
from hybrid.publication.difference import value_words
from hybrid.publication.facts import metrics_of
from hybrid.publication.lamps import lamps
from hybrid.publication.rules.comparisons import COMPARISONS, Compared, measure_text
from hybrid.publication.rules.metric import MetricRule
from hybrid.publication.rules.rule import limited
from hybrid.publication.verdict import Verdict
from hybrid.report.run.metrics import metric_groups

NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "").replace("−", "-")) for found in NUMBER.findall(text)]


def inside(found: list[float], limits: tuple[float | None, float | None], scale: float = 1.0) -> bool:
    low, high = (None if end is None else scale * end for end in limits)
    return all((low is None or one >= low - 1e-9) and (high is None or one <= high + 1e-9) for one in found)


def wild(ends: list[float], middle: float) -> Measure:
    low, *_, high = sorted(ends)
    excess = (middle, min(low, middle), max(high, middle))
    rows = [{"value": middle, "low": low, "high": high}]
    return Measure(middle, excess[1], excess[2], ends[0], 10, {"groups": rows}, excess)


@pytest.mark.parametrize("name", REGISTRY)
def test_verdict_report_and_terminal_print_possible_numbers(name: str) -> None:
    for numbers_ in np.random.default_rng(3).uniform(-3, 3, (25, 4)).round(3).tolist():
        all_possible(name, numbers_[:2], *numbers_[2:])


def all_possible(name: str, ends: list[float], middle: float, other: float) -> None:
    metric, outcome, limits = REGISTRY[name], wild(ends, middle), range_of(name)
    result = MetricResult(name, metric.family, "synthetic", metric.direction, outcome)
    beside = replace(result, stage="original", outcome=Measure(other))
    shown = displayed(name, outcome)
    assert inside(numbers(measure_text(shown)), limits)
    assert inside([row for group in shown.details["groups"] for row in group.values()], limits)
    (entry,) = metrics_of(Evaluation((result,)))
    assert inside(numbers(value_words(entry)), limits)
    (group,) = metric_groups(displayed_evaluation(Evaluation((result,))), metric.family, {})
    (row,) = group.rows
    assert inside(numbers(f"{row.value} {row.interval} {row.reference}"), limits)
    for compare in COMPARISONS:
        stage = "original" if compare == "difference_to_stage" else None
        about = Compared(name, "subject", outcome, 0.999, 0.0, stage, beside if stage else None)
        found = COMPARISONS[compare].number(about)
        assert not isinstance(found, str)
        if compare == "excess":
            said = found.words.replace("1,000", "").replace(" below ", " above ")
            assert inside(numbers(said), excess_range(name), 1000) and inside(numbers(said), (-1000, 1000))
            rule = MetricRule.model_validate(
                {"name": name, "metric": name, "direction": metric.direction, "compare": compare}
                | {"review": 0.01, "reason": "r"}
            )
            check = replace(limited(rule, found), metric=name)
            for lamp in lamps(Verdict.of("p", (check,))):
                assert inside(numbers(lamp.sentence), (0, 1000)), lamp.sentence
        elif compare == "both_ends":
            assert inside(numbers(found.words), (0, 100))
        elif "difference" not in compare:
            assert inside(numbers(found.words), limits)
        elif limits[0] is not None and limits[1] is not None:
            width = limits[1] - limits[0]
            assert inside(numbers(found.words)[-1:], (-width, width))
    assert criterion_of(name) is None or excess_range(name)[0] >= -1


@pytest.mark.parametrize("name", [*REGISTRY, STRONGEST])
def test_comparisons_print_possible_numbers(name: str) -> None:
    known = REGISTRY.get(name)
    limits = (None, 1.0) if known is None else (known.low, known.high)
    rng = np.random.default_rng(4)
    for low, high in (limits, spans(limits)):
        scale = 1.0 if low is None or high is None else high - low
        start = low if low is not None else -3.0 if high is None else high - scale
        values = start + scale * rng.random((1, 3))
        for logit in (False, True):
            (found,) = estimates(np.ones((1, 1)), values, within=(low, high), logit=logit)
            assert inside([end for end in vars(found).values() if isinstance(end, float)], (low, high))


def test_copies_of_everybody_are_no_more_than_all() -> None:
    """A score of 1 beside a reference of -.03 was told as 1,030 in 1,000."""
    outcome = Measure(1.03, 0.869, 1.18, 0.0, 10, excess=(1.03, 0.869, 1.18))
    found = COMPARISONS["excess"].number(Compared("dcr_score", "s", outcome, 0.95, 0.0, None, None))
    assert not isinstance(found, str)
    assert found.words.startswith("The score is 1,000 in 1,000 above") and "between 869 and 1,000" in found.words
    assert found.number == 0.869
