"""What a verdict must notice and did not is a review, never a pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import ConfigError
from hybrid.evaluation.attacks.vulnerability import RANKINGS
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.evaluation.planted_leaks import FORMS, LEAKS
from hybrid.jobs.places import Places
from hybrid.jobs.release import read_candidate
from hybrid.publication.finished_run import read_run
from hybrid.publication.gate import judge, verdicts_by_stage
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.power import BLOCKED, MORE_PEOPLE, PLANT_LEAKS, LeakTrials, Power, not_tried, power_checks
from hybrid.publication.verdict import Check


def demanding(policy: Policy, **sections: Any) -> Policy:
    content = {"must_detect": {"copy": 0.01}} | sections
    return Policy.model_validate(policy.model_dump(mode="json") | content)


def trials(made: int, noticed: int, planned: int = 20, **others: Any) -> Power:
    return Power((LeakTrials("copy", 0.01, planned, made, noticed, **others),), control=300)


def check_of(policy: Policy, power: Power | None) -> Check:
    (check,) = power_checks(policy, power)
    return check


@pytest.mark.parametrize(("noticed", "reached"), [(20, True), (18, True), (17, False)])
def test_18_of_20_trials_are_enough(policy: Policy, noticed: int, reached: bool) -> None:
    check = check_of(demanding(policy), trials(20, noticed))
    assert (check.status == "pass") is reached
    assert check.decision == ("pass" if reached else "review")


def test_with_few_trials_every_leak_must_be_noticed(policy: Policy) -> None:
    assert check_of(demanding(policy), trials(5, 5, planned=5)).status == "pass"
    assert check_of(demanding(policy), trials(5, 4, planned=5)).status == "not judged"


def test_a_pass_states_what_would_have_been_noticed(policy: Policy) -> None:
    message = check_of(demanding(policy), trials(20, 20)).message
    # Wilson's lower bound of 20 of 20: 20 / (20 + 1.96^2) = 0.839.
    assert (
        message == "would have noticed 1 % copied rows (20 of 20 trials as a first draw, so in at least 84 % of cases)"
    )


def test_a_leak_that_passed_unnoticed_names_the_control_records(policy: Policy) -> None:
    check = check_of(demanding(policy), trials(3, 1))
    assert check.message.startswith("unknown: with 300 control records, 1 % copied rows were noticed in 1 of 3")
    assert check.hint == MORE_PEOPLE


def test_unfinished_trials_are_no_pass(policy: Policy) -> None:
    assert check_of(demanding(policy), trials(12, 12)).status == "not judged"


def test_a_finished_run_is_judged_with_its_trials(
    make_run: Callable[..., Path], evaluation: Callable[..., Evaluation], policy: Policy, tmp_path: Path
) -> None:
    """A release of a finished run once said that no leaks were planted, and nothing of the roles."""

    class Tried(Evaluation):
        def to_json(self) -> dict[str, Any]:
            return super().to_json() | {"power": trials(20, 20).to_json()}

    run = make_run(measured=Tried(evaluation().metrics), judged_by=demanding(policy))
    checks = read_candidate(run, Places(tmp_path / "work", tmp_path / "runs", tmp_path / "releases")).verdict.checks
    assert [check.status for check in checks if check.rule == "power: copy"] == ["pass"]
    assert "roles decided" in {check.rule for check in checks}


def test_a_blocked_table_is_mended_first(policy: Policy) -> None:
    blocked = check_of(demanding(policy), trials(0, 0, reason=BLOCKED))
    assert blocked.status == "not judged" and blocked.hint.startswith("mend what blocks the table")
    other = check_of(demanding(policy), trials(0, 0, reason="no control records"))
    assert other.hint == MORE_PEOPLE


def test_a_larger_table_is_no_hint_where_nothing_was_planted(policy: Policy) -> None:
    """As with `evaluate.power: false`, of any number of people."""
    for missing in (None, Power((), control=300, people=100_000)):
        (check,) = power_checks(demanding(policy), missing)
        assert (check.status, check.hint) == ("not judged", PLANT_LEAKS)


def test_leaks_that_were_not_planted_are_a_review(
    policy: Policy, evaluation: Callable[..., Evaluation], anonymization: Callable[..., Any]
) -> None:
    assert judge(policy, evaluation(), anonymization()).status == "pass"
    demanded = demanding(policy)
    assert judge(demanded, evaluation(), anonymization()).status == "review"
    assert judge(demanded, evaluation(), anonymization(), power=trials(20, 20)).status == "pass"
    other = Power((LeakTrials("copy", 0.1, 20, 20, 20),), control=300)
    assert judge(demanded, evaluation(), anonymization(), power=other).status == "review"


def test_a_policy_without_trials_says_why(policy: Policy, evaluation: Callable[..., Evaluation]) -> None:
    off = demanding(policy, power={"skip": "a table of ten columns of noise"})
    (check,) = power_checks(off, None)
    assert (check.status, check.decision) == ("not judged", "pass")
    assert "ten columns of noise" in check.message
    assert not off.plants_leaks and demanding(policy).plants_leaks and not policy.plants_leaks


def test_a_leak_without_its_columns_does_not_apply(policy: Policy) -> None:
    lacking = check_of(demanding(policy), trials(0, 0, reason="no column is a secret", lacks="secret"))
    assert (lacking.status, lacking.decision) == ("not judged", "pass")
    small = check_of(demanding(policy), trials(0, 0, reason="the most exposed 1 % are 3 people, fewer than 20"))
    assert (small.status, small.decision) == ("not judged", "review")


@pytest.mark.parametrize(
    "sections",
    [
        {"must_detect": {"copy": 0}},
        {"must_detect": {"near": 1.5}},
        {"must_detect": {"group": 0.5}},
        {"must_detect": {"other": 0.5}},
        {"power": {"skip": ""}},
        {"power": {"trials": 1}},
    ],
)
def test_contradictory_demands_are_refused(policy: Policy, sections: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(json.dumps(policy.model_dump(mode="json") | sections))
    with pytest.raises(ConfigError):
        load_policy(path)


def test_the_sections_of_a_policy_file(policy: Policy, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    head = json.dumps(policy.model_dump(mode="json", exclude={"power", "must_detect"}))
    extra = "must_detect: {copy: 0.01, group: true}\npower: {skip: nobody may see this table}\n"
    path.write_text(yaml.safe_dump(json.loads(head), allow_unicode=True) + extra)
    loaded = load_policy(path)
    assert loaded.power.skip == "nobody may see this table" and loaded.must_detect == {"copy": 0.01, "group": 1.0}


def test_a_finished_run_keeps_its_trials(make_run: Callable[..., Path], policy: Policy) -> None:
    folder = make_run(judged_by=demanding(policy))
    assert read_run(folder).power is None
    power = trials(20, 20)
    assert Power.from_json(json.loads(json.dumps(power.to_json()))) == power


def test_other_stages_need_not_notice_leaks(policy: Policy, evaluation: Callable[..., Evaluation]) -> None:
    demanded = demanding(policy)
    assert verdicts_by_stage(demanded, evaluation()) == verdicts_by_stage(policy, evaluation())


@given(st.floats(-0.02, 0.06), st.floats(0.001, 0.05), st.integers(2, 50))
def test_what_a_first_draw_notices_every_later_draw_notices(leaked: float, half: float, draws: int) -> None:
    """Trials are judged as a first draw: never more is said than a repeated draw would notice."""
    rule = {
        "name": "r",
        "metric": "dcr_share",
        "direction": "lower",
        "compare": "excess",
        "review": 0.02,
        "reason": ".",
    }
    own = Policy.model_validate({"name": "own", "version": "1", "owner": "the tests", "rules": [rule]})
    outcome = Measure(0.5, excess=(leaked, leaked - half, leaked + half))
    found = Evaluation((MetricResult("dcr_share", "privacy", "synthetic", "lower", outcome),))
    first, later = (judge(own, found, None, draws=n).status != "pass" for n in (1, draws))
    assert later or not first


def of_exposed(*, made: int = 20, **noticed: int) -> Power:
    """Trials of each ranking, with those noticed; a negative number: there are no columns for it."""
    leaks = (
        LeakTrials("exposed", 1, made, max(made, number), number, way=way)
        if number >= 0
        else LeakTrials("exposed", 1, made, reason="no column is a number", lacks="numbers", way=way)
        for way, number in noticed.items()
    )
    return Power(tuple(leaks), control=300)


EACH = dict.fromkeys(RANKINGS, 20)


def test_every_way_of_a_leak_must_be_noticed(policy: Policy) -> None:
    demanded = demanding(policy, must_detect={"exposed": 1})
    passed = check_of(demanded, of_exposed(**EACH))
    assert passed.status == "pass" and "20 of 20 trials of each" in passed.message
    assert all(words in passed.message for words in RANKINGS.values())
    for way, words in RANKINGS.items():
        missed = check_of(demanded, of_exposed(**(EACH | {way: 17})))
        assert missed.status == "not judged" and f"by {words} were noticed in 17 of 20" in missed.message
        assert sum(other in missed.message for other in RANKINGS.values()) == 1
        worst = check_of(demanded, of_exposed(**(EACH | {way: 19})))
        assert worst.status == "pass" and "19 of 20 trials of each" in worst.message


def test_a_way_that_was_not_planted_is_a_review(policy: Policy) -> None:
    """Runs of earlier versions planted the most exposed by one ranking."""
    demanded = demanding(policy, must_detect={"exposed": 1})
    for way in RANKINGS:
        rest = {name: number for name, number in EACH.items() if name != way}
        assert check_of(demanded, of_exposed(**rest)).decision == "review"
    old = Power((LeakTrials("exposed", 1, 20, 20, 20),), control=300)
    assert check_of(demanded, old).decision == "review"


def test_a_ranking_without_its_columns_is_not_claimed(policy: Policy) -> None:
    demanded = demanding(policy, must_detect={"exposed": 1})
    found = check_of(demanded, of_exposed(**(EACH | {"size": -1})))
    assert found.status == "pass" and RANKINGS["size"] not in found.message and RANKINGS["distance"] in found.message
    blocked = Power(tuple(LeakTrials("exposed", 1, 20, reason=BLOCKED, way=way) for way in RANKINGS), control=300)
    assert all(words in check_of(demanded, blocked).message for words in RANKINGS.values())
    none = check_of(demanded, of_exposed(**dict.fromkeys(RANKINGS, -1)))
    assert (none.status, none.decision) == ("not judged", "pass")


def test_what_no_planted_leak_covers_is_said(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    every = {"copy": 0.01, "near": 0.05, "exposed": 1, "group": 1, "secrets": 0.1}
    demanded = demanding(policy, must_detect=every)
    sentence = not_tried(tuple(power_checks(demanded, None)))
    assert sentence.startswith("Not tried: ") and sentence.endswith(".") and sentence.count(".") == 1
    assert set(LEAKS) <= set(FORMS)
    for kind, words in FORMS.items():
        assert (words in sentence) is (kind not in every), kind
        without = demanding(policy, must_detect={name: size for name, size in every.items() if name != kind})
        assert words in not_tried(tuple(power_checks(without, None)))
    monkeypatch.setitem(LEAKS, "small group", LEAKS["copy"])  # type: ignore[misc]
    planted = (*power_checks(demanded, None), Check("power: small group", "pass", "."))
    assert not_tried(planted) == sentence.replace(f"{FORMS['small group']}, ", "")


def test_a_leak_that_the_table_has_no_columns_for_was_not_tried(policy: Policy) -> None:
    demanded = demanding(policy, must_detect={"copy": 0.01})
    lacking = trials(0, 0, reason="no column is a secret", lacks="secret")
    assert FORMS["copy"] in not_tried(tuple(power_checks(demanded, lacking)))
    assert not_tried(tuple(power_checks(demanding(policy, must_detect={}), None))) == ""
    off = demanding(policy, power={"skip": "a table of ten columns of noise"})
    assert not_tried(tuple(power_checks(off, None))) == ""
