"""Single columns of cart drawn by regressions: they recover a known truth, and copy nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from hybrid.base.errors import GeneratorError
from hybrid.base.progress import silent
from hybrid.base.rng import rng_for
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.synthesize.generators.cart import Cart, CartOptions
from hybrid.synthesize.generators.regressions import DesignMatrix, LinearStep, LogisticStep, fit_regression, reflected
from hybrid.synthesize.protocol import Children, Encoded, Feature
from hybrid.table import Kind, Table
from tests.synthesize.synthesize_tables import people, table_of, tables


def encoded(*columns: np.ndarray) -> Encoded:
    """Floats are numbers, integers states."""
    features = [
        Feature(f"x{at}", 0 if values.dtype.kind == "f" else int(values.max()) + 1, ordered=False, missing=False)
        for at, values in enumerate(columns)
    ]
    return Encoded(features, columns)


def truth(n: int, seed: int = 0) -> Table:
    """income = 3 age + 20 (in town) + N(0, 5); P(ill) = logistic(-4 + age / 10); three jobs of known odds."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n)
    town = rng.random(n) < 0.4
    income = 3 * age + 20 * town + rng.normal(0, 5, n)
    ill = rng.random(n) < 1 / (1 + np.exp(4 - age / 10))
    odds = np.exp(np.column_stack([np.zeros(n), (age - 50) / 10, (50 - age) / 20]))
    job = (np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1) < rng.random((n, 1))).sum(axis=1)
    return table_of(
        {
            "age": (Kind.DECIMAL, age),
            "town": (Kind.BOOLEAN, pd.Series(town)),
            "income": (Kind.DECIMAL, income),
            "ill": (Kind.BOOLEAN, pd.Series(ill)),
            "job": (Kind.CATEGORICAL, pd.Series(np.array(["clerk", "nurse", "smith"])[job])),
        }
    )


@pytest.fixture(scope="module")
def drawn() -> pd.DataFrame:
    methods = {"income": "linear", "ill": "logistic", "job": "logistic"}
    return fit(truth(4000), SynthesizeOptions(generator="cart", options={"methods": methods}), 1).sample(4000, 2).frame


def test_a_linear_column_has_the_slopes_and_the_noise_of_the_truth(drawn):
    design = np.column_stack([np.ones(len(drawn)), drawn["age"], drawn["town"].astype(float)])
    found, *_ = np.linalg.lstsq(design, drawn["income"].to_numpy())
    assert found[1] == pytest.approx(3, abs=0.03)
    assert found[2] == pytest.approx(20, abs=0.6)
    assert (drawn["income"] - design @ found).std() == pytest.approx(5, rel=0.06)


def test_a_logistic_column_has_the_probabilities_of_the_truth(drawn):
    for low, high in ((20, 35), (35, 50), (50, 65), (65, 80)):
        part = drawn[drawn["age"].between(low, high)]
        expected = (1 / (1 + np.exp(4 - part["age"] / 10))).mean()
        assert part["ill"].astype(float).mean() == pytest.approx(expected, abs=0.06)
    old = drawn[drawn["age"] > 60]
    odds = np.exp(np.column_stack([np.zeros(len(old)), (old["age"] - 50) / 10, (50 - old["age"]) / 20]))
    shares = (odds / odds.sum(axis=1, keepdims=True)).mean(axis=0)
    found = old["job"].value_counts(normalize=True)[["clerk", "nurse", "smith"]].to_numpy()
    assert found == pytest.approx(shares, abs=0.06)


def test_a_regression_copies_no_amount_where_a_tree_does():
    table = truth(300)

    def copied(**options: object) -> float:
        rows = fit(table, SynthesizeOptions(generator="cart", options={"smoothing": 0, **options}), 1).sample(300, 1)
        return rows.frame["income"].isin(table.frame["income"]).mean()

    assert copied() == 1
    assert copied(methods={"income": "linear"}) == 0


def test_least_squares_by_hand():
    x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 4.0, 8.0])
    step = fit_regression(encoded(x, y), 1, [0], "linear", 1, None)
    # slope 2.2 and intercept .7; residuals .3, .1, -1.1, .7: 1.8 over 4 - 2 degrees of freedom
    assert isinstance(step, LinearStep)
    fitted = step.design.matrix({0: x}, 4) @ step.coefficients * step.scale
    assert fitted == pytest.approx([0.7, 2.9, 5.1, 7.3])
    assert step.deviation * step.scale == pytest.approx(np.sqrt(1.8 / 2))


def test_records_of_weight_0_are_not_learned_from_and_weights_count_persons():
    x, y = np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.array([2.0, 2.0, 4.0, 4.0, 100.0])
    weights = np.array([0.5, 0.5, 0.5, 0.5, 0.0])
    step = fit_regression(encoded(x, y), 1, [0], "linear", 1, weights)
    assert step.design.matrix({0: x}, 5) @ step.coefficients * step.scale == pytest.approx([2, 2, 4, 4, 4])
    codes = np.array([0, 1, 1, 2], dtype=np.int32)
    logistic = fit_regression(encoded(x[:4], codes), 1, [], "logistic", 1, np.array([1.0, 1.0, 1.0, 0.0]))
    assert set(logistic.draw({}, 200, rng_for(1, "test"))) == {0, 1}
    with pytest.raises(GeneratorError, match="no record has a person"):
        fit_regression(encoded(x, y), 1, [0], "linear", 1, np.zeros(5))


def test_a_state_of_few_people_has_no_coefficient_of_its_own():
    rng = np.random.default_rng(0)
    job = np.r_[np.repeat([0, 1], 100), [2]].astype(np.int32)
    pay = np.r_[rng.normal(10, 1, 100), rng.normal(20, 1, 100), [1000.0]]
    for least, own in ((2, False), (1, True)):
        step = fit_regression(encoded(job, pay), 1, [0], "linear", least, None)
        predicted = (step.design.matrix({0: np.array([2])}, 1) @ step.coefficients)[0] * step.scale
        # without one, it is the mean of the state with the most people, and of the one person
        assert predicted == pytest.approx(1000 if own else pay[job != 1].mean())
    assert list(DesignMatrix.of(encoded(job, pay), [0], 2, np.ones(len(job))).states[0]) == [1]


def test_missing_values_are_drawn_where_the_truth_has_them():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 2000).astype(np.int32)
    y = rng.normal(5 + x, 1)
    y[rng.random(2000) < np.where(x == 1, 0.5, 0.1)] = np.nan
    step = fit_regression(encoded(x, y), 1, [0], "linear", 20, None)
    for state, share in ((0, 0.1), (1, 0.5)):
        values = step.draw({0: np.full(2000, state, dtype=np.int32)}, 2000, rng_for(1, "test"))
        assert np.isnan(values).mean() == pytest.approx(share, abs=0.04)
        assert np.nanmean(values) == pytest.approx(5 + state, abs=0.15)


def test_draws_beyond_the_learned_range_are_reflected():
    assert reflected(np.array([-1.0, 0.0, 2.5, 11.0, 21.0]), 0.0, 10.0) == pytest.approx([1, 0, 2.5, 9, 1])
    assert reflected(np.array([3.0, 4.0]), 7.0, 7.0) == pytest.approx([7, 7])


@given(table=tables())
@settings(max_examples=8, deadline=None)
def test_any_column_can_have_a_regression(table):
    options = SynthesizeOptions(generator="cart", options={"min_leaf": 1})
    features = fit(table, options, 1).codec.features
    methods = {feature.name: "logistic" if feature.is_discrete else "linear" for feature in features}
    fitted = fit(table, SynthesizeOptions(generator="cart", options={"min_leaf": 1, "methods": methods}), 1)
    assert len(fitted.sample(20, 1)) == 20


def test_every_method_that_does_not_fit_its_column_is_named():
    methods = {"job": "linear", "age": "logistic", "height": "linear"}
    with pytest.raises(GeneratorError) as caught:
        fit(people(100), SynthesizeOptions(generator="cart", options={"methods": methods}), 1)
    messages = [problem.message for problem in caught.value.problems]
    assert (
        len(messages) == 3 and "not 'job'" in messages[0] and "not 'age'" in messages[1] and "'height'" in messages[2]
    )
    with pytest.raises(ValueError, match="methods"):
        SynthesizeOptions(generator="cart", options={"methods": {"age": "forest"}})


def test_a_column_of_one_state_and_a_pickled_model():
    step = LogisticStep.fit(0, DesignMatrix({}, frozenset(), {}), np.ones((3, 1)), np.array([4, 4, 4]), np.ones(3))
    assert list(step.draw({}, 2, rng_for(1, "test"))) == [4, 4]
    fitted = fit(truth(200), SynthesizeOptions(generator="cart", options={"methods": {"income": "linear"}}), 1)
    kept = pickle.loads(pickle.dumps(fitted))
    pd.testing.assert_frame_equal(fitted.sample(50, 3).frame, kept.sample(50, 3).frame)


def test_persons_with_several_rows_are_refused():
    data = encoded(np.arange(4.0))
    visits = Children(data.features, data.columns, parents=data, counts=np.ones(4, dtype=np.int64))
    with pytest.raises(GeneratorError, match="one row per person"):
        Cart().learn(visits, CartOptions(methods={"x0": "linear"}), 1, silent)
