"""Log odds within leaves: who has a state follows what people bear out, and how many have it stays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from hybrid.base.arrays import Array
from hybrid.synthesize.generators.leaf_slopes import LeafLogits, fit_logits
from hybrid.synthesize.protocol import Feature

NUMBER = Feature("number", 0, ordered=True, missing=True)
STATES = Feature("states", 2, ordered=False, missing=False)
NAMES = Feature("names", 4, ordered=False, missing=False)


class Leaves:
    """A root, node 0, and the leaves below it: the node of each row."""

    def __init__(self, leaves: Array, weights: Array | None = None) -> None:
        self.leaves, self.weights = leaves, np.ones(len(leaves)) if weights is None else weights

    def sums(self, values: Array) -> Array:
        sums = np.bincount(self.leaves, values * self.weights)
        sums[0] = (values * self.weights).sum()
        return sums


def fitted(y: Array, leaf: Array, weights: Array | None = None, **known: tuple[Feature, Array]) -> LeafLogits[str]:
    columns, features = ({key: pair[at] for key, pair in known.items()} for at in (1, 0))
    found = fit_logits(y.astype(float), columns, features, Leaves(leaf, weights), leaf)
    assert found is not None
    return found


def drawn(model: LeafLogits[str], leaf: Array, seed: int = 1, **known: Array) -> Array:
    rows = np.arange(len(leaf))
    return model.move(np.zeros(len(leaf)), rows, leaf, known, np.random.default_rng(seed))


def campaigns(n: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Leaf of each of n people, who answered a campaign (8 in 100), and the next one: half of these, else 3 in 100."""
    rng = np.random.default_rng(seed)
    first = (rng.random(n) < 0.08).astype(float)
    return np.sort(np.arange(n) % 16 + 1), first, (rng.random(n) < np.where(first == 1, 0.5, 0.03)).astype(float)


def test_who_answers_one_campaign_answers_the_next() -> None:
    leaf, first, second = campaigns(20_000)
    found = drawn(fitted(second, leaf, first=(STATES, first)), leaf, first=first)
    for state in (0, 1):
        assert found[first == state].mean() == pytest.approx(second[first == state].mean(), abs=0.02)


def test_eight_hundred_people_in_leaves_of_fifty_show_it() -> None:
    leaf, first, second = campaigns(800)
    assert fitted(second, leaf, first=(STATES, first)).slopes[0] > 3


def test_slopes_are_those_of_a_logistic_regression_with_a_level_for_each_leaf() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(5)
    leaf, a, b = np.repeat([1, 2, 3], 2000), rng.random(6000), rng.random(6000)
    y = rng.random(6000) < expit(leaf - 2.5 + 2 * a - 3 * b)
    model = fitted(y, leaf, a=(NUMBER, a), b=(NUMBER, b), noise=(NUMBER, rng.random(6000)))
    assert {key for key, _ in model.predictors} == {"a", "b"}
    ranks = np.column_stack([place.rank({"a": a, "b": b}[key]) for key, place in model.predictors])
    dummies = (leaf[:, None] == [1, 2, 3]).astype(float)
    peer = LogisticRegression(C=1e6, fit_intercept=False, max_iter=1000).fit(np.hstack([ranks, dummies]), y)
    assert model.slopes == pytest.approx(peer.coef_[0, :2], abs=0.01)
    probability = peer.predict_proba(np.hstack([ranks, dummies]))[:, 1]
    own = expit(model.level[leaf] + (ranks - model.means[leaf]) @ model.slopes)
    assert own == pytest.approx(probability, abs=0.002)


def test_a_leaf_has_the_state_as_often_as_its_people() -> None:
    leaf, first, second = campaigns(800, 3)
    model = fitted(second, leaf, first=(STATES, first))
    odds = _odds(model, leaf, first)
    for one in range(1, 17):
        assert odds[leaf == one].mean() == pytest.approx(second[leaf == one].mean(), abs=1e-4)


def _odds(model: LeafLogits[str], leaf: Array, first: Array) -> Array:
    ranks = np.column_stack([place.rank(first) for _, place in model.predictors])
    probability: Array = expit(model.level[leaf] + (ranks - model.means[leaf]) @ model.slopes)
    return probability


def test_nothing_moves_where_all_are_alike() -> None:
    leaf, first, second = campaigns(4000)
    second = np.where(leaf == 1, 0.0, np.where(leaf == 2, 1.0, second))
    found = drawn(fitted(second, leaf, first=(STATES, first)), leaf, first=first)
    assert (found[leaf == 1] == 0).all() and (found[leaf == 2] == 1).all()


def test_a_frequent_name_and_a_spike_tell_it() -> None:
    """Neither has a rank that rises or falls with the state."""
    rng = np.random.default_rng(7)
    leaf, names = np.repeat([1, 2], 1000), rng.integers(0, 4, 2000)
    spike = np.where(rng.random(2000) < 0.4, 5.0, rng.random(2000) * 10)
    for column, feature, is_it in ((names.astype(float), NAMES, names == 2), (spike, NUMBER, spike == 5)):
        y = rng.random(2000) < np.where(is_it, 0.6, 0.1)
        found = drawn(fitted(y, leaf, x=(feature, column)), leaf, x=column)
        assert found[is_it].mean() == pytest.approx(0.6, abs=0.06)
        assert found[~is_it].mean() == pytest.approx(0.1, abs=0.04)


def test_noise_has_no_slope() -> None:
    """Chance gives one to one in a hundred columns of two states."""
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        columns = {name: rng.random(200) for name in "abcd"}
        leaf = np.repeat([1, 2, 3, 4], 50)
        y = (rng.random(200) < 0.2).astype(float)
        found += fit_logits(y, columns, dict.fromkeys("abcd", NUMBER), Leaves(leaf), leaf) is not None
    assert found <= 8


def test_a_column_that_parts_the_states_has_a_finite_slope() -> None:
    leaf, x = np.repeat([1, 2], 100), np.tile(np.arange(100.0), 2)
    model = fitted((x >= 50).astype(float), leaf, x=(NUMBER, x))
    assert np.isfinite(model.slopes).all() and np.isfinite(model.level[1:]).all()
    assert (drawn(model, leaf, x=x) == (x >= 50)).mean() > 0.95


def test_rows_of_one_person_count_as_one() -> None:
    leaf, first, second = campaigns(800, 2)
    model = fitted(second, leaf, first=(STATES, first))
    twice = np.repeat(np.arange(800), 2)
    again = fitted(second[twice], leaf[twice], np.full(1600, 0.5), first=(STATES, first[twice]))
    assert again.slopes == pytest.approx(model.slopes, rel=1e-6)
    assert again.level == pytest.approx(model.level, rel=1e-6)


def test_nodes_that_rows_are_drawn_in_may_alternate() -> None:
    """A leaf of enough rows, but too few people, is drawn in the node above it, and its neighbour is not."""
    leaf, first, second = campaigns(4000)
    drawn_in, order = np.where(leaf % 3 == 0, 0, leaf), np.argsort(np.where(leaf % 3 == 0, 0, leaf), kind="stable")
    nodes = Leaves(leaf)
    model = fit_logits(second, {"first": first}, {"first": STATES}, nodes, drawn_in)
    assert model is not None
    sorted_nodes = Leaves(leaf[order])
    again = fit_logits(second[order], {"first": first[order]}, {"first": STATES}, sorted_nodes, drawn_in[order])
    assert again is not None and again.slopes == pytest.approx(model.slopes)
    assert model.slopes[0] > 4


def test_missing_numbers_count_as_the_mean() -> None:
    rng = np.random.default_rng(9)
    leaf, x = np.ones(3000, dtype=np.int64), rng.random(3000)
    y = rng.random(3000) < x
    known = np.where(np.arange(3000) % 5 == 0, np.nan, x)
    model = fitted(y, leaf, x=(NUMBER, known))
    found = drawn(model, leaf, x=np.full(3000, np.nan))
    assert found.mean() == pytest.approx(0.5, abs=0.05)
