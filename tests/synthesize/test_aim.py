"""The generator aim: graphical model, account, and what comes out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hybrid.base.progress import silent
from hybrid.privacy.accounting import gaussian_rho, rho_for, variance_for
from hybrid.synthesize.generators.graphical_model import (
    Measurement,
    all_pairs,
    draw_rows,
    estimate,
    junction_tree,
    tree_cells,
)
from hybrid.synthesize.generators.noisy_marginals import (
    Aim,
    AimOptions,
    NoisyCounts,
    intervals,
    join_rare,
    measure_targets,
)
from hybrid.synthesize.protocol import Encoded, Feature

SIZES = (2, 3, 4, 2, 3)
CYCLE = ((0, 1), (1, 2), (2, 3), (0, 3))


def table(n: int = 4000) -> list[np.ndarray]:
    """Columns of which each depends on one before."""
    rng = np.random.default_rng(0)
    found = [rng.integers(0, SIZES[0], n)]
    for size in SIZES[1:]:
        found.append(np.where(rng.random(n) < 0.7, found[-1] % size, rng.integers(0, size, n)))
    return found


def brute_force(model_of: tuple[Measurement, ...], iterations: int) -> np.ndarray:
    """The same model with all columns in one clique, whose beliefs are the joint table."""
    whole = Measurement(tuple(range(len(SIZES))), np.full(SIZES, 1.0), 1e12)
    return estimate(SIZES, [*model_of, whole], iterations).beliefs[0]


@pytest.fixture(scope="module")
def measured() -> tuple[Measurement, ...]:
    columns = table()
    rng = np.random.default_rng(1)

    def counts(chosen: tuple[int, ...]) -> np.ndarray:
        shape = [SIZES[at] for at in chosen]
        codes = np.ravel_multi_index([columns[at] for at in chosen], shape)
        return np.bincount(codes, minlength=int(np.prod(shape))).reshape(shape) + rng.normal(0, 5, shape)

    return tuple(Measurement(chosen, counts(chosen), 25) for chosen in (*CYCLE, (4,)))


def test_every_measured_set_lies_in_a_clique_and_cliques_form_a_tree() -> None:
    tree = junction_tree(SIZES, CYCLE)
    for columns in CYCLE:
        assert set(columns) <= set(tree.cliques[tree.holding(columns)])
    assert len(tree.edges) == len(tree.cliques) - 1
    assert tree_cells(SIZES, CYCLE) == sum(np.prod([SIZES[at] for at in clique]) for clique in tree.cliques)
    for column in range(len(SIZES)):  # running intersection: the cliques of a column hang together
        holding = {at for at, clique in enumerate(tree.cliques) if column in clique}
        assert sum(column in edge.shared for edge in tree.edges) == len(holding) - 1


def test_model_agrees_with_one_that_keeps_the_whole_table(measured: tuple[Measurement, ...]) -> None:
    model = estimate(SIZES, measured, 400)
    joint = brute_force(measured, 400)
    pairs = all_pairs(model)
    assert set(pairs) == set(itertools.combinations(range(len(SIZES)), 2))
    for (one, two), counts in pairs.items():
        others = tuple(at for at in range(len(SIZES)) if at not in (one, two))
        assert np.abs(counts - joint.sum(axis=others)).sum() < 0.01 * model.total


def test_model_fits_what_was_measured(measured: tuple[Measurement, ...]) -> None:
    model = estimate(SIZES, measured, 400)
    for each in measured:
        assert np.abs(model.marginal(each.columns) - each.counts).max() < 4 * 5
    assert model.total == pytest.approx(4000, abs=25)


def test_drawn_rows_have_the_counts_of_the_model(measured: tuple[Measurement, ...]) -> None:
    model = estimate(SIZES, measured, 200)
    drawn = draw_rows(model, 5000, np.random.default_rng(2))
    for (one, two), counts in all_pairs(model).items():
        found = np.zeros(counts.shape)
        np.add.at(found, (drawn[one], drawn[two]), 1)
        assert np.abs(found / 5000 - counts / model.total).sum() < 0.06


def test_rare_states_are_joined_and_a_rare_missing_value_never_comes_out() -> None:
    joined = join_rare(Measurement((0,), np.array([500.0, 8.0, 2.0, 300.0, 5.0]), 16), missing=True)
    assert joined.size == 3
    drawn = joined.split(np.full(4000, joined.codes[1]), np.random.default_rng(0))
    shares = np.bincount(drawn, minlength=5) / 4000
    assert shares == pytest.approx([0, 0.67, 0.33, 0, 0], abs=0.03)  # means of cut-off normals: 8.22 and 4.04
    assert joined.split(np.full(9, joined.codes[3]), np.random.default_rng(0)).tolist() == [3] * 9


def test_account_of_a_training_is_the_budget_whatever_the_number_of_rows_per_person() -> None:
    columns = [column.astype(np.int32) for column in table(500)]
    features = [Feature(str(at), size, ordered=False, missing=False) for at, size in enumerate(SIZES)]
    for rows in (1, 3):
        options = AimOptions(epsilon=2.0, delta=1e-5, rows_per_person=rows, iterations=20)
        model = Aim().learn(Encoded(features, columns), options, 1, silent)
        spent, allowed = sum(model.spent.values()), rho_for(2.0, 1e-5)
        assert 0.9 * allowed < spent <= allowed * (1 + 1e-9)


def test_pairs_of_declared_targets_are_measured_for_their_share() -> None:
    counter = NoisyCounts(table(500), SIZES, 1.0, 2)
    found = measure_targets(counter, frozenset({3}), 0.4, 1000)
    assert [each.columns for each in found] == [(0, 3), (1, 3), (2, 3), (3, 4)]
    assert {each.variance for each in found} == {variance_for(0.1, 4)}
    assert counter.left == pytest.approx(1 - 4 * gaussian_rho(variance_for(0.1, 4), 4))
    assert counter.spent["choice of pairs"] == 0
    assert measure_targets(counter, frozenset({3}), 0.0, 1000) == []
    assert measure_targets(counter, frozenset(), 0.4, 1000) == []


def test_pairs_of_targets_leave_a_model_of_bounded_size() -> None:
    counter = NoisyCounts(table(500), SIZES, 1.0, 1)
    found = measure_targets(counter, frozenset({2}), 0.4, 35)
    assert 0 < len(found) < 4
    assert tree_cells(SIZES, [each.columns for each in found]) <= 35
    assert 0.6 <= counter.left < 0.63


def test_share_of_targets_is_within_the_budget_and_reaches_the_model() -> None:
    columns = [column.astype(np.int32) for column in table(4000)]
    features = [Feature(str(at), size, ordered=False, missing=False, target=at == 4) for at, size in enumerate(SIZES)]
    options = AimOptions(rho=0.5, iterations=100)
    model = Aim().learn(Encoded(features, columns), options, 1, silent)
    assert sum(model.spent.values()) <= 0.5 * (1 + 1e-9)
    drawn = model.draw(4000, 2).rows
    true, found = (np.bincount(3 * each[0] + each[4], minlength=6) for each in (columns, drawn))
    assert np.abs(true - found).sum() < 0.1 * 4000


def test_noise_grows_with_the_rows_of_a_person() -> None:
    counter = NoisyCounts(table(500), SIZES, 1.0, 1), NoisyCounts(table(500), SIZES, 1.0, 4)
    assert [each.measure((0,), 0.01).variance for each in counter] == [50, 800]


def test_counter_refuses_to_spend_more_than_it_has() -> None:
    counter = NoisyCounts(table(500), SIZES, 0.01, 1)
    counter.measure((0,), 0.006)
    with pytest.raises(AssertionError, match="budget"):
        counter.measure((1,), 0.006)


def test_large_budget_repeats_the_table() -> None:
    columns = [column.astype(np.int32) for column in table()]
    features = [Feature(str(at), size, ordered=False, missing=False) for at, size in enumerate(SIZES)]
    model = Aim().learn(Encoded(features, columns), AimOptions(epsilon=50.0, iterations=200), 1, silent)
    drawn = model.draw(4000, 3).rows
    for one, two in ((0, 1), (2, 3), (3, 4)):
        shape = SIZES[one], SIZES[two]
        real, made = (
            np.bincount(np.ravel_multi_index((each[one], each[two]), shape), minlength=int(np.prod(shape)))
            for each in (columns, drawn)
        )
        assert np.abs(real - made).sum() / 8000 < 0.03


def test_intervals_keep_values_that_many_share_apart() -> None:
    values = np.concatenate([np.zeros(90), np.full(8, 999.0), np.arange(1.0, 21.0)])
    cut = intervals(values, 16)
    assert cut.draw(cut.codes(np.array([0.0, 999.0])), np.random.default_rng(0)).tolist() == [0.0, 999.0]
    within = cut.draw(cut.codes(np.arange(1.0, 21.0)), np.random.default_rng(0))
    assert (within >= 1).all() and (within <= 20).all()
    assert (np.diff(cut.lows) > 0).all() and (cut.highs[:-1] < cut.lows[1:]).all()
