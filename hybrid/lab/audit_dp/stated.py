"""The statement that an audit tries to refute."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stated:
    """A stated guarantee and its neighbouring tables.

    Parameters
    ----------
    epsilon, delta : float
        For one person more or less.
    rho : float or None
        Budget in zero-concentrated differential privacy, which holds but for ``rho_delta``; None: there is none.
    rho_delta : float
        Probability that the bound rho fails.
    rows : int
        Rows of one person that are used, at most.
    draws : int or None
        Rows that a game draws; None: as configured, and their number is a fact.
    protects_missing : bool
        Whether it covers if a column has missing values.
    """

    epsilon: float
    delta: float
    rho: float | None = None
    rho_delta: float = 0.0
    rows: int = 1
    draws: int | None = None
    protects_missing: bool = True
