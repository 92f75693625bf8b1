"""Exact noise against the distributions that it promises."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from hybrid.privacy.noise import bernoulli_exp, choose, discrete_gaussian, uniform_below

SIZE = 20_000


def bits(seed: int):
    return np.random.default_rng(seed).bytes


@pytest.mark.parametrize("variance", [1, 7, 40])
def test_discrete_gaussian_has_the_probabilities_of_its_definition(variance: int) -> None:
    drawn = discrete_gaussian(SIZE, variance, bits(variance))
    wide = np.arange(-12 * variance - 20, 12 * variance + 21)
    weights = np.exp(-(wide**2) / (2 * variance))
    expected = SIZE * weights / weights.sum()
    told = expected >= 5
    observed = np.array([(drawn == value).sum() for value in wide[told]])
    rest = [SIZE - observed.sum()], [SIZE - expected[told].sum()]
    assert chisquare(np.append(observed, rest[0]), np.append(expected[told], rest[1])).pvalue > 1e-3


def test_numbers_beyond_64_bits_are_drawn_exactly_too() -> None:
    drawn = discrete_gaussian(2000, 10**12, bits(3))
    assert abs(drawn.std() / 10**6 - 1) < 0.06


def test_bernoulli_exp_has_its_probability_for_small_and_large_exponents() -> None:
    for numerator, denominator in ((0, 3), (1, 3), (7, 2)):
        ones = np.ones(SIZE, dtype=np.int64)
        share = bernoulli_exp(numerator * ones, denominator * ones, bits(1)).mean()
        p = np.exp(-numerator / denominator)
        assert abs(share - p) <= 4 * np.sqrt(p * (1 - p) / SIZE)


def test_below_is_even_and_rejects_what_would_bias_it() -> None:
    words = iter([2**64 - 1, 2**64 - 2, 5])  # only the first lies beyond the largest multiple of 3
    given = (word.to_bytes(8, "little") for word in words)
    assert uniform_below(np.array([3]), lambda _: next(given)).tolist() == [(2**64 - 2) % 3]
    drawn = uniform_below(np.full(SIZE, 6), bits(2))
    assert chisquare(np.bincount(drawn, minlength=6)).pvalue > 1e-3


def test_unlimited_whole_numbers_are_drawn_below_their_bound() -> None:
    bound = 3 * 2**80
    drawn = uniform_below(np.full(3000, bound, dtype=object), bits(4))
    assert max(drawn) < bound
    assert chisquare(np.bincount([int(value // 2**80) for value in drawn], minlength=3)).pvalue > 1e-3


def test_choice_has_the_probabilities_of_the_exponential_mechanism() -> None:
    scores, source = np.array([0, 5, 10]), bits(5)
    drawn = [choose(scores, Fraction(3, 2), 10, source) for _ in range(500)]
    weights = np.exp(1.5 * scores / 20)
    assert chisquare(np.bincount(drawn, minlength=3), 500 * weights / weights.sum()).pvalue > 1e-3


def test_default_bits_do_not_repeat() -> None:
    assert (discrete_gaussian(50, 10**6) != discrete_gaussian(50, 10**6)).any()
