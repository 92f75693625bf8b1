"""Rules that ask for what can be ruled out: the high end is reviewed, the low end blocks."""

from __future__ import annotations

import pytest

from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.publication.gate import TOO_FEW, judge
from hybrid.publication.lamps import lamps
from hybrid.publication.policy import Policy
from hybrid.publication.power import not_tried
from hybrid.publication.verdict import Check

RULE = {"name": "repeated", "metric": "membership_trained_random", "direction": "lower", "compare": "both_ends"}
LIMITS = {"review": 0.56, "block": 0.66, "reason": "Nobody may be found."}
POLICY = Policy.model_validate({"name": "p", "version": "1", "owner": "o", "rules": [RULE | LIMITS]})


def judged(value: float, low: float, high: float, draws: int = 1) -> Check:
    outcome = Measure(value, low, high, 0.5, 100, {}, together=3).above(0.5)
    result = MetricResult("membership_trained_random", "privacy", "synthetic", "lower", outcome)
    (check,) = judge(POLICY, Evaluation((result,)), None, draws=draws).checks
    return check


@pytest.mark.parametrize(
    ("value", "low", "high", "status"),
    [
        (0.50, 0.48, 0.52, "pass"),
        (0.54, 0.52, 0.56, "pass"),  # a number that equals a limit is within it
        (0.54, 0.51, 0.57, "review"),  # within the limit, but more is not ruled out
        (0.65, 0.60, 0.70, "review"),  # beyond the limit for block, but not for certain
        (0.70, 0.67, 0.73, "block"),
    ],
)
def test_what_is_not_ruled_out_is_a_review_and_what_is_certain_a_block(
    value: float, low: float, high: float, status: str
) -> None:
    check = judged(value, low, high)
    assert check.status == check.standing == status
    assert check.measured == pytest.approx(value - 0.5)
    assert check.limit == pytest.approx(0.06), "what is allowed is no more of the worst tables"


def test_a_repeated_draw_is_judged_more_strictly_at_either_end() -> None:
    assert judged(0.54, 0.521, 0.559).status == "pass" and judged(0.54, 0.521, 0.559, draws=3).status == "review"
    assert judged(0.70, 0.655, 0.745).status == "review" and judged(0.70, 0.655, 0.745, draws=5).status == "block"


def test_the_lamp_says_it_in_answers_of_1000() -> None:
    outcome = Measure(0.54, 0.51, 0.5734, 0.5, 100, {}, together=3).above(0.5)
    result = MetricResult("membership_trained_random", "privacy", "synthetic", "lower", outcome)
    (lamp,) = (lamp for lamp in lamps(judge(POLICY, Evaluation((result,)), None)) if lamp.criterion == "membership")
    assert lamp.status == "review"
    (found,) = lamp.findings
    assert (found.about, found.status) == ("everybody, by an attacker who repeats the whole process", "review")
    assert (found.measured, found.up_to, found.allowed) == ("540", "574", "560")
    assert lamp.answer == (
        "Everybody, by an attacker who repeats the whole process: a leak was found, and one larger than the policy "
        "allows cannot be ruled out. The policy asks for that here."
    )


def test_what_was_not_judged_is_said_to_be_not_tried() -> None:
    late = NotComputable("96 trainings of ctgan would take 9 h of one core or more", lacks="trainings")
    exposed = POLICY.rules[0].model_copy(update={"metric": "membership_trained", "applies_if": ("trainings",)})
    policy = POLICY.model_copy(update={"rules": (exposed,)})
    result = MetricResult("membership_trained", "privacy", "synthetic", "lower", late)
    verdict = judge(policy, Evaluation((result,)), None)
    assert not_tried(verdict.checks) == "Not tried: an attacker who can repeat the whole process."
    assert [(check.status, check.applies) for check in verdict.checks] == [("not judged", False)]
    assert "9 h" in verdict.checks[0].message
    assert not_tried((judged(0.5, 0.48, 0.52),)) == ""


def test_of_linked_tables_one_judged_is_tried() -> None:
    """People are attacked with the rows of all tables; the tables below only point there."""
    about = POLICY.rules[0].model_copy(update={"metric": "membership_trained", "applies_if": ("trainings",)})
    policy, named = (
        POLICY.model_copy(update={"rules": (about,)}),
        ("membership_trained", "privacy", "synthetic", "lower"),
    )
    tried = MetricResult(*named, Measure(0.5, 0.48, 0.52, 0.5, 100).above(0.5), table="people")
    below = MetricResult(*named, NotComputable("see people", lacks="trainings"), table="visits")
    assert not_tried(judge(policy, Evaluation((tried, below)), None).checks) == ""
    assert not_tried(judge(policy, Evaluation((below,)), None).checks) != ""


@pytest.mark.parametrize(("fall", "says"), [(0.05, False), (0.3, True)])
def test_a_table_that_loses_too_much_and_gives_people_away_needs_more_people_or_fewer_columns(
    fall: float, says: bool
) -> None:
    rule = {"name": "links", "metric": "lost_link", "direction": "lower", "review": 0.1, "reason": "Links must stay."}
    policy = Policy.model_validate({"name": "p", "version": "1", "owner": "o", "rules": [RULE | LIMITS, rule]})
    repeated = Measure(0.56, 0.54, 0.58, 0.5, 100, {}, together=3).above(0.5)
    lost = Measure(fall, fall - 0.01, fall + 0.01, 0.0, 100, {"said": "a link"})
    found = Evaluation(
        (
            MetricResult("membership_trained_random", "privacy", "synthetic", "lower", repeated),
            MetricResult("lost_link", "utility", "synthetic", "lower", lost),
        )
    )
    attacked, link = judge(policy, found, None).checks
    assert attacked.status == "review" and (link.status == "review") is says
    assert (attacked.hint == TOO_FEW) is says and link.hint != TOO_FEW
