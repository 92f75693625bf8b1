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
from hybrid.evaluation.engine.intervals import quantile
from hybrid.evaluation.measure import (
    NOTHING_TO_LEAK,
    Evaluation,
    Measure,
    MetricResult,
    NotComputable,
    Outcome,
    Subject,
)
from hybrid.evaluation.planted_leaks import LEAKS
from hybrid.evaluation.registry import REGISTRY
from hybrid.publication.criteria import QUESTIONS
from hybrid.publication.gate import confidence_of_each, judge, strictness
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.power import LeakTrials, Power
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
    assert verdict.status == verdict.checks[0].decision
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
    ("excess", "status"),
    [
        ((0.0, -0.01, 0.01), "pass"),
        ((0.03, 0.02, 0.04), "pass"),  # equals the limit
        ((0.05, 0.03, 0.07), "review"),
        ((0.3, 0.25, 0.4), "block"),
        ((0.3, 0.01, 0.6), "pass"),  # large and uncertain: what was not noticed is the power's business
        ((-0.05, -0.07, -0.03), "review"),  # rows that keep away from training persons
        ((-0.5, -0.6, -0.4), "review"),  # never a block
    ],
)
def test_an_excess_is_judged_on_both_sides(excess: tuple[float, float, float], status: str) -> None:
    rule = policy(compare="excess", review=0.02, block=0.2)
    check = check_of(rule, metric(Measure(0.4, 0.3, 0.5, excess=excess)))
    assert check.status == status
    assert ("keep away" in check.message) == (excess[0] < 0)


def test_an_excess_of_a_metric_where_higher_is_better_is_better_when_lower() -> None:
    rule = policy(compare="excess", direction="higher", review=0.02, block=0.2)
    assert check_of(rule, metric(Measure(0.4, excess=(0.3, 0.25, 0.35)), direction="higher")).status == "block"


def test_intervals_of_all_excesses_hold_together() -> None:
    # Four numbers: 1 - .975^(1/4) = .006309, z = 2.7312 instead of 1.9600. Five: .005051, z = 2.8038.
    found = [metric(Measure(0.1, excess=(0.1, 0.0, 0.2)), column=name) for name in "abcde"]
    rule = policy(compare="excess", review=0.02)
    for number, expected in ((4, 2.7312), (5, 2.8038)):
        (confidence,) = confidence_of_each(rule, Evaluation(tuple(found[:number]))).values()
        assert quantile(confidence) == pytest.approx(expected, abs=1e-4)
    assert "-0.04305 to 0.2431" in judge(rule, Evaluation(tuple(found)), None).checks[0].details


def test_a_rule_that_is_alone_in_its_criterion_raises_no_more_false_alarms_than_others() -> None:
    """As it would beside three others: the only rule of its kind was an alarm in 1.25 % of tables without a leak."""
    found = metric(Measure(0.1, excess=(0.1, 0.0, 0.2)))
    (confidence,) = confidence_of_each(policy(compare="excess", review=0.02), Evaluation((found,))).values()
    assert quantile(confidence) == pytest.approx(2.7312, abs=1e-4)


def test_each_criterion_has_an_error_of_its_own() -> None:
    number = metric(Measure(0.1, excess=(0.0, -0.1, 0.1)))
    found = Evaluation(tuple(replace(number, name=name) for name in REGISTRY))
    confidence = confidence_of_each(load_policy(), found)
    assert set(confidence) == set(QUESTIONS)
    # Five numbers (of halves, a register, two sorts of histories, joined rows): 1 - .975^(1/5) = .005051, z = 2.8038.
    assert quantile(confidence["linkability"]) == pytest.approx(2.8038, abs=1e-4)
    rows = Evaluation(
        tuple(one for one in found.metrics if not {"persons", "register"} & set(REGISTRY[one.name].needs))
    )
    confidence = confidence_of_each(load_policy(), rows)
    assert confidence["linkability"] == pytest.approx(0.975 ** (1 / 4)), "one number without persons and register"
    assert confidence["membership"] == pytest.approx(0.975 ** (1 / 4)), "four numbers"


def test_an_interval_that_holds_for_a_hundred_subgroups_is_widened_less() -> None:
    # Half width .2 at 1 - .95^(1/100) = .000513, z = 3.4740; judged at 1 - .975^(1/400) = .000063, z = 4.0002:
    # half width .23029. As an interval of its own it would have been .2 * 2.7312 / 1.96 = .27870.
    found = metric(Measure(0.1, excess=(0.25, 0.05, 0.45), together=100))
    check = judge(policy(compare="excess", review=0.015), Evaluation((found,)), None).checks[0]
    assert check.excess == pytest.approx((0.01971, 0.48029), abs=1e-4)
    assert check.status == "review"
    alone = metric(Measure(0.1, excess=(0.25, 0.05, 0.45)))
    assert judge(policy(compare="excess", review=0.015), Evaluation((alone,)), None).checks[0].status == "pass"


def test_every_further_draw_is_judged_more_strictly() -> None:
    # 1 - .05/2: z = 2.2414; 1 - .05/6: 2.6383; 1 - .05/110: 3.5062.
    expected = [0.0, 2.6383 - 2.2414, 3.5062 - 2.2414]
    assert [strictness(n) for n in (1, 2, 10)] == pytest.approx(expected, abs=1e-4)
    found = metric(Measure(0.1, excess=(0.06, 0.02, 0.1)))
    rule = policy(compare="excess", review=0.01)
    # .06 less 1.3935 times .04 is .0043; the second draw takes off .2025 half widths less: .0124.
    checks = [judge(rule, Evaluation((found,)), None, draws=n).checks[0] for n in (1, 2, 10)]
    assert [check.status for check in checks] == ["pass", "review", "review"]
    assert ["repeated draw" in check.message for check in checks] == [False, True, True]


@given(st.floats(-0.5, 0.5), st.floats(0.001, 0.3), st.integers(1, 50))
def test_no_further_draw_passes_where_the_first_did_not(value: float, half: float, draws: int) -> None:
    found = Evaluation((metric(Measure(0.1, excess=(value, value - half, value + half))),))
    rule = policy(compare="excess", review=0.02, block=0.1)
    first, later = (SEVERITY[judge(rule, found, None, draws=n).status] for n in (1, draws))
    assert later >= min(first, 1)


def test_a_measure_without_an_excess_is_not_judged() -> None:
    check = check_of(policy(compare="excess", review=0.02), metric(Measure(0.4, 0.3, 0.5)))
    assert (check.status, check.decision) == ("not judged", "review")
    assert "nothing to compare with" in check.message


def test_difference_to_reference_of_a_score() -> None:
    rule = policy(direction="higher", compare="difference_to_reference", review=-0.03, block=-0.1)
    for value, status in ((0.905, "pass"), (0.88, "review"), (0.8, "block")):
        assert check_of(rule, metric(Measure(value, reference=0.927), direction="higher")).status == status
    assert check_of(rule, metric(Measure(0.9), direction="higher")).status == "not judged"


def test_of_usefulness_what_chance_explains_is_no_difference() -> None:
    rule = policy(metric="tstr", direction="higher", compare="difference_to_reference", review=-0.1)
    checks = {
        interval: check_of(
            rule, MetricResult("tstr", "utility", "synthetic", "higher", Measure(0.7, reference=0.85, details=details))
        )
        for interval in ((-0.3, -0.05), (-0.2, -0.11), None)
        for details in [{"difference_interval": interval}]
    }
    assert [check.status for check in checks.values()] == ["pass", "review", "review"]
    said = checks[-0.2, -0.11].message
    assert (
        "a difference of -0.15 (between -0.2 and -0.11). The high end counts: -0.11; allowed is at least -0.1." in said
    )
    # An attack's difference counts as it was measured.
    closer = MetricResult("nndr", "privacy", "synthetic", "higher", Measure(0.7, reference=0.85, details={}))
    closer = replace(closer, outcome=replace(closer.outcome, details={"difference_interval": (-0.3, -0.05)}))
    assert check_of(policy(**rule.rules[0].model_dump() | {"metric": "nndr"}), closer).status == "review"


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
    assert "not measured on the baseline table" in check_of(rule, metric(Measure(0.3))).message


def test_without_a_column_every_column_is_judged_and_with_one_only_that() -> None:
    metrics = Evaluation((metric(Measure(0.1), column="a"), metric(Measure(0.9), column="b")))
    assert [check.status for check in judge(policy(block=0.5), metrics, None).checks] == ["pass", "block"]
    assert [check.status for check in judge(policy(block=0.5, column="a"), metrics, None).checks] == ["pass"]


@pytest.mark.parametrize(("demand", "status"), [("review", "not judged"), ("block", "block")])
def test_what_was_not_computed_is_never_a_pass(demand: str, status: str) -> None:
    rule = policy(block=1, if_not_computable=demand)
    missing = metric(NotComputable("needs a control set", lacks="control"))
    assert check_of(rule, missing).status == status
    assert "needs a control set. Not measured, so not passed." in check_of(rule, missing).message
    assert check_of(rule).status == status
    assert check_of(rule, metric(Measure(0.1), stage="anonymized")).status == status
    assert judge(rule, Evaluation(()), None).status == demand


@pytest.mark.parametrize("state", ["failed", "timed_out", "too_few"])
def test_an_error_is_never_a_pass(state: Any) -> None:
    rule = policy(block=1, applies_if=["target"])
    assert check_of(rule, metric(NotComputable("it broke", state))).decision == "review"


def test_only_the_condition_that_the_policy_names_excuses_a_missing_number() -> None:
    rule = policy(block=1, applies_if=["target"])
    excused = check_of(rule, metric(NotComputable("no target column is declared", lacks="target")))
    assert (excused.status, excused.applies, excused.decision) == ("not judged", False, "pass")
    assert "The policy does not ask for it then" in excused.message
    assert check_of(rule, metric(NotComputable("no secret column", lacks="secret"))).decision == "review"


@pytest.mark.parametrize("lacks", sorted(NOTHING_TO_LEAK))
@pytest.mark.parametrize("demand", ["review", "block"])
def test_what_nothing_can_leak_from_is_not_unknown(lacks: Any, demand: str) -> None:
    """Whatever a rule demands of missing numbers: there is known to be no excess."""
    rule = policy(block=1, if_not_computable=demand)
    check = check_of(rule, metric(NotComputable("people never seen are guessed right every time", lacks=lacks)))
    assert (check.status, check.applies, check.decision) == ("not judged", False, "pass")
    assert "cannot tell more of people in the data than of others" in check.message


def test_without_any_check_nothing_was_judged() -> None:
    assert Verdict.of("own 1", ()).status == "review"


def test_a_rule_against_the_direction_of_its_metric_is_refused() -> None:
    with pytest.raises(ConfigError, match="of copies, lower is better, and the rule says higher"):
        check_of(policy(direction="higher", block=1), metric(Measure(0.5)))


def test_an_experimental_metric_judges_nothing() -> None:
    with pytest.raises(ConfigError, match="spherelet_distance is experimental"):
        check_of(policy(metric="spherelet_distance", direction="higher", review=0.5), metric(Measure(0.5)))


@pytest.mark.parametrize(
    ("rule", "changes", "status"),
    [
        ({"quantity": "k", "review": 5, "block": 2}, {"min_class_size": 5}, "pass"),
        ({"quantity": "k", "review": 5, "block": 2}, {"min_class_size": 4}, "review"),
        ({"quantity": "k", "review": 5, "block": 2}, {"min_class_size": 1}, "block"),
        ({"quantity": "l", "block": 3}, {}, "block"),
        ({"quantity": "l", "block": 2}, {}, "pass"),
        ({"quantity": "l", "block": 2}, {"models": ()}, "review"),
        ({"quantity": "l", "block": 2, "applies_if": ["l_diversity"]}, {"models": ()}, "pass"),
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


def test_no_difference_from_people_never_seen_is_said_as_none() -> None:
    measure = Measure(0.5, 0.4, 0.6, 0.5, 1000, excess=(0.0, -0.01, 0.01))
    said = check_of(policy(compare="excess", review=0.02), metric(measure)).message
    assert said == (
        "The score is that of people who are not in the data (the difference is between -13.9 and 13.9 in 1,000); "
        "allowed is at most 20 in 1,000."
    )


def test_messages_say_what_was_found_and_what_was_demanded() -> None:
    measure = Measure(0.099, 0.093, 0.105, 0.0015, 1000, excess=(0.0975, 0.0975, 0.0975))
    check = check_of(policy(compare="excess", review=0.02, block=0.05), metric(measure, column="job"))
    assert check.message == (
        "About job: The score is 97.5 in 1,000 above that of people who are not in the data (between 97.5 and 97.5); "
        "allowed is at most 20 in 1,000. Copies are people."
    )
    assert check.details == (
        "copies of job at stage synthetic: 0.099, 0.0975 above people never seen (0.0975 to 0.0975 for all rules of "
        "its kind together); judged by the low end"
    )
    assert (check.metric, check.excess) == ("copies", (0.0975, 0.0975))
    assert check.hint == "train less"
    passed = check_of(policy(review=1.5), metric(Measure(0.5)))
    assert (passed.message, passed.hint) == ("The score is 0.5; allowed is at most 1.5.", "")


def test_the_verdict_names_policy_and_version(anonymization: Anonymization, evaluation: Measured) -> None:
    verdict = judge(policy(block=1, metric="identical_match"), evaluation(), anonymization())
    assert isinstance(verdict, Verdict)
    assert (verdict.status, verdict.policy) == ("pass", "own 3")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_the_worst_check_wins(values: list[float]) -> None:
    metrics = tuple(metric(Measure(value), column=str(at)) for at, value in enumerate(values))
    verdict = judge(policy(review=0.3, block=0.7), Evaluation(metrics), None)
    assert SEVERITY[verdict.status] == max(SEVERITY[check.decision] for check in verdict.checks)
    assert verdict.status == ("block" if max(values) > 0.7 else "review" if max(values) > 0.3 else "pass")


def sound(copies: float = 0.0) -> Evaluation:
    """Every metric that the default policy judges, without a leak but for copied rows."""
    metrics = []
    for rule in load_policy().rules:
        value = copies if rule.metric == "identical_match" else 0.0
        outcome = Measure(value, value - 0.001, value + 0.001, 0.0, excess=(value, value - 0.001, value + 0.001))
        metrics.append(MetricResult(rule.metric, "privacy", rule.stage, rule.direction, outcome, None))
    return Evaluation(tuple(metrics))


def everything_noticed() -> Power:
    """Trials of all leaks that the default policy must notice, all of them noticed."""
    leaks = [(kind, size, leak.way) for kind, size in load_policy().must_detect.items() for leak in LEAKS[kind].ways]
    return Power(tuple(LeakTrials(kind, size, 20, 20, 20, way=way) for kind, size, way in leaks), control=1500)


def test_the_default_policy_blocks_copies_and_passes_a_sound_run(anonymization: Anonymization) -> None:
    power = everything_noticed()
    assert judge(load_policy(), sound(), anonymization(), power=power).status == "pass"
    assert judge(load_policy(), sound(copies=0.099), anonymization(), power=power).status == "block"
    assert judge(load_policy(), sound(), None, power=power).status == "review"
    assert judge(load_policy(), sound(), anonymization()).status == "review", "what was not tried is no pass"


def test_a_run_without_attacks_does_not_pass_the_default_policy(anonymization: Anonymization) -> None:
    found, power = sound(), everything_noticed()
    for left_out in range(len(found.metrics)):
        metrics = tuple(metric for at, metric in enumerate(found.metrics) if at != left_out)
        assert judge(load_policy(), Evaluation(metrics), anonymization(), power=power).status == "review"
    assert judge(load_policy(), Evaluation(()), anonymization(), power=power).status == "review"
    unknown = [replace(one, outcome=NotComputable("no control set", lacks="control")) for one in found.metrics]
    assert judge(load_policy(), Evaluation(tuple(unknown)), anonymization(), power=power).status == "review"
