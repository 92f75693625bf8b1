"""Words for the levels of a hierarchy: widths, characters and periods, never a value."""

from __future__ import annotations

import pandas as pd
import pytest

from hybrid.hierarchy.labels import LEFT_OUT, level_words
from hybrid.hierarchy.load import load_hierarchy
from hybrid.hierarchy.spec import DatesSpec, GroupsSpec, HierarchySpec, IntervalsSpec, MaskSpec, TreeSpec
from hybrid.table import DTYPES, Column, Kind, Role


@pytest.mark.parametrize(
    ("kind", "values", "spec", "words"),
    [
        (Kind.INTEGER, [1, 33, 77], IntervalsSpec(widths=(5, 10)), ["groups of 5", "groups of 10"]),
        (Kind.DECIMAL, [0.5, 3.0, None], IntervalsSpec(widths=("0.5", "1000")), ["groups of 0.5", "groups of 1000"]),
        (Kind.INTEGER, [1, 2, 9], IntervalsSpec(widths=(1, 2), top=8), ["kept within the ends", "groups of 2"]),
        (Kind.INTEGER, [1, 33, 77], IntervalsSpec(edges=((18, 65), (65,))), ["3 groups", "2 groups"]),
        (Kind.CATEGORICAL, ["10115", "20095"], MaskSpec(keep=(3, 1)), ["first 3 characters", "first character"]),
        (Kind.CATEGORICAL, ["ab", "cd"], MaskSpec(), ["first character"]),
        (Kind.DATE, ["2024-01-31", "1990-05-05"], DatesSpec(levels=("month", "year")), ["by month", "by year"]),
        (
            Kind.CATEGORICAL,
            ["Rome", "Oslo", None],
            GroupsSpec(levels=({"S": ("Rome",), "N": ("Oslo",)},)),
            ["2 groups"],
        ),
        (Kind.CATEGORICAL, ["a", "b"], TreeSpec(tree={"x": ["a", "b"]}), ["1 group"]),
    ],
)
def test_levels_in_words(kind: Kind, values: list[object], spec: HierarchySpec, words: list[str]) -> None:
    column = Column("c", Role.QUASI_IDENTIFIER, kind)
    series = pd.Series(values, dtype="object") if kind is Kind.CATEGORICAL else pd.Series(values)
    tree = load_hierarchy(spec, column, series.astype(DTYPES[kind]))
    found = [level_words(tree, level) for level in range(tree.n_levels)]
    assert found == ["kept as it is", *words, LEFT_OUT]


def test_ages_are_in_years() -> None:
    column = Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER)
    tree = load_hierarchy(IntervalsSpec(widths=(10,)), column, pd.Series([1, 50, 99], dtype="Int64"))
    assert level_words(tree, 1, "year") == "10-year groups"


def test_ages_in_tenths_are_in_another_unit() -> None:
    """A survey that writes 66 years as 6.6 has no groups of 0.2 years."""
    column = Column("age", Role.QUASI_IDENTIFIER, Kind.DECIMAL)
    tree = load_hierarchy(IntervalsSpec(widths=("0.2",)), column, pd.Series([6.6, 8.1, 10.9], dtype="Float64"))
    assert level_words(tree, 1, "year") == "groups of 0.2"
