from __future__ import annotations

import numpy as np
import pytest

from hybrid.evaluation import EvaluateOptions, Evaluation, Measure, MetricResult, NotComputable, evaluate
from hybrid.evaluation.improvement import improvements, with_printed
from tests.evaluation.simulated_people import make_people


def result(
    stage: str, outcome: Measure | NotComputable, direction: str = "lower", name: str = "linkability"
) -> MetricResult:
    return MetricResult(name, "privacy", stage, direction, outcome)  # type: ignore[arg-type]


def test_a_lower_risk_is_better_only_beyond_the_interval() -> None:
    both = Evaluation((result("synthetic", Measure(0.1, 0.07, 0.13)), result("baseline", Measure(0.4, 0.36, 0.44))))
    (row,) = improvements(both)
    assert (row.difference, row.low, row.high) == pytest.approx((-0.3, -0.35, -0.25))
    assert row.better is True
    assert row.relative == pytest.approx(0.75)
    close = Evaluation((result("synthetic", Measure(0.1, 0.0, 0.2)), result("baseline", Measure(0.12, -0.01, 0.25))))
    assert improvements(close)[0].better is None
    assert improvements(close)[0].relative is None
    half = Evaluation(
        tuple(
            result(stage, outcome.outcome, name="dcr_share")
            for stage, outcome in zip(("synthetic", "baseline"), both.metrics, strict=True)  # type: ignore[arg-type]
        )
    )
    assert (improvements(half)[0].relative, improvements(half)[0].difference) == (None, pytest.approx(-0.3))


def test_the_printed_formula_calls_a_lower_risk_negative() -> None:
    both = Evaluation((result("synthetic", Measure(0.1, 0.07, 0.13)), result("baseline", Measure(0.4, 0.36, 0.44))))
    assert improvements(both)[0].printed is None
    (row,) = improvements(with_printed(both))
    assert row.printed == pytest.approx(-0.75)
    none = Evaluation((result("synthetic", Measure(0.1)), result("baseline", Measure(0.0))))
    assert with_printed(none) == none


def test_direction_and_what_has_no_interval_or_number() -> None:
    stages = Evaluation(
        (
            result("synthetic", Measure(0.7, 0.69, 0.71), "higher", "tstr"),
            result("baseline", Measure(0.9, 0.89, 0.91), "higher", "tstr"),
            result("synthetic", Measure(0.2), name="plain"),
            result("baseline", Measure(0.1), name="plain"),
            result("synthetic", NotComputable("no control"), name="none"),
            result("baseline", Measure(0.1), name="none"),
        )
    )
    tstr, plain = improvements(stages)
    assert tstr.better is False
    assert (plain.difference, plain.low, plain.better) == (pytest.approx(0.1), None, None)
    assert plain.to_json()["name"] == "plain"


def test_paper_carries_the_printed_formula() -> None:
    rng = np.random.default_rng(5)
    train, control, table = (make_people(60, rng) for _ in range(3))
    options = EvaluateOptions(metrics=("dcr_share",), paper=True)
    found = evaluate(train, control, {"synthetic": table, "baseline": train}, options, rng)
    (row,) = improvements(found)
    mine, its = (metric.outcome for metric in found.metrics)
    assert isinstance(mine, Measure) and isinstance(its, Measure)
    assert row.printed == pytest.approx((mine.value - its.value) / its.value)
    assert row.relative is None
