"""Stops by the police with a known joint distribution, whose constraints share columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

REGIONS, STATES, COUNTIES = 4, 16, 64
CONSTRAINTS: list[dict[str, Any]] = [
    {"combinations": ["region", "state"]},
    {"combinations": ["state", "county"]},
    {"tied": ["stopped", "reported"]},
    {"le": ["stopped", "booked"]},
    {"le": ["reported", "booked"]},
    {"derived": {"age": "years(born, stopped)"}},
    {"formula": "age >= 16 and (region != 'R0' or age <= 60)"},
]
"""Each shares a column with another one; the last one cannot be encoded."""


def police_stops(n: int, seed: int = 0) -> pd.DataFrame:
    """Stops: each county lies in one state and each state in one region, with unequal shares.

    How old people are, and what comes of the stop, depends on the region. A stop may be reported before or after it,
    and somebody is booked after both. No row breaks a constraint.
    """
    rng = np.random.default_rng(seed)
    shares = 1.0 / (1 + np.random.default_rng(0).permutation(COUNTIES)) ** 0.7
    county = rng.choice(COUNTIES, n, p=shares / shares.sum())
    state = county * STATES // COUNTIES
    region = state * REGIONS // STATES
    day = np.timedelta64(1, "D")
    stopped = np.datetime64("2022-01-01") + rng.integers(0, 365, n) * day
    reported = stopped + rng.integers(-3, 4, n) * day
    booked = np.maximum(stopped, reported) + (rng.geometric(0.25, n) - 1) * day
    years = np.minimum(17 + rng.gamma(2.0, 5.0 + 2.0 * region), 60).astype(np.int64)
    born = stopped - (np.ceil(365.25 * years).astype(np.int64) + rng.integers(1, 300, n)) * day
    birthday = pd.DatetimeIndex(born)
    on = pd.DatetimeIndex(stopped)
    before = (on.month < birthday.month) | ((on.month == birthday.month) & (on.day < birthday.day))
    return pd.DataFrame(
        {
            "region": [f"R{code}" for code in region],
            "state": [f"S{code:02}" for code in state],
            "county": [f"C{code:02}" for code in county],
            "born": born,
            "stopped": stopped,
            "reported": reported,
            "booked": booked,
            "age": on.year - birthday.year - before,
            "arrested": rng.random(n) < 0.15 + 0.15 * region,
        }
    )
