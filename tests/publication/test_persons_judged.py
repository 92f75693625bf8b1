"""Packaged policies and persons: judged where the table has some, never excused there, and no cry of wolf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import Evaluation
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.registry import REGISTRY
from hybrid.pipeline.power import judged_table, measure_power
from hybrid.publication.gate import judge
from hybrid.publication.lamps import lamps
from hybrid.publication.policy import Policy, load_policy, packaged_policies
from hybrid.publication.verdict import Verdict
from hybrid.table import Table
from tests.evaluation.simulated_visits import context, joined, one_visit_each, visits

PERSONS = (
    "persons_copied",
    "persons_near",
    "copied_sequences",
    "copied_histories",
    "joined_rows",
    "membership_persons",
)
POLICIES = pytest.mark.parametrize("path", packaged_policies().values(), ids=packaged_policies())
Visits = Callable[[int], tuple[Table, Table, Table]]


@pytest.fixture(scope="module")
def drawn() -> Visits:
    """Training and control visits and those of other persons, the same for the same seed."""
    kept: dict[int, tuple[Table, Table, Table]] = {}

    def draw(seed: int) -> tuple[Table, Table, Table]:
        if seed not in kept:
            rng = np.random.default_rng(seed)
            kept[seed] = visits(220, rng), visits(150, rng), visits(220, rng)
        return kept[seed]

    return draw


def about_persons(path: Path) -> Policy:
    policy = load_policy(path)
    rules = tuple(rule for rule in policy.rules if rule.metric in PERSONS)
    return policy.model_copy(update={"rules": rules, "anonymity": (), "history": (), "must_detect": {}})


def measured(tables: Context, names: tuple[str, ...] = PERSONS) -> Evaluation:
    return Evaluation(tuple(REGISTRY[name].measure(tables) for name in names))


@pytest.fixture(scope="module")
def clean(drawn: Visits) -> list[Evaluation]:
    return [measured(context(*drawn(seed))) for seed in range(10)]


@POLICIES
def test_clean_tables_pass_and_one_visit_of_each_leaked_person_does_not(
    path: Path, drawn: Visits, clean: list[Evaluation]
) -> None:
    policy = about_persons(path)
    assert sum(judge(policy, found, None).status != "pass" for found in clean) <= 1
    train, control, table = drawn(0)
    leaked = joined(one_visit_each(train, 0.1, np.random.default_rng(1)), table)
    found = judge(policy, measured(context(train, control, leaked)), None)
    assert found.status in ("review", "block")
    assert "persons copied" in {check.rule for check in found.open_checks}


@POLICIES
def test_rules_about_persons_do_not_apply_where_each_row_is_another(path: Path, drawn: Visits) -> None:
    policy = about_persons(path)
    rows = tuple(replace(table, named_persons=None) for table in drawn(0))
    verdict = judge(policy, measured(context(*rows)), None)
    assert verdict.status == "pass" and len(verdict.checks) == len(PERSONS)
    assert not any(check.applies for check in verdict.checks)


@POLICIES
@pytest.mark.parametrize("left_out", PERSONS)
def test_an_absent_metric_of_a_table_with_persons_is_a_review(
    path: Path, left_out: str, clean: list[Evaluation]
) -> None:
    found = Evaluation(tuple(metric for metric in clean[0].metrics if metric.name != left_out))
    assert judge(about_persons(path), found, None).status == "review"


def test_a_table_of_one_row_per_person_has_no_histories(drawn: Visits) -> None:
    parts = [table.take(np.unique(table.persons, return_index=True)[1]) for table in drawn(0)]  # type: ignore[arg-type]
    verdict = judge(about_persons(packaged_policies()["default"]), measured(context(*parts)), None)
    assert verdict.status == "pass"
    assert [check.rule for check in verdict.checks if not check.applies] == [
        "histories",
        "linked histories",
        "joined rows of a person",
    ]


def test_copies_planted_of_one_row_per_person_are_noticed_by_the_persons(drawn: Visits) -> None:
    train, control, table = drawn(0)
    table = replace(table, named_persons=None)
    policy = about_persons(packaged_policies()["default"]).model_copy(update={"must_detect": {"copy": 0.1}})
    found = measured(context(train, control, table))
    power = measure_power([judged_table(train, control, table, EvaluateOptions(), 7)], found, policy, 7)
    (leak,) = power.leaks
    assert leak.reached, leak


def sentence(verdict: Verdict) -> str:
    return next(lamp.sentence for lamp in lamps(verdict) if lamp.criterion == "linkability")


def test_the_lamp_of_linkability_tells_two_records_from_two_halves(clean: list[Evaluation], drawn: Visits) -> None:
    policy = load_policy(packaged_policies()["default"])
    rules = tuple(rule for rule in policy.rules if rule.metric in ("linkability", "copied_sequences"))
    policy = policy.model_copy(update={"rules": rules, "anonymity": (), "history": (), "must_detect": {}})
    names = ("linkability", "copied_sequences")
    assert "two records" in sentence(judge(policy, measured(context(*drawn(0)), names), None))
    rows = tuple(replace(table, named_persons=None) for table in drawn(0))
    assert "two records" not in sentence(judge(policy, measured(context(*rows), names), None))
