"""Trees reproduce what they learned, and copy no rare value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.errors import GeneratorError
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.synthesize.generators.cart import CartModel, CartOptions, drawing_order
from hybrid.synthesize.protocol import Encoded, Feature
from hybrid.table import Kind, Table
from tests.synthesize.synthesize_tables import people, table_of, tables


def synthesize(table: Table, n: int | None = None, seed: int = 1, **options: object) -> Table:
    return fit(table, SynthesizeOptions(generator="cart", options=options), seed).sample(n or len(table), seed)


@pytest.fixture(scope="module")
def pair() -> tuple[Table, Table]:
    real = people(4000)
    return real, synthesize(real, min_leaf=5)


def test_marginals_are_close(pair):
    real, synthetic = (table.frame for table in pair)
    for name in ("job", "ill", "insured", "country", "note"):
        shares = [f[name].value_counts(normalize=True, dropna=False) for f in (real, synthetic)]
        assert shares[0].sub(shares[1], fill_value=0).abs().sum() / 2 < 0.03, name
    for name in ("age", "cost", "children"):
        quantiles = [f[name].astype(float).quantile([0.1, 0.5, 0.9]).to_numpy() for f in (real, synthetic)]
        assert quantiles[1] == pytest.approx(quantiles[0], rel=0.1, abs=1), name


def test_associations_are_close(pair):
    real, synthetic = (table.frame for table in pair)
    for frame in (real, synthetic):
        assert (frame.loc[frame["job"] == "retired", "age"] > 62).mean() > 0.98
    strength = [np.corrcoef(f["age"].astype(float), f["ill"].astype(float))[0, 1] for f in (real, synthetic)]
    assert strength[1] == pytest.approx(strength[0], abs=0.04)
    logs = [np.log(f["cost"]).groupby(f["ill"]).mean().diff().iloc[-1] for f in (real, synthetic)]
    assert logs[1] == pytest.approx(logs[0], abs=0.15)


def test_missing_values_follow_what_they_depend_on(pair):
    real, synthetic = (table.frame for table in pair)
    assert (real.isna().mean() - synthetic.isna().mean()).abs().max() < 0.03
    rates = [f["cost"].isna().groupby(f["job"], observed=True).mean() for f in (real, synthetic)]
    assert (rates[0] - rates[1]).abs().max() < 0.08


def test_decimals_have_the_digits_of_the_source(pair):
    cost = pair[1].frame["cost"].dropna()
    assert (cost.round(2) == cost).all()


def test_rare_amounts_are_not_copied_unless_asked(pair):
    real, synthetic = (table.frame["cost"].dropna() for table in pair)
    rare = set(real.value_counts().loc[lambda count: count == 1].index)
    top = real.nlargest(20)
    assert not synthetic.isin(top).mean() > 0.002
    verbatim = synthesize(pair[0], smoothing=0).frame["cost"].dropna()
    assert verbatim.isin(set(real)).all()
    assert synthetic.isin(rare).mean() < 0.8 * verbatim.isin(rare).mean()


def test_common_amounts_stay_as_they_are():
    rng = np.random.default_rng(0)
    values = np.where(rng.random(500) < 0.8, 0, rng.integers(100, 100000, 500))
    table = table_of(
        {"gain": (Kind.INTEGER, values), "sex": (Kind.CATEGORICAL, pd.Series(rng.choice(["f", "m"], 500)))}
    )
    gain = synthesize(table, 5_000).frame["gain"]
    assert (gain == 0).mean() == pytest.approx((values == 0).mean(), abs=0.02)
    assert not gain.between(1, 99).any()


def test_the_same_seed_gives_the_same_rows_and_another_seed_others():
    table = people(300)
    pd.testing.assert_frame_equal(synthesize(table, seed=3).frame, synthesize(table, seed=3).frame)
    assert not synthesize(table, seed=3).frame.equals(synthesize(table, seed=4).frame)
    model = fit(table, SynthesizeOptions(), 3)
    assert not model.sample(300, 1).frame.equals(model.sample(300, 2).frame)


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_exactly_as_many_rows_as_asked(n):
    model = fit(people(200), SynthesizeOptions(), 1)
    assert len(model.sample(n, 1)) == n


@settings(max_examples=40, deadline=None)
@given(tables())
def test_any_table_can_be_learned(table):
    before = table.frame.copy(deep=True)
    result = synthesize(table, n=9)
    assert result.schema == table.schema
    assert (result.frame.dtypes == table.frame.dtypes).all()
    for column in table.schema:
        seen, got = table.frame[column.name].dropna(), result.frame[column.name].dropna()
        if len(seen) and len(got):
            assert set(got) <= set(seen) or column.kind.is_continuous
    pd.testing.assert_frame_equal(table.frame, before)


def test_three_rows():
    table = people(200).take(np.array([0, 1, 2]))
    assert len(synthesize(table, n=50)) == 50


def test_300_columns():
    rng = np.random.default_rng(0)
    first = rng.normal(size=200)
    columns = {f"x{i}": (Kind.DECIMAL, np.round(first + rng.normal(size=200), 3)) for i in range(150)}
    columns |= {f"c{i}": (Kind.CATEGORICAL, pd.Series(rng.choice(list("abcd"), 200))) for i in range(150)}
    assert synthesize(table_of(columns), max_depth=4).frame.shape == (200, 300)


def test_a_category_with_thousands_of_values_keeps_what_it_depends_on():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 3000, 6000)
    table = table_of(
        {
            "ward": (Kind.CATEGORICAL, pd.Series((code % 3).astype(str))),
            "code": (Kind.CATEGORICAL, pd.Series(code.astype(str))),
            "size": (Kind.INTEGER, code % 3 * 10 + rng.integers(0, 3, 6000)),
        }
    )
    frame = synthesize(table).frame
    assert (frame["code"].astype(int) % 3 == frame["ward"].astype(int)).mean() > 0.95
    assert (frame["size"] // 10 == frame["ward"].astype(int)).mean() > 0.95


def test_progress_is_told_per_column():
    seen = []
    table = people(100)
    fit(table, SynthesizeOptions(), 1, lambda step, done, total=None, **values: seen.append((step, done, total)))
    assert seen == [("fit cart", i + 1, 7) for i in range(7)]


def test_a_column_to_visit_that_does_not_exist_is_named():
    with pytest.raises(GeneratorError, match="'wage'"):
        synthesize(people(50), visit_order=["wage"])


def test_a_rare_column_is_drawn_last_and_keeps_its_relations():
    rng = np.random.default_rng(1)
    diabetic, smokes = rng.random(2000) < 0.03, rng.random(2000) < 0.4
    glucose = np.where(diabetic, rng.normal(180, 20, 2000), rng.normal(85, 10, 2000)).round()
    boolean = {"diabetic": diabetic, "smokes": smokes, "dose": diabetic & (glucose > 170)}
    table = table_of({name: (Kind.BOOLEAN, v) for name, v in boolean.items()} | {"glucose": (Kind.INTEGER, glucose)})
    made = [synthesize(table, 20_000, min_leaf=80, **options).frame for options in ({}, {"visit_order": ["diabetic"]})]
    for name in ("diabetic", "dose"):
        assert made[0][name].mean() == pytest.approx(boolean[name].mean(), abs=0.01)
    apart = [one.groupby("diabetic")["glucose"].mean().diff().iloc[-1] for one in made]
    assert apart[0] > 60 > 20 > apart[1], "95 in the source; its 60 people fill no leaf, so that no tree splits on it"


def test_targets_come_first_and_those_of_two_states_last():
    """So that a target of two states follows all that models of it read, and everything follows the others."""
    n = np.arange(200)
    columns = {"cured": n % 2, "age": n, "stage": n % 3, "rare": n < 5}
    features = [Feature(name, 0, ordered=True, missing=False, target=name in ("cured", "stage")) for name in columns]
    data = Encoded(features, list(columns.values()), n)
    assert [features[at].name for at in drawing_order(data, (), 10)] == ["stage", "age", "rare", "cured"]
    assert [features[at].name for at in drawing_order(data, ("cured",), 10)] == ["cured", "stage", "age", "rare"]


def test_what_nearly_everybody_shares_comes_last():
    n = np.arange(200)
    columns = {"few": n < 40, "rare": n < 60, "often": n < 100, "missing": np.where(n < 50, np.nan, n)}
    data = Encoded([Feature(name, 2, ordered=False, missing=False) for name in columns], list(columns.values()), n)

    def order(first: tuple[str, ...], least: int) -> list[str]:
        return [data.features[at].name for at in drawing_order(data, first, least)]

    assert order((), 20) == ["few", "rare", "often", "missing"]
    assert order((), 21) == ["rare", "often", "missing", "few"]
    assert order((), 31) == ["often", "missing", "rare", "few"], "the rarest last: its tree can split on the other"
    assert order(("few",), 31) == ["few", "often", "missing", "rare"]
    persons = Encoded(data.features, data.columns, n // 2)
    assert [data.features[at].name for at in drawing_order(persons, (), 11)][-1] == "few", "20 people have 40 rows"


def test_larger_leaves_copy_fewer_records():
    table = people(1000).only(["age", "job", "children", "admitted"])
    keys = set(map(tuple, table.frame.astype(str).to_numpy()))
    share = [
        np.mean(
            [tuple(row) in keys for row in synthesize(table, min_leaf=leaf, smoothing=0).frame.astype(str).to_numpy()]
        )
        for leaf in (2, 40)
    ]
    assert share[1] < share[0]


def learned(table: Table, **options: object) -> CartModel:
    model = fit(table, SynthesizeOptions(options=options), 1).model
    assert isinstance(model, CartModel)
    return model


def persons_per_leaf(model: CartModel, persons: np.ndarray) -> int:
    """Fewest persons of a leaf; donors of the last column are the numbers of their records."""
    step = model.steps[-1]
    drawable = step.reach > 0
    homes = set(zip(step.first[drawable].tolist(), step.count[drawable].tolist(), strict=True))
    leaves = [persons[step.donors[a : a + n].astype(int)] for a, n in homes if n]
    assert len(leaves) > 1, "the tree is grown"
    return min(len(set(leaf[leaf >= 0].tolist())) for leaf in leaves)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), most=st.integers(2, 30), leaf=st.integers(1, 12))
def test_a_leaf_holds_so_many_persons(seed, most, leaf):
    """Independent count, with heavy users, whose rows are alike, and rows without a key."""
    rng = np.random.default_rng(seed)
    persons = np.repeat(np.arange(60), rng.integers(1, most, 60))
    x = np.sin(persons) * 50 + rng.normal(0, 0.1, len(persons))
    table = table_of({"x": (Kind.DECIMAL, np.round(x, 2)), "row": (Kind.INTEGER, np.arange(len(persons)))})
    persons[rng.random(len(persons)) < 0.05] *= -1
    persons = np.where(persons < 0, -1 - np.arange(len(persons)), persons)
    assert persons_per_leaf(learned(replace(table, named_persons=persons), min_leaf=leaf, alpha=1), persons) >= leaf
    if most > 20 and leaf > 6:
        assert persons_per_leaf(learned(table, min_leaf=leaf, alpha=1), persons) < leaf, "by rows it does not hold"


def test_too_few_persons_for_two_leaves_are_drawn_column_by_column():
    table = replace(people(300), named_persons=np.arange(300) // 30)
    assert all(step.tree is None for step in learned(table, min_leaf=6).steps)
    assert len(synthesize(replace(table, named_persons=-1 - np.arange(300)), 20)) == 20


def test_an_amount_of_one_person_is_not_copied_however_often_it_occurs():
    x = np.concatenate([np.repeat(1000.25, 40), np.arange(400) / 4])
    table = table_of({"x": (Kind.DECIMAL, x)})
    persons = np.concatenate([np.zeros(40, dtype=np.int64), 1 + np.arange(400)])
    assert (synthesize(table, 2000).frame["x"] == 1000.25).any()
    smoothed = synthesize(replace(table, named_persons=persons), 2000).frame["x"]
    assert (smoothed == 1000.25).mean() < 0.02


def test_columns_of_several_states_are_weighed_in_tables_of_many_people():
    alphas = [CartOptions().limits(people)[0] for people in (2_499, 2_500)]
    assert [(one.alpha, one.alpha_of_states) for one in alphas] == [(1.0, None), (1.0, 0.3)]
    assert CartOptions(alpha=0.1).limits(2_500)[0].alpha_of_states is None
