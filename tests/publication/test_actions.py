from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.errors import ConfigError
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult
from hybrid.evaluation.planted_leaks import LEAKS
from hybrid.pipeline.check import diagnose
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.publication.actions import (
    ACTIONS,
    NO_SETTING,
    NOISE,
    NOTHING_LEFT,
    Action,
    Situation,
    nothing_left,
    open_actions,
)
from hybrid.publication.gate import TOO_FEW, judge
from hybrid.publication.policy import Policy, load_policy, packaged_policies
from hybrid.publication.power import LeakTrials, Power
from hybrid.publication.verdict import Check, Verdict
from hybrid.synthesize.registry import REGISTRY as GENERATORS
from tests.frozen.configurations import FROZEN
from tests.frozen.job import ROWS, written
from tests.publication.conftest import an_anonymization

KINDS = ["single", "persons", "linked", "dp", "noise and pram", "beta", "local"]
FURTHER: tuple[Mapping[str, Any], ...] = (
    {"anonymize.k": 40, "synthesize.options.min_leaf": 50},
    {"split.control": 0},
    {"split.control": "cross", "split.stable": True},
    {"sample": {"method": "beta", "beta": 0.5}, "protect": "off"},
    {"sample.method": "none", "sample.beta": 0.5},
    {"transition.method": "uniform", "anonymize.suppression_limit": 0, "synthesize.options.alpha": 0.05},
    {"anonymize.recoding": "local", "anonymize.models": [], "anonymize.levels": {}},
    {"anonymize": None, "transition": None, "sample": {"method": "none"}},
    {"synthesize": {"generator": "none"}},
    {"synthesize.options.min_leaf": 400, "protect.min_count": 100, "anonymize.k": 3},
    {"synthesize": {"generator": "ctgan", "options": {"epochs": 40}}},
    {"synthesize": {"generator": "gaussian_copula"}},
    {"synthesize.tables": 5, "data.max_rows": 1},
    {"constraints": [], "protect.min_count": 30},
    {"synthesize.filter": {"score": "distance"}},
)


def person_table(config: RunConfig) -> RunConfig:
    return config.config_of(config.links.person) if config.is_linked else config


def every_rule_broken(policy: Policy, config: RunConfig) -> Evaluation:
    """Evaluation by which no rule of a policy passes, of the person table, with details that actions read."""
    table = config.links.person if config.is_linked else None
    names = list(person_table(config).data.columns)
    details = {"pairs": [{"first": names[0], "second": names[1]}], "worst_column": names[-1]}

    def results() -> Iterator[MetricResult]:
        for rule in policy.rules:
            worse = 1.0 if rule.direction == "lower" else -1.0
            outcome = Measure(worse, worse, worse, 0.0, 100, details, (0.9, 0.8, 0.95))
            column = None if REGISTRY[rule.metric].per is None else names[-1]
            family = REGISTRY[rule.metric].family
            yield MetricResult(rule.metric, family, rule.stage, rule.direction, outcome, column, table=table)

    return Evaluation(tuple(results()))


def anonymized(config: RunConfig, records: int = 30_000) -> AnonymizationResult | None:
    if config.anonymize is None:
        return None
    columns = person_table(config).data.columns.items()
    levels = {name: 1 for name, one in columns if one.role == "quasi_identifier"}
    return an_anonymization(levels=levels, records=records, k=config.anonymize.k, min_class_size=1)


def broken(policy: Policy, config: RunConfig, records: int = 30_000) -> Verdict:
    evaluation, result = every_rule_broken(policy, config), anonymized(config, records)
    return judge(policy, evaluation, result, "it is not known", config=config.model_dump(mode="json"))


@cache
def packaged(name: str) -> Policy:
    return load_policy(packaged_policies()[name])


def variants(config: RunConfig, number: int, seed: int) -> Iterator[RunConfig]:
    """A configuration, and some with one or two of the further changes that go with it."""
    yield config
    rng = np.random.default_rng(seed)
    for _ in range(number):
        first, second = rng.choice(len(FURTHER), 2, replace=False)
        try:
            yield config.with_values({**FURTHER[first], **FURTHER[second]})
        except ConfigError:  # they do not go together
            continue


@pytest.mark.parametrize("name", KINDS)
def test_no_action_leaves_the_configuration_as_it_is(name: str, tmp_path: Path) -> None:
    base = load_config(written(FROZEN[name], tmp_path))
    table = base.links.person if base.is_linked else None
    found = 0
    for config in variants(base, 10, KINDS.index(name)):
        before = config.model_dump(mode="json")
        columns = list(person_table(config).data.columns)
        details = {"pairs": [{"first": columns[0], "second": columns[1]}]}
        column = columns[found % len(columns)]
        at = Situation(before, anonymized(config), 2, column, table, details)
        for action in open_actions([*ACTIONS, *NOISE], at):
            assert yaml.safe_load(action.line) == {action.key: action.value}
            changed = config.with_values({action.key: action.value})
            assert changed.model_dump(mode="json") != before, action.line
            again = replace(at, config=changed.model_dump(mode="json"))
            assert action.line not in [one.line for one in open_actions([action.name], again)]
            found += 1
    assert found > (2 if base.privacy is not None else 20)


@pytest.mark.parametrize("path", packaged_policies().values(), ids=packaged_policies())
def test_each_rule_names_its_open_actions(path: Path, tmp_path: Path) -> None:
    policy, config = load_policy(path), load_config(written(FROZEN["single"], tmp_path))
    verdict = broken(policy, config)
    assert {rule.metric for rule in policy.rules} <= {check.metric for check in verdict.open_checks}
    for check in verdict.open_checks:
        assert check.to_try() and all(one.words() in check.to_try() for one in check.actions)
    assert {"anonymize.k", "synthesize.options.min_leaf", "sample"} <= {one.key for one in _all_actions(verdict)}


@pytest.mark.parametrize("name", ["single", "persons", "linked", "dp"])
def test_what_an_action_makes_passes_check(name: str, tmp_path: Path) -> None:
    config = load_config(written(FROZEN[name], tmp_path))
    if name == "single":
        bare = config.with_values({"anonymize": None, "transition": None, "sample": {"method": "none"}})
        (action,) = open_actions(["larger groups"], Situation(bare.model_dump(mode="json")))
        restored = bare.with_values({action.key: action.value})
        assert restored.k == 5 and not [one for one in diagnose(restored) if one.level == "error"]
    errors = {one.message for one in diagnose(config) if one.level == "error"}
    found = {one.line: one for one in _all_actions(broken(packaged("statistics_office"), config, ROWS))}
    assert found
    for line, action in found.items():
        if action.key.endswith(("anonymize.levels", "constraints")):  # those of the test say nothing about the table
            continue
        changed = config.with_values({action.key: action.value})
        new = {one.message for one in diagnose(changed) if one.level == "error"} - errors
        assert not new, (line, new)


def _all_actions(verdict: Verdict) -> Iterator[Action]:
    for check in verdict.open_checks:
        yield from check.actions


@pytest.mark.parametrize("path", packaged_policies().values(), ids=packaged_policies())
def test_every_rule_says_what_to_do_or_that_nothing_is_left(path: Path, tmp_path: Path) -> None:
    policy = load_policy(path)
    exhausted = load_config(written(FROZEN["single"], tmp_path)).with_values(
        {
            "anonymize.k": 400,
            "anonymize.recoding": "local",
            "anonymize.models": [],
            "synthesize.options": {"min_leaf": 400, "alpha": 0.05},
            "sample": {"method": "beta", "beta": 0.2},
            "split.stable": True,
            "protect.min_count": 100,
        }
    )
    verdict = broken(policy, exhausted)
    for check in verdict.open_checks:
        assert check.to_try()
        rule = next(one for one in policy.all_rules if one.name == check.rule) if check.metric else None
        if rule is not None and rule.actions and check.status in ("review", "block") and check.hint != TOO_FEW:
            assert bool(check.actions) is not check.hint.startswith((NOTHING_LEFT, NO_SETTING)), check.hint
    said = {check.rule: check.hint for check in verdict.open_checks}
    assert said["membership"] == f"{NOTHING_LEFT}: synthesize.options.min_leaf: 400, sample.beta: 0.2"
    assert said["singling out"].startswith(f"{NOTHING_LEFT}: anonymize.k: 400")


def test_the_walk_of_a_leak_ends(tmp_path: Path) -> None:
    """Taking the first action again and again comes to the sentence that nothing is left."""
    policy, config = packaged("default"), load_config(written(FROZEN["single"], tmp_path))
    for _ in range(12):
        (check,) = (one for one in broken(policy, config).open_checks if one.rule == "near copies")
        if not check.actions:
            break
        config = config.with_values({check.actions[0].key: check.actions[0].value})
    assert check.hint.startswith(NOTHING_LEFT)


def test_a_larger_k_reaches_the_limit_of_the_policy() -> None:
    config = {"anonymize": {"k": 2}}
    (action,) = open_actions(["larger groups"], Situation(config, least_k=10))
    assert action.line == "anonymize.k: 10"
    few = replace(an_anonymization(), records=499)
    assert not list(open_actions(["larger groups"], Situation(config, few, least_k=10)))


def test_nothing_is_proposed_that_the_mode_refuses() -> None:
    private = {"privacy": {"mode": "dp", "epsilon": 2.0}, "synthesize": {"generator": "mst"}}
    found = list(open_actions([*ACTIONS, *NOISE], Situation(private)))
    assert [one.line for one in found] == ["privacy.epsilon: 1.0", "privacy.epsilon: 4.0"]
    assert nothing_left(["more noise"], private) == f"{NOTHING_LEFT}: privacy.epsilon: 2.0"
    usual = {"anonymize": {"k": 5}, "synthesize": {"generator": "cart"}}
    assert not any(one.key.startswith("privacy") for one in open_actions([*ACTIONS, *NOISE], Situation(usual)))
    assert not list(open_actions([*ACTIONS], Situation(usual | {"risk": {"model": "leaky"}})))


def test_a_column_that_something_names_is_not_left_out() -> None:
    columns = {name: {"role": "insensitive"} for name in ("age", "town", "day")}
    config = {"data": {"columns": columns}, "constraints": [{"formula": "town != 'x'"}], "split": {"key": "day"}}
    lines = {
        name: [one.line for one in open_actions(["column left out"], Situation(config, column=name))]
        for name in columns
    }
    assert lines == {"age": ["data.columns.age.role: excluded"], "town": [], "day": []}


def test_everybody_as_control_is_proposed_once(tmp_path: Path) -> None:
    config = load_config(written(FROZEN["single"], tmp_path))
    policy = packaged("default")
    unnoticed = Power(tuple(LeakTrials("copy", 0.01, 4, 4, 0, way=one.way) for one in LEAKS["copy"].ways), 300, 30_000)

    def hints(found: RunConfig) -> set[str]:
        verdict = judge(policy, Evaluation(()), None, power=unnoticed, config=found.model_dump(mode="json"))
        return {check.to_try() for check in verdict.open_checks if check.rule == "power: copy"}

    assert hints(config) and all("split.control: cross" in hint for hint in hints(config))
    crossed = hints(config.with_values({"split.control": "cross"}))
    assert crossed and all(hint.startswith(f"{NOTHING_LEFT}: split.control: cross") for hint in crossed)


def test_actions_survive_their_file() -> None:
    check = Check("a", "review", "found", actions=(Action("larger groups", "anonymize.k", 10),))
    (kept,) = json.loads(json.dumps(Verdict.of("p", (check,)).to_json()))["checks"]
    assert kept["actions"] == [{"name": "larger groups", "key": "anonymize.k", "value": 10, "known": True}]
    assert Check.from_json(kept) == check


def test_all_neural_generators_are_known_by_their_epochs() -> None:
    rng = np.random.default_rng(1)
    names = [name for name, one in GENERATORS.items() if "epochs" in one.Options.model_fields]
    assert "ctgan" in names
    for name in rng.choice(names, min(len(names), 3), replace=False):
        config = {"synthesize": {"generator": str(name), "options": {"epochs": 100}}}
        halved, doubled = open_actions(["fewer epochs", "more epochs"], Situation(config))
        assert (halved.value, doubled.value) == (50, 200)


def test_rows_that_keep_away_are_not_driven_further_away(tmp_path: Path) -> None:
    policy, config = packaged("default"), load_config(written(FROZEN["single"], tmp_path))
    outcome = Measure(0.0, 0.0, 0.0, 0.5, 100, {}, (-0.5, -0.6, -0.4))
    found = Evaluation((MetricResult("dcr_score", "privacy", "synthetic", "lower", outcome),))
    result = anonymized(config.with_values({"anonymize.k": 40}))
    verdict = judge(policy, found, result, config=config.with_values({"anonymize.k": 40}).model_dump(mode="json"))
    (check,) = (one for one in verdict.checks if one.metric == "dcr_score")
    assert check.status in ("review", "block")
    assert [one.line for one in check.actions] == ["anonymize.k: 20", "synthesize.options.min_leaf: 10"]
