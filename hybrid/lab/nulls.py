"""Excess of numbers without a control: over the trials without a leak."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

DIGITS = 12
"""Decimals beyond which differences are rounding."""


class Excess(NamedTuple):
    """Value and interval above trials without a leak.

    NaN where there are fewer than two.
    """

    value: float
    low: float
    high: float


def over_nulls(value: float, nulls: Mapping[int, float], own: int | None, *, safe: bool) -> Excess:
    """Excess of a number over that of tables without a leak.

    Its mean over them is what no leak scores. The interval is the prediction interval of one more such table under
    normality, mean +- t(n - 1) s sqrt(1 + 1/n) at 95 % (Hahn and Meeker 1991, section 4.7): a table without a leak lies
    above it with 2.5 %.

    Parameters
    ----------
    value : float
        The number of the table.
    nulls : mapping of int to float
        Numbers of the tables without a leak, by seed.
    own : int or None
        Seed of the table if it is one of those: it is left out, or it would be its own yardstick.
    safe : bool
        True if larger numbers are safer; the sign is then turned.
    """
    others = np.array([number for seed, number in nulls.items() if seed != own])
    if len(others) < 2:
        return Excess(math.nan, math.nan, math.nan)
    excess = round((float(others.mean()) - value) * (1 if safe else -1), DIGITS)
    spread = round(float(others.std(ddof=1)), DIGITS)
    half = float(student.ppf(0.975, len(others) - 1)) * spread * math.sqrt(1 + 1 / len(others))
    return Excess(excess, excess - half, excess + half)
