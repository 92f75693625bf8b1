"""Who holds a value: people, or their households, and nobody for rows without a person."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from hybrid.protect import ProtectOptions, protect
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.cells import column_cells
from hybrid.table.holders import holders, people_bounds, row_holders, sharing, value_holders

SCHEMA = Schema((Column("village", Role.INSENSITIVE, Kind.CATEGORICAL), Column("born", Role.INSENSITIVE, Kind.DATE)))


def table() -> Table:
    """Six members of a household of their own village, and forty others, alone."""
    villages = ["Altona"] * 6 + ["Bergedorf", "Harburg"] * 20
    born = pd.date_range("1960-01-01", periods=46, freq="97D").astype("datetime64[us]")
    frame = pd.DataFrame({"village": pd.Categorical(villages), "born": born})
    return Table(frame, SCHEMA, None, np.array([0] * 6 + list(range(1, 41))))


def test_members_of_a_household_are_one_holder() -> None:
    homes = table()
    assert value_holders(homes, "village").to_dict() == {"Altona": 1, "Bergedorf": 20, "Harburg": 20}
    assert value_holders(replace(homes, named_households=None), "village")["Altona"] == 6
    cells = column_cells(homes, "village", 5)
    assert cells is not None and "Altona" not in cells.labels


def test_protection_replaces_what_one_household_holds() -> None:
    homes = table()
    found = protect(homes, ProtectOptions(), np.random.default_rng(0)).table
    assert set(found.frame["village"].dropna()) == {"Bergedorf", "Harburg"}
    alone = protect(replace(homes, named_households=None), ProtectOptions(), np.random.default_rng(0)).table
    assert "Altona" in set(alone.frame["village"])


def test_histories_are_those_of_persons_where_households_hold_values() -> None:
    """Four visits each of two members: gaps are between visits of one person."""
    n, visits = 60, 4
    persons = np.repeat(np.arange(n), visits)
    first = np.repeat(np.random.default_rng(1).integers(0, 900, n), visits) + np.tile(np.arange(visits) * 7, n)
    frame = pd.DataFrame({"seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(first, "D")}).astype("datetime64[us]")
    schema = Schema((Column("seen", Role.INSENSITIVE, Kind.DATE, order=True),))
    homes = Table(frame, schema, persons, persons // 2)
    found = protect(homes, ProtectOptions(), np.random.default_rng(0)).table.frame["seen"]
    gaps = found.groupby(persons).diff().dropna().dt.days
    assert gaps.between(0, 7).all() and (gaps == 7).mean() > 0.8


def test_rows_without_a_person_are_nobody() -> None:
    persons = np.array([*range(4), -1, -2, -3, *range(10, 49)])
    nameless = replace(table(), named_persons=persons, named_households=None)
    assert value_holders(nameless, "village")["Altona"] == 4
    codes = np.arange(46)
    assert holders(codes, 46, row_holders(nameless)).sum() == 43
    assert people_bounds(codes, 1, row_holders(nameless)) == (0, 45)
    assert sharing(nameless, ["village"])[0] == 4
