"""The thesis' three strategies: hand-worked examples and exact distributions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy import stats

from hybrid.hierarchy import from_levels
from hybrid.table import Column, Kind
from tests.transition.choices import assert_frequencies, drawn, restore, shuffled_combinations
from tests.transition.transition_tables import (
    JOBS,
    QI,
    anonymized_table,
    category_hierarchy,
    date_hierarchy,
    decimal_hierarchy,
    integer_hierarchy,
    mixed_table,
    one_column,
    random_tables,
    thesis_table,
)


@pytest.mark.parametrize(("numeric", "age"), [("midpoint", 25), ("mean", 23), ("median", 22)])
def test_single_of_the_thesis(numeric, age):
    table = restore(thesis_table(), "single", {"numeric": numeric, "categorical": "mode"}).table
    assert set(table.frame["age"]) == {age}
    assert set(table.frame["job"]) == {"Nurse"}


def test_single_leaf_is_drawn_once_per_label_by_seed():
    seen = {tuple(restore(thesis_table(), "single", {}, seed).table.frame["job"].unique()) for seed in range(20)}
    assert seen == {("Nurse",), ("Doctor",)}


@pytest.mark.parametrize("options", [{}, {"numeric": "mean", "categorical": "mode"}, {"numeric": "median"}])
@settings(max_examples=40, deadline=None)
@given(anonymized=random_tables())
def test_single_keeps_the_smallest_class(options, anonymized):
    table = restore(anonymized, "single", options).table
    sizes = table.frame.groupby(anonymized.quasi_identifiers, dropna=False, observed=True).size()
    assert sizes.min() >= np.bincount(anonymized.class_ids).min()


def test_single_midpoint_stays_inside_a_label_with_gaps():
    hierarchy = from_levels("x", Kind.INTEGER, np.array([1, 2, 50, 100]), [["odd", "even", "even", "even"], ["*"] * 4])
    assert set(drawn(one_column([2, 50, 100], Kind.INTEGER, hierarchy, 1), "single")) == {50}  # 51 is nobody's
    assert set(drawn(one_column([1, 2, 100], Kind.INTEGER, hierarchy, 2), "single")) == {50}


def test_single_of_decimals_and_dates_keeps_the_precision():
    pay = one_column([0.1, 0.2, 9.9], Kind.DECIMAL, decimal_hierarchy("x", [0.1, 0.2, 9.9], 10), 1, decimals=1)
    assert set(drawn(pay, "single")) == {5.0}  # [0, 9.9] -> 4.95
    assert set(drawn(pay, "single", {"numeric": "mean"})) == {3.4}
    days = pd.to_datetime(["2021-02-01", "2021-02-02", "2021-02-28"])
    born = one_column(days, Kind.DATE, date_hierarchy("x", days), 1)
    assert set(drawn(born, "single")) == {pd.Timestamp("2021-02-15")}  # the middle of 1..28, half days upwards
    assert set(drawn(born, "single", {"numeric": "median"})) == {pd.Timestamp("2021-02-02")}


def test_single_of_huge_integers():
    values = np.array([2**62, 2**62 + 1, 2**62 + 3])
    hierarchy = from_levels("x", Kind.INTEGER, values, [["*"] * 3])
    assert set(drawn(one_column(values, Kind.INTEGER, hierarchy, 1), "single")) <= set(values)


def test_uniform_over_the_integers_of_the_range():
    values = drawn(thesis_table(2000), "uniform", column="age")
    assert_frequencies(values, dict.fromkeys(range(20, 30), 0.1))


def test_uniform_over_leaves_all_or_observed():
    frame = thesis_table(2000)
    assert_frequencies(drawn(frame, "uniform", column="job"), {"Doctor": 0.5, "Nurse": 0.5})
    ages = drawn(frame, "uniform", {"leaves": "observed"}, column="age")
    assert_frequencies(ages, dict.fromkeys([21, 22, 23, 28], 0.25))


def test_uniform_over_decimals_at_the_columns_precision():
    values = [10.1, 12.5, 29.9] * 3000
    pay = one_column(values, Kind.DECIMAL, decimal_hierarchy("x", values, 20), 1, decimals=1)
    got = drawn(pay, "uniform")
    low = got[np.array(values) < 20]
    assert_frequencies(low.round(1), {round(i / 10, 1): 1 / 200 for i in range(200)})


def test_uniform_over_decimals_without_steps():
    values = np.random.default_rng(0).random(4000)
    hierarchy = from_levels(
        "x", Kind.DECIMAL, values, [["*"] * 4000], bounds=[(np.zeros(4000), np.ones(4000))], missing=False
    )
    got = drawn(one_column(values, Kind.DECIMAL, hierarchy, 1), "uniform")
    assert stats.kstest(got, "uniform").pvalue > 1e-3
    assert got.nunique() > 3900


def test_uniform_over_the_days_of_a_month():
    days = pd.to_datetime(["2021-02-03"] * 5600)
    got = drawn(one_column(days, Kind.DATE, date_hierarchy("x", days), 1), "uniform")
    assert_frequencies(got.dt.day, dict.fromkeys(range(1, 29), 1 / 28))


@pytest.mark.parametrize(("date_format", "unit"), [("%Y-%m-%d %H:%M", "min"), ("%Y-%m-%d %H", "h"), ("%Y-%m-%d", "D")])
def test_uniform_over_the_units_of_a_datetime(date_format, unit):
    stamps = pd.to_datetime(["2021-02-03", "2021-02-09"] * 500)
    low, high = np.datetime64("2021-02-01", "us"), np.datetime64("2021-03-01", "us") - 1
    leaves = stamps.unique().to_numpy().astype("datetime64[us]")
    bounds = [(np.repeat(low, 2), np.repeat(high, 2))]
    hierarchy = from_levels("x", Kind.DATETIME, leaves, [["*", "*"]], bounds=bounds)
    got = drawn(one_column(stamps, Kind.DATETIME, hierarchy, 1, date_format=date_format), "uniform")
    assert (got == got.dt.floor(unit)).all()
    part = (got - pd.Timestamp("2021-02-01")) / pd.Timedelta(days=28)
    if unit == "min":
        assert stats.kstest(part, "uniform").pvalue > 1e-3


def test_uniform_draws_from_lists_of_decimals_by_leaf():
    """A category of numbers that is no interval: values between belong elsewhere."""
    leaves = np.array([1.0, 2.0, 3.0])
    hierarchy = from_levels("x", Kind.DECIMAL, leaves, [["outer", "inner", "outer"], ["*"] * 3])
    got = drawn(one_column([1.0] * 1000, Kind.DECIMAL, hierarchy, 1), "uniform")
    assert_frequencies(got, {1.0: 0.5, 3.0: 0.5})


def test_conditional_of_the_thesis():
    restored = restore(thesis_table(2000), "conditional", {}, seed=3)
    frame = restored.table.frame
    assert_frequencies(frame["age"], {21: 0.4, 22: 0.2, 23: 0.2, 28: 0.2})
    assert_frequencies(frame["job"], {"Nurse": 0.6, "Doctor": 0.4})
    assert restored.fallbacks == {"class": 20000, "label": 0, "ancestor": 0, "uniform": 0}
    # Attributes are drawn by themselves: independent inside the class, though the originals are not.
    table = pd.crosstab(frame["age"], frame["job"])
    assert stats.chi2_contingency(table).pvalue > 1e-3


def test_conditional_keeps_the_share_of_missing_under_a_suppressed_value():
    values = [20, 30, None, None] * 2500
    anonymized = one_column(pd.array(values, dtype="Int64"), Kind.INTEGER, integer_hierarchy("x", missing=True), 3)
    conditional = drawn(anonymized, "conditional")
    assert_frequencies(
        conditional.astype(object).where(conditional.notna(), "missing"), {20: 0.25, 30: 0.25, "missing": 0.5}
    )
    assert drawn(anonymized, "uniform").notna().all()
    assert set(drawn(anonymized, "single")) == {50}


def test_conditional_falls_back_step_by_step():
    # Local recoding: three classes (20-29, Food), (30-39, Healthcare), (0-49, Food).
    frame = pd.DataFrame({"age": [21, 22, 31, 32, 45, 8], "job": ["Cook", "Cook", "Nurse", "Nurse", "Cook", "Cook"]})
    columns = [Column("age", QI, Kind.INTEGER), Column("job", QI, Kind.CATEGORICAL)]
    hierarchies = {"age": integer_hierarchy(), "job": category_hierarchy("job", JOBS)}
    levels = {"age": [1, 1, 1, 1, 2, 2], "job": [1, 1, 1, 1, 1, 1]}
    anonymized = anonymized_table(frame, columns, hierarchies, levels)
    labels = anonymized.labels.take(np.array([0, 0, 0, 0]))
    age, job = (hierarchies[name].labels.index for name in ("age", "job"))
    labels.nodes[1] = age("30-39"), job("Food")  # both labels occur, together they do not
    labels.nodes[2] = age("40-49"), job("Food")  # nobody carries 40-49, but 45 lies below it
    labels.nodes[3] = age("90-99"), job("Food")  # nobody is below 90-99
    restored = restore(anonymized, "conditional", {}, labels=labels)
    got = restored.table.frame["age"]
    assert got[0] in (21, 22) and got[1] in (31, 32) and got[2] == 45 and 90 <= got[3] <= 99
    assert restored.fallbacks == {"class": 2, "label": 4, "ancestor": 1, "uniform": 1}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("uniform", {}),
        ("conditional", {}),
        ("conditional", {"estimator": "kde"}),
        ("conditional", {"estimator": "joint"}),
        ("conditional", {"estimator": "given"}),
        ("tree", {"min_records": 50}),
        ("marginal", {"given": "ill"}),
        ("chow_liu", {}),
        ("blend", {}),
        ("shrunk", {}),
    ],
)
def test_pre_and_post_agree_when_there_is_no_generator(name, options):
    """POST without a generator restores the same labels: the same fallbacks, the same distribution."""
    anonymized = mixed_table(3000, seed=9, missing=0.0)
    pre = restore(anonymized, name, options, seed=1)
    through = anonymized.labels.from_table(anonymized.labels.to_table())
    post = restore(anonymized, name, options, seed=2, labels=through)
    if name in ("uniform", "conditional"):
        assert pre.fallbacks == post.fallbacks
    for column in ("age", "job"):
        both = pd.concat([pre.table.frame[column], post.table.frame[column]]).to_numpy()
        assert stats.chi2_contingency(pd.crosstab(np.repeat(["pre", "post"], 3000), both)).pvalue > 1e-3
    assert stats.ks_2samp(pre.table.frame["pay"], post.table.frame["pay"]).pvalue > 1e-3


def test_unseen_combinations_are_counted():
    anonymized = mixed_table(60)
    restored = restore(anonymized, "conditional", {}, labels=shuffled_combinations(anonymized.labels))
    assert restored.fallbacks["label"] > 0
    assert restored.fallbacks["ancestor"] == restored.fallbacks["uniform"] == 0
