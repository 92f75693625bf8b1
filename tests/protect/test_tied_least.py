"""A date that just enough people hold stays where it is; one person fewer, and it moves with what is tied to it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.protect.related_dates import protect_ties
from hybrid.table import Column, Kind, Role, Schema, Table

SCHEMA = Schema(tuple(Column(name, Role.INSENSITIVE, Kind.DATE) for name in ("admitted", "discharged")))


def _dates(days: list[int]) -> pd.Series:
    return pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D")).astype("datetime64[us]")


def test_a_date_of_the_least_number_of_people_is_not_rare() -> None:
    """Stays of one day: two people leave on day 21, three on day 31; alone each leaving would move by three days."""
    days = [10] * 4 + [20] * 2 + [30] * 3 + [40] * 4
    before = Table(pd.DataFrame({"admitted": _dates(days), "discharged": _dates([day + 1 for day in days])}), SCHEMA)
    own = {"admitted": _dates(days), "discharged": _dates([day + 4 for day in days])}
    new = protect_ties(before, own, {"discharged": "admitted"}, 3, np.random.default_rng(0))
    moved = [10] * 4 + [23] * 2 + [30] * 3 + [40] * 4
    pd.testing.assert_series_equal(new["admitted"], _dates(moved), check_names=False)
    pd.testing.assert_series_equal(new["discharged"], _dates([day + 1 for day in moved]), check_names=False)
