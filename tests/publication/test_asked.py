"""A run computes what its policy judges, what the first page shows, and what its configuration asks for."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from hybrid.evaluation import REGISTRY
from hybrid.evaluation.metric import SWITCHED
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.price import Sizes, total_price
from hybrid.evaluation.run_metrics import metrics_of
from hybrid.publication.asked import SHOWN, asked, asked_by, not_asked, ways_to_ask
from hybrid.publication.policy import Policy, load_policy, packaged_policies
from hybrid.table import Column, Kind, Role, Schema, Table

OPTIONS = EvaluateOptions()
EVERYTHING = EvaluateOptions(also="all")


def names(policy: Policy | None, options: EvaluateOptions = OPTIONS) -> list[str]:
    return [metric.name for metric in asked(policy, options)]


def judging(metric: str) -> Policy:
    direction = REGISTRY[metric].direction
    rule = {"name": "one", "metric": metric, "direction": direction, "review": 0.5, "reason": "Asked for."}
    return Policy.model_validate({"name": "own", "version": "1", "owner": "A Person", "rules": [rule]})


@pytest.mark.parametrize("path", packaged_policies().values(), ids=packaged_policies())
@pytest.mark.parametrize("sections", [{}, {"retrain": {}, "encoder": {}, "privacy_score": {}}, {"also": "all"}])
def test_no_metric_that_a_packaged_policy_judges_is_missing(path: Path, sections: dict[str, object]) -> None:
    policy = load_policy(path)
    judged = {rule.metric for rule in policy.rules}
    found = names(policy, EvaluateOptions.model_validate(sections))
    assert judged and judged <= set(found)
    assert set(found) >= SHOWN
    assert found == [name for name in REGISTRY if name in found]


def test_the_rest_is_computed_where_it_is_asked_for() -> None:
    policy = load_policy()
    usual, default = names(policy), [metric.name for metric in metrics_of(OPTIONS)]
    # Off by default: comparisons do without, and a register is asked for by naming one.
    judged_alone = {"lone_copies", "lone_near_copies", "lone_secrets", "register_linkage"}
    all_of_them = {*default, *judged_alone}
    assert set(usual) == asked_by(policy) < all_of_them and judged_alone == set(usual) - set(default)
    assert set(names(policy, EVERYTHING)) == all_of_them and names(None) == default
    assert set(names(policy, EvaluateOptions(also=("mmd", "mir")))) == {*usual, "mmd", "mir"}
    assert set(names(policy, EvaluateOptions(also=("all", "mir")))) == {*all_of_them, "mir"}
    assert names(policy, EvaluateOptions(metrics=("mmd",), also=("nndr",))) == ["nndr", "mmd"]
    assert set(names(policy, EvaluateOptions(metrics=("mir",), also="all"))) == {*all_of_them, "mir"}


def test_families_restrict_what_a_policy_asks_for_as_well() -> None:
    found = names(load_policy(), EvaluateOptions(families=("utility",)))
    assert {REGISTRY[name].family for name in found} == {"utility"}
    assert "tstr" in found and "tstr_linear" not in found


@pytest.mark.parametrize("need", SWITCHED)
def test_a_section_that_is_given_asks_for_its_metrics(need: str) -> None:
    section = SWITCHED[need]  # type: ignore[index]
    content = {"path": "voters.csv"} if need == "register" else {}
    found = names(judging("mmd"), EvaluateOptions.model_validate({section: content}))
    own = {name for name, metric in REGISTRY.items() if need in metric.needs and metric.by_default}
    assert own and own <= set(found) and not own & set(names(judging("mmd")))


def test_a_policy_asks_for_what_is_no_default_metric_and_a_section_that_is_missing_is_free() -> None:
    assert "mir" in names(judging("mir")) and "mir" not in names(judging("mmd"))
    assert "mmd" in names(judging("mmd"))
    # It then says which section would switch it on.
    assert "canary" in names(judging("canary"))
    sizes = Sizes(1000, 500, 1000, 10, {None: 1, "target": 1, "secret": 1, "declared_secret": 1, "sensitive": 1})
    assert total_price([REGISTRY["canary"]], sizes, OPTIONS, 1) == 0
    assert "canary" in names(judging("canary"), EvaluateOptions.model_validate({"retrain": {}}))


def test_what_is_left_out_is_said_with_the_way_to_ask_for_it() -> None:
    schema = Schema((Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER),))
    table, policy = Table(pd.DataFrame({"age": [1, 2, 3]}), schema), load_policy()
    said = not_asked(policy, OPTIONS, table)
    listed = re.split(", | and ", said.split(": ")[1].split(". ")[0])
    assert "mmd" in listed and not {"within_person", "mir", *asked_by(policy)} & set(listed)
    assert said.endswith("evaluate.also: all.")
    persons = replace(table, named_persons=pd.Series([0, 0, 1]).to_numpy())
    assert "within_person" in not_asked(policy, OPTIONS, persons)
    for options in (EVERYTHING, EvaluateOptions(metrics=("mmd",))):
        assert not_asked(policy, options, table) == ""
    assert not_asked(None, OPTIONS, table) == ""


def test_the_list_of_metrics_says_how_to_ask() -> None:
    ways = ways_to_ask()
    assert (ways["identical_match"], ways["mmd"], ways["mir"], ways["canary"]) == (
        "",
        "all, or its name",
        "its name",
        "",
    )
