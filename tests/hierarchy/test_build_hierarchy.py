"""Every builder: nested, one root, covering, with honest bounds; values in an interval generalize back to it."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hybrid.base.errors import HierarchyError
from hybrid.hierarchy import MISSING, Hierarchy
from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.spec import DatesSpec, GroupsSpec, IntervalsSpec, MaskSpec, Period, TreeSpec
from hybrid.table import Kind
from tests.hierarchy.hierarchy_columns import (
    check_tree,
    column,
    floats,
    integers,
    labels_at,
    modest,
    moments,
    series,
    tenths,
)

widths = st.sampled_from([("5", "10", "20"), ("1", "3"), ("7",), ("2", "4", "8", "1000")])
decimal_widths = st.sampled_from([("0.1", "0.5", "1"), ("0.3", "3"), ("2.5", "5", "100")])


def draw_inside(hierarchy: Hierarchy, rng: np.random.Generator, digits: int | None = None) -> tuple[np.ndarray, list]:
    """For every node a random value between its bounds, both of which are drawn too."""
    nodes, values = [], []
    levels = hierarchy.level_of()
    for node in range(hierarchy.n_nodes):
        if node == hierarchy.missing_node:
            continue
        low, high = hierarchy.low[node], hierarchy.high[node]
        if hierarchy.kind is Kind.DECIMAL:
            drawn = rng.uniform(low, high)
            middle = drawn if digits is None else np.clip(np.round(drawn, digits), low, high)
        elif hierarchy.kind is Kind.INTEGER:
            middle = int(low) + int(rng.random() * (int(high) - int(low)))
        else:
            step = np.timedelta64(1, "D") if hierarchy.kind is Kind.DATE else np.timedelta64(1, "us")
            middle = low + int(rng.integers((high - low) // step + 1)) * step
        if levels[node] == 0 or not hierarchy.intervals:
            middle = low
        nodes += [node] * 3
        values += [low, middle, high]
    return np.array(nodes), values


def check_draws(hierarchy: Hierarchy, digits: int | None = None) -> None:
    nodes, values = draw_inside(hierarchy, np.random.default_rng(1), digits)
    assert hierarchy.contains(nodes, series(values, hierarchy.kind)).all()


@modest
@given(integers, widths, st.booleans())
def test_integer_intervals(values: list[int], widths: tuple[str, ...], missing: bool) -> None:
    data = series([*values, None] if missing else list(values), Kind.INTEGER)
    hierarchy = build_hierarchy(IntervalsSpec(widths=widths), column(Kind.INTEGER), data)
    check_tree(hierarchy)
    assert hierarchy.n_levels == len(widths) + 2
    assert (hierarchy.missing_leaf is not None) == missing
    pd.testing.assert_series_equal(hierarchy.decode(hierarchy.encode(data)), data)
    for level in range(1, hierarchy.n_levels - 1):
        nodes = hierarchy.node_at(series(list(values), Kind.INTEGER), level)
        width = int(widths[level - 1])
        for value, node in zip(values, nodes, strict=True):
            assert value // width * width == hierarchy.low[node] or hierarchy.low[node] == -(2**63)
    check_draws(hierarchy)


@modest
@given(tenths, decimal_widths, st.booleans())
def test_decimal_intervals_on_a_grid(values: list[float], widths: tuple[str, ...], missing: bool) -> None:
    data = series([*values, None] if missing else list(values), Kind.DECIMAL)
    hierarchy = build_hierarchy(IntervalsSpec(widths=widths), column(Kind.DECIMAL, decimals=1), data)
    check_tree(hierarchy)
    check_draws(hierarchy, digits=1)
    exact = [Decimal(repr(value)) for value in values]
    for level, width in enumerate(map(Decimal, widths), start=1):
        labels = labels_at(hierarchy, series(list(values), Kind.DECIMAL), level)
        for value, label in zip(exact, labels, strict=True):
            low, high = map(Decimal, label.strip("[)").split(", "))
            assert low <= value < high
            assert high - low == width


@modest
@given(floats, decimal_widths)
def test_decimal_intervals_without_digits(values: list[float], widths: tuple[str, ...]) -> None:
    hierarchy = build_hierarchy(IntervalsSpec(widths=widths), column(Kind.DECIMAL), series(list(values), Kind.DECIMAL))
    check_tree(hierarchy)
    check_draws(hierarchy)


@modest
@given(moments, st.booleans(), st.sampled_from([("month", "quarter", "year", "decade"), ("day", "year"), ("decade",)]))
def test_dates(values: list[pd.Timestamp], whole_days: bool, levels: tuple) -> None:
    kind = Kind.DATE if whole_days else Kind.DATETIME
    data = pd.Series(values).astype("datetime64[us]")
    data = data.dt.floor("D") if whole_days else data
    hierarchy = build_hierarchy(DatesSpec(levels=levels), column(kind), data)
    check_tree(hierarchy)
    assert hierarchy.n_levels == len(levels) + 2 - (whole_days and "day" in levels)
    check_draws(hierarchy)


def test_interval_labels_cannot_be_misread() -> None:
    whole = build_hierarchy(
        IntervalsSpec(widths=(5, 10), bottom=18, top=90),
        column(Kind.INTEGER),
        series([-3, 17, 18, 30, 89, 90, 101], Kind.INTEGER),
    )
    ages = series([17, 18, 29, 30, 89, 90, 101], Kind.INTEGER)
    assert labels_at(whole, ages, 1) == ["<18", "18-19", "25-29", "30-34", "85-89", ">=90", ">=90"]
    assert labels_at(whole, ages, 2) == ["<18", "18-19", "20-29", "30-39", "80-89", ">=90", ">=90"]
    negative = build_hierarchy(IntervalsSpec(widths=(5, 10)), column(Kind.INTEGER), series([-3, 2], Kind.INTEGER))
    assert labels_at(negative, series([-3, 2], Kind.INTEGER), 1) == ["-5 to -1", "0-4"]
    decimals = build_hierarchy(
        IntervalsSpec(edges=(("18.5", "25", "30"), ("25",))), column(Kind.DECIMAL), series([18.4, 25, 30], Kind.DECIMAL)
    )
    bmi = series([18.4, 18.5, 25.0, 30.0], Kind.DECIMAL)
    assert labels_at(decimals, series([18.4, 25.0, 30.0], Kind.DECIMAL), 1) == ["<18.5", "[25, 30)", ">=30"]
    assert decimals.node_at(bmi, 1)[1] == -1, "no record lies in [18.5, 25), so there is no such node"
    assert labels_at(decimals, series([18.4, 25.0, 30.0], Kind.DECIMAL), 2) == ["<25", ">=25", ">=25"]


def test_integer_domain_is_listed_from_the_first_to_the_last_interval() -> None:
    hierarchy = build_hierarchy(IntervalsSpec(widths=(5, 20)), column(Kind.INTEGER), series([17, 90], Kind.INTEGER))
    assert hierarchy.leaves.tolist() == list(range(100))
    assert not hierarchy.intervals
    assert hierarchy.share[hierarchy.node_at(series([17], Kind.INTEGER), 1)[0]] == pytest.approx(5 / 100)


def test_domain_too_large_to_list_is_made_of_intervals() -> None:
    hierarchy = build_hierarchy(
        IntervalsSpec(widths=(1000, 10**6)), column(Kind.INTEGER), series([0, 999_999, 2_500_000], Kind.INTEGER)
    )
    assert hierarchy.intervals
    assert hierarchy.n_leaves == 3
    assert labels_at(hierarchy, series([1, 2_500_999], Kind.INTEGER), 1) == ["0-999", "2500000-2500999"]
    assert hierarchy.node_at(series([1], Kind.INTEGER), 0).tolist() == [-1]
    assert hierarchy.share[hierarchy.node_at(series([1], Kind.INTEGER), 1)[0]] == pytest.approx(1000 / 3_000_000)


def test_interval_of_one_observed_value_does_not_show_the_value() -> None:
    hierarchy = build_hierarchy(IntervalsSpec(widths=(5,)), column(Kind.DECIMAL), series([27.3, 61.0], Kind.DECIMAL))
    assert labels_at(hierarchy, series([27.3], Kind.DECIMAL), 1) == ["[25, 30)"]
    masked = build_hierarchy(MaskSpec(), column(Kind.CATEGORICAL), series(["12345", "99999"], Kind.CATEGORICAL))
    assert labels_at(masked, series(["12345"], Kind.CATEGORICAL), 1) == ["1234*"]


def test_intervals_too_narrow_for_the_values_are_refused() -> None:
    with pytest.raises(HierarchyError, match="too narrow"):
        build_hierarchy(IntervalsSpec(widths=("0.001",)), column(Kind.DECIMAL), series([1e300, 1.0], Kind.DECIMAL))


def test_calendar_labels() -> None:
    dates = series(["1969-12-31", "2000-02-29"], Kind.DATE)
    hierarchy = build_hierarchy(DatesSpec(), column(Kind.DATE, date_format="%d.%m.%Y"), dates)
    rows = [labels_at(hierarchy, dates, level) for level in range(hierarchy.n_levels)]
    assert [row[0] for row in rows] == ["31.12.1969", "1969-12", "1969-Q4", "1969", "1960s", "*"]
    assert [row[1] for row in rows] == ["29.02.2000", "2000-02", "2000-Q1", "2000", "2000s", "*"]
    february = hierarchy.node_at(dates, 1)[1]
    assert str(hierarchy.low[february])[:10] == "2000-02-01"
    assert str(hierarchy.high[february])[:10] == "2000-02-29"


@pytest.mark.parametrize(
    ("period", "low", "high"),
    [
        ("minute", "2024-02-29 17:44:00", "2024-02-29 17:44:59.999999"),
        ("15 minutes", "2024-02-29 17:30:00", "2024-02-29 17:44:59.999999"),
        ("hour", "2024-02-29 17:00:00", "2024-02-29 17:59:59.999999"),
        ("3 hours", "2024-02-29 15:00:00", "2024-02-29 17:59:59.999999"),
        ("6 hours", "2024-02-29 12:00:00", "2024-02-29 17:59:59.999999"),
        ("day", "2024-02-29 00:00:00", "2024-02-29 23:59:59.999999"),
    ],
)
def test_periods_within_a_day_start_at_midnight(period: Period, low: str, high: str) -> None:
    times = series(["2024-02-29 17:44:59.5", "1969-12-31 00:00:00"], Kind.DATETIME)
    moments = column(Kind.DATETIME, date_format="%Y-%m-%d %H:%M:%S.%f")
    hierarchy = build_hierarchy(DatesSpec(levels=(period,)), moments, times)
    node = hierarchy.node_at(times, 1)[0]
    assert pd.Timestamp(hierarchy.low[node]) == pd.Timestamp(low)
    assert pd.Timestamp(hierarchy.high[node]) == pd.Timestamp(high)


def test_masks() -> None:
    codes = series(["12345", "12399", "07"], Kind.CATEGORICAL)
    kept = build_hierarchy(MaskSpec(keep=(3, 1)), column(Kind.CATEGORICAL), codes)
    assert labels_at(kept, codes, 1) == ["123**", "123**", "07"]
    assert labels_at(kept, codes, 2) == ["1****", "1****", "0*"]
    icd = series(["A01", "A01.1", "B2"], Kind.CATEGORICAL)
    hidden = build_hierarchy(MaskSpec(keep=(3, 1), length="hide"), column(Kind.CATEGORICAL), icd)
    assert labels_at(hidden, icd, 1) == ["A01*", "A01*", "B2*"]
    numbers = build_hierarchy(MaskSpec(), column(Kind.INTEGER), series([123, 129, 45], Kind.INTEGER))
    assert labels_at(numbers, series([123, 45], Kind.INTEGER), 1) == ["12*", "45"]


@modest
@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=20), st.sampled_from(["keep", "hide"]))
def test_masks_are_nested_whatever_the_values(values: list[str], length: str) -> None:
    stripped = [value.strip() for value in values if value.strip() and value.strip() != MISSING]
    if stripped:
        data = series(list(stripped), Kind.CATEGORICAL)
        check_tree(build_hierarchy(MaskSpec(length=length), column(Kind.CATEGORICAL), data))


def test_tree_with_branches_of_different_depth() -> None:
    spec = TreeSpec(
        tree={"Europe": {"West": ["Germany", "France"], "East": ["Poland"]}, "Asia": ["Japan"], "Other": None}
    )
    data = series(["Germany", "Poland", "Japan", "Other", None], Kind.CATEGORICAL)
    hierarchy = build_hierarchy(spec, column(Kind.CATEGORICAL), data)
    check_tree(hierarchy)
    known = data[:4]
    assert labels_at(hierarchy, known, 1) == ["West", "East", "Japan", "Other"]
    assert labels_at(hierarchy, known, 2) == ["Europe", "Europe", "Asia", "Other"]
    assert hierarchy.n_leaves == 6, "France is in the domain, and missing is a leaf of its own"


def test_groups() -> None:
    spec = GroupsSpec(levels=({"low": ("a", "b"), "high": ("c",)}, {"known": ("low", "high")}), others="rest")
    data = series(["a", "b", "c", "d", "e"], Kind.CATEGORICAL)
    hierarchy = build_hierarchy(spec, column(Kind.CATEGORICAL), data)
    check_tree(hierarchy)
    assert labels_at(hierarchy, data, 1) == ["low", "low", "high", "rest", "rest"]
    assert labels_at(hierarchy, data, 2) == ["known", "known", "known", "rest", "rest"]


def test_the_rest_is_a_group_of_the_next_level_whether_or_not_it_holds_a_value() -> None:
    spec = GroupsSpec(levels=({"a": ("a",), "b": ("b",)}, {"rest": ("b", "rest")}), others="rest")
    for values in (["a", "b", "c"], ["a", "b"], ["a"]):
        data = series(values, Kind.CATEGORICAL)
        hierarchy = build_hierarchy(spec, column(Kind.CATEGORICAL), data)
        assert labels_at(hierarchy, data, 2) == ["a", "rest", "rest"][: len(values)]


def test_group_members_that_cannot_be() -> None:
    spec = GroupsSpec(levels=({"low": ("secret-a",), "high": ("secret-a",)}, {"all": ("lwo",)}))
    with pytest.raises(HierarchyError) as caught:
        build_hierarchy(spec, column(Kind.CATEGORICAL), series(["secret-a"], Kind.CATEGORICAL), "g.yaml")
    assert len(caught.value.problems) == 2
    assert "secret-a" not in str(caught.value)
    assert "secret-a" in caught.value.problems[0].values


def test_types_must_suit_the_kind() -> None:
    with pytest.raises(HierarchyError, match="integer and decimal"):
        build_hierarchy(IntervalsSpec(widths=(5,)), column(Kind.CATEGORICAL), series(["a"], Kind.CATEGORICAL))
    with pytest.raises(HierarchyError, match="no integers"):
        build_hierarchy(IntervalsSpec(widths=("2.5",)), column(Kind.INTEGER), series([1], Kind.INTEGER))


@pytest.mark.parametrize(
    "wrong",
    [
        {"widths": (5, 12)},
        {"widths": (10, 5)},
        {"widths": (0,)},
        {"widths": ("nan",)},
        {},
        {"widths": (5,), "edges": ((1, 2),)},
        {"edges": ((1, 3, 2),)},
        {"edges": ((1, 2), (3,))},
        {"edges": ((1, 2), (1, 2))},
        {"widths": (5,), "bottom": 9, "top": 3},
        {"edges": ((1, 2),), "top": 3},
    ],
)
def test_intervals_that_are_not_nested_are_refused(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        IntervalsSpec(**wrong)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        (Kind.INTEGER, IntervalsSpec(widths=(5,))),
        (Kind.DECIMAL, IntervalsSpec(widths=(5,))),
        (Kind.DATE, DatesSpec()),
        (Kind.CATEGORICAL, MaskSpec()),
        (Kind.CATEGORICAL, TreeSpec(tree={})),
        (Kind.CATEGORICAL, GroupsSpec(levels=({},), others="rest")),
    ],
)
def test_all_missing_column(kind: Kind, spec: object) -> None:
    data = series([None, None], kind)
    hierarchy = build_hierarchy(spec, column(kind), data)  # type: ignore[arg-type]
    assert hierarchy.decode(hierarchy.encode(data)).isna().all()
    assert hierarchy.contains(np.full(2, hierarchy.root), data).all()
    assert hierarchy.share[hierarchy.root] == 1


def test_extreme_integers() -> None:
    data = series([-(2**63), 0, 2**63 - 1], Kind.INTEGER)
    hierarchy = build_hierarchy(IntervalsSpec(widths=(10, 100)), column(Kind.INTEGER), data)
    check_tree(hierarchy)
    assert labels_at(hierarchy, data, 1)[1] == "0-9"
    assert hierarchy.decode(hierarchy.encode(data)).tolist() == data.tolist()
