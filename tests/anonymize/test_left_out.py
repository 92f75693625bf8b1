"""People left out by suppression, by group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.anonymize import AnonymizeOptions, anonymize
from hybrid.anonymize.left_out import ALONE, EVERYBODY, LeftOut, left_out_by_group
from hybrid.hierarchy import flat_hierarchy
from hybrid.table import Column, Kind, Role, Schema, Table

SCHEMA = Schema(
    (
        Column("origin", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        Column("ill", Role.SENSITIVE, Kind.CATEGORICAL),
    )
)


def table(origins: list[str]) -> Table:
    ill = np.where(np.arange(len(origins)) % 2, "yes", "no")
    return Table(pd.DataFrame({"origin": pd.Categorical(origins), "ill": pd.Categorical(ill)}), SCHEMA)


def left_out(train: Table, least: int) -> list[LeftOut]:
    hierarchies = {"origin": flat_hierarchy(SCHEMA["origin"], [train.frame["origin"]])}
    found = anonymize(train, hierarchies, AnonymizeOptions(k=5, suppression_limit=0.2, levels={"origin": 0}))
    return left_out_by_group(found, ["origin", "ill"], least)


def test_suppressed_people_are_counted_by_group() -> None:
    found = left_out(table(["a"] * 60 + ["b"] * 30 + ["c"] * 4 + ["d", "e"]), 2)
    assert found[:2] == [LeftOut("", EVERYBODY, 96, 6), LeftOut("", ALONE, 2, 2)]
    assert LeftOut("origin", "c", 4, 4) in found
    assert LeftOut("origin", "rare values together", 2, 2) in found
    assert sum(one.people for one in found if one.column == "ill") == 96
    assert sum(one.left_out for one in found if one.column == "ill") == 6


def test_groups_of_few_people_are_not_told() -> None:
    found = left_out(table(["a"] * 60 + ["b"] * 30 + ["c"] * 4 + ["d", "e"]), 10)
    assert {one.group for one in found} == {EVERYBODY, "a", "b", "yes", "no"}


@pytest.mark.parametrize("rows", [1, 3])
def test_people_are_counted_once(rows: int) -> None:
    origins = np.repeat(["a"] * 60 + ["c"] * 3, rows).tolist()
    train = replace(table(origins), persons=np.repeat(np.arange(63), rows))
    assert left_out(train, 2)[0] == LeftOut("", EVERYBODY, 63, 3)
