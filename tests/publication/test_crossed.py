"""Checks and sentences of cross control, and of small tables under a policy."""

from __future__ import annotations

import pytest

from hybrid.evaluation.measure import Crossed
from hybrid.publication.first_page import answer
from hybrid.publication.gate import crossed_checks, first_page_sentences, folds_of, measured_sentence
from hybrid.publication.policy import Policy, load_policy, packaged_policies, read_policy
from hybrid.publication.power import LeakTrials, Power, accepted_sentences, power_checks
from hybrid.publication.verdict import Verdict

RULE = {"name": "k", "metric": "identical_match", "direction": "lower", "block": 0.5, "reason": "nobody is copied"}
SMALL = [
    {"people": 1000, "must_detect": {"copy": 0.05, "group": None}, "reason": "so few people show little"},
    {"people": 4000, "must_detect": {"group": None}, "reason": "one group is too small"},
]


def policy(**changes: object) -> Policy:
    head = {"name": "own", "version": "1", "owner": "the tests", "rules": [RULE]}
    return Policy.model_validate(head | {"must_detect": {"copy": 0.01, "group": True}, "small_tables": SMALL} | changes)


def crossed(released: float, low: float) -> Crossed:
    return Crossed("hitting_rate", 4, released, low, 0.03, 0.04)


def test_more_copies_than_in_the_folds_are_a_review_unless_chance_explains_them() -> None:
    # Of 4 / 3 times as many people .04 is expected; chance is hypot(released - low, 4 / 3 * .01).
    (fine,) = crossed_checks([crossed(0.052, 0.050)])
    (more,) = crossed_checks([crossed(0.056, 0.050)])
    assert (fine.status, more.status) == ("pass", "review")
    assert "52 of 1,000 in this table; 30" in fine.message
    assert "may not hold" in more.message
    assert not list(crossed_checks([]))


def test_the_number_of_folds_is_read_from_a_configuration() -> None:
    assert folds_of({"split": {"control": "cross", "folds": 5}}) == 5
    assert folds_of({"split": {"control": 0.3, "folds": 5}}) is None
    assert folds_of({}) is None
    assert "5 further tables" in measured_sentence(5)


@pytest.mark.parametrize("sampled", [True, False])
def test_the_first_page_tells_what_hides_that_somebody_is_in(sampled: bool) -> None:
    said = " ".join(first_page_sentences(4, sampled=sampled))
    assert ("Only the random choice of records" in said) == sampled
    assert ("known to be among those" in said) != sampled


@pytest.mark.parametrize(
    ("people", "demanded"),
    [
        (999, {"copy": 0.05}),
        (1000, {"copy": 0.01}),
        (3999, {"copy": 0.01}),
        (4000, {"copy": 0.01, "group": 1.0}),
        (None, {"copy": 0.01, "group": 1.0}),
    ],
)
def test_sizes_follow_the_number_of_people(people: int | None, demanded: dict[str, float]) -> None:
    assert policy().demanded(people) == demanded
    assert policy(small_tables=[]).demanded(people) == {"copy": 0.01, "group": 1.0}


def test_a_small_table_passes_with_the_words_what_cannot_be_excluded() -> None:
    power = Power((LeakTrials("copy", 0.05, 4, 4, 4),), 100, 900)
    checks = tuple(power_checks(policy(), power))
    verdict = Verdict.of("own 1", checks)
    assert verdict.status == "pass"
    assert [check.accepted for check in checks] == ["1 % copied rows", "noisy copies of everybody in one group"]
    said = " ".join(accepted_sentences(checks))
    assert "These checks may miss smaller leaks: 1 % copied rows; noisy copies of everybody in one group." in said
    assert "fewer than 1,000 people: so few people show little" in checks[0].message
    assert "cannot be excluded" in answer(verdict)
    strict = Verdict.of("own 1", tuple(power_checks(policy(small_tables=[]), power)))
    assert strict.status == "review"
    assert not list(accepted_sentences(strict.checks))
    large = Power((LeakTrials("copy", 0.01, 4, 4, 4), LeakTrials("group", 1.0, 4, 4, 4)), 100, 9000)
    judged = Verdict.of("own 1", tuple(power_checks(policy(), large)))
    assert judged.status == "pass"
    assert answer(judged) == "Every rule of the policy is met."


def test_a_leak_that_a_small_table_must_show_and_does_not_is_a_review() -> None:
    power = Power((LeakTrials("copy", 0.05, 4, 2, 0),), 100, 900)
    assert Verdict.of("own 1", tuple(power_checks(policy(), power))).status == "review"


def test_packaged_policies_decide_openly_and_the_public_one_is_strict() -> None:
    for name, path in packaged_policies().items():
        found = load_policy(path)
        assert bool(found.small_tables) == (name != "statistics_office")
        assert "small_tables" in read_policy(path), "what is inherited counts"
        assert found.demanded(50_000) == found.must_detect
        assert Power.from_json(Power((), 1, 900).to_json()).people == 900
