"""Settings that are tried: valid, different from each other, no k below what the policy asks for."""

from __future__ import annotations

import pytest

from hybrid.pipeline.config import RunConfig, load_config
from hybrid.publication.policy import Policy, load_policy
from hybrid.tuning.settings import settings
from tests.comparison.comparison_jobs import write_job


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> RunConfig:
    folder = tmp_path_factory.mktemp("job")
    write_job(folder)
    return load_config(folder / "config.yaml", {"sample": {"method": "none"}})


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy()


def test_every_kind_of_setting_is_tried(config: RunConfig, policy: Policy) -> None:
    found = settings(config, policy, 2500, 20, seed=1)
    assert len(found) == 20 and found[0].values == {} and found[0].config is config
    keys = {key for one in found for key in one.values}
    assert keys >= {
        "anonymize.k",
        "anonymize.suppression_limit",
        "anonymize.recoding",
        "anonymize.loss.name",
        "transition.method",
        "synthesize.options.min_leaf",
        "synthesize.options.alpha",
        "sample.beta",
        "synthesize.rows",
    }
    assert {one.config.synthesize.options.get("min_leaf") for one in found} == {None, 25, 100}
    more = settings(config, policy, 2500, 60, seed=1)
    assert {one.config.synthesize.options.get("alpha") for one in more} == {None, 0.1, 0.3, 0.9}
    assert len({one.config.model_dump_json() for one in found}) == 20
    for one in found:
        if one.values.get("anonymize.recoding") == "local":
            assert "anonymize.suppression_limit" not in one.values


def test_leaves_are_varied_for_persons_with_several_rows_too(policy: Policy) -> None:
    columns = {name: {"role": "insensitive", "kind": "integer"} for name in ("age", "cost")}
    data = {
        "path": "visits.csv",
        "person": "id",
        "columns": columns | {"id": {"role": "identifier", "kind": "integer"}},
    }
    visits = RunConfig.model_validate({"name": "visits", "data": data, "transition": None})
    assert visits.draws_persons
    found = settings(visits, policy, 2500, 20, seed=1, generalizes=False)
    assert {one.config.synthesize.options.get("min_leaf") for one in found} == {None, 25, 100}


def test_the_same_seed_the_same_settings(config: RunConfig, policy: Policy) -> None:
    one, two, other = (settings(config, policy, 2500, 8, seed) for seed in (1, 1, 2))
    assert [each.values for each in one] == [each.values for each in two] != [each.values for each in other]


def test_k_is_neither_below_the_policy_nor_large_for_the_table(config: RunConfig, policy: Policy) -> None:
    ks = {one.config.k for one in settings(config.with_values({"anonymize.k": 3}), policy, 250, 30, seed=1)}
    assert ks == {3, 5, 10}  # 3 is configured; 20 is more than one of 20 people


def test_words(config: RunConfig, policy: Policy) -> None:
    found = [one.words for one in settings(config, policy, 2500, 60, seed=1)]
    assert found[0] == "as configured" and len(set(found)) == len(found)
    assert any("sample 50%" in words for words in found) and any("leaves 100" in words for words in found)
    assert any("alpha 0.1" in words for words in found)


def test_where_nothing_is_generalized_generator_and_sample_alone_are_varied(config: RunConfig, policy: Policy) -> None:
    found = settings(config, policy, 2500, 60, seed=1, generalizes=False)
    keys = {key for one in found for key in one.values}
    sampled = {"sample.method", "sample.beta", "synthesize.rows"}
    assert keys == {"synthesize.options.min_leaf", "synthesize.options.alpha", *sampled}
    # Seven kinds of trees, and all people, seven in ten, half or 35 % of them, with as many rows as people or as people
    # sampled (of 35 % these would be too few); and two of a quarter, in small leaves.
    assert len(found) == 7 * (1 + 3 + 2) + sum(one.config.sample.effective.beta == 0.25 for one in found)
    quarters = [one.config.synthesize.options["min_leaf"] for one in found if one.config.sample.effective.beta == 0.25]
    assert quarters and set(quarters) == {25}


def test_leaves_are_half_and_twice_of_what_so_many_people_need(config: RunConfig, policy: Policy) -> None:
    found = settings(config, policy, 14_400, 60, seed=1, generalizes=False)
    assert {one.config.synthesize.options.get("min_leaf") for one in found} == {None, 60, 240}


def test_of_a_sampled_table_other_shares_are_tried(config: RunConfig, policy: Policy) -> None:
    sampled = config.with_values({"sample.method": "beta", "sample.beta": 0.7})
    found = settings(sampled, policy, 2500, 60, seed=1, generalizes=False)
    assert {one.config.sample.effective.beta for one in found} == {0.25, 0.35, 0.5, 0.7, 1.0}
    assert {"all people", "sample 50%"} <= {one.words for one in found}
