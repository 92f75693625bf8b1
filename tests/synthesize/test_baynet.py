"""Bayesian networks: structure, noisy tables, and rows drawn from them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from sklearn.metrics import mutual_info_score

from hybrid.base.errors import GeneratorError
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.synthesize.generators.baynet import (
    Baynet,
    BaynetOptions,
    Codes,
    Node,
    Privbayes,
    PrivbayesOptions,
    choose,
    draw_rows,
    learn_structure,
    learn_tables,
    mutual_information,
    sensitivity,
)
from hybrid.synthesize.protocol import Encoded, Feature
from hybrid.table import Table
from tests.synthesize.synthesize_tables import people, tables


def chain(n: int = 6000, seed: int = 0) -> Codes:
    """A column, a noisy copy of it, a noisy copy of that, and one on its own."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, n)
    second = np.where(rng.random(n) < 0.8, first, rng.integers(0, 3, n))
    third = np.where(rng.random(n) < 0.8, second, rng.integers(0, 3, n))
    return Codes([first, second, third, rng.integers(0, 2, n)], (3, 3, 3, 2))


def encoded(codes: Codes) -> Encoded:
    features = [Feature(f"c{at}", size, False, False) for at, size in enumerate(codes.sizes)]
    return Encoded(features, [column.astype(np.int32) for column in codes.columns])


def silent(*_: object, **__: object) -> None:
    pass


def test_mutual_information_is_the_textbook_s() -> None:
    codes = chain(500)
    found = mutual_information(codes.counts((0, 1)), 3)
    assert found == pytest.approx(mutual_info_score(codes.columns[0], codes.columns[1]))
    both = codes.columns[0] * 2 + codes.columns[3]
    assert mutual_information(codes.counts((0, 3, 1)), 3) == pytest.approx(mutual_info_score(both, codes.columns[1]))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(2, 4), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_one_replaced_record_moves_mutual_information_by_the_sensitivity_at_most(
    n: int, rows: int, columns: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, rows * columns, n)
    other = cells.copy()
    other[0] = rng.integers(0, rows * columns)
    found = [mutual_information(np.bincount(each, minlength=rows * columns), columns) for each in (cells, other)]
    assert abs(found[0] - found[1]) <= sensitivity(n, columns == 2 or rows == 2) + 1e-12


def test_sensitivity_by_hand() -> None:
    assert sensitivity(3, binary=True) == pytest.approx(math.log(3) / 3 + 2 / 3 * math.log(3 / 2))
    assert sensitivity(3, binary=False) == pytest.approx(2 / 3 * math.log(2) + 2 / 3 * math.log(2))


def test_choices_follow_the_exponential_mechanism() -> None:
    """Scores 0 and 1, sensitivity 0.5, epsilon 2: weights 1 and exp(2)."""
    rng = np.random.default_rng(1)
    drawn = [choose(np.array([0.0, 1.0]), 0.5, 2.0, rng) for _ in range(20_000)]
    assert np.mean(drawn) == pytest.approx(math.exp(2) / (1 + math.exp(2)), abs=0.01)
    assert choose(np.array([0.2, 0.9, 0.9]), 0.5, math.inf, rng) == 1


def test_the_structure_is_the_chain_that_made_the_records() -> None:
    codes = chain()
    nodes = learn_structure(codes, 1, 1000, np.random.default_rng(2))
    edges = {frozenset((node.child, *node.parents)) for node in nodes if node.parents}
    assert {frozenset((0, 1)), frozenset((1, 2))} <= edges
    assert sorted(node.child for node in nodes) == [0, 1, 2, 3]
    placed: list[int] = []
    for node in nodes:
        assert set(node.parents) <= set(placed)
        placed.append(node.child)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_parents_are_as_many_as_there_may_be(degree: int) -> None:
    nodes = learn_structure(chain(400), degree, 10**6, np.random.default_rng(0))
    assert [len(node.parents) for node in nodes] == [min(degree, at) for at in range(4)]


def test_cells_are_limited() -> None:
    nodes = learn_structure(chain(400), 2, 9, np.random.default_rng(0))
    codes = chain(400)
    assert max(codes.cells((*node.parents, node.child)) for node in nodes) <= 9
    with pytest.raises(GeneratorError, match="3 states"):
        learn_structure(codes, 2, 2, np.random.default_rng(0))


def test_tables_without_noise_are_the_shares_of_the_records() -> None:
    codes = chain(1000)
    nodes = (Node(0, ()), Node(1, (0,)), Node(2, (0, 1)), Node(3, (1, 2)))
    tables_ = learn_tables(codes, nodes, np.random.default_rng(0))
    for node, table in zip(nodes, tables_, strict=True):
        counts = codes.counts((*node.parents, node.child)).reshape(table.shape)
        sums = counts.cumsum(axis=1) / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        seen = counts.sum(axis=1) > 0
        np.testing.assert_allclose(table[seen], sums[seen])
        np.testing.assert_allclose(table[:, -1], 1.0)
    # A parent state that nobody has gives every child the same chance.
    alone = Codes([np.array([0, 0]), np.array([1, 1])], (2, 2))
    (_, table) = learn_tables(alone, (Node(0, ()), Node(1, (0,))), np.random.default_rng(0))
    assert table.tolist() == [[0.0, 1.0], [0.5, 1.0]]


def test_noise_has_the_scale_of_the_budget() -> None:
    """One table measured, epsilon 1, replaced record: discrete Laplace of scale 2, standard deviation about 2.8."""
    rng = np.random.default_rng(3)
    codes = Codes([np.repeat(np.arange(2), 500)], (2,))
    shares = np.array([learn_tables(codes, (Node(0, ()),), rng, 1.0)[0][0, 0] for _ in range(4000)])
    stop = 1 - math.exp(-1 / 2)
    sd = math.sqrt(2 * (1 - stop)) / stop
    # The share of the first state moves by (noise0 - noise1) / 4 of a 500th of its count, to first order.
    assert shares.std() == pytest.approx(sd * math.sqrt(2) / 2000, rel=0.05)


def test_little_budget_makes_even_tables_and_much_makes_the_network_without_noise() -> None:
    codes = chain(2000)
    noisy = Privbayes().learn(encoded(codes), PrivbayesOptions(epsilon=1e-9, degree=1), 1, silent)
    without = Baynet().learn(encoded(codes), BaynetOptions(degree=1), 1, silent)
    endless = Privbayes().learn(encoded(codes), PrivbayesOptions(epsilon=math.inf, degree=1), 1, silent)
    drawn = [np.stack(model.draw(3000, 5).rows) for model in (without, endless, noisy)]
    assert (drawn[0] == drawn[1]).all()
    assert chi2_contingency(np.histogram2d(drawn[0][0], drawn[0][1], bins=3)[0]).statistic > 500
    assert noisy.nodes != without.nodes or (drawn[2] != drawn[0]).any()


def test_rows_have_the_shares_of_the_tables() -> None:
    rng = np.random.default_rng(4)
    nodes = (Node(1, ()), Node(0, (1,)))
    tables_ = (np.array([[0.25, 1.0]]), np.array([[0.0, 0.5, 1.0], [0.9, 0.9, 1.0]]))
    first, second = draw_rows((3, 2), nodes, tables_, 40_000, rng)
    assert second.mean() == pytest.approx(0.75, abs=0.01)
    shares = [np.bincount(first[second == state], minlength=3) / (second == state).sum() for state in (0, 1)]
    np.testing.assert_allclose(shares, [[0, 0.5, 0.5], [0.9, 0, 0.1]], atol=0.015)
    assert shares[0][0] == 0 and shares[1][1] == 0


@settings(max_examples=25, deadline=None)
@given(tables())
def test_any_table_can_be_learned(table: Table) -> None:
    for name in ("baynet", "privbayes"):
        drawn = fit(table, SynthesizeOptions(generator=name), 1).sample(7, 1)
        assert len(drawn) == 7 and drawn.schema == table.schema


def test_columns_keep_their_shares_and_the_seed_repeats() -> None:
    real = people(3000)
    model = fit(real, SynthesizeOptions(generator="baynet"), 1)
    one, again, other = (model.sample(3000, seed).frame for seed in (1, 1, 2))
    assert one.equals(again) and not one.equals(other)
    for name in ("job", "ill"):
        shares = [f[name].value_counts(normalize=True) for f in (real.frame, one)]
        assert shares[0].sub(shares[1], fill_value=0).abs().sum() / 2 < 0.03, name
    # Retired people are those above 66: a dependence between a number and a category.
    assert (one["age"][one["job"] == "retired"] > 60).mean() > 0.95


def test_progress_is_told_per_column() -> None:
    told: list[int] = []

    def tell(step: str, done: int, total: int | None = None, **values: float) -> None:
        told.append(done)

    Baynet().learn(encoded(chain(300)), BaynetOptions(), 1, tell)
    assert told == [0, 2, 3, 4] and all(a < b for a, b in pairwise(told))
