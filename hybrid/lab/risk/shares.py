"""Shares of leaked records in a plan."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator, Field

LEAKS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Fine near 0, where sensitivity is decided."""


def _from_none(shares: tuple[float, ...]) -> tuple[float, ...]:
    if shares[0] != 0 or any(a >= b for a, b in pairwise(shares)):
        raise ValueError("levels begin with 0 and rise")
    return shares


Share = Annotated[float, Field(ge=0, le=1)]
Shares = Annotated[tuple[Share, ...], Field(min_length=2), AfterValidator(_from_none)]
