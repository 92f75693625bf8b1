"""The registry of rule kinds, and the policies and verdicts that follow from it."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from hybrid.base.config_files import validated
from hybrid.base.errors import ConfigError
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.rules import KINDS
from hybrid.publication.rules.comparisons import COMPARISONS
from hybrid.publication.rules.metric import THROWN_OUT, MetricRule
from hybrid.publication.rules.rule import Facts
from hybrid.publication.unfit import unfit

HEAD = {"name": "own", "version": "1", "owner": "me"}
RULES: dict[str, dict[str, Any]] = {
    "anonymity": {"name": "k", "quantity": "k", "block": 5, "reason": "Crowds."},
    "history": {"name": "all releases", "quantity": "exposed_share", "review": 0.1, "reason": "Intersections."},
    "rules": {"name": "copies", "metric": "identical_match", "direction": "lower", "block": 0.1, "reason": "Copies."},
}


def policy(*sections: str) -> Policy:
    return validated(Policy, HEAD | {name: [RULES[name]] for name in sections}, "policy")


def test_every_kind_is_a_section_of_a_policy() -> None:
    assert set(RULES) == set(KINDS)
    for section, kind in KINDS.items():
        field = Policy.model_fields[section]
        assert kind.section == section
        assert get_args(field.annotation)[0] is kind.Options
        assert field.description == kind.description


def test_rules_are_judged_in_the_order_of_the_registry() -> None:
    assert [rule.name for rule in policy(*reversed(RULES)).all_rules] == ["k", "all releases", "copies"]
    assert [kind.section for kind, _ in policy(*RULES).by_kind()] == list(KINDS)


@pytest.mark.parametrize("section", sorted(RULES))
def test_a_policy_needs_a_rule_about_the_run_itself(section: str) -> None:
    if KINDS[section].judges_run:
        assert len(policy(section).all_rules) == 1
        return
    with pytest.raises(ConfigError, match="would let everything out"):
        policy(section)


@pytest.mark.parametrize("section", sorted(RULES))
def test_a_kind_that_judges_runs_says_something_about_a_run_without_anything(section: str) -> None:
    """What is not known is not a pass; a kind that says nothing could let a table out."""
    kind = KINDS[section]
    rule = kind.Options.model_validate(RULES[section])
    checks = list(kind.judge(rule, Facts(Evaluation(()))))
    assert bool(checks) == kind.judges_run
    assert all(check.status != "pass" for check in checks)


def test_a_policy_restricted_to_kinds_keeps_the_others_out() -> None:
    whole = policy(*RULES)
    kept = whole.restricted([kind for kind in KINDS.values() if kind.judges_stage])
    assert [rule.name for rule in kept.all_rules] == ["copies"]
    assert len(whole.all_rules) == 3


def test_the_checksum_of_the_packaged_policy_does_not_depend_on_the_order_of_kinds() -> None:
    default = load_policy()
    again = Policy.model_validate(dict(reversed(default.model_dump().items())))
    assert again.sha256 == default.sha256


@pytest.mark.parametrize("name", list(COMPARISONS))
def test_every_comparison_is_a_choice_of_compare(name: str) -> None:
    comparison = COMPARISONS[name]
    other = {"other": "baseline"} if comparison.needs_other else {}
    rule = MetricRule.model_validate(RULES["rules"] | {"compare": name} | other)
    assert rule.compare == name
    nothing = MetricResult("identical_match", "privacy", "synthetic", "lower", Measure(0.5))
    verdict = judge(Policy.model_validate(HEAD | {"rules": [rule.model_dump()]}), Evaluation((nothing,)), None)
    known = name == "value"
    assert verdict.status == ("block" if known else "review"), "0.5 is beyond the limit; without more it is unknown"
    assert verdict.checks[0].status == ("block" if known else "not judged")


def test_a_verdict_says_which_constraint_is_broken_in_how_many_rows() -> None:
    limit = {
        "name": "constraints",
        "metric": "constraint_violations",
        "direction": "lower",
        "review": 0,
        "reason": "All.",
    }
    asked = validated(Policy, HEAD | {"rules": [limit]}, "policy")
    details = {"rules": {"born is at most died": 0.03, "stay is days(came, left)": 0.0}}
    outcome = Measure(0.03, 0.02, 0.04, 0.0, 400, details)
    broken = MetricResult("constraint_violations", "fidelity", "synthetic", "lower", outcome)
    (check,) = judge(asked, Evaluation((broken,)), None).checks
    assert check.status == "review"
    assert "Not kept: born is at most died (rows that break it: 12)." in check.message
    assert "stay" not in check.message


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        ({}, None),
        ({"draws_thrown_out": 0.05, "records_left_out": 0.05}, None),
        ({"draws_thrown_out": 0.213, "records_left_out": 0.05}, "21 % of the rows that the generator drew"),
        ({"draws_thrown_out": 0.0, "records_left_out": 0.08}, "8 % of the records of the source were left out, since"),
    ],
)
def test_a_verdict_says_when_many_rows_were_thrown_out_to_keep_constraints(
    gone: dict[str, float], words: str | None
) -> None:
    limit = {
        "metric": "constraint_violations",
        "direction": "lower",
        "review": 0,
        "name": "constraints",
        "reason": "All.",
    }
    asked = validated(Policy, HEAD | {"rules": [limit]}, "policy")
    kept = MetricResult("constraint_violations", "fidelity", "synthetic", "lower", Measure(0, 0, 0, 0, 400, gone))
    verdict = judge(asked, Evaluation((kept,)), None)
    assert verdict.checks[0].status == "pass"
    thrown = [check for check in verdict.checks if check.rule == THROWN_OUT]
    assert len(thrown) == (words is not None) and verdict.status == ("review" if thrown else "pass")
    assert [words in check.message for check in thrown if words] == [True] * len(thrown)
    assert bool(list(unfit(verdict.open_checks))) == bool(thrown)


@pytest.mark.parametrize(
    ("metric", "family", "named"), [("lost_link", "fidelity", True), ("linkability", "privacy", False)]
)
def test_a_check_of_use_names_what_fares_worst_and_a_check_about_people_does_not(
    metric: str, family: Any, named: bool
) -> None:
    rule = {"name": "own", "metric": metric, "direction": "lower", "review": 0.1, "reason": "Links."}
    asked = validated(Policy, HEAD | {"rules": [rule]}, "policy")
    outcome = Measure(0.4, 0.3, 0.5, 0.0, 400, {"worst": "plz and ward"})
    (check,) = judge(asked, Evaluation((MetricResult(metric, family, "synthetic", "lower", outcome),)), None).checks
    assert check.status == "review" and check.subject == ("plz and ward" if named else "")
    assert any("plz and ward" in line for line in unfit((check,))) == named


@pytest.mark.parametrize("value", [0.02, 0.06])
def test_a_number_beyond_its_limit_is_never_said_not_to_have_been_found(value: float) -> None:
    rule = {"name": "own", "metric": "linkability", "direction": "lower", "compare": "excess", "reason": "Links."}
    asked = validated(Policy, HEAD | {"rules": [rule | {"review": 0.05, "block": 0.2}]}, "policy")
    outcome = Measure(0.5, excess=(value, -0.1, 0.3))
    (check,) = judge(
        asked, Evaluation((MetricResult("linkability", "privacy", "synthetic", "lower", outcome),)), None
    ).checks
    assert check.standing == "not ruled out" and check.forbidden == 0.2
    assert ("was not found" in check.message) == (value < 0.05) and "cannot be ruled out" in check.message
