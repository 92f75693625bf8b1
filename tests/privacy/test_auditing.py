"""Lower bounds of epsilon, against simulated mechanisms and worked examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from hybrid.privacy.auditing import (
    epsilon_between,
    epsilon_of_guesses,
    guesses_p_value,
    rho_between,
    shares_of_game,
)


def epsilon_of_game(hits: tuple[int, int], runs: tuple[int, int], delta: float, confidence: float) -> float:
    return float(epsilon_between(*shares_of_game(hits, runs, confidence), delta))


def rho_of_game(hits: tuple[int, int], runs: tuple[int, int], delta: float, confidence: float) -> float:
    return float(rho_between(*shares_of_game(hits, runs, confidence), delta))


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


def test_rho_of_a_game_by_hand() -> None:
    """Of orders near 1 the Renyi divergence of .8 and .2 is .6 ln 4; divided by the order, no other is larger."""
    assert float(rho_between(np.array(0.8), np.array(0.2))) == pytest.approx(0.6 * math.log(4), rel=2e-3)
    assert float(rho_between(np.array(0.2), np.array(0.8))) == 0.0
    set_aside = rho_between(np.array(0.8), np.array(0.2), 0.1)
    assert float(set_aside) == pytest.approx(float(rho_between(np.array(0.7), np.array(0.2 / 0.9))))
    assert rho_of_game((900, 100), (1000, 1000), 0.0, 0.95) < 0.8 * math.log(9)


def test_gaussian_noise_is_refuted_at_half_its_deviation_and_not_as_it_is() -> None:
    """Means 0 and 1, deviation 4: rho 1/32. Thresholds at the middle, 5000 draws a side."""
    rng = np.random.default_rng(3)

    def lower(deviation: float) -> float:
        with_, without = rng.normal(1, deviation, 5000), rng.normal(0, deviation, 5000)
        return rho_of_game((int((with_ > 0.5).sum()), int((without > 0.5).sum())), (5000, 5000), 0.0, 0.99)

    assert max(lower(4) for _ in range(40)) <= 1 / 32 < min(lower(2) for _ in range(40))
