"""The generator mst: its tree, its account, and what comes out."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.base.progress import silent
from hybrid.privacy.accounting import rho_for
from hybrid.synthesize.generators.graphical_model import estimate
from hybrid.synthesize.generators.noisy_marginals import Mst, MstOptions, NoisyCounts, chosen_tree
from hybrid.synthesize.protocol import Encoded, Feature

SIZES = (3, 3, 3, 4, 2)
CHAIN = {(0, 2), (1, 2), (1, 4)}
"""Pairs that depend on each other in :func:`table`; the column 3 is independent."""


def table(n: int = 3000) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, n)
    third = np.where(rng.random(n) < 0.9, first, rng.integers(0, 3, n))
    second = np.where(rng.random(n) < 0.8, third, rng.integers(0, 3, n))
    fifth = np.where(rng.random(n) < 0.7, second % 2, rng.integers(0, 2, n))
    return [column.astype(np.int32) for column in (first, second, third, rng.integers(0, 4, n), fifth)]


def learned(epsilon: float, columns: list[np.ndarray], sizes: tuple[int, ...] = SIZES, **own: float):
    features = [Feature(str(at), size, ordered=False, missing=False) for at, size in enumerate(sizes)]
    return Mst().learn(Encoded(features, columns), MstOptions(epsilon=epsilon, iterations=100, **own), 1, silent)


def tree(rho: float, cells: int = 100) -> list[tuple[int, ...]]:
    columns = table()
    counter = NoisyCounts(columns, SIZES, rho, 1)
    first = [counter.measure((at,), rho / 15) for at in range(5)]
    found = list(chosen_tree(counter, estimate(SIZES, first, 50), cells))
    assert counter.left >= 0.99 * rho / 3  # the last third measures
    return found


def test_pairs_that_depend_most_are_chosen_and_join_all_columns() -> None:
    found = tree(20.0)
    assert len(found) == 4 and set(found) >= CHAIN
    assert set().union(*found) == set(range(5))


def test_little_budget_chooses_a_tree_too() -> None:
    for _ in range(5):
        found = tree(1e-3)
        assert len(found) == 4 and set().union(*found) == set(range(5))


def test_pairs_with_too_many_cells_are_not_chosen() -> None:
    assert all(SIZES[one] * SIZES[two] <= 8 for one, two in tree(20.0, 8))


@pytest.mark.parametrize("rows", [1, 3])
def test_account_is_the_budget(rows: int) -> None:
    model = learned(2.0, table(600), rows_per_person=rows)
    allowed = rho_for(2.0, 1e-6)
    assert 0.9 * allowed < sum(model.spent.values()) <= allowed * (1 + 1e-9)
    assert all(model.spent.values())


def test_one_column_gets_the_whole_budget() -> None:
    model = learned(1.0, table()[:1], SIZES[:1])
    assert model.spent["marginals of one column"] == pytest.approx(rho_for(1.0, 1e-6), rel=0.1)
    assert len(model.draw(50, 1).rows) == 1


def test_noise_falls_with_epsilon() -> None:
    columns = table()

    def error(epsilon: float) -> float:
        drawn = learned(epsilon, columns).draw(3000, 3).rows
        real, made = (np.bincount(3 * each[1] + each[2], minlength=9) for each in (columns, drawn))
        return float(np.abs(real - made).sum()) / 6000

    assert error(50.0) < 0.03 < error(0.01)
