"""Every public sentence about a private table changes with what would make it false."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.privacy.accounting import Budget, BudgetPart, at_most, delta_of, rho_for
from hybrid.publication.description.croissant import croissant
from hybrid.publication.description.description import Description, PublishOptions
from hybrid.publication.description.readme import readme
from hybrid.publication.first_page import RunFacts, first_page, private_page
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy, load_policy, packaged_policies
from hybrid.publication.private_words import account, decision, guarantee, is_dp, not_covered, steps, unit_words
from hybrid.publication.table_facts import TableFacts
from hybrid.publication.verdict import Verdict

PRIVACY = {"mode": "dp", "epsilon": 0.5, "delta": 1e-6}
TABLE = TableFacts(12340, 560, 700, 3, ("name",), (), ("age", "ward"))


def config(**data: Any) -> dict[str, Any]:
    return {"privacy": PRIVACY, "data": {"person": "name", "max_rows": 3, **data}, "output": {"identifiers": "drop"}}


def said(chosen: dict[str, Any]) -> str:
    return " ".join((*guarantee(chosen), *steps(chosen)))


def test_numbers_of_the_claim_are_those_of_the_configuration() -> None:
    text = said(config())
    assert "epsilon = 0.5 and delta = 1e-06" in text
    assert "a factor of at most e^0.5, which is at most 1.65, and by 1e-06 beyond" in text
    other = config() | {"privacy": PRIVACY | {"epsilon": 4.0, "delta": 1e-8}}
    assert "epsilon = 4 and delta = 1e-08" in said(other)
    assert "e^4, which is at most 54.6," in said(other)
    fine = said(config() | {"privacy": PRIVACY | {"epsilon": 0.12345611, "delta": 1.000000001e-8}})
    assert "epsilon = 0.123457 and delta = 1.00001e-08" in fine and math.exp(0.12345611) < 1.14
    assert "e^0.123457, which is at most 1.14," in fine


def test_claimed_delta_is_reached_by_the_account_and_no_smaller_one() -> None:
    """The factor and delta of the sentence are those of a mechanism that spends all of its rho."""
    rho = rho_for(PRIVACY["epsilon"], PRIVACY["delta"])  # type: ignore[arg-type]
    assert delta_of(rho, 0.5) == pytest.approx(1e-6, rel=1e-6)
    assert delta_of(rho, 0.49) > 1e-6


@pytest.mark.parametrize(
    ("data", "claim", "step"),
    [
        ({}, "all their rows, of which at most 3, drawn at random, are used", "at most 3 rows count, drawn at random"),
        ({"max_rows": 1}, "all their rows, of which one, drawn at random, is used", "Of each person one row counts"),
        ({"person": "none", "max_rows": None}, "with their row (it was declared", "Each row counts as another person"),
        ({"person": None, "max_rows": None}, "with their row (it was declared", "Each row counts as another person"),
    ],
)
def test_unit_is_the_declared_one(data: dict[str, Any], claim: str, step: str) -> None:
    text = said(config(**data))
    assert claim in text and step in text
    others = {"at most 3", "one, drawn", "it was declared that each row"} - {
        part for part in ("at most 3", "one, drawn", "it was declared that each row") if part in claim + step + text
    }
    assert not any(other in text for other in others)
    assert "neighbouring tables differ in the presence of one person" in text


def test_unit_of_the_account_names_the_columns() -> None:
    assert unit_words(config()) == "person: name"
    assert unit_words(config(person=["name", "birth"])) == "person: name, birth"
    assert unit_words(config(person="none")) == "each row is another person"


def test_adversary_and_conditions_are_stated() -> None:
    text = said(config())
    for words in (
        "whatever else they know (the records of all other people",
        "not the seed or the memory of the run",
        "cannot predict the random bits of the operating system",
        "where they were taken from the records, nothing is guaranteed",
    ):
        assert words in text


def test_what_is_not_covered_is_in_every_statement() -> None:
    text = " ".join(not_covered())
    for words in ("the verdict", "when to draw and whether to publish", "operator's folder", "how long a run works"):
        assert words in text
    assert "A further draw from the same people, published or not, has a budget of its own" in text
    assert text in said(config())
    assert "The decision read real records, and the guarantee does not cover it." in decision("Ada", "house 1")


def test_account_states_every_part_and_the_delta_of_searches_only_if_there_is_one() -> None:
    parts = (
        BudgetPart("number of rows", 0.001),
        BudgetPart("categories of ward", 0.004, 1e-7),
        BudgetPart("choice of pairs", 0.002),
    )
    budget = Budget(1.0, 1e-6, 3, parts)
    text = account(budget.to_json())
    assert all(f"{part.name} {part.rho:.3g}" in text for part in parts)
    assert f"together {0.007:.4g} (and delta 1e-07 for categories" in text
    assert f"delta = {at_most(1e-7 + delta_of(0.007, 1.0), 3)} at epsilon = 1" in text
    assert "categories that" not in account(Budget(1.0, 1e-6, 3, parts[:1]).to_json())


def a_page(**data: Any) -> Any:
    facts = RunFacts("clinic", "2026-01-02", "Grace Hopper", config(**data), TABLE, private=True)
    return private_page("house 1", facts)


def test_first_page_counts_released_rows_alone_and_names_who_decided() -> None:
    page = a_page()
    text = " ".join(map(str, page.to_json().values()))
    assert "The table has 700 rows and 3 columns" in text
    assert not any(number in text for number in ("12,3", "12340", "560"))
    assert page.answer.startswith("Published by decision of Grace Hopper, who answers for the policy house 1.")
    assert page.lamps == ()
    assert "coarser" not in text and "Left as they are" not in text


def test_first_screens_state_epsilon_and_delta() -> None:
    chosen = config()
    epsilon, delta = chosen["privacy"]["epsilon"], chosen["privacy"]["delta"]
    facts = RunFacts("clinic", "2026-01-02", "Grace Hopper", chosen, TABLE, private=True)
    for page in (private_page("house 1", facts), first_page(Verdict.of("house 1", ()), Evaluation(()), facts)):
        first, second = page.promise
        assert f"epsilon = {at_most(epsilon, 6)} and delta" in first
        assert float(first.rsplit(" = ", 1)[1].rstrip(".")) == delta
        assert f"at most {at_most(math.exp(epsilon), 3)}, and by" in second
    (not_claimed,) = first_page(Verdict.of("p", ()), Evaluation(()), replace(facts, private=False)).promise
    assert "does not claim it: its seed was given" in not_claimed
    assert first_page(Verdict.of("p", ()), Evaluation(()), replace(facts, config={}, private=False)).promise == ()


SECTIONS_OF_OTHERS = re.compile(
    r"anonymize\.|protect|transition|sample\.beta|min_leaf|l_diversity|hierarch|suppression|split\.stable|epochs"
)


@pytest.mark.parametrize("path", packaged_policies().values(), ids=lambda path: path.stem)
def test_no_hint_of_a_private_run_names_what_the_mode_refuses(path: Path) -> None:
    policy = load_policy(path)
    measured = [
        MetricResult(rule.metric, REGISTRY[rule.metric].family, rule.stage, rule.direction, outcome)
        for rule in policy.rules
        for worse in [1.0 if rule.direction == "lower" else -1.0]
        for outcome in [Measure(worse, worse, worse, 0.0, excess=(0.9, 0.8, 0.95))]
    ]
    usual, private = (
        judge(policy, Evaluation(tuple(measured)), None, "it is not known", config=config)
        for config in ({"name": "run"}, {"privacy": {"mode": "dp", "epsilon": 1.0}})
    )
    assert [(check.rule, check.status) for check in usual.checks] == [
        (check.rule, check.status) for check in private.checks
    ]
    assert any(SECTIONS_OF_OTHERS.search(check.hint) for check in usual.open_checks)
    assert not any(SECTIONS_OF_OTHERS.search(check.hint) for check in private.open_checks)
    (k,) = (check for check in private.checks if check.rule == "k-anonymity")
    assert "noise protects people instead" in k.message


def test_k_is_not_asked_of_a_table_whose_noise_a_yearly_budget_limits() -> None:
    policy, config = load_policy(), {"privacy": {"mode": "dp", "epsilon": 1.0}}

    def about_groups(policy: Policy, claims: bool) -> dict[str, tuple[str, bool]]:
        found = judge(policy, Evaluation(()), None, "it is not known", config=config, claims_privacy=claims)
        return {check.rule: (check.decision, check.applies) for check in found.checks}

    unlimited = policy.model_copy(update={"yearly_budget": None})
    strict = load_policy(packaged_policies()["hospital"])
    for rule in ("k-anonymity", "earlier releases"):
        assert about_groups(policy, claims=True)[rule] == ("pass", False)
        assert (
            about_groups(policy, claims=False)[rule] == about_groups(unlimited, claims=True)[rule] == ("review", True)
        )
    assert about_groups(policy, claims=True)["suppression"] == ("pass", False)
    assert about_groups(strict, claims=True)["k-anonymity"] == ("block", True)


def test_descriptions_refer_to_no_measurement() -> None:
    about = Description("clinic", "2026-01-02-aa", "2026-01-02T00", PublishOptions(), (), (), a_page(), "hybrid 1")
    private, usual = (Description(**{**about.__dict__, "private": flag}) for flag in (True, False))
    for words in ("The report gives the measured differences", "result, is in the certificate and in the report"):
        assert words in str(croissant(usual)) and words not in str(croissant(private))
    assert "guarantees, the verdict" in readme(usual)
    assert (
        "guarantee, its account and the SHA-256" in readme(private) and "verdict" not in readme(private).split("##")[-1]
    )


def test_other_runs_are_not_in_the_mode() -> None:
    assert is_dp(config())
    assert not is_dp({"privacy": None}) and not is_dp({})
