"""What a table must not be used for: narrow misses and proven leaks read differently."""

from __future__ import annotations

from typing import Any

from hybrid.base.language import catalogue
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.publication.unfit import model_conclusions, models_to_leave, unfit
from hybrid.publication.verdict import Check

GERMAN = catalogue("de")
NARROW, GRAVE = "Do not put the table on the internet", "Do not give the table to people who may not see the records"


def judged(metric: str, low: float, high: float, limit: float = 0.02) -> Check:
    return Check(metric, "review", "found", metric=metric, excess=(low, high), limit=limit)


def test_a_narrow_miss_and_a_proven_leak_restrict_the_table_differently() -> None:
    (narrow,) = unfit([judged("membership_trained_random", -0.01, 0.05)])
    assert narrow.startswith(NARROW)
    (grave,) = unfit([judged("membership_trained_random", -0.01, 0.05), judged("linkability", 0.021, 0.05)])
    assert grave.startswith(GRAVE) and grave.endswith("on the question “Can two records of one person be joined?”.")
    (both,) = unfit([judged("linkability", 0.03, 0.05), judged("hitting_rate", 0.03, 0.05)])
    assert both.endswith("on these questions: Can two records of one person be joined? Does it repeat real records?")
    assert all(GERMAN.say(text) != text for text in (narrow, grave, both))


def estimate(analysis: str, concluded: bool | None, fitted: bool = True) -> dict[str, Any]:
    return {"analysis": analysis, "concluded": concluded, "table": [0.1, 0.0, 0.2] if fitted else None}


def test_conclusions_are_counted_for_each_model() -> None:
    estimates = [
        estimate("`cost` ~ 1", None),
        *(estimate("`cost` ~ `age` + `sex`", concluded) for concluded in (True, False, True)),
        *(estimate("`readmitted` ~ `age`", concluded) for concluded in (False, False)),
        *(estimate("`died` ~ `age`", False, fitted=False) for _ in range(2)),
    ]
    outcome = Measure(0.5, details={"estimates": estimates})
    evaluation = Evaluation((MetricResult("interval_overlap", "utility", "synthetic", "higher", outcome),))
    assert [one.sentence for one in model_conclusions(evaluation)] == [
        "In the model cost ~ age + sex, 2 of 3 coefficients lead to the same conclusion as those from real people",
        "In the model readmitted ~ age, 0 of 2 coefficients lead to the same conclusion as those from real people",
        "The model died ~ age cannot be fitted to the table: a group that it needs is missing there, or too small",
    ]
    said, unfitted = models_to_leave(evaluation)
    assert "cannot be fitted" in unfitted and "lässt sich mit der Tabelle nicht schätzen" in GERMAN.say(unfitted)
    assert said.startswith("Do not rely on coefficients of models. In the model readmitted ~ age, 0 of 2")
    assert "readmitted ~ age" in GERMAN.say(said) and "Koeffizienten" in GERMAN.say(said)
