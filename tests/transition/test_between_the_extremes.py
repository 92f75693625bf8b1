"""Exact distributions of the strategies between Uniform and Conditional, and of the other estimators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from hybrid.base.errors import ConfigError, DataError
from hybrid.base.likeness import mutual_information
from hybrid.hierarchy import from_levels
from hybrid.table import Column, Kind, Role
from hybrid.transition import REGISTRY
from hybrid.transition.strategies import noisy
from hybrid.transition.strategies.chow_liu import spanning_tree
from hybrid.transition.strategies.noisy import exponential_choice, geometric, laplace
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
    thesis_table,
)


def two_classes(n=4000, seed=123):
    """Two classes of ages; inside each, age depends on the target, and the second job on age."""
    rng = np.random.default_rng(seed)
    decade = rng.choice([20, 30], n, p=[0.7, 0.3])
    rich = rng.random(n) < 0.4
    age = decade + np.where(rich, rng.integers(5, 10, n), rng.integers(0, 6, n))
    job = np.where(age % 10 >= 5, "Doctor", "Nurse")
    frame = pd.DataFrame({"age": age, "job": job, "rich": np.where(rich, "yes", "no")})
    columns = [
        Column("age", QI, Kind.INTEGER),
        Column("job", QI, Kind.CATEGORICAL),
        Column("rich", Role.INSENSITIVE, Kind.CATEGORICAL, target=True),
    ]
    hierarchies = {"age": integer_hierarchy(), "job": category_hierarchy("job", JOBS)}
    return anonymized_table(frame, columns, hierarchies, {"age": 1, "job": 1})


def same_table_of(frame, other, names):
    """Chi-square test that two samples have the same joint distribution of some columns."""
    keys = [list(zip(*(part[name] for name in names), strict=True)) for part in (frame, other)]
    table = pd.crosstab(np.repeat([0, 1], [len(frame), len(other)]), pd.Series([*keys[0], *keys[1]]).astype(str))
    return stats.chi2_contingency(table.loc[:, table.sum() >= 10]).pvalue


def test_joint_keeps_the_correlation_inside_a_class():
    frame = restore(thesis_table(2000), "conditional", {"estimator": "joint"}).table.frame
    pairs = frame["age"].astype(str) + frame["job"].astype(str)
    assert_frequencies(pairs, dict.fromkeys(["21Nurse"], 0.4) | dict.fromkeys(["23Doctor", "28Nurse", "22Doctor"], 0.2))


def test_joint_falls_back_by_column():
    anonymized = mixed_table(80)
    restored = restore(
        anonymized, "conditional", {"estimator": "joint"}, labels=shuffled_combinations(anonymized.labels)
    )
    assert restored.fallbacks["class"] % 5 == 0
    assert restored.fallbacks["label"] > 0


def test_kde_is_the_truncated_mixture():
    values = [0.30, 0.40, 0.45, 0.90]
    hierarchy = from_levels("x", Kind.DECIMAL, np.array(values), [["*"] * 4], bounds=[(np.zeros(4), np.ones(4))])
    frame = pd.DataFrame({"x": values * 2000})
    # No declared decimals, and values that need many: no steps.
    frame["x"] += np.tile([np.pi * 1e-10, 0, 0, 0], 2000)
    leaves = np.unique(frame["x"])
    hierarchy = from_levels("x", Kind.DECIMAL, leaves, [["*"] * 4], bounds=[(np.zeros(4), np.ones(4))])
    got = drawn(one_column(frame["x"], Kind.DECIMAL, hierarchy, 1), "conditional", {"estimator": "kde"})
    x, n = np.sort(frame["x"]), 8000
    quartiles = x[[int(0.25 * (n - 1)), int(0.75 * (n - 1))]]
    h = 0.9 * min(x.std(ddof=1), (quartiles[1] - quartiles[0]) / 1.349) * n**-0.2

    def cdf(t):
        parts = [(stats.norm.cdf((t - c) / h) - stats.norm.cdf(-c / h)) for c in leaves]
        return np.mean(
            [p / (stats.norm.cdf((1 - c) / h) - stats.norm.cdf(-c / h)) for p, c in zip(parts, leaves, strict=True)],
            axis=0,
        )

    assert stats.kstest(got, cdf).pvalue > 1e-3
    assert got.nunique() > 7000


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.DECIMAL, Kind.DATE])
def test_kde_restores_kind_and_precision_and_smooths(kind):
    rng = np.random.default_rng(1)
    raw = np.clip(np.round(rng.normal(25, 2, 3000)), 20, 29)
    if kind is Kind.INTEGER:
        anonymized = one_column(raw.astype(int), kind, integer_hierarchy("x"), 1)
    elif kind is Kind.DECIMAL:
        anonymized = one_column(raw, kind, decimal_hierarchy("x", raw, 10), 1, decimals=1)
    else:
        days = pd.Timestamp("2021-03-01") + pd.to_timedelta(raw - 20, unit="D")
        anonymized = one_column(days, kind, date_hierarchy("x", days), 1)
    got = drawn(anonymized, "conditional", {"estimator": "kde", "bandwidth": 3.0})
    if kind is Kind.DECIMAL:
        assert got.nunique() > 50 and (got.round(1) == got).all() and got.between(20, 29.9).all()
    elif kind is Kind.DATE:
        assert got.dt.month.eq(3).all() and got.nunique() > 10  # days that nobody had, inside the month
    else:
        assert got.between(20, 29).all()
    assert 0.3 < stats.pearsonr(np.sort(raw), np.sort(got.to_numpy(dtype=float))).statistic <= 1


def test_kde_of_a_constant_class_is_the_constant():
    anonymized = one_column([23] * 50, Kind.INTEGER, integer_hierarchy("x"), 1)
    assert set(drawn(anonymized, "conditional", {"estimator": "kde"})) == {23}


def test_given_follows_the_other_columns_inside_the_class():
    anonymized = two_classes()
    frame = restore(anonymized, "conditional", {"estimator": "given"}).table.frame
    original = anonymized.originals.frame
    assert same_table_of(frame, original, ["age", "rich"]) > 1e-3
    histogram = restore(anonymized, "conditional", {}).table.frame
    assert same_table_of(histogram, original, ["age", "rich"]) < 1e-6


def test_tree_learns_values_drawn_so_far_and_the_target():
    anonymized = two_classes()
    original = anonymized.originals.frame
    frame = restore(anonymized, "tree", {"min_records": 20}).table.frame
    assert same_table_of(frame, original, ["age", "job", "rich"]) > 1e-3
    blind = restore(anonymized, "tree", {"min_records": 20, "sensitive": False}).table.frame
    assert same_table_of(blind, original, ["age", "job"]) > 1e-3
    assert same_table_of(blind, original, ["age", "rich"]) < 1e-6


@pytest.mark.parametrize(("records", "least"), [(300, 20), (3_000, 60), (12_000, 200)])
def test_leaves_of_tree_follow_the_number_of_records(records: int, least: int) -> None:
    anonymized = two_classes(records)
    asked = restore(anonymized, "tree", {"min_records": least}).table.frame
    pd.testing.assert_frame_equal(restore(anonymized, "tree", {}).table.frame, asked)
    other = restore(anonymized, "tree", {"min_records": records // 3}).table.frame
    assert not other.equals(asked)


def test_learned_keeps_what_labels_lose_and_small_leaves_bring_back_the_records():
    anonymized = two_classes(1500)
    original = anonymized.originals.frame
    frame = restore(anonymized, "learned", {"min_records": 20}).table.frame
    assert same_table_of(frame, original, ["age", "job", "rich"]) > 1e-3
    # A column with another value for every record tells them apart: leaves of one record give it its own value.
    unlike = mixed_table(300)
    ages = {n: restore(unlike, "learned", {"min_records": n}).table.frame["age"] for n in (1, 100)}
    own = {n: float((age == unlike.originals.frame["age"]).mean()) for n, age in ages.items()}
    assert own[1] > own[100] + 0.2


def test_tree_with_one_leaf_is_the_labels_distribution():
    anonymized = two_classes()
    frame = restore(anonymized, "tree", {"min_records": 4000}).table.frame
    marginal = restore(anonymized, "marginal", {}).table.frame
    assert same_table_of(frame, marginal, ["age"]) > 1e-3
    assert stats.chi2_contingency(pd.crosstab(frame["age"] % 10 >= 5, frame["job"])).pvalue > 1e-3


def test_marginal_and_marginal_given():
    anonymized = two_classes()
    original = anonymized.originals.frame
    assert same_table_of(restore(anonymized, "marginal", {}).table.frame, original, ["age"]) > 1e-3
    given = restore(anonymized, "marginal", {"given": "rich"})
    assert same_table_of(given.table.frame, original, ["age", "rich"]) > 1e-3
    assert given.fallbacks["given"] == 8000


def test_marginal_ignores_classes():
    """A label in two classes: its distribution is that of both together."""
    frame = pd.DataFrame({"age": [21] * 3000 + [29] * 1000, "job": ["Nurse"] * 3000 + ["Cook"] * 1000})
    columns = [Column("age", QI, Kind.INTEGER), Column("job", QI, Kind.CATEGORICAL)]
    hierarchies = {"age": integer_hierarchy(), "job": category_hierarchy("job", JOBS)}
    anonymized = anonymized_table(frame, columns, hierarchies, {"age": 1, "job": 1})
    got = restore(anonymized, "marginal", {}).table.frame
    assert_frequencies(got["age"][:3000], {21: 0.75, 29: 0.25})
    assert_frequencies(got["age"][3000:], {21: 0.75, 29: 0.25})


def test_chow_liu_keeps_the_pairs_of_its_tree():
    anonymized = two_classes()
    original = anonymized.originals.frame
    got = restore(anonymized, "chow_liu", {"min_records": 1}).table.frame
    assert same_table_of(got, original, ["age", "job"]) > 1e-3
    got = restore(anonymized, "chow_liu", {"min_records": 1, "given": "rich"}).table.frame
    assert same_table_of(got, original, ["age", "rich"]) > 1e-3
    careful = restore(anonymized, "chow_liu", {"min_records": 5000})
    assert careful.fallbacks["parent"] == 0 and careful.fallbacks["label"] == 8000


def test_spanning_tree_is_the_heaviest():
    weights = np.array([[0, 3, 1, 0], [3, 0, 2, 5], [1, 2, 0, 1], [0, 5, 1, 0]], dtype=float)
    assert spanning_tree(weights) == [(1, -1), (3, 1), (0, 1), (2, 1)]


def test_shrunk_between_class_and_label():
    frame = pd.DataFrame({"age": [21] * 1000 + [29] * 3000, "job": ["Nurse"] * 1000 + ["Cook"] * 3000})
    columns = [Column("age", QI, Kind.INTEGER), Column("job", QI, Kind.CATEGORICAL)]
    hierarchies = {"age": integer_hierarchy(), "job": category_hierarchy("job", JOBS)}
    anonymized = anonymized_table(frame, columns, hierarchies, {"age": 1, "job": 1})
    got = restore(anonymized, "shrunk", {"strength": 1000.0}).table.frame["age"]
    assert_frequencies(got[:1000], {21: 0.5 + 0.5 * 0.25, 29: 0.5 * 0.75})
    assert set(restore(anonymized, "shrunk", {"strength": 0.0}).table.frame["age"][:1000]) == {21}


def test_blend_is_a_mixture():
    age = restore(thesis_table(2000), "blend", {"weight": 0.5}).table.frame["age"]
    shares = {21: 0.4, 22: 0.2, 23: 0.2, 28: 0.2}
    assert_frequencies(age, {value: 0.5 * shares.get(value, 0) + 0.05 for value in range(20, 30)})


def test_noisy_with_a_large_epsilon_is_the_marginal():
    anonymized = two_classes()
    original = anonymized.originals.frame
    for mechanism in ("geometric", "laplace"):
        got = restore(anonymized, "noisy", {"epsilon": 1e5, "mechanism": mechanism, "given": "rich"}).table.frame
        assert same_table_of(got, original, ["age", "rich"]) > 1e-3
    pairs = restore(anonymized, "noisy", {"epsilon": 1e5, "tables": "chow_liu"})
    assert same_table_of(pairs.table.frame, original, ["job"]) > 1e-3
    assert pairs.fallbacks["uniform"] == 0
    by_class = restore(anonymized, "noisy", {"epsilon": 1e5, "tables": "class"}).table.frame
    assert same_table_of(by_class, original, ["age"]) > 1e-3


def test_noisy_with_a_tiny_epsilon_knows_nothing():
    anonymized = two_classes()
    rng = [
        restore(anonymized, "noisy", {"epsilon": 1e-6}, seed).table.frame["job"].eq("Doctor").mean()
        for seed in range(30)
    ]
    assert np.std(rng) > 0.2  # the originals' share is swamped by noise
    frame = restore(anonymized, "noisy", {"epsilon": 1e-6}).table.frame
    assert set(frame["age"].unique()) <= set(range(20, 40))


@pytest.mark.parametrize("tables", ["marginal", "class"])
@pytest.mark.parametrize("mechanism", ["geometric", "laplace"])
def test_noisy_counts_the_first_value_in_full(tables, mechanism):
    """One Doctor and one Nurse, almost no noise: each half of the draws, whichever is first in the hierarchy."""
    anonymized = one_column(["Doctor", "Nurse"], Kind.CATEGORICAL, category_hierarchy("x", JOBS), 1)
    many = anonymized.labels.take(np.zeros(4000, dtype=np.int64))
    options = {"epsilon": 1e5, "tables": tables, "mechanism": mechanism}
    got = restore(anonymized, "noisy", options, labels=many).table.frame["x"]
    assert_frequencies(got, {"Doctor": 0.5, "Nurse": 0.5})


def test_noisy_interval_tables_restore_values_inside_and_single_values_exactly():
    values = np.round(np.random.default_rng(0).uniform(0, 40, 900), 1)
    hierarchy = decimal_hierarchy("x", [*values, 55.5], 20)
    for level in (0, 1, 2):
        anonymized = one_column([*values, 55.5], Kind.DECIMAL, hierarchy, level, decimals=1)
        got = drawn(anonymized, "noisy", {"epsilon": 100.0})
        assert anonymized.hierarchies["x"].contains(anonymized.labels.nodes[:, 0], got).all()
    assert got.nunique() > 300


def test_geometric_and_laplace_noise():
    rng = np.random.default_rng(0)
    noise = geometric(np.zeros(200_000, dtype=int), 1.0, 2.0, rng)
    a = np.exp(-0.5)
    support = np.arange(-12, 13)
    expected = (1 - a) / (1 + a) * a ** np.abs(support) * 200_000
    observed = np.array([(noise == x).sum() for x in support])
    rest = [200_000 - observed.sum(), 200_000 - expected.sum()]
    assert stats.chisquare(np.append(observed, rest[0]), np.append(expected, rest[1])).pvalue > 1e-3
    assert stats.kstest(laplace(np.zeros(20_000), 1.0, 2.0, rng), stats.laplace(scale=2).cdf).pvalue > 1e-3


def test_exponential_choice():
    rng = np.random.default_rng(0)
    scores = np.array([0.0, 1.0, 2.0])
    chosen = np.bincount([exponential_choice(scores, 2.0, 1.0, rng) for _ in range(20_000)])
    assert stats.chisquare(chosen, 20_000 * np.exp(scores) / np.exp(scores).sum()).pvalue > 1e-3


def test_mutual_information_moves_less_than_its_sensitivity():
    rng = np.random.default_rng(0)
    n = 12
    bound = 2 / n * np.log((n + 1) / 2) + (n - 1) / n * np.log((n + 1) / (n - 1))
    largest = 0.0
    for _ in range(3000):
        left, right = (rng.integers(0, rng.integers(1, 5), n) for _ in range(2))
        before = mutual_information(left, right, 5, 5)
        left[0], right[0] = rng.integers(0, 5, 2)
        largest = max(largest, abs(mutual_information(left, right, 5, 5) - before))
    assert bound / 4 < largest <= bound


def test_mutual_information_of_copies_and_strangers():
    x = np.repeat([0, 1], 50)
    assert mutual_information(x, x, 2, 2) == pytest.approx(np.log(2))
    assert mutual_information(x, np.tile([0, 1], 50), 2, 2) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("marginal", {"given": "nothing"}, "no column of the data"),
        ("marginal", {"given": "job"}, "a quasi-identifier"),
        ("chow_liu", {"given": "nothing"}, "no column of the data"),
        ("noisy", {"given": "visits"}, "would have to be learned"),
        ("noisy", {"given": "ill", "tables": "class"}, "makes no sense"),
    ],
)
def test_refusals(name, options, message):
    with pytest.raises(ConfigError, match=message) as error:
        restore(mixed_table(30), name, options)
    assert error.value.problems[0].hint


def test_too_large_tables_are_refused(monkeypatch):
    monkeypatch.setattr(noisy, "MOST_CELLS", 10)
    with pytest.raises(DataError, match="more than 10"):
        restore(mixed_table(30), "noisy", {})


def test_registry_names_and_defaults():
    for name, strategy in REGISTRY.items():
        assert strategy.name == name
        assert strategy.Options() == strategy.Options.model_validate({})
        assert not {"method", "order"} & set(strategy.Options.model_fields)


@pytest.mark.parametrize(("name", "options"), [("chow_liu", {"min_records": 1}), ("marginal", {})])
def test_a_label_keeps_its_own_distribution_under_local_recoding(name, options):
    """Records that carry 20-29 differ from the others below it, who carry their age itself."""
    frame = pd.DataFrame({"age": [21] * 500 + [28] * 500 + [21] * 3000, "job": ["Nurse"] * 4000})
    columns = [Column("age", QI, Kind.INTEGER), Column("job", QI, Kind.CATEGORICAL)]
    hierarchies = {"age": integer_hierarchy(), "job": category_hierarchy("job", JOBS)}
    anonymized = anonymized_table(frame, columns, hierarchies, {"age": np.repeat([1, 0], [1000, 3000]), "job": 1})
    assert_frequencies(restore(anonymized, name, options).table.frame["age"][:1000], {21: 0.5, 28: 0.5})
