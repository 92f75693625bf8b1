"""Values drawn from intervals that the hierarchy builders made generalize back, to the last bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.spec import DatesSpec, IntervalsSpec
from hybrid.table import Column, ColumnFormat, Kind
from tests.transition.choices import assert_generalizes_back, restore
from tests.transition.transition_tables import QI, anonymized_table

DRAWN_BETWEEN_LEAVES = [
    ("uniform", {}),
    ("single", {"numeric": "mean"}),
    ("conditional", {"estimator": "kde", "bandwidth": 2.0}),
    ("noisy", {"epsilon": 1.0}),
    ("noisy", {"epsilon": 1.0, "tables": "class"}),
]


def built(kind, spec, values, levels, digits=None, date_format="%Y-%m-%d"):
    column = Column("x", QI, kind, format=ColumnFormat(decimals=digits, date_format=date_format))
    frame = pd.DataFrame({"x": values})
    dtype = {Kind.INTEGER: "Int64", Kind.DECIMAL: "float64"}.get(kind, "datetime64[us]")
    hierarchy = build_hierarchy(spec, column, frame["x"].astype(dtype))
    return anonymized_table(
        frame, [column], {"x": hierarchy}, {"x": np.resize(levels, len(frame)) % hierarchy.n_levels}
    )


@st.composite
def built_tables(draw):
    n = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    levels = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
    kind = draw(st.sampled_from([Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.DATETIME]))
    if kind is Kind.DECIMAL:
        digits = draw(st.sampled_from([None, 0, 1, 2, 12]))
        width = draw(st.sampled_from(["0.1", "0.3", "5", "25"]))
        raw = rng.normal(0, 20, n)
        values = raw if digits is None and draw(st.booleans()) else np.round(raw, 2 if digits is None else digits)
        return built(kind, IntervalsSpec(widths=(width, str(10 * float(width)))), values, levels, digits)
    if kind is Kind.INTEGER:
        scale = draw(st.sampled_from([30, 10**9]))
        spec = IntervalsSpec(widths=(scale // 10, scale), bottom=0, top=3 * scale)
        return built(kind, spec, rng.integers(-scale, 5 * scale, n), levels)
    microseconds = rng.integers(-(10**15), 10**15, n)
    if kind is Kind.DATE:
        return built(kind, DatesSpec(), microseconds.astype("datetime64[us]").astype("datetime64[D]"), levels)
    date_format, unit = draw(st.sampled_from([("%Y-%m-%d %H:%M:%S", "s"), ("%Y-%m-%d %H:%M:%S.%f", "us")]))
    stamps = microseconds.astype("datetime64[us]").astype(f"datetime64[{unit}]").astype("datetime64[us]")
    return built(kind, DatesSpec(), stamps, levels, date_format=date_format)


@pytest.mark.parametrize(("name", "options"), DRAWN_BETWEEN_LEAVES)
@settings(max_examples=60, deadline=None)
@given(anonymized=built_tables(), seed=st.integers(0, 1000))
def test_drawn_values_generalize_back(name, options, anonymized, seed):
    restored = restore(anonymized, name, options, seed)
    assert_generalizes_back(anonymized.labels, restored.table)
    assert restored.table.frame["x"].dtype == anonymized.originals.frame["x"].dtype


def test_uniform_over_more_integers_than_can_be_listed():
    scale = 10**7
    anonymized = built(Kind.INTEGER, IntervalsSpec(widths=(scale,)), [5, scale - 1] * 3000, [1])
    assert anonymized.hierarchies["x"].n_leaves == 2
    got = restore(anonymized, "uniform", {}).table.frame["x"]
    assert got.nunique() > 5900 and got.between(0, scale - 1).all()
    assert abs(float(got.mean()) / scale - 0.5) < 0.02


def test_integers_beyond_float_precision_are_drawn_from_those_that_occur():
    scale = 2**60
    values = [scale + 1, scale + 3, 2 * scale + 7]
    anonymized = built(Kind.INTEGER, IntervalsSpec(widths=(scale,)), values, [1])
    for name in ("uniform", "single"):
        assert_generalizes_back(anonymized.labels, restore(anonymized, name, {}).table)
    assert set(restore(anonymized, "uniform", {}).table.frame["x"]) <= set(values)


def test_missing_among_many_integers():
    values = pd.array([5, 10**9, None, None], dtype="Int64")
    anonymized = built(Kind.INTEGER, IntervalsSpec(widths=(10**8,)), values, [1])
    got = restore(anonymized, "conditional", {"estimator": "kde"}).table.frame["x"]
    assert str(got.dtype) == "Int64"
    assert got.isna().tolist() == [False, False, True, True]


@pytest.mark.parametrize("name", ["uniform", "noisy"])
@pytest.mark.parametrize("digits", [None, 1])
def test_the_upper_end_of_a_half_open_interval_is_never_drawn(name, digits):
    values = np.resize([0.1, 1.2, 2.5, 29.4], 4000)
    anonymized = built(Kind.DECIMAL, IntervalsSpec(widths=(1, 10)), values, [1], digits)
    restored = restore(anonymized, name, {})
    assert_generalizes_back(anonymized.labels, restored.table)
    assert restored.table.frame["x"].nunique() == 40
