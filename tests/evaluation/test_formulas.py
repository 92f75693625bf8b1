"""Single metrics against numbers worked by hand or by another library."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gaussian_kde, ks_2samp, wasserstein_distance
from scipy.stats.contingency import association

from hybrid.evaluation import EvaluateOptions
from hybrid.evaluation.attacks.membership import log_density
from hybrid.evaluation.attacks.singling_out import Index, multivariate_predicates, univariate_predicates
from hybrid.evaluation.context import Context
from hybrid.evaluation.fidelity.pairs import correlation_ratio, correlations, cramers_v
from hybrid.table import DTYPES, Kind, Role, Table
from tests.evaluation.simulated_people import make_people
from tests.evaluation.small_tables import measured, small

CLASSES = (("age", Kind.INTEGER, Role.QUASI_IDENTIFIER), ("sex", Kind.CATEGORICAL, Role.QUASI_IDENTIFIER))


def test_k_l_and_t_by_hand() -> None:
    rows = (
        [(30, "f", "a")] * 4
        + [(30, "f", "b")] * 2
        + [(None, "m", "a")] * 3
        + [(None, "m", "c")]
        + [(30, None, "b")] * 2
    )
    table = small(rows, *CLASSES, ("ill", Kind.CATEGORICAL, Role.SENSITIVE))
    k = measured("k_reached", table, None, table)
    assert (k.value, k.details["classes"], k.details["unique_share"]) == (2.0, 3, 0.0)
    assert measured("l_reached", table, None, table).value == 1.0
    # whole: a 7/12, b 4/12, c 1/12; class (30, missing): all b, distance 1/2 (7/12 + 8/12 + 1/12) = 8/12
    assert measured("t_reached", table, None, table).value == pytest.approx(8 / 12)


def test_t_of_ordered_values_by_hand() -> None:
    rows = [(1, "f", s) for s in (1, 2, 3)] * 2 + [(2, "f", s) for s in (1, 1, 1)] * 2
    table = small(rows, *CLASSES, ("cost", Kind.INTEGER, Role.SENSITIVE))
    # whole: 1 8/12, 2 2/12, 3 2/12; class 2: all at 1; moved: (4/12 + 2/12) / 2
    assert measured("t_reached", table, None, table).value == pytest.approx(0.25)


def test_identical_match_counts_rows_and_scales_the_reference() -> None:
    def people(*ages: int) -> Table:
        return small([(a, "f") for a in ages], *CLASSES)

    train, control = people(*range(20)), people(*range(15, 25))
    table = people(*[0, 0, 1, 17, 18] * 3)
    match = measured("identical_match", train, control, table)
    assert match.value == 1.0
    at_size = match.details["train_share_at_control_size"]
    assert match.details["control_share"] == pytest.approx(2 / 5)
    assert match.reference == pytest.approx(0.4 / at_size)
    assert match.details["excess"] == pytest.approx((at_size - 0.4) / 0.5)  # half of train is in each part
    assert measured("identical_match", train, None, table).reference is None


def test_columns_agree_with_scipy() -> None:
    rng = np.random.default_rng(2)
    train, control, table = make_people(200, rng), make_people(150, rng), make_people(260, rng)
    wasserstein = measured("wasserstein", train, control, table).details["columns"]
    ks = measured("kolmogorov_smirnov", train, control, table).details["columns"]
    for name in ("age", "height", "cost"):
        t, c, s = (x.frame[name].dropna().to_numpy(float) for x in (train, control, table))
        assert wasserstein[name]["value"] == pytest.approx(wasserstein_distance(t, s) / np.ptp(t))
        assert wasserstein[name]["reference"] == pytest.approx(wasserstein_distance(t, c) / np.ptp(t))
        assert ks[name]["value"] == pytest.approx(ks_2samp(t, s).statistic)
    tv = measured("total_variation", train, control, table).details["columns"]["place"]["value"]
    shares = [x.frame["place"].value_counts(normalize=True) for x in (train, table)]
    assert tv == pytest.approx(0.5 * shares[0].sub(shares[1], fill_value=0).abs().sum())
    missing = measured("missingness", train, control, table).details["columns"]["height"]["value"]
    assert missing == pytest.approx(abs(train.frame["height"].isna().mean() - table.frame["height"].isna().mean()))


def test_coverage_by_hand() -> None:
    train = small([(i, "f" if i % 2 else "m") for i in range(11)], *CLASSES)
    table = small([(i, "f") for i in [5] * 6 + [20] * 5], *CLASSES)
    columns = measured("coverage", train, None, table).details["columns"]
    assert columns == {"age": {"value": 0.5, "reference": None}, "sex": {"value": 0.5, "reference": None}}


def test_associations_agree_with_scipy_and_pandas(rng: np.random.Generator) -> None:
    x = rng.normal(size=(300, 3))
    x[:, 1] += x[:, 0]
    x[rng.random((300, 3)) < 0.1] = np.nan
    np.testing.assert_allclose(correlations(x), pd.DataFrame(x).corr().to_numpy(), atol=1e-12)
    counts = rng.integers(1, 30, (4, 3))
    assert cramers_v(counts) == pytest.approx(association(counts, method="cramer"))
    groups, numbers = np.repeat([0, 1, 2], 100), rng.normal(size=300) + np.repeat([0, 1, 5], 100)
    between = sum(100 * (numbers[groups == g].mean() - numbers.mean()) ** 2 for g in range(3))
    assert correlation_ratio(groups, numbers) == pytest.approx((between / (numbers.var() * 300)) ** 0.5)
    assert np.isnan(cramers_v(np.array([[3, 4]])))
    assert np.isnan(correlation_ratio(groups, np.ones(300)))


def test_kernel_density_agrees_with_scipy(rng: np.random.Generator) -> None:
    points, queries = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3)), rng.normal(size=(50, 3))
    assert (log_density(queries[:, :0], points[:, :0]) == 0).all()
    mine, theirs = log_density(queries, points), gaussian_kde(points.T).logpdf(queries.T)
    np.testing.assert_allclose(mine - theirs, (mine - theirs).mean(), atol=1e-6)


def test_predicates_single_out_in_the_table_and_are_distinct() -> None:
    rng = np.random.default_rng(4)
    tables = make_people(300, rng), make_people(300, rng), make_people(300, rng)
    context = Context(*tables, EvaluateOptions(attacks=150), 1)
    index = Index(context.encoded("table"), context.encoding.cardinality, context.persons("table"))
    one = univariate_predicates(context, index)
    frame = tables[2].frame
    singles = sum(int((frame[name].value_counts() == 1).sum()) for name in frame)
    assert len(one) >= singles
    many = multivariate_predicates(context, index, 3, rng)
    assert len(many) == 150
    for predicates in (one, many):
        assert (index.count(predicates) == 1).all()
        assert len(predicates.distinct()) == len(predicates)


def test_tstr_of_numbers_and_of_many_classes() -> None:
    rng = np.random.default_rng(6)
    tables = [_dated_by_age(make_people(300, rng)) for _ in range(3)]
    for target, score in (("illness", "auc"), ("admitted", "r2")):
        found = measured("tstr", *tables, targets=(target,))
        assert found.details["score"] == score
        assert found.reference is not None
        assert found.details["difference"] == pytest.approx(found.value - found.reference)
    copy = measured("tstr", tables[0], tables[1], tables[0], targets=("illness",))
    assert copy.value == copy.reference


def _dated_by_age(people: Table) -> Table:
    """The people with dates of admission that their age predicts: of chance dates no model predicts anything."""
    admitted = pd.Timestamp("2024-01-01") + pd.to_timedelta(10 * people.frame["age"].astype("int64"), unit="D")
    return Table(people.frame.assign(admitted=admitted.astype(people.frame["admitted"].dtype)), people.schema)


def test_query_error_of_a_constant_shift() -> None:
    rng = np.random.default_rng(8)
    train, control, table = (make_people(400, rng) for _ in range(3))
    good = measured("query_error", train, control, table)
    moved = table.frame.assign(age=table.frame["age"] + 40)
    bad = measured("query_error", train, control, Table(moved, table.schema))
    assert good.reference is not None
    assert good.value < 2 * good.reference
    assert bad.value > 2 * good.value


def test_column_permutation_is_seen_by_pairs_not_by_columns() -> None:
    rng = np.random.default_rng(9)
    train, control, table = (make_people(600, rng) for _ in range(3))
    shuffled = pd.DataFrame({name: rng.permutation(table.frame[name].array) for name in table.frame})
    mixed = Table(shuffled.astype({c.name: DTYPES[c.kind] for c in table.schema}), table.schema)
    for name in ("wasserstein", "total_variation", "column_shapes"):
        assert measured(name, train, control, mixed).value == pytest.approx(measured(name, train, control, table).value)
    for name in ("association_difference", "mmd"):
        assert measured(name, train, control, mixed).value > measured(name, train, control, table).value
    assert measured("pair_trends", train, control, mixed).value < measured("pair_trends", train, control, table).value


def test_copied_names_are_found_although_nothing_else_compares_them() -> None:
    def people(names: list[str]) -> Table:
        rows = [(name, i % 7) for i, name in enumerate(names)]
        return small(rows, ("name", Kind.CATEGORICAL, Role.INSENSITIVE), ("age", Kind.INTEGER, Role.INSENSITIVE))

    train, control = (people([f"{who} {i}" for i in range(60)]) for who in ("a", "b"))
    table = people([f"a {i}" for i in range(30)] + [f"c {i}" for i in range(30)])
    found = measured("copied_identifiers", train, control, table)
    assert (found.value, found.reference, found.details["worst_column"]) == (0.5, 0.0, "name")
    assert measured("copied_identifiers", train, control, control).value == 0.0
