"""Other groups, more and fewer levels of a listed hierarchy."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import HierarchyError
from hybrid.hierarchy.build import from_rows
from hybrid.hierarchy.doctor import labels_of, regrouped, with_level, without_level
from hybrid.hierarchy.files import rows_of, text_of_rows
from hybrid.hierarchy.load import load_hierarchy, parse_hierarchy
from hybrid.table import Column, Kind, Role

TOWNS = [
    ("Berlin", "East", "Germany", "*"),
    ("Potsdam", "East", "Germany", "*"),
    ("Bonn", "West", "Germany", "*"),
    ("Lyon", "South", "France", "*"),
]
COLUMN = Column("town", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL)


def test_groups_keep_their_labels_above_unless_these_differ() -> None:
    assert labels_of(TOWNS, 1) == {"East": "Germany", "West": "Germany", "South": "France"}
    found = regrouped(TOWNS, 1, {"Bonn": "Rhine", "Lyon": "Rhine", "Berlin": "Spree ", "Potsdam": "Spree"})
    assert found == [
        ("Berlin", "Spree", "Germany", "*"),
        ("Potsdam", "Spree", "Germany", "*"),
        ("Bonn", "Rhine", "Rhine", "*"),  # of two countries: on its own until somebody joins it
        ("Lyon", "Rhine", "Rhine", "*"),
    ]
    assert regrouped(found, 2, {"Rhine": "Abroad"})[2:] == [(t, "Rhine", "Abroad", "*") for t in ("Bonn", "Lyon")]


def test_a_level_is_added_and_removed() -> None:
    more = with_level(TOWNS, 1)
    assert more[0] == ("Berlin", "East", "East", "Germany", "*")
    assert without_level(more, 2) == TOWNS and without_level(without_level(TOWNS, 1), 1)[0] == ("Berlin", "*")


@pytest.mark.parametrize("level", [0, 3, 9, -1])
def test_values_and_root_stay(level: int) -> None:
    with pytest.raises(HierarchyError, match="not between the values and the root"):
        regrouped(TOWNS, level, {"Berlin": "x"})
    with pytest.raises(HierarchyError, match="not between the values and the root"):
        without_level(TOWNS, level)


def test_an_empty_label_and_a_level_above_the_root_are_refused() -> None:
    with pytest.raises(HierarchyError, match="level 1: a label is empty"):
        regrouped(TOWNS, 1, {"Berlin": "  "})
    with pytest.raises(HierarchyError, match="there is no level 3 below the root"):
        with_level(TOWNS, 3)


@given(
    st.lists(st.tuples(*[st.sampled_from("pqr")] * 2), min_size=2, max_size=8),
    st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("XYZ"), max_size=8),
)
def test_any_regrouping_is_a_hierarchy_and_is_read_as_it_is_written(
    pairs: list[tuple[str, str]], groups: dict[str, str]
) -> None:
    rows = [(value, f"1{low}{high}", f"2{high}", "*") for value, (low, high) in zip("abcdefgh", pairs, strict=False)]
    found = from_rows(regrouped(rows, 1, groups), COLUMN, missing=False, source="h.csv")
    values = pd.Series([row[0] for row in rows], dtype="category")
    again = load_hierarchy(parse_hierarchy(text_of_rows(rows_of(found)), Path("h.csv")), COLUMN, values)
    assert rows_of(again) == rows_of(found)
    assert all(found.labels[found.node_of[at, 1]] == groups.get(row[0], row[1]) for at, row in enumerate(rows))
