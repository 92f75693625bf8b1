"""Lower bounds of epsilon, against simulated mechanisms and worked examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from hybrid.privacy.auditing import epsilon_of_game, epsilon_of_guesses, guesses_p_value


def test_without_delta_guesses_are_a_binomial_test() -> None:
    chance = math.exp(0.7) / (1 + math.exp(0.7))
    assert guesses_p_value(100, 40, 33, 0.7, 0.0) == pytest.approx(binom.sf(32, 40, chance))
    # All of ten right: (e^epsilon / (1 + e^epsilon))**10 = .05.
    share = 0.05 ** (1 / 10)
    assert epsilon_of_guesses(20, 10, 10, 0.0, 0.95) == pytest.approx(math.log(share / (1 - share)), abs=2e-4)


def test_delta_by_hand() -> None:
    """Of two guesses both right at epsilon 0: 1/4, and delta moves the rest: max(1/2, 3/4 / 2) of 2 * m * delta."""
    assert guesses_p_value(5, 2, 2, 0.0, 0.01) == pytest.approx(1 / 4 + 2 * 5 * 0.01 * max(1 / 2, 3 / 4 / 2))
    assert guesses_p_value(5, 2, 0, 0.0, 0.01) == 1.0


def test_randomized_response_is_refuted_no_more_often_than_stated() -> None:
    """A mechanism of epsilon exactly 1: 400 audits of 200 canaries each."""
    rng = np.random.default_rng(4)
    right = rng.binomial(200, math.e / (1 + math.e), size=400)
    bounds = {count: epsilon_of_guesses(200, 200, int(count), 0.0, 0.95) for count in np.unique(right)}
    lower = np.array([bounds[count] for count in right])
    assert (lower > 1).mean() <= binom.ppf(0.999, 400, 0.05) / 400
    assert np.median(lower) > 0.6  # and it is no empty statement


def test_a_game_by_hand() -> None:
    """10 of 10 and 0 of 10 at 90 %: bounds .05**(1/10) and 1 - .05**(1/10)."""
    low = 0.05 ** (1 / 10)
    assert epsilon_of_game((10, 0), (10, 10), 0.0, 0.9) == pytest.approx(math.log(low / (1 - low)))
    assert epsilon_of_game((10, 0), (10, 10), 0.1, 0.9) == pytest.approx(math.log((low - 0.1) / (1 - low)))
    assert epsilon_of_game((5, 5), (10, 10), 0.0, 0.9) == 0.0
    assert epsilon_of_game((0, 10), (10, 10), 0.0, 0.9) == 0.0


def test_games_of_a_private_pair_are_refuted_no_more_often_than_stated() -> None:
    rng = np.random.default_rng(8)
    hits = np.stack([rng.binomial(60, 0.6, 300), rng.binomial(60, 0.6 / math.e, 300)], axis=1)
    lower = [epsilon_of_game((int(a), int(b)), (60, 60), 0.0, 0.95) for a, b in hits]
    assert np.mean(np.array(lower) > 1) <= binom.ppf(0.999, 300, 0.05) / 300
