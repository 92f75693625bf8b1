"""The worst check decides, and what is not known is not passed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.errors import ConfigError
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable, Outcome, Subject
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.verdict import SEVERITY, Check, Verdict

Anonymization = Callable[..., AnonymizationResult]
Measured = Callable[..., Evaluation]


def metric(outcome: Outcome, stage: Subject = "synthetic", column: str | None = None, direction: str = "lower") -> Any:
    return MetricResult("copies", "privacy", stage, direction, outcome, column)  # type: ignore[arg-type]


def policy(**rule: Any) -> Policy:
    base = {
        "name": "copies",
        "metric": "copies",
        "direction": "lower",
        "reason": "Copies are people.",
        "hint": "train less",
    }
    return Policy.model_validate({"name": "own", "version": "3", "owner": "us", "rules": [base | rule]})


def anonymity(**rule: Any) -> Policy:
    base = {"name": "crowd", "reason": "Crowds hide."}
    return Policy.model_validate({"name": "own", "version": "3", "owner": "us", "anonymity": [base | rule]})


def check_of(rule: Policy, *metrics: MetricResult) -> Check:
    verdict = judge(rule, Evaluation(metrics), None)
    assert len(verdict.checks) == 1
    assert verdict.status == verdict.checks[0].status
    return verdict.checks[0]


@pytest.mark.parametrize(
    ("value", "status"), [(0.1, "pass"), (0.2, "pass"), (0.21, "review"), (0.3, "review"), (0.31, "block")]
)
def test_lower_is_better(value: float, status: str) -> None:
    assert check_of(policy(review=0.2, block=0.3), metric(Measure(value))).status == status


@pytest.mark.parametrize(("value", "status"), [(0.9, "pass"), (0.8, "pass"), (0.79, "review"), (0.69, "block")])
def test_higher_is_better(value: float, status: str) -> None:
    rule = policy(direction="higher", review=0.8, block=0.7)
    assert check_of(rule, metric(Measure(value), direction="higher")).status == status


def test_one_limit_alone_is_enough() -> None:
    assert check_of(policy(review=0.1), metric(Measure(9.0))).status == "review"
    assert check_of(policy(block=0.1), metric(Measure(0.2))).status == "block"


def test_the_ends_of_the_interval_can_be_judged() -> None:
    measure = Measure(0.5, 0.4, 0.6)
    assert check_of(policy(compare="low", block=0.45), metric(measure)).status == "pass"
    assert check_of(policy(compare="high", block=0.55), metric(measure)).status == "block"
    assert "has no interval" in check_of(policy(compare="low", block=1), metric(Measure(0.5))).message


@pytest.mark.parametrize(
    ("value", "reference", "status"),
    [
        (0.099, 0.0015, "block"),
        (0.003, 0.0015, "pass"),
        (0.0, 0.0, "pass"),
        (0.001, 0.0, "block"),
        (0.0004, 0.0, "pass"),
    ],
)
def test_ratio_to_reference(value: float, reference: float, status: str) -> None:
    rule = policy(compare="ratio_to_reference", block=2, allowance=0.0005)
    assert check_of(rule, metric(Measure(value, reference=reference))).status == status


def test_chance_alone_is_no_breach_of_a_ratio() -> None:
    rule = policy(compare="low_ratio_to_reference", block=2, allowance=0.0005)
    few = Measure(0.004, 0.0021, 0.0075, reference=0.0015)  # 2.7 times as many, but of a handful
    many = Measure(0.004, 0.0035, 0.0046, reference=0.0015)
    assert [check_of(rule, metric(measure)).status for measure in (few, many)] == ["pass", "block"]
    assert check_of(rule, metric(Measure(0.01, 0.005, 0.02, reference=0.0))).status == "block"
    assert "has no interval" in check_of(rule, metric(Measure(0.01, reference=0.001))).message


def test_difference_to_reference_of_a_score() -> None:
    rule = policy(direction="higher", compare="difference_to_reference", review=-0.03, block=-0.1)
    for value, status in ((0.905, "pass"), (0.88, "review"), (0.8, "block")):
        assert check_of(rule, metric(Measure(value, reference=0.927), direction="higher")).status == status
    assert check_of(rule, metric(Measure(0.9), direction="higher")).status == "block"


def test_difference_to_another_stage_is_of_the_same_column() -> None:
    rule = policy(compare="difference_to_stage", other="baseline", block=0.1)
    metrics = [
        metric(Measure(0.3), column="a"),
        metric(Measure(0.3), column="b"),
        metric(Measure(0.0), "baseline", "a"),
        metric(Measure(0.25), "baseline", "b"),
    ]
    checks = judge(rule, Evaluation(tuple(metrics)), None).checks
    assert [check.status for check in checks] == ["block", "pass"]
    assert "no counterpart at stage baseline" in check_of(rule, metric(Measure(0.3))).message


def test_without_a_column_every_column_is_judged_and_with_one_only_that() -> None:
    metrics = Evaluation((metric(Measure(0.1), column="a"), metric(Measure(0.9), column="b")))
    assert [check.status for check in judge(policy(block=0.5), metrics, None).checks] == ["pass", "block"]
    assert [check.status for check in judge(policy(block=0.5, column="a"), metrics, None).checks] == ["pass"]


@pytest.mark.parametrize("demand", ["pass", "review", "block"])
def test_what_was_not_computed_counts_as_the_rule_says(demand: str) -> None:
    rule = policy(block=1, if_not_computable=demand)
    missing = metric(NotComputable("needs a control set"))
    assert check_of(rule, missing).status == demand
    assert "needs a control set" in check_of(rule, missing).message
    assert check_of(rule).status == demand
    assert check_of(rule, metric(Measure(0.1), stage="anonymized")).status == demand


@pytest.mark.parametrize("state", ["failed", "timed_out"])
def test_an_error_is_never_a_pass(state: Any) -> None:
    rule = policy(block=1, if_not_computable="pass")
    assert check_of(rule, metric(NotComputable("it broke", state))).status == "review"


def test_a_rule_against_the_direction_of_its_metric_is_refused() -> None:
    with pytest.raises(ConfigError, match="of copies, lower is better, and the rule says higher"):
        check_of(policy(direction="higher", block=1), metric(Measure(0.5)))


@pytest.mark.parametrize(
    ("rule", "changes", "status"),
    [
        ({"quantity": "k", "review": 5, "block": 2}, {"min_class_size": 5}, "pass"),
        ({"quantity": "k", "review": 5, "block": 2}, {"min_class_size": 4}, "review"),
        ({"quantity": "k", "review": 5, "block": 2}, {"min_class_size": 1}, "block"),
        ({"quantity": "l", "block": 3}, {}, "block"),
        ({"quantity": "l", "block": 2}, {}, "pass"),
        ({"quantity": "l", "block": 2}, {"models": ()}, "review"),
        ({"quantity": "l", "block": 2, "if_not_computable": "pass"}, {"models": ()}, "pass"),
        ({"quantity": "suppressed_share", "review": 0.02}, {}, "pass"),
        ({"quantity": "suppressed_share", "review": 0.02}, {"suppressed": 21}, "review"),
        ({"quantity": "suppressed_share", "review": 0.02}, {"suppressed": 0, "records": 0}, "review"),
    ],
)
def test_rules_about_the_anonymized_table(
    rule: dict[str, Any], changes: dict[str, Any], status: str, anonymization: Anonymization
) -> None:
    assert judge(anonymity(**rule), Evaluation(()), anonymization(**changes)).status == status


def test_nothing_anonymized_counts_as_the_rule_says() -> None:
    assert judge(anonymity(quantity="k", block=2), Evaluation(()), None).status == "review"
    assert judge(anonymity(quantity="k", block=2, if_not_computable="block"), Evaluation(()), None).status == "block"


def test_messages_say_what_was_found_and_what_was_demanded() -> None:
    measure = Measure(0.099, 0.093, 0.105, 0.0015, 1000)
    check = check_of(policy(compare="ratio_to_reference", review=1.5, block=2), metric(measure, column="job"))
    assert check.message == (
        "copies of job at stage synthetic: 0.099 (interval 0.093 to 0.105), reference 0.0015; 66 times the reference "
        "(limit: at most 2 times). Copies are people."
    )
    assert check.hint == "train less"
    passed = check_of(policy(review=1.5), metric(Measure(0.5)))
    assert (passed.message, passed.hint) == ("copies at stage synthetic: 0.5 (limit: at most 1.5)", "")


def test_the_verdict_names_policy_and_version(anonymization: Anonymization, evaluation: Measured) -> None:
    verdict = judge(policy(block=1, if_not_computable="pass"), evaluation(), anonymization())
    assert isinstance(verdict, Verdict)
    assert (verdict.status, verdict.policy) == ("pass", "own 3")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_the_worst_check_wins(values: list[float]) -> None:
    metrics = tuple(metric(Measure(value), column=str(at)) for at, value in enumerate(values))
    verdict = judge(policy(review=0.3, block=0.7), Evaluation(metrics), None)
    assert SEVERITY[verdict.status] == max(SEVERITY[check.status] for check in verdict.checks)
    assert verdict.status == ("block" if max(values) > 0.7 else "review" if max(values) > 0.3 else "pass")


def test_the_default_policy_blocks_copies_and_passes_a_sound_run(
    anonymization: Anonymization, evaluation: Measured
) -> None:
    sound = evaluation()
    assert judge(load_policy(), sound, anonymization()).status == "pass"
    assert judge(load_policy(), evaluation(copies=0.099, control=0.0015), anonymization()).status == "block"
    assert judge(load_policy(), sound, None).status == "review"
    without_control = replace(sound, metrics=(replace(sound.metrics[0], outcome=NotComputable("no control set")),))
    assert judge(load_policy(), without_control, anonymization()).status == "review"
