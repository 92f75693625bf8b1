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
STATES = Feature("state", 2, ordered=False, missing=False)


class Leaves:
    """A root, node 0, and the leaves below it: the node of each row; a root alone holds everybody."""

    def __init__(self, leaves: Array) -> None:
        self.leaves, self.weights = leaves, np.ones(len(leaves))

    def sums(self, values: Array) -> Array:
        sums = np.bincount(self.leaves, values)
        sums[0] = values.sum()
        return sums


def one_leaf(n: int) -> Leaves:
    return Leaves(np.zeros(n, dtype=np.int64))


def in_one_leaf(values: Array, **known: Array) -> LeafSlopes[str] | None:
    return fit_slopes(values, known, set(known), one_leaf(len(values)), 20)


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


def test_a_node_has_a_slope_of_its_own_for_a_column_of_many_values() -> None:
    """Of ten people each another value counts ten; a value that half of them have counts as two at most.

    Two leaves, in which the column rises and falls as much: they have no slope in common.
    """
    assert Places.of(np.arange(10.0)).effective == pytest.approx(10)
    assert Places.of(np.array([0.0, 0.0, 1.0, 2.0])).effective == pytest.approx(1 / (0.25 + 2 / 16))
    x = np.tile(np.arange(100.0), 2)
    y = np.concatenate([x[:100], x[99::-1]])
    leaves = Leaves(np.repeat([1, 2], 100))
    for width, wanted in ((10, 2), (11.2, 0)):
        slopes = fit_slopes(np.floor(y / width), {"x": x}, {"x"}, leaves, 20)
        assert (0 if slopes is None else (slopes.slopes[1:] != 0).sum()) == wanted


def test_ranks_that_cross_by_hand() -> None:
    """Of two values half of the ranks' move is seen, of three evenly held ones two thirds."""
    assert Places.of(np.array([0.0, 1.0, 1.0, 1.0])).crossed == pytest.approx(0.5)
    assert Places.of(np.array([0.0, 1.0, 2.0])).crossed == pytest.approx(2 / 3)
    assert Places.of(np.arange(1000.0)).crossed == pytest.approx(0.999)


def test_all_leaves_bear_out_what_none_does_alone() -> None:
    """Eight in a hundred have it, four in a leaf of fifty; who has it stands a quarter lower in every leaf."""
    rng = np.random.default_rng(8)
    leaf = np.repeat(np.arange(1, 41), 50)
    has = np.tile(np.arange(50) < 4, 40).astype(float)
    y = 10 * leaf + rng.random(2000) - 0.25 * has
    slopes = fit_slopes(y, {"has": has}, set(), Leaves(leaf), 50)
    assert slopes is not None
    for one in (1, 20, 40):
        assert fit_slopes(y[leaf == one], {"has": has[leaf == one]}, set(), one_leaf(50), 50) is None
    ranks = Places.of(y).rank(y)  # The two states are half a rank apart.
    off = [ranks[(leaf == one) & (has == 1)].mean() - ranks[(leaf == one) & (has == 0)].mean() for one in range(1, 41)]
    assert slopes.slopes[1:].mean() * 0.5 == pytest.approx(np.mean(off), rel=0.1)


def test_nothing_moves_where_all_are_alike() -> None:
    rng = np.random.default_rng(4)
    leaf, x = np.repeat([1, 2], 300), rng.random(600)
    y = np.where(leaf == 1, (rng.random(600) < x).astype(float), 0.0)
    slopes = fit_slopes(y, {"x": x}, {"x"}, Leaves(leaf), 50)
    assert slopes is not None
    assert slopes.slopes[1] > 0 and slopes.slopes[2] == 0


def test_a_state_is_drawn_as_often_as_people_like_the_row_have_it() -> None:
    """The probability of the state is the number itself."""
    rng = np.random.default_rng(2)
    x = rng.random(20_000)
    y = (rng.random(20_000) < x).astype(float)
    slopes = in_one_leaf(y, x=x)
    assert slopes is not None
    donors = rng.integers(0, 20_000, 20_000)
    for at in (0.25, 0.5, 0.75):
        asked = {"x": np.full(20_000, at)}
        drawn = slopes.move(y[donors], donors, np.zeros(20_000, dtype=np.int64), asked, rng)
        assert set(drawn) <= {0.0, 1.0}
        assert drawn.mean() == pytest.approx(at, abs=0.06)


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


def test_fewer_people_than_a_leaf_holds_have_no_slope_of_their_own() -> None:
    x = np.tile(np.arange(30.0), 2)
    y = np.concatenate([x[:30], x[29::-1]])  # No slope in common.
    leaves = Leaves(np.repeat([1, 2], 30))
    assert fit_slopes(y, {"x": x}, {"x"}, leaves, 30) is not None
    assert fit_slopes(y, {"x": x}, {"x"}, leaves, 31) is None


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


def test_large_leaves_keep_a_relation_of_a_number_and_a_state_that_few_have() -> None:
    """As of schooling and free insurance, drawn first: each leaf holds a handful who have it."""
    rng = np.random.default_rng(6)
    other, has = rng.normal(size=3000), (rng.random(3000) < 0.08).astype(np.int32)
    y = 3 * other - has + 0.5 * rng.normal(size=3000)
    kept = {}
    for slopes in (False, True):
        limits = TreeLimits(250, 1.0, None, slopes)
        known: dict[str, Array] = {"other": other, "has": has}
        features = {"other": NUMBER, "has": STATES}
        tree: DonorTree[str] = grow((2, NUMBER, y), known, features, np.arange(3000), limits, rng)
        drawn = tree.draw(known, 3000, rng)
        kept[slopes] = drawn[has == 1].mean() - drawn[has == 0].mean()
    real = y[has == 1].mean() - y[has == 0].mean()
    assert kept[True] == pytest.approx(real, abs=0.25)
    assert abs(kept[False] - real) > 0.4
