"""Yearly privacy budget of a policy.

All draws about the same people share it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Self

from pydantic import Field, model_validator

from hybrid.base.options import Options
from hybrid.privacy.accounting import delta_of, rho_for

YEAR = timedelta(days=365)
"""Time after which a draw no longer counts."""


class YearlyBudget(Options):
    """Most that private draws about the same people may spend yearly.

    Those of any 365 days count together.
    """

    epsilon: float | None = Field(default=None, gt=0)
    """Epsilon of all draws together, by zero-concentrated differential privacy; or set rho."""
    rho: float | None = Field(default=None, gt=0)
    """Sum of rho of all draws; or set epsilon."""
    delta: float = Field(default=1e-5, gt=0, lt=0.01)
    """Probability that the bound may fail, of all draws together. Beside rho: sum of the deltas that the search for
    categories spends."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.epsilon is None) == (self.rho is None):
            raise ValueError("set epsilon or rho, one of both")
        return self

    def allows(self, rho: float, delta: float) -> bool:
        """True if draws that spend so much together stay within the budget.

        Parameters
        ----------
        rho : float
            Sum of rho, 0 or more.
        delta : float
            Sum of the deltas that are spent beside rho, 0 or more.
        """
        if self.rho is not None:
            return rho <= self.rho * (1 + 1e-9) and delta <= self.delta * (1 + 1e-9)
        assert self.epsilon is not None
        return delta + delta_of(rho, self.epsilon) <= self.delta * (1 + 1e-9)

    def left(self, rho: float, delta: float) -> float:
        """Largest rho that a further draw may spend, 0 or more.

        Parameters
        ----------
        rho : float
            Sum of rho of the draws so far.
        delta : float
            Sum of the deltas beside rho, that of the further draw included.
        """
        if delta >= self.delta:
            return 0.0
        if self.rho is not None:
            return max(self.rho - rho, 0.0)
        assert self.epsilon is not None
        return max(rho_for(self.epsilon, self.delta - delta) - rho, 0.0)

    @property
    def words(self) -> str:
        """The limit in words."""
        limit = f"rho = {self.rho:g}" if self.rho is not None else f"epsilon = {self.epsilon:g}"
        return f"{limit} at delta = {self.delta:g} in 365 days"
