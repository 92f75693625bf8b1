"""Policies are read strictly, and every mistake is told at once."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from hybrid.base.errors import ConfigError
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.metric import SWITCHED
from hybrid.evaluation.options import RetrainOptions
from hybrid.evaluation.planted_leaks import LEAKS
from hybrid.pipeline.config import load_config
from hybrid.publication.policy import Policy, load_policy, packaged_policies, packaged_policy

RULE = {"name": "copies", "metric": "identical_match", "direction": "lower", "block": 2, "reason": "Copies are people."}
HEAD = {"name": "own", "version": "1", "owner": "data office"}


def written(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def test_the_default_policy_is_the_packaged_one_of_that_name() -> None:
    default = load_policy()
    assert load_policy(packaged_policies()["default"]) == default
    assert {rule.name for rule in default.all_rules} >= {"k-anonymity", "exact copies", "usefulness"}


def test_the_default_policy_names_metrics_that_exist_with_their_directions() -> None:
    for rule in load_policy().rules:
        assert REGISTRY[rule.metric].direction == rule.direction


def test_a_policy_is_read(tmp_path: Path) -> None:
    policy = load_policy(written(tmp_path, HEAD | {"rules": [RULE]}))
    assert policy.rules[0].stage == "synthetic"
    assert policy.rules[0].if_not_computable == "review"


def test_the_hash_is_of_the_content_and_not_of_the_file(tmp_path: Path) -> None:
    policy = load_policy(written(tmp_path, HEAD | {"rules": [RULE]}))
    commented = load_policy(written(tmp_path, "# ours\n" + yaml.safe_dump(HEAD | {"rules": [RULE]}, sort_keys=False)))
    looser = load_policy(written(tmp_path, HEAD | {"rules": [RULE | {"block": 3}]}))
    assert policy.sha256 == commented.sha256 != looser.sha256


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    rules = [RULE | {"blok": 3}, RULE | {"direction": "down"}, {"name": "x", "metric": "m", "direction": "lower"}]
    with pytest.raises(ConfigError) as caught:
        load_policy(written(tmp_path, {"name": "own", "version": "1", "rules": rules}))
    text = str(caught.value)
    assert "owner: this key is missing" in text
    assert "rules.0.blok: unknown key" in text
    assert "did you mean 'block'" in text
    assert "rules.1.direction" in text
    assert "rules.2.reason: this key is missing" in text
    assert len(caught.value.problems) >= 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"block": None}, "needs a limit"),
        ({"review": 3}, "review must not be looser than block"),
        ({"direction": "higher", "review": 1}, "review must not be looser than block"),
        ({"compare": "difference_to_stage"}, "other names the second stage"),
        ({"other": "baseline"}, "other names the second stage"),
        ({"if_not_computable": "pass"}, "'review' or 'block'"),
        ({"applies_if": ["control"]}, "applies_if"),
        ({"block": float("nan")}, "finite number"),
        ({"reason": ""}, "at least 1 character"),
        ({"stage": "published"}, "'original', 'anonymized', 'synthetic' or 'baseline'"),
    ],
)
def test_rules_that_make_no_sense_are_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_policy(written(tmp_path, HEAD | {"rules": [RULE | change]}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEAD, "would let everything out"),
        (HEAD | {"rules": [RULE, RULE]}, "used twice: copies"),
        ("rules: [", "line 1: this is not valid YAML"),
        ("- a list", "a mapping of keys to values"),
        ("", "a mapping of keys to values"),
    ],
)
def test_files_that_make_no_sense_are_refused(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_policy(written(tmp_path, content))


def test_a_missing_file_and_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_policy(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not valid YAML"):
        load_policy(tmp_path / "binary.yaml")


def test_equal_limits_are_fine() -> None:
    assert Policy.model_validate(HEAD | {"rules": [RULE | {"review": 2}]}).rules[0].review == 2


@pytest.mark.parametrize("template", packaged_policies().values(), ids=packaged_policies())
def test_templates_judge_metrics_that_exist_in_their_direction(template: Path) -> None:
    policy = load_policy(template)
    assert [(rule.name, rule.direction) for rule in policy.rules] == [
        (rule.name, REGISTRY[rule.metric].direction) for rule in policy.rules
    ]
    assert policy.history, "a policy for many nights says what they may give away together"
    assert all(rule.hint or rule.actions for rule in policy.all_rules)
    assert "nobody" in policy.owner


@pytest.mark.parametrize("template", packaged_policies().values(), ids=packaged_policies())
def test_templates_judge_every_default_attack_by_its_excess(template: Path) -> None:
    judged = {rule.metric for rule in load_policy(template).rules if rule.compare in ("excess", "both_ends")}
    attacks = {
        metric.name
        for metric in REGISTRY.values()
        if metric.family == "privacy"
        and metric.by_default
        and not SWITCHED.keys() & set(metric.needs)
        and not metric.name.endswith("_reached")
        and "model" not in metric.needs  # No release contains the model.
    }
    # Comparisons do without copies of people alone, so they are not by default; policies judge them all the same.
    # A register is asked for by naming one; then every packaged policy judges it.
    assert judged == attacks | {"lone_copies", "lone_near_copies", "lone_secrets", "register_linkage"}


@pytest.mark.parametrize("template", packaged_policies().values(), ids=packaged_policies())
def test_trainings_end_at_the_limits_of_the_templates(template: Path) -> None:
    rules = {rule.metric: (rule.review, rule.block) for rule in load_policy(template).rules if "both" in rule.compare}
    options = RetrainOptions()
    expected = {"membership_trained": options.exposed_limits, "membership_trained_random": options.random_limits}
    assert rules == expected


def test_the_earlier_name_of_a_metric_is_refused_with_its_mend(tmp_path: Path) -> None:
    content = yaml.safe_load(packaged_policies()["default"].read_text())
    content["rules"][0] |= {"metric": "membership_pool"}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match="write membership_trained"):
        load_policy(tmp_path / "own.yaml")


@pytest.mark.parametrize("template", packaged_policies().values(), ids=packaged_policies())
def test_templates_never_excuse_a_missing_control_set(template: Path) -> None:
    for rule in load_policy(template).rules:
        assert "control" not in rule.applies_if


@pytest.mark.parametrize("template", packaged_policies().values(), ids=packaged_policies())
def test_templates_ask_about_persons_only_where_the_table_has_some(template: Path) -> None:
    about = {rule.metric: rule for rule in load_policy(template).rules if "persons" in REGISTRY[rule.metric].needs}
    histories = {"copied_sequences", "copied_histories", "joined_rows", "near_histories"}
    assert set(about) == {"persons_copied", "persons_near", "membership_persons", *histories}
    assert all(("several_rows" in rule.applies_if) == (name in histories) for name, rule in about.items())
    assert all("persons" in rule.applies_if for rule in about.values())


def test_a_name_without_folder_and_suffix_is_a_packaged_policy() -> None:
    assert list(packaged_policies()) == ["bank", "default", "hospital", "statistics_office"]
    for name, path in packaged_policies().items():
        assert packaged_policy(name) == path


@pytest.mark.parametrize("path", ["policies/own.yaml", "./own", "own.yaml", "hospital.yml", "policies\\own"])
def test_everything_else_is_a_path(path: str) -> None:
    assert packaged_policy(path) is None


def test_an_unknown_name_lists_the_packaged_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        packaged_policy("hospitl")
    (problem,) = caught.value.problems
    assert "'hospitl'" in problem.message
    assert "bank, default, hospital, statistics_office" in problem.hint


def test_a_config_names_a_packaged_policy_or_a_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("data: {path: t.csv}\npolicy: bank\n")
    assert load_policy(load_config(tmp_path / "config.yaml").policy_path).name == "bank"
    (tmp_path / "config.yaml").write_text("data: {path: t.csv}\npolicy: policy.yaml\n")
    written(tmp_path, HEAD | {"rules": [RULE]})
    assert load_policy(load_config(tmp_path / "config.yaml").policy_path).name == "own"
    (tmp_path / "config.yaml").write_text("data: {path: t.csv}\n")
    assert load_policy(load_config(tmp_path / "config.yaml").policy_path) == load_policy()


@pytest.mark.parametrize("name", sorted(packaged_policies()))
def test_packaged_policies_demand_that_the_kinds_of_leak_which_honest_tables_notice_are_noticed(name: str) -> None:
    policy = load_policy(packaged_policies()[name])
    assert policy.plants_leaks
    assert set(LEAKS) - set(policy.must_detect) == {"changed", "half", "rotated", "recoded", "histories"}
    judged = {rule.metric for rule in policy.rules if rule.detects}
    for leak in LEAKS.values():
        assert set(leak.seen_by) <= judged, f"{leak.name}: a metric that sees it has no rule"
