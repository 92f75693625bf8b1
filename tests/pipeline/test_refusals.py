"""The table of refusals: every pair can be met, and is told in its own words."""

from __future__ import annotations

import re

import pytest

from docs.hooks.reference import refusals
from hybrid.base.errors import ConfigError
from hybrid.pipeline.config import parse_config
from hybrid.pipeline.refusals import FEATURES, LINKED, REFUSALS, SAMPLED, refusal, refused

OF_A_PLACE = {
    "data beside tables",
    "constraints beside tables",
    "a research order",
    "references protected by the category other",
    "weights of other tables",
    "anonymize.models of other tables",
}
"""Features of linked tables, found where the tables are."""
PLAIN = {"data": {"path": "people.csv", "columns": {"age": {"kind": "integer"}}}}


def test_every_feature_is_asked_for_and_refused_somewhere() -> None:
    named = {feature for features in REFUSALS.values() for feature in features}
    assert named - set(FEATURES) == OF_A_PLACE | {"column synthetic_table"}
    assert set(FEATURES) <= named
    assert set(REFUSALS[LINKED]) > OF_A_PLACE


def test_each_place_that_has_a_feature_is_told_once() -> None:
    columns = {"stay": {"kind": "decimal", "role": "weight"}}
    config = parse_config({"data": {"path": "people.csv", "columns": columns}})
    (problem,) = refused(config, SAMPLED)
    assert problem == refusal(SAMPLED, "role weight")


def test_words_of_a_configuration_fill_the_sentence() -> None:
    content = PLAIN | {
        "privacy": {"mode": "dp", "epsilon": 1, "delta": 1e-6},
        "synthesize": {"generator": "cart"},
        "seed": 1,
    }
    with pytest.raises(ConfigError) as caught:
        parse_config(content)
    told = [problem.message for problem in caught.value.problems]
    assert any("synthesize.generator cart keeps no account" in message for message in told)
    assert any("seed is set" in message for message in told)
    assert not re.search(r"[{}]", " ".join(told))


@pytest.mark.parametrize("mode", REFUSALS)
def test_the_reference_prints_every_sentence(mode: str) -> None:
    page = refusals().split(f"\n## `{mode}` ", 1)[1].split("\n## ", 1)[0]
    for feature, found in REFUSALS[mode].items():
        row = next(line for line in page.splitlines() if line.startswith(f"| {feature} |"))
        assert all(part.strip() in row for part in re.split(r"\{\d\}", found.message))
