"""A share of rows that vote for the side of their nearest record: its bounds hold whatever the records pointed at."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.evaluation.engine.intervals import share_interval, votes_interval

RECORDS = 200
"""On each side."""


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.5])
def test_bounds_hold_chance_whatever_the_records_pointed_at(exponent: float) -> None:
    rng = np.random.default_rng([7, round(2 * exponent)])
    votes = np.round(300 * np.arange(1, 2 * RECORDS + 1.0) ** -exponent)
    rows = int(votes.sum())
    shares = [votes[rng.permutation(2 * RECORDS)[:RECORDS]].sum() / rows for _ in range(400)]
    inside = [low <= 0.5 <= high for low, high in (votes_interval(s, votes, rows, 0.95) for s in shares)]
    # Binomial(400, .95) is below 366 once in 600 tries.
    assert np.mean(inside) >= 366 / 400


def test_rows_that_all_point_at_records_of_their_own_are_independent() -> None:
    votes = np.repeat([1.0, 0.0], [50, 10_000])
    assert votes_interval(0.3, votes, 50, 0.95) == pytest.approx(share_interval(0.3, 50, 0.95), abs=1e-3)


def test_one_record_pointed_at_says_nothing() -> None:
    low, high = votes_interval(1.0, np.repeat([1_000.0, 0.0], [1, 999]), 1_000, 0.95)
    assert low < 0.25 and high == 1.0


def test_more_votes_than_rows_do_not_count() -> None:
    # Every record is pointed at once: which side it is on cannot move the share at all.
    assert votes_interval(0.5, np.ones(400), 400, 0.95) == pytest.approx(share_interval(0.5, 400, 0.95))
