"""Account of a privacy budget under zero-concentrated differential privacy.

Every mechanism spends rho (Bun and Steinke 2016, arXiv:1605.02065), what is spent adds up, and only the sum is
converted to (epsilon, delta), by Proposition 12 of Canonne, Kamath and Steinke (2020, arXiv:2004.00010):

    delta = min over alpha > 1 of exp((alpha - 1) (alpha rho - epsilon)) / (alpha - 1) * (1 - 1 / alpha) ** alpha

A mechanism that fails to be rho-zCDP with a probability of at most delta_0 ("delta_0-approximate") adds that delta_0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from functools import cache
from typing import Any

from hybrid.base.errors import ConfigError

_HALVINGS = 200
_LARGEST_ALPHA = 1e12
_EQUAL = 1e-9
"""Relative difference of numbers that count as equal."""


@dataclass(frozen=True)
class BudgetPart:
    """One part of a budget."""

    name: str
    """What it was spent on; never a value of a record."""
    rho: float
    """zCDP, 0 or more."""
    delta: float = 0.0
    """Probability that the bound rho fails, 0 or more."""


@dataclass(frozen=True)
class Budget:
    """Privacy budget of one release and the parts it was spent in."""

    epsilon: float
    delta: float
    """What is allowed, for one person more or less."""
    rows: int
    """Rows of a person that are used, at most."""
    parts: tuple[BudgetPart, ...]

    def __post_init__(self) -> None:
        if self.spent_delta > self.delta * (1 + _EQUAL):
            raise ConfigError(
                f"the parts of the privacy budget spend delta = {self.spent_delta:.4g} at epsilon = {self.epsilon:g}, "
                f"more than {self.delta:g}",
                hint="raise privacy.epsilon or privacy.delta",
            )

    @property
    def rho(self) -> float:
        return math.fsum(part.rho for part in self.parts)

    @property
    def spent_delta(self) -> float:
        """Delta of the parts together, at :attr:`epsilon`."""
        return math.fsum(part.delta for part in self.parts) + delta_of(self.rho, self.epsilon)

    def to_json(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rows_per_person": self.rows,
            "rho": self.rho,
            "spent_delta": self.spent_delta,
            "parts": [{"name": part.name, "rho": part.rho, "delta": part.delta} for part in self.parts],
        }


def delta_of(rho: float, epsilon: float) -> float:
    """Delta of a rho-zCDP mechanism at epsilon: an upper bound for every alpha that the search ends with."""
    if rho <= 0:
        return 0.0
    low, high = 1.0 + 1e-9, min(max((epsilon + 1) / (2 * rho) + 2, 2.0), _LARGEST_ALPHA)
    _, high = _halved(low, high, lambda alpha: (2 * alpha - 1) * rho - epsilon + math.log1p(-1 / alpha) < 0)
    exponent = (high - 1) * (high * rho - epsilon) + high * math.log1p(-1 / high) - math.log(high - 1)
    return math.exp(min(exponent, 0.0))


def epsilon_of(rho: float, delta: float) -> float:
    """Smallest epsilon of a rho-zCDP mechanism at delta in (0, 1), to 1e-9, from above; 0 where nothing is spent."""
    if rho <= 0:
        return 0.0
    high = rho + 2 * math.sqrt(rho * math.log(1 / delta))  # Bun and Steinke's bound, never below
    return _halved(0.0, high, lambda epsilon: delta_of(rho, epsilon) > delta, 1e-9)[1]


@cache
def rho_for(epsilon: float, delta: float) -> float:
    """Largest rho whose delta in (0, 1) at epsilon is at most the given, from below, to a relative 1e-12."""
    low, high = 0.0, epsilon + 1.0
    while delta_of(high, epsilon) <= delta:
        high *= 2
    return _halved(low, high, lambda rho: delta_of(rho, epsilon) <= delta)[0]


def _halved(low: float, high: float, below: Callable[[float], bool], error: float = 0.0) -> tuple[float, float]:
    """Bisection: both sides of the point up to which a condition holds; ``error`` is relative above 1."""
    for _ in range(_HALVINGS):
        if high - low <= error * max(1.0, high):
            break
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low, high


def variance_for(rho: float, sensitivity_squared: int) -> int:
    """Variance of Gaussian noise that spends at most rho: the least whole number, 1 or more, that does.

    One person changes the counts by ``sensitivity_squared`` at most, the square of the L2 norm.
    """
    return max(math.ceil(sensitivity_squared / (2 * rho)), 1)


def gaussian_rho(variance: int, sensitivity_squared: int) -> float:
    """Rho of discrete Gaussian noise: ``sensitivity_squared / (2 variance)`` (Canonne et al. 2020, Theorem 4)."""
    return sensitivity_squared / (2 * variance)


def at_most(value: float, digits: int) -> str:
    """Text of a number with so many significant digits, rounded up: a printed bound is never below the proven one.

    What exceeds a rounded number by less than a part in 1e9, which the account takes for equal, is not rounded up.
    """
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value * (1 - _EQUAL)))
    return f"{float(rounded):.{digits}g}"


def total(parts: Iterable[BudgetPart]) -> tuple[float, float]:
    spent = tuple(parts)
    return math.fsum(part.rho for part in spent), math.fsum(part.delta for part in spent)
