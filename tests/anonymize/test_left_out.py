"""People left out by suppression, by group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.anonymize import AnonymizationResult, AnonymizeOptions, anonymize
from hybrid.anonymize.result import LeftOutGroup, json_with_left_out, left_out_by_group
from hybrid.anonymize.steps import anonymize_in_steps
from hybrid.base.rng import rng_for
from hybrid.hierarchy import flat_hierarchy
from hybrid.publication.redact import public_anonymization
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.cells import ALONE, EVERYBODY

SCHEMA = Schema(
    (
        Column("origin", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        Column("ill", Role.SENSITIVE, Kind.CATEGORICAL),
    )
)


def table(origins: list[str]) -> Table:
    ill = np.where(np.arange(len(origins)) % 2, "yes", "no")
    return Table(pd.DataFrame({"origin": pd.Categorical(origins), "ill": pd.Categorical(ill)}), SCHEMA)


def left_out(train: Table, least: int) -> list[LeftOutGroup]:
    hierarchies = {"origin": flat_hierarchy(SCHEMA["origin"], [train.frame["origin"]])}
    found = anonymize(train, hierarchies, AnonymizeOptions(k=5, suppression_limit=0.2, levels={"origin": 0}))
    return left_out_by_group(found, ["origin", "ill"], least)


def test_suppressed_people_are_counted_by_group() -> None:
    found = left_out(table(["a"] * 60 + ["b"] * 30 + ["c"] * 4 + ["d", "e"]), 2)
    assert found[:2] == [LeftOutGroup("", EVERYBODY, 96, 6), LeftOutGroup("", ALONE, 2, 2)]
    assert LeftOutGroup("origin", "c", 4, 4) in found
    assert LeftOutGroup("origin", "rare values together", 2, 2) in found
    assert sum(one.people for one in found if one.column == "ill") == 96
    assert sum(one.left_out for one in found if one.column == "ill") == 6


def test_groups_of_few_people_are_not_told() -> None:
    found = left_out(table(["a"] * 60 + ["b"] * 30 + ["c"] * 4 + ["d", "e"]), 10)
    assert {one.group for one in found} == {EVERYBODY, "a", "b", "yes", "no"}


@pytest.mark.parametrize("rows", [1, 3])
def test_people_are_counted_once(rows: int) -> None:
    origins = np.repeat(["a"] * 60 + ["c"] * 3, rows).tolist()
    train = replace(table(origins), named_persons=np.repeat(np.arange(63), rows))
    assert left_out(train, 2)[0] == LeftOutGroup("", EVERYBODY, 63, 3)


@pytest.mark.parametrize("technique", [None, [{"name": "suppression"}]])
def test_exact_counts_stay_in_the_house(technique: list[dict[str, str]] | None) -> None:
    """Of whatever suppresses; what a release is written from has no counts by group."""
    train = table(["a"] * 60 + ["b"] * 30 + ["c"] * 4 + ["d", "e"])
    trees = {"origin": flat_hierarchy(SCHEMA["origin"], [train.frame["origin"]])}
    asked = {"k": 5, "suppression_limit": 0.2, "levels": {"origin": 0}} | (
        {"technique": technique} if technique else {}
    )
    found = anonymize_in_steps(train, trees, AnonymizeOptions.model_validate(asked), rng_for(1, "steps"))
    content = json_with_left_out(found)
    assert content["left_out"][0] == {"column": "", "group": EVERYBODY, "people": 96, "left_out": 6}
    assert [one["people"] for one in content["left_out"] if one["column"] == "origin"] == [60, 30]
    released = public_anonymization(AnonymizationResult.from_json(content))
    assert "left_out" not in released and released["suppressed"] == 10


@pytest.mark.parametrize("options", [{"recoding": "local"}, {"suppressed": "coarsen", "suppression_limit": 0.2}])
def test_where_nobody_is_left_out_nothing_is_counted(options: dict[str, object]) -> None:
    train = table(["a"] * 60 + ["b"] * 30 + ["c"] * 4 + ["d", "e"])
    trees = {"origin": flat_hierarchy(SCHEMA["origin"], [train.frame["origin"]])}
    found = anonymize(train, trees, AnonymizeOptions.model_validate({"k": 5, **options}))
    assert "left_out" not in json_with_left_out(found)
