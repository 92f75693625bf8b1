"""Tables that generators are tried on."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from hybrid.table import DTYPES, Column, ColumnFormat, Kind, Role, Schema, Table


def table_of(columns: dict[str, tuple[Kind, object]], target: str | None = None, **formats: ColumnFormat) -> Table:
    """A table from (kind, values) per column."""
    frame = {
        name: pd.Series(values, dtype=None if hasattr(values, "dtype") else DTYPES[kind]).astype(
            DTYPES[kind] if kind is not Kind.CATEGORICAL else "category"
        )
        for name, (kind, values) in columns.items()
    }
    schema = tuple(
        Column(name, Role.INSENSITIVE, kind, name == target, formats.get(name, ColumnFormat()))
        for name, (kind, _) in columns.items()
    )
    return Table(pd.DataFrame(frame), Schema(schema))


def people(n: int = 2000, seed: int = 0) -> Table:
    """Every kind of column, dependent on each other, with values missing where others say so."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 95, n)
    job = np.where(
        age > 66, "retired", rng.choice(["clerk", "nurse", "smith", "überprüferin"], n, p=[0.5, 0.3, 0.15, 0.05])
    )
    ill = rng.random(n) < 1 / (1 + np.exp(-(age - 60) / 8))
    cost = np.round(np.exp(rng.normal(5 + 1.5 * ill, 0.8)), 2)
    cost[rng.random(n) < np.where(job == "smith", 0.6, 0.05)] = np.nan
    day = np.datetime64("2024-01-01") + rng.integers(0, 365, n).astype("timedelta64[D]")
    admitted = pd.Series(day.astype("datetime64[us]"))
    admitted[rng.random(n) < 0.1] = pd.NaT
    children = pd.Series(rng.poisson(1.2, n), dtype="Int64")
    children[rng.random(n) < 0.2] = pd.NA
    insured = pd.Series(rng.random(n) < 0.9, dtype="boolean")
    insured[rng.random(n) < 0.05] = pd.NA
    return table_of(
        {
            "age": (Kind.INTEGER, age),
            "job": (Kind.CATEGORICAL, pd.Series(job)),
            "ill": (Kind.BOOLEAN, pd.Series(ill)),
            "cost": (Kind.DECIMAL, pd.Series(cost)),
            "admitted": (Kind.DATE, admitted),
            "children": (Kind.INTEGER, children),
            "insured": (Kind.BOOLEAN, insured),
            "country": (Kind.CATEGORICAL, pd.Series(["here"] * n)),
            "note": (Kind.CATEGORICAL, pd.Series([None] * n, dtype="object")),
            "empty": (Kind.DECIMAL, pd.Series([np.nan] * n)),
        },
        target="ill",
        cost=ColumnFormat(decimals=2, fixed_decimals=True),
    )


_VALUES = {
    Kind.INTEGER: st.integers(-(2**63), 2**63 - 1) | st.integers(-50, 50),
    Kind.DECIMAL: st.floats(allow_nan=False, allow_infinity=False) | st.decimals(-100, 100, places=2).map(float),
    Kind.CATEGORICAL: st.text(max_size=3),
    Kind.BOOLEAN: st.booleans(),
    Kind.DATE: st.dates(min_value=pd.Timestamp("1700-01-01").date(), max_value=pd.Timestamp("2200-01-01").date()),
    Kind.DATETIME: st.datetimes(
        min_value=pd.Timestamp("1700-01-01").to_pydatetime(), max_value=pd.Timestamp("2200-01-01").to_pydatetime()
    ),
    Kind.TIME: st.integers(0, 1439).map(lambda minute: np.datetime64(minute, "m")),
}


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 12) -> Table:
    """Any table: every kind, missing values, constants, huge and tiny values."""
    n = draw(st.integers(1, max_rows))
    kinds = draw(st.lists(st.sampled_from(list(Kind)), min_size=1, max_size=5))
    columns = {}
    for at, kind in enumerate(kinds):
        values = draw(st.lists(st.none() | _VALUES[kind], min_size=n, max_size=n))
        if DTYPES[kind] == "datetime64[us]":
            series = pd.Series(np.array(values, dtype="datetime64[us]"))
        elif kind is Kind.CATEGORICAL:
            series = pd.Series(values, dtype=object)
        else:
            series = pd.Series(values, dtype=DTYPES[kind])
        columns[f"{kind} {at}"] = (kind, series)
    return table_of(columns)
