"""Hierarchies suggested from data cover it, are nested, and stay readable."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybrid.base.errors import HierarchyError
from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.from_data import by_frequency, equal_width, prefixes, quantiles, usual_periods
from hybrid.table import Kind
from tests.hierarchy.hierarchy_columns import check_tree, column, floats, integers, labels_at, modest, series, tenths


@modest
@given(st.one_of(integers.map(lambda v: (v, Kind.INTEGER)), (tenths | floats).map(lambda v: (v, Kind.DECIMAL))))
def test_equal_widths_cover_anything(drawn: tuple[list, Kind]) -> None:
    values, kind = drawn
    data = series([*values, None], kind)
    hierarchy = build_hierarchy(equal_width(data), column(kind), data)
    check_tree(hierarchy)
    hierarchy.encode(data)
    middle = np.quantile(np.array(values, dtype=float), [0.01, 0.99])
    inside = data[data.between(*middle)].nunique()
    assert len(set(labels_at(hierarchy, data, 1))) <= max(inside, 1) + 24


@modest
@example(([0, 30574323756078350, 30574323756078366], Kind.INTEGER))
@given(st.one_of(integers.map(lambda v: (v, Kind.INTEGER)), (tenths | floats).map(lambda v: (v, Kind.DECIMAL))))
def test_quantiles_cover_anything(drawn: tuple[list, Kind]) -> None:
    values, kind = drawn
    data = series([*values, None], kind)
    try:
        spec = quantiles(column(kind), data)
    except HierarchyError:
        return
    hierarchy = build_hierarchy(spec, column(kind), data)
    check_tree(hierarchy)
    hierarchy.encode(data)
    held = dict(zip(*np.unique(np.array(values), return_counts=True), strict=True))
    assert not any(held.get(float(edge)) == 1 for edge in spec.edges[0])
    assert all(set(coarse) < set(fine) for fine, coarse in itertools.pairwise(spec.edges))


def test_round_widths_and_open_ends() -> None:
    ages = series([*range(17, 80), 90], Kind.INTEGER)
    assert [int(width) for width in equal_width(ages).widths] == [5, 10, 20]
    assert [int(width) for width in equal_width(pd.Series([0.0, 1.0] * 50)).widths] == [1], "yes and no"
    costs = pd.Series(np.r_[np.linspace(100, 5000, 1000), 250_000.0])
    spec = equal_width(costs)
    assert [float(width) for width in spec.widths] == [500, 1000, 2000]
    assert spec.top == 6000
    assert spec.bottom is None


def test_quantiles_hold_about_equally_many_between_round_edges(rng: np.random.Generator) -> None:
    data = pd.Series(1000 * rng.lognormal(size=4000))
    spec = quantiles(column(Kind.DECIMAL), data)
    hierarchy = build_hierarchy(spec, column(Kind.DECIMAL), data)
    for level, count in enumerate((16, 8, 4, 2), start=1):
        sizes = np.unique(hierarchy.node_at(data, level), return_counts=True)[1]
        assert len(sizes) == count
        assert np.abs(sizes - 4000 / count).max() <= 4000 / 16 / 2
    digits = [len(format(edge.normalize(), "f").replace(".", "").strip("0")) for edge in spec.edges[0]]
    assert max(digits) <= 2, "two digits at most"


def test_an_edge_is_no_single_persons_value(rng: np.random.Generator) -> None:
    values = rng.integers(0, 100, 5000)
    few = [*values[values % 10 != 0].tolist(), *range(0, 100, 10)]
    for found, round_ones in ((few, 0), (values.tolist(), 4)):
        (edges, *_) = quantiles(column(Kind.INTEGER), series(found, Kind.INTEGER)).edges
        assert sum(int(edge) % 10 == 0 for edge in edges) == round_ones, "one person has each of the tens"


def test_quantiles_of_nonsense() -> None:
    with pytest.raises(HierarchyError, match="divide"):
        quantiles(column(Kind.INTEGER), series([1, 2], Kind.INTEGER), (8, 3))
    with pytest.raises(HierarchyError, match="too few"):
        quantiles(column(Kind.INTEGER), series([1, 1], Kind.INTEGER))


def test_frequent_values_stay() -> None:
    jobs = series(["cook"] * 9 + ["clerk"] * 5 + ["smith"] * 3 + ["judge", "diver"], Kind.CATEGORICAL)
    spec = by_frequency(column(Kind.CATEGORICAL), jobs, (3, 1))
    hierarchy = build_hierarchy(spec, column(Kind.CATEGORICAL), jobs)
    distinct = series(["cook", "clerk", "smith", "judge", "diver"], Kind.CATEGORICAL)
    assert labels_at(hierarchy, distinct, 1) == ["cook", "clerk", "smith", "Other", "Other"]
    assert labels_at(hierarchy, distinct, 2) == ["cook", "Other", "Other", "Other", "Other"]
    named = series(["Other", "Other", "x", "y"], Kind.CATEGORICAL)
    assert by_frequency(column(Kind.CATEGORICAL), named).others == "Other values"


def test_calendar_and_prefixes() -> None:
    short = series(["2024-01-01", "2025-01-01"], Kind.DATE)
    assert usual_periods(column(Kind.DATE), short).levels == ("month", "quarter", "year")
    long = series(["1950-01-01", "2025-01-01"], Kind.DATE)
    assert usual_periods(column(Kind.DATE), long).levels[-1] == "decade"
    codes = series(["12345", "12999"], Kind.CATEGORICAL)
    assert prefixes(column(Kind.CATEGORICAL), codes).keep == (4, 3, 2, 1)
    mixed = series(["A01.1", "B2"], Kind.CATEGORICAL)
    assert prefixes(column(Kind.CATEGORICAL), mixed).length == "hide"
    assert prefixes(column(Kind.CATEGORICAL), mixed).keep == (4, 3, 2, 1), "as long as the longest code"
