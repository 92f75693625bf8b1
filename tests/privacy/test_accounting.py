"""Account of a budget, against Gaussian noise whose privacy is known exactly."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from hybrid.base.errors import ConfigError
from hybrid.privacy.accounting import (
    Budget,
    BudgetPart,
    at_most,
    delta_of,
    epsilon_of,
    gaussian_rho,
    rho_for,
    variance_for,
)


def gaussian_delta(rho: float, epsilon: float) -> float:
    """Delta of Gaussian noise (Balle and Wang 2018, Theorem 8), whose rho is sensitivity ** 2 / (2 variance)."""
    mu = math.sqrt(2 * rho)
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@settings(max_examples=30)
@given(st.floats(1e-4, 2), st.floats(0.05, 12))
def test_delta_is_never_below_that_of_the_gaussian_mechanism(rho: float, epsilon: float) -> None:
    assert gaussian_delta(rho, epsilon) <= delta_of(rho, epsilon) * (1 + 1e-9) <= 1 + 1e-9


def test_delta_is_tighter_than_the_bound_of_bun_and_steinke() -> None:
    rho, epsilon = 0.02, 1.0
    assert delta_of(rho, epsilon) < math.exp(-((epsilon - rho) ** 2) / (4 * rho)) / 2


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_rho_and_epsilon_undo_each_other(epsilon: float) -> None:
    rho = rho_for(epsilon, 1e-6)
    assert delta_of(rho, epsilon) <= 1e-6
    assert epsilon_of(rho, 1e-6) == pytest.approx(epsilon, rel=1e-6)


def test_rho_at_epsilon_one_is_the_known_number() -> None:
    assert rho_for(1.0, 1e-6) == pytest.approx(0.024356, abs=1e-6)


@settings(max_examples=40)
@given(st.floats(1e-6, 5), st.integers(1, 400))
def test_variance_spends_at_most_what_is_allowed(rho: float, squared: int) -> None:
    variance = variance_for(rho, squared)
    assert gaussian_rho(variance, squared) <= rho or variance == math.ceil(squared / (2 * rho))
    assert variance == 1 or gaussian_rho(variance - 1, squared) > rho


def test_budget_refuses_parts_that_exceed_it() -> None:
    rho = rho_for(1.0, 9e-7)
    fits = Budget(1.0, 1e-6, 1, (BudgetPart("domains", rho / 2, 1e-7), BudgetPart("marginals", rho / 2)))
    assert fits.rho == pytest.approx(rho)
    assert fits.spent_delta == pytest.approx(1e-6)
    with pytest.raises(ConfigError, match="spend delta"):
        Budget(1.0, 1e-6, 1, (BudgetPart("domains", rho / 2, 2e-7), BudgetPart("marginals", rho / 2)))


def test_nothing_spent_is_perfectly_private() -> None:
    assert (delta_of(0.0, 1.0), epsilon_of(0.0, 1e-6)) == (0.0, 0.0)


@given(st.floats(1e-12, 1e6), st.integers(2, 6))
def test_printed_bounds_are_never_below_the_number(value: float, digits: int) -> None:
    shown = float(at_most(value, digits))
    assert value * (1 - 2e-9) <= shown <= value * (1 + 10.0 ** (1 - digits) + 1e-12)


def test_printed_bounds_of_round_numbers_are_these() -> None:
    assert [at_most(value, 4) for value in (1.1, 0.1 + 0.2, 1e-6, 2.00011, 12345.6)] == [
        "1.1",
        "0.3",
        "1e-06",
        "2.001",
        "1.235e+04",
    ]
