"""Leaks that are proven on several questions forbid a release together."""

from __future__ import annotations

from typing import Any

import pytest

from hybrid.base.language import catalogue
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.publication.first_page import first_page
from hybrid.publication.gate import TOGETHER, judge
from hybrid.publication.policy import Policy, load_policy, packaged_policies
from hybrid.publication.verdict import Verdict, proven

METRICS = ("linkability", "hitting_rate", "nndr_share", "membership")
RULES = [
    {"name": name, "metric": name, "direction": "lower", "compare": "excess", "review": 0.01, "reason": "People."}
    for name in METRICS
]
HEAD = {"name": "p", "version": "1", "owner": "o", "rules": RULES}


def judged(found: dict[str, float], asked: dict[str, Any] | None, width: float = 0.0005, draws: int = 1) -> Verdict:
    """The verdict on these excesses, others being 0, with intervals of so much to each side."""
    metrics = []
    for name in METRICS:
        value = found.get(name, 0.0)
        outcome = Measure(0.5, excess=(value, value - width, value + width), n=400)
        metrics.append(MetricResult(name, REGISTRY[name].family, "synthetic", "lower", outcome))
    policy = Policy.model_validate(HEAD | ({} if asked is None else {"proven_leaks": asked}))
    return judge(policy, Evaluation(tuple(metrics)), None, draws=draws)


BY_TWO = {"questions": 2, "times": 1.5}


@pytest.mark.parametrize(
    ("found", "asked", "status"),
    [
        ({}, BY_TWO, "pass"),
        ({"linkability": 0.03}, BY_TWO, "review"),
        ({"hitting_rate": 0.03, "nndr_share": 0.03}, BY_TWO, "review"),  # two rules, but one question
        ({"linkability": 0.03, "hitting_rate": 0.03}, BY_TWO, "block"),
        ({"linkability": 0.03, "hitting_rate": 0.013}, BY_TWO, "review"),  # beyond the limit, not beyond 1.5 times it
        ({"linkability": 0.03, "hitting_rate": 0.013}, BY_TWO | {"times": 1}, "block"),
        ({"linkability": 0.03, "hitting_rate": 0.03}, BY_TWO | {"questions": 3}, "review"),
        ({"linkability": 0.03, "hitting_rate": 0.03, "membership": 0.03}, BY_TWO | {"questions": 3}, "block"),
        ({"linkability": 0.03, "hitting_rate": 0.03}, None, "review"),
    ],
)
def test_proven_leaks_on_several_questions_block(found: dict[str, float], asked: Any, status: str) -> None:
    verdict = judged(found, asked)
    assert verdict.status == status
    assert [check.status for check in verdict.checks if check.rule == TOGETHER] == ["block"] * (status == "block")


def test_what_chance_explains_blocks_nothing() -> None:
    # The same values, with intervals that reach below the limit. A repeated draw is judged more strictly.
    for draws, status in ((1, "pass"), (9, "review")):
        verdict = judged({"linkability": 0.03, "hitting_rate": 0.03}, BY_TWO, width=0.018, draws=draws)
        assert verdict.status == status and not proven(verdict.checks)


def test_the_check_names_the_rules_and_the_page_says_what_they_are_about() -> None:
    verdict = judged({"linkability": 0.03, "hitting_rate": 0.03}, BY_TWO)
    (check,) = (check for check in verdict.checks if check.rule == TOGETHER)
    assert check.message.startswith(
        "Attacks on 2 of the 5 questions about people find, beyond chance, more than 1.5 times what is allowed: "
        "linkability and hitting_rate. "
    )
    page = first_page(verdict, Evaluation(()))
    assert page.answer.startswith("This table must not leave") and page.not_for == ()
    assert "People are at risk: 2 rules about them show a larger leak" in page.answer
    german = catalogue("de")
    for text in (check.message, check.hint, TOGETHER):
        assert german.own(text) != text


def test_rows_that_keep_away_are_no_proven_leak() -> None:
    assert judged({"linkability": -0.1, "hitting_rate": -0.1}, BY_TWO).status == "review"


def test_every_packaged_policy_forbids_proven_leaks() -> None:
    for path in packaged_policies().values():
        found = load_policy(path).proven_leaks
        assert found is not None and (found.questions, found.times) == (2, 1.5)


def test_a_policy_without_the_key_keeps_its_hash() -> None:
    plain = Policy.model_validate(HEAD)
    assert plain.sha256 == Policy.model_validate(HEAD | {"proven_leaks": None}).sha256
    assert plain.sha256 != Policy.model_validate(HEAD | {"proven_leaks": BY_TWO}).sha256
