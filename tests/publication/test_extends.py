"""A policy that extends another states differences; what holds is the resolved policy."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from hybrid.base.errors import ConfigError
from hybrid.publication.policy import Policy, load_policy, packaged_policies

HEAD = 'name: ours\nversion: "1"\nowner: data office\n'
NEW = {"metric": "singling_out", "direction": "lower", "compare": "low", "block": 0.1, "reason": "Nobody stands out."}


def policy_of(folder: Path, text: str, name: str = "own.yaml") -> Policy:
    (folder / name).write_text(HEAD + text)
    return load_policy(folder / name)


def rules_of(policy: Policy) -> dict[str, object]:
    return {rule.name: rule for rule in policy.all_rules}


def test_packaged_policies_have_the_rules_that_releases_were_judged_by() -> None:
    """Who changes a rule changes the policy's version and its hash here."""
    assert {
        (name, load_policy(path).version): load_policy(path).sha256[:16] for name, path in packaged_policies().items()
    } == {
        ("bank", "11"): "435755afffb05ea6",
        ("default", "11"): "81239b5cf147b87c",
        ("hospital", "11"): "a14b68616125fbcb",
        ("statistics_office", "12"): "8d4d961f0f517c15",
    }


def test_what_is_not_stated_is_that_of_the_parent(tmp_path: Path) -> None:
    parent, own = load_policy(packaged_policies()["hospital"]), policy_of(tmp_path, "extends: hospital\n")
    assert (own.name, own.version, own.owner, own.description) == ("ours", "1", "data office", "")
    assert (
        own.model_copy(update={name: getattr(parent, name) for name in ("name", "version", "owner", "description")})
        == parent
    )


def test_a_rule_keeps_its_place_and_the_keys_that_are_not_stated(tmp_path: Path) -> None:
    parent, own = (
        load_policy(),
        policy_of(tmp_path, "extends: default\nrules:\n  membership: {review: 0.004, block: null}\n"),
    )
    at = [rule.name for rule in parent.rules].index("membership")
    changed = parent.rules[at].model_copy(update={"review": 0.004, "block": None})
    assert own.rules == (*parent.rules[:at], changed, *parent.rules[at + 1 :])


def test_null_removes_a_rule_or_a_section_and_a_new_rule_comes_last(tmp_path: Path) -> None:
    sections = {"anonymity": {"l-diversity": None}, "history": None, "rules": {"by dates": NEW, "likeness": None}}
    parent, own = load_policy(), policy_of(tmp_path, "extends: default\n" + yaml.safe_dump(sections))
    removed = {"l-diversity", "likeness", *(rule.name for rule in parent.history)}
    assert [rule.name for rule in own.rules] == [rule.name for rule in parent.rules if rule.name != "likeness"] + [
        "by dates"
    ]
    assert set(rules_of(own)) == set(rules_of(parent)) - removed | {"by dates"}


def test_a_list_of_rules_is_merged_by_name_too(tmp_path: Path) -> None:
    as_list = policy_of(tmp_path, "extends: default\nrules:\n  - {name: membership, review: 0.004}\n")
    assert as_list == policy_of(tmp_path, "extends: default\nrules: {membership: {review: 0.004}}\n")


def test_mappings_merge_and_other_values_replace(tmp_path: Path) -> None:
    own = policy_of(tmp_path, "extends: default\nmust_detect: {near: 0.1}\nsmall_tables: []\nyearly_budget: null\n")
    assert own.must_detect == load_policy().must_detect | {"near": 0.1}
    assert own.small_tables == ()
    assert own.yearly_budget is None


def test_a_path_is_from_the_folder_of_the_file_and_a_changed_parent_is_another_policy(tmp_path: Path) -> None:
    (tmp_path / "wards").mkdir()
    policy_of(tmp_path, "extends: hospital\nrules: {membership: {review: 0.004}}\n", "house.yaml")
    ward = policy_of(tmp_path / "wards", "extends: ../house.yaml\n")
    assert rules_of(ward)["membership"].review == 0.004  # type: ignore[attr-defined]
    policy_of(tmp_path, "extends: hospital\nrules: {membership: {review: 0.005}}\n", "house.yaml")
    assert load_policy(tmp_path / "wards" / "own.yaml").sha256 != ward.sha256


def test_the_league_of_a_parent_is_found_from_the_parents_folder(tmp_path: Path) -> None:
    (tmp_path / "wards").mkdir()
    (tmp_path / "house.yaml").write_text(HEAD + "extends: default\nleague: league.json\n")
    (tmp_path / "wards" / "own.yaml").write_text(HEAD + "extends: ../house.yaml\n")
    with pytest.raises(ConfigError) as caught:
        load_policy(tmp_path / "wards" / "own.yaml")
    assert str(tmp_path / "wards" / ".." / "league.json") in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("extends: hospitl\n", 4, "'hospitl' is not a packaged policy"),
        ("extends: none.yaml\n", 4, "'none.yaml' does not exist"),
        ("extends: own.yaml\n", 4, "extends this policy itself"),
        ("extends: [default]\n", 4, "a name or a path"),
        ("extends: default\nrules:\n  memberships: {review: 0.1}\n", 6, "no rule 'memberships'"),
        ("extends: default\nrules:\n  memberships: null\n", 6, "no rule 'memberships'"),
        ("extends: default\nrules:\n  - {review: 0.1}\n", 6, "a rule was expected"),
        ("extends: default\nrules: {membership: 0.1}\n", 5, "a rule was expected"),
        ("extends: default\nrules: 3\n", 5, "a rule was expected"),
        ("extends: default\nrules:\n  - {name: likeness}\n  - {name: likeness}\n", 7, "'likeness' is given twice"),
        ("extends: default\nrules:\n  likeness:\n    blok: 1\n", 7, "unknown key"),
        ("extends: default\nrules:\n  likeness:\n    block: 0.1\n", 6, "review must not be looser"),
        ("extends: default\nrules:\n  new: {reason: 'Because.'}\n", 6, "metric: this key is missing"),
        ("extends: default\npower:\n  rounds: many\n", 6, "power.rounds"),
    ],
)
def test_mistakes_are_told_with_file_and_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        policy_of(tmp_path, text)
    problem = next(found for found in caught.value.problems if message in found.message)
    assert f"own.yaml, line {line}: " in problem.message


def test_a_circle_over_two_files_and_a_mistake_in_the_parent_name_the_file_concerned(tmp_path: Path) -> None:
    (tmp_path / "house.yaml").write_text(HEAD + "extends: own.yaml\n")
    with pytest.raises(ConfigError, match=r"house\.yaml, line 4: extends: 'own\.yaml' extends this policy itself"):
        policy_of(tmp_path, "extends: house.yaml\n")
    (tmp_path / "house.yaml").write_text(HEAD + "extends: default\nrules:\n  likeness: {blok: 1}\n")
    with pytest.raises(ConfigError, match=r"house\.yaml, line 6: rules\.\d+\.blok: unknown key"):
        policy_of(tmp_path, "extends: house.yaml\nrules: {likeness: {review: 0.5}}\n")


def test_the_head_is_never_inherited(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("name: ours\nextends: default\n")
    with pytest.raises(ConfigError) as caught:
        load_policy(tmp_path / "own.yaml")
    assert [problem.message.split(": ", 1)[1] for problem in caught.value.problems] == [
        "version: this key is missing",
        "owner: this key is missing",
    ]


def test_a_parent_must_be_a_policy_itself(tmp_path: Path) -> None:
    twice = "rules:\n" + 2 * f"  - {yaml.safe_dump({'name': 'dates', **NEW}, default_flow_style=True, width=1000)}"
    (tmp_path / "house.yaml").write_text(HEAD + twice)
    with pytest.raises(ConfigError, match=r"house\.yaml: .*used twice: dates"):
        policy_of(tmp_path, "extends: house.yaml\n")
