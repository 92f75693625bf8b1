"""The pages between the metrics, from evaluations made by hand."""

from __future__ import annotations

import numpy as np

from hybrid.evaluation.improvement import with_printed
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, Subject
from hybrid.publication.gate import verdicts_by_stage
from hybrid.publication.policy import Policy
from hybrid.publication.verdict import Check, Verdict
from hybrid.report.charts.figures import class_size_chart
from hybrid.report.run.sections.privacy import disagreeing_rows, nearest_record, secret_rows, subgroup_rows
from hybrid.report.run.sections.stages import improvement_rows, stage_verdict_rows
from hybrid.report.run.sections.utility import importance_rows


def result(name: str, measure: Measure, stage: Subject = "synthetic", column: str | None = None) -> MetricResult:
    return MetricResult(name, "privacy", stage, "lower", measure, column)


def test_nearest_records_are_drawn_and_nothing_without_them() -> None:
    curves = {"quantiles": [0.1, 0.9], "to_train": [0.0, 1.0], "to_control": [0.5, 2.0], "control_to_train": [0.4, 1.9]}
    chart = nearest_record(Evaluation((result("dcr_share", Measure(0.5, details={"curves": curves})),)))
    assert chart.count("<path") == 3
    assert not nearest_record(Evaluation(()))


def test_secrets_and_subgroups_with_the_surest_leak_first() -> None:
    rates = {"train_rate": 0.5, "train_interval": [0.4, 0.6], "control_rate": 0.3, "control_interval": [0.2, 0.4]}
    small, large = (Measure(v, v - 0.1, v + 0.1, 0.0, 90, rates) for v in (0.1, 0.3))
    found = secret_rows(Evaluation((result("inference", small, column="a"), result("inference", large, column="b"))))
    assert [row.names for row in found] == [("b",), ("a",)]
    assert found[0].numbers == ("0.500 (0.400 to 0.600)", "0.300 (0.200 to 0.400)", "0.300", "0.200 to 0.400")
    group = {"column": "place", "group": "= x", "members": 1234, "value": 0.7, "low": 0.6, "high": 0.8}
    told = Measure(0.7, details={"most_exposed": [group]})
    (row,) = subgroup_rows(Evaluation((result("membership_subgroups", told),)))["membership_subgroups"]
    assert (row.names, row.numbers) == (("place = x",), ("1,234", "0.700", "0.600 to 0.800"))


def test_importances_are_ranked_by_the_real_model() -> None:
    details = {"real": {"a": 0.1, "b": 0.3}, "table": {"a": 0.2, "b": 0.1}}
    rows = importance_rows(Evaluation((result("importance_agreement", Measure(1.0, details=details), column="y"),)))
    assert [(row.names[0], row.numbers) for row in rows["y"]] == [
        ("b", ("1", "0.300", "2", "0.100")),
        ("a", ("2", "0.100", "1", "0.200")),
    ]


def test_improvement_is_said_in_words_beyond_the_interval_only() -> None:
    def both(name: str, mine: Measure, its: Measure) -> list[MetricResult]:
        return [result(name, mine), result(name, its, "baseline")]

    evaluation = Evaluation(
        (
            *both("k_reached", Measure(5.0), Measure(1.0)),
            *both("inference", Measure(0.1, 0.0, 0.2), Measure(0.15, 0.05, 0.25)),
            *both("singling_out", Measure(0.3, 0.29, 0.31), Measure(0.1, 0.09, 0.11)),
            *both("linkability", Measure(0.1, 0.09, 0.11), Measure(0.3, 0.29, 0.31)),
        )
    )
    rows = {row.names[0]: (row.names[1], row.numbers) for row in improvement_rows(evaluation, {})}
    assert rows["Linkability"][0] == "better here"
    assert rows["Linkability"][1][2] == "67 %"
    assert rows["Inference"][0] == "no difference beyond the interval"
    assert [words for words, _ in rows.values()] == [
        *("worse here", "better here"),
        "no difference beyond the interval",
        "no interval",
    ]
    assert list(rows)[-1] == "K reached"
    assert all(len(numbers) == 3 for _, numbers in rows.values())
    printed = {row.names[0]: row.numbers for row in improvement_rows(with_printed(evaluation), {})}
    assert printed["Linkability"][2:] == ("67 %", "−67 %")


def test_the_gate_at_each_stage() -> None:
    rule = {"name": "copies", "metric": "identical_match", "direction": "lower", "block": 0.5, "reason": "Nobody."}
    k = {"name": "k", "quantity": "k", "block": 5, "reason": "Classes."}
    policy = Policy.model_validate({"name": "p", "version": "1", "owner": "o", "rules": [rule], "anonymity": [k]})
    values: dict[Subject, float] = {"original": 1.0, "synthetic": 0.1, "baseline": 0.7}
    evaluation = Evaluation(tuple(result("identical_match", Measure(v), stage) for stage, v in values.items()))
    verdicts = verdicts_by_stage(policy, evaluation)
    assert {stage: verdict.status for stage, verdict in verdicts.items()} == {
        "original": "block",
        "synthetic": "pass",
        "baseline": "block",
    }
    assert stage_verdict_rows(verdicts) == [("copies", ["block", "pass", "block"])]


def test_a_rule_that_does_not_apply_or_was_not_judged_at_a_stage_is_no_pass() -> None:
    untried, unasked = Check("copies", "not judged", "No."), Check("copies", "not judged", "No.", applies=False)
    passed = Check("copies", "pass", "Yes.")
    shown = {"original": (unasked,), "anonymized": (unasked, passed), "synthetic": (passed, untried), "baseline": ()}
    rows = stage_verdict_rows({stage: Verdict.of("p 1", checks) for stage, checks in shown.items()})
    assert rows == [("copies", ["does not apply", "pass", "not judged", "–"])]


def test_class_sizes_of_few_records_have_no_number() -> None:
    chart = class_size_chart(np.repeat([1, 40, 57], [3, 40, 57]), None, 5, 5)
    assert ">few<" in chart
    assert ">3<" not in chart


def test_attackers_of_a_secret_disagree_where_their_intervals_do_not_overlap() -> None:
    def about(name: str, secret: str, value: float, half: float, stage: Subject = "synthetic") -> MetricResult:
        return result(name, Measure(value, value - half, value + half), stage, secret)

    evaluation = Evaluation(
        (
            about("inference_model", "income", 0.3, 0.05),
            about("inference", "income", 0.1, 0.05),
            about("inference_neighbours", "income", 0.28, 0.05),
            about("inference_model", "illness", 0.1, 0.05),
            about("inference", "illness", 0.12, 0.05),
            about("inference_model", "age", 0.5, 0.01, "original"),
            about("inference", "age", 0.1, 0.01),
        )
    )
    (row,) = disagreeing_rows(evaluation)
    assert row.names == ("income",)
    assert row.numbers == ("0.300 (0.250 to 0.350)", "0.100 (0.050 to 0.150)", "Inference")
