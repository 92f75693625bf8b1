"""Policies are read strictly, and every mistake is told at once."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from hybrid.base.errors import ConfigError
from hybrid.evaluation import REGISTRY
from hybrid.publication.policy import Policy, load_policy

RULE = {"name": "copies", "metric": "identical_match", "direction": "lower", "block": 2, "reason": "Copies are people."}
HEAD = {"name": "own", "version": "1", "owner": "data office"}


def written(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def test_the_default_policy_comes_with_the_package_and_as_a_template() -> None:
    default = load_policy()
    template = Path(__file__).parents[2] / "configs" / "policies" / "default.yaml"
    assert load_policy(template) == default
    assert {rule.name for rule in default.all_rules} >= {"k-anonymity", "exact copies", "usefulness"}


def test_the_default_policy_names_metrics_that_exist_with_their_directions() -> None:
    for rule in load_policy().rules:
        assert REGISTRY[rule.metric].direction == rule.direction


def test_a_policy_is_read(tmp_path: Path) -> None:
    policy = load_policy(written(tmp_path, HEAD | {"rules": [RULE]}))
    assert policy.rules[0].stage == "synthetic"
    assert policy.rules[0].if_not_computable == "block"


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
    assert "owner: Field required" in text
    assert "rules.0.blok: unknown key" in text
    assert "did you mean 'block'" in text
    assert "rules.1.direction" in text
    assert "rules.2.reason: Field required" in text
    assert len(caught.value.problems) >= 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"block": None}, "needs a limit"),
        ({"review": 3}, "review must not be looser than block"),
        ({"direction": "higher", "review": 1}, "review must not be looser than block"),
        ({"compare": "difference_to_stage"}, "other names the second stage"),
        ({"other": "baseline"}, "other names the second stage"),
        ({"allowance": 0.1}, "allowance goes with"),
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
        (HEAD | {"rules": [RULE, RULE]}, "stand twice: copies"),
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


TEMPLATES = sorted((Path(__file__).parents[2] / "configs" / "policies").glob("*.yaml"))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_templates_judge_metrics_that_exist_in_their_direction(template: Path) -> None:
    policy = load_policy(template)
    assert [(rule.name, rule.direction) for rule in policy.rules] == [
        (rule.name, REGISTRY[rule.metric].direction) for rule in policy.rules
    ]
    assert policy.history, "a policy for many nights says what they may give away together"
    assert all(rule.hint for rule in policy.all_rules)
    assert "nobody" in policy.owner
