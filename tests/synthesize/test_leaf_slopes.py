"""Slopes within leaves: what people bear out moves a donor's value, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.arrays import Array
from hybrid.synthesize.generators.leaf_slopes import LeafSlopes, Places, fit_slopes
from hybrid.synthesize.generators.trees import DonorTree, TreeLimits, grow
from hybrid.synthesize.protocol import Feature

NUMBER = Feature("number", 0, ordered=False, missing=True)
ONE_LEAF = np.ones(1, dtype=bool)


def of_everybody(values: Array) -> Array:
    """Sums over one node that holds everybody."""
    return np.array([values.sum()])


def in_one_leaf(values: Array, **known: Array) -> LeafSlopes[str] | None:
    return fit_slopes(values, known, of_everybody, ONE_LEAF, 20)


def moved(slopes: LeafSlopes[str], values: Array, **known: Array) -> Array:
    """Every donor's value, for a row with these columns each."""
    at = np.arange(len(values))
    return slopes.move(values, at, np.zeros(len(values), dtype=np.int64), known, np.random.default_rng(1))


def test_ranks_by_hand() -> None:
    places = Places.of(np.array([5.0, 1.0, 5.0, 9.0, np.nan]))
    # One value below 5 and three up to it: (1/4 + 3/4) / 2. Between 5 and 9 lie 3 of 4 below.
    assert places.rank(np.array([1.0, 5.0, 9.0, 7.0, 0.0])) == pytest.approx([0.125, 0.5, 0.875, 0.75, 0.0])
    assert np.isnan(places.rank(np.array([np.nan]))).all()
    assert list(places.value(np.array([0.0, 0.2, 0.25, 0.5, 0.74, 0.75, 1.0]))) == [1, 1, 5, 5, 5, 9, 9]


def test_a_column_of_few_values_has_no_slope() -> None:
    """Of ten people each another value counts ten; a value that half of them have counts as two at most."""
    assert Places.of(np.arange(10.0)).effective == pytest.approx(10)
    assert Places.of(np.array([0.0, 0.0, 1.0, 2.0])).effective == pytest.approx(1 / (0.25 + 2 / 16))
    x = np.arange(100.0)
    assert in_one_leaf(np.floor(x / 10), x=x) is not None
    assert in_one_leaf(np.floor(x / 11.2), x=x) is None
    assert in_one_leaf(np.maximum(x, 40), x=x) is None


def test_a_row_gets_the_value_of_a_person_like_itself() -> None:
    x = np.arange(100.0)
    slopes = in_one_leaf(x**3, x=x)
    assert slopes is not None
    assert slopes.slopes == pytest.approx(np.ones((1, 1)))
    assert list(moved(slopes, x**3, x=x[::-1])) == list(x[::-1] ** 3)


def test_missing_numbers_move_nothing_and_missing_values_stay() -> None:
    x = np.arange(100.0)
    values = np.where(x % 10 == 0, np.nan, x)
    slopes = in_one_leaf(values, x=x)
    assert slopes is not None
    assert np.array_equal(moved(slopes, values, x=np.full(100, np.nan)), values, equal_nan=True)
    assert np.array_equal(np.isnan(moved(slopes, values, x=x[::-1])), np.isnan(values))


def test_noise_has_no_slope() -> None:
    """Chance gives the first slope to one in a hundred nodes."""
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        found += in_one_leaf(rng.random(50), **{name: rng.random(50) for name in "abcd"}) is not None
    assert found <= 8


def test_slopes_are_those_of_least_squares_in_the_selected_numbers() -> None:
    rng = np.random.default_rng(3)
    a, b, noise = rng.random((3, 400))
    values = 2 * a - b + 0.1 * rng.random(400)
    slopes = in_one_leaf(values, a=a, b=b, noise=noise)
    assert slopes is not None and set(slopes.predictors) == {"a", "b"}
    ranks = np.column_stack([np.ones(400), *(Places.of(column).rank(column) for column in (a, b))])
    wanted = np.linalg.lstsq(ranks, Places.of(values).rank(values))[0][1:]
    assert {key: slopes.slopes[0, at] for at, key in enumerate(slopes.predictors)} == pytest.approx(
        dict(zip("ab", wanted, strict=True))
    )


def test_fewer_people_than_a_leaf_holds_have_no_slope() -> None:
    x = np.arange(30.0)
    assert fit_slopes(x, {"x": x}, of_everybody, ONE_LEAF, 30) is not None
    assert fit_slopes(x, {"x": x}, of_everybody, ONE_LEAF, 31) is None


def test_rows_of_the_same_people_bear_out_nothing_more() -> None:
    found = []
    for repeats in (1, 20):
        rng = np.random.default_rng(11)
        x = rng.random(60)
        y = x + 3 * rng.random(60)
        tree: DonorTree[str] = grow(
            (1, NUMBER, np.repeat(y, repeats)),
            {"x": np.repeat(x, repeats)},
            {"x": NUMBER},
            np.repeat(np.arange(60), repeats),
            TreeLimits(40, 1.0, None, slopes=True),
            rng,
        )
        found.append(None if tree.slopes is None else tree.slopes.slopes.round(12).tolist())
    assert found[0] == found[1]


@given(st.integers(0, 10_000), st.integers(30, 200), st.booleans())
def test_only_values_that_somebody_has_are_drawn(seed: int, n: int, missing: bool) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 12, (2, n)).astype(float)
    y += x
    if missing:
        y[rng.random(n) < 0.2] = np.nan
    tree: DonorTree[str] = grow(
        (1, NUMBER, y), {"x": x}, {"x": NUMBER}, np.arange(n), TreeLimits(10, 0.5, None, slopes=True), rng
    )
    drawn = tree.draw({"x": rng.integers(-3, 20, 50).astype(float)}, 50, rng)
    assert set(drawn[~np.isnan(drawn)]) <= set(y)


def test_large_leaves_keep_a_relation_of_numbers() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=600)
    y = x + 0.2 * rng.normal(size=600)
    kept = {}
    for slopes in (False, True):
        limits = TreeLimits(200, 1.0, None, slopes)
        tree: DonorTree[str] = grow((1, NUMBER, y), {"x": x}, {"x": NUMBER}, np.arange(600), limits, rng)
        kept[slopes] = np.corrcoef(x, tree.draw({"x": x}, 600, rng))[0, 1]
    assert kept[False] < 0.8 < 0.94 < kept[True]
