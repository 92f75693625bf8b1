"""Measures of a metric against hand calculations, published tables, brute force and simulated curves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from hybrid.lab.measures import (
    against,
    calibration,
    coverage,
    drift,
    holm,
    isotonic,
    jonckheere,
    noticed,
    rank_correlations,
    residual_correlation,
    sensitivity,
    share,
    turns,
)

modest = settings(max_examples=60, deadline=None)
NO, YES = False, True


@modest
@given(st.lists(st.floats(-10, 10), min_size=1, max_size=12))
def test_isotonic_is_the_least_squares_rising_fit(values: list[float]) -> None:
    found = isotonic(np.array([values]))[0]
    assert found == pytest.approx(isotonic_regression(values), abs=1e-9)
    assert (np.diff(found) >= -1e-12).all()


def test_isotonic_by_hand_and_for_many_rows() -> None:
    # 3, 1, 2 pool to their mean 2; 5, 4 to 4.5.
    rows = np.array([[3.0, 1, 2, 5, 4], [1, 2, 3, 4, 5]])
    assert isotonic(rows).tolist() == [[2, 2, 2, 4.5, 4.5], [1, 2, 3, 4, 5]]


def test_jonckheere_against_the_published_example() -> None:
    # Hollander, Wolfe and Chicken, example 6.2 (motivational effect): J = 79, mean 54, variance 150.29 with ties.
    groups = [
        np.array([40.0, 35, 38, 43, 44, 41]),
        np.array([38.0, 40, 47, 44, 40, 42]),
        np.array([48.0, 40, 45, 43, 46, 44]),
    ]
    found = jonckheere(groups)
    assert found.z == pytest.approx((79 - 54) / math.sqrt(150.29), abs=1e-3)
    assert found.p == pytest.approx(0.0207, abs=3e-4)
    assert jonckheere(groups[::-1]).z == pytest.approx(-found.z)
    assert jonckheere(groups[::-1]).p_falling == pytest.approx(found.p)


def test_jonckheere_of_equal_values_says_nothing() -> None:
    assert jonckheere([np.ones(3)] * 4) == (0.0, 1.0, 1.0)


def test_kendall_by_hand() -> None:
    # Levels 0..3; one seed rises, one falls, one has a single exchange (5 concordant, 1 discordant: 4/6), one is flat.
    curves = np.array([[1.0, 4, 2, 7], [2, 3, 1, 7], [3, 2, 3, 7], [4, 1, 4, 7]])
    found = rank_correlations(curves)
    assert found == pytest.approx([1, -1, 4 / 6, 0])
    assert math.isnan(rank_correlations(curves[:2])[0])


def test_kendall_b_counts_ties() -> None:
    # Values 1, 1, 2 over three levels: 2 concordant pairs, one tie: 2 / sqrt(3 * 2).
    assert rank_correlations(np.array([[1.0], [1], [2]]))[0] == pytest.approx(2 / math.sqrt(6))


def test_sensitivity_is_the_first_level_noticed_there_and_above() -> None:
    rng = np.random.default_rng(0)
    told = np.array([[NO] * 5, [YES] + [NO] * 4, [YES] * 4 + [NO], [YES] * 5])
    found = sensitivity(told, rng)
    assert found.position == 2 and found.low == 2 and found.high == 3
    assert sensitivity(np.zeros((4, 5), bool), rng) == (None, None, None)
    assert sensitivity(np.ones((4, 5), bool), rng) == (0, 0, 0)


def test_a_level_that_is_noticed_once_and_missed_above_does_not_count() -> None:
    # Shares 1, .4, 1 rise as .7, .7, 1.
    told = np.array([[YES] * 5, [YES] * 2 + [NO] * 3, [YES] * 5])
    assert sensitivity(told, np.random.default_rng(0)).position == 2


def test_known_sensitivity_of_a_simulated_metric() -> None:
    rng = np.random.default_rng(1)
    leaks = np.array([0.01, 0.05, 0.2, 0.5])
    excess = leaks[:, None] + rng.normal(0, 0.02, (4, 30))
    # Half widths of 1.96 * .02: .05 is noticed in about 70 % of the trials, .2 in all.
    assert sensitivity(noticed(excess - 1.96 * 0.02), rng).position == 2


def test_what_was_not_measured_was_not_noticed() -> None:
    assert noticed(np.array([math.nan, 0.0, 0.1])).tolist() == [False, False, True]


def test_shares_by_hand() -> None:
    # Wilson: 1 of 45 at 95 %.
    found = share(np.arange(45) == 0)
    assert (found.hits, found.trials) == (1, 45)
    assert (found.low, found.high) == pytest.approx((0.0039, 0.1157), abs=5e-4)
    assert share(np.empty(0, bool)) == (0, 0, 0.0, 1.0)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1, 1])


def test_against_by_hand() -> None:
    # 0, 2, 1, 3: mean 1.5, spread 5; the fit is 0, 1.5, 1.5, 3, off by .5 twice.
    assert against(np.array([0.0, 2, 1, 3])) == pytest.approx(0.5 / 5)
    assert against(np.array([1.0, 2, 3])) == 0
    assert against(np.array([2.0, 2])) == 0
    assert against(np.array([3.0, 2, 1])) == pytest.approx(1)


def test_turns_are_falls_beyond_the_intervals() -> None:
    middle = np.array([[0.0], [1], [0.9], [0.2], [2]])
    assert turns(middle - 0.1, middle + 0.1) == 1
    assert turns(middle - 0.01, middle + 0.01) == 2


def test_calibration_by_hand() -> None:
    leaks = np.array([0, 0.5, 1])
    assert calibration(leaks, np.array([0.2, 0.7, 1.2])) == pytest.approx(0)
    assert calibration(leaks, np.array([0, 0.1, 0.4])) == pytest.approx(0.25)
    assert calibration(leaks, np.array([1.0, 1, 1])) is None
    assert calibration(np.array([0, 0.5]), np.array([0.0, 1])) is None


def test_drift_by_hand() -> None:
    # Differences .1, .2, .3: mean .2, standard error .1 / sqrt(3), t(.975, 2) = 4.303: .2 - .2484 < 0.
    last = np.array([0.0, 0.0, 0.0])
    assert drift(np.array([[0.1, 0.2, 0.3], last])) == pytest.approx((0.2, 0.0))
    # .19, .2, .21: .2 - 4.303 * .01 / sqrt(3).
    assert drift(np.array([[-0.19, -0.2, -0.21], last])) == pytest.approx(
        (0.2, 0.2 - 4.3027 * 0.01 / math.sqrt(3)), abs=1e-4
    )
    assert drift(np.array([[0.4], [0.0]])) == (0.4, 0.0)


def test_coverage_by_hand() -> None:
    excess = np.array([[0.0, 2.0], [1.0, math.nan]])
    half = np.array([[0.5, 1.0], [0.1, math.nan]])
    # Mean 1 of the first level: 0 ± .5 misses it, 2 ± 1 holds it; the second level holds itself.
    assert coverage(excess, excess - half, excess + half) == pytest.approx(2 / 3)


def test_two_metrics_that_only_share_the_level_do_not_agree() -> None:
    rng = np.random.default_rng(3)
    levels = np.linspace(0, 1, 10)[:, None]
    noise = rng.normal(0, 0.05, (10, 40))
    one, twin, stranger = (levels + each for each in (noise, 2 * noise, rng.normal(0, 0.05, (10, 40))))
    assert residual_correlation(one, twin) == pytest.approx(1)
    assert abs(residual_correlation(one, stranger)) < 0.15
    assert math.isnan(residual_correlation(one, np.ones((10, 40))))
