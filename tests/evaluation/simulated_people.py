"""A population with every kind of column, and the tables one can make of it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table

COLUMNS = {
    "age": (Kind.INTEGER, Role.QUASI_IDENTIFIER),
    "sex": (Kind.CATEGORICAL, Role.QUASI_IDENTIFIER),
    "place": (Kind.CATEGORICAL, Role.QUASI_IDENTIFIER),
    "cost": (Kind.INTEGER, Role.INSENSITIVE),
    "height": (Kind.DECIMAL, Role.INSENSITIVE),
    "admitted": (Kind.DATE, Role.INSENSITIVE),
    "urgent": (Kind.BOOLEAN, Role.INSENSITIVE),
    "illness": (Kind.CATEGORICAL, Role.SENSITIVE),
}


def make_schema(targets: tuple[str, ...] = ("illness",)) -> Schema:
    return Schema(tuple(Column(n, role, kind, target=n in targets) for n, (kind, role) in COLUMNS.items()))


def make_people(n: int, rng: np.random.Generator) -> Table:
    age = rng.integers(18, 90, n)
    height = np.round(rng.normal(170, 10, n), 1)
    frame = pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "place": rng.integers(0, 12, n).astype(str),
            "cost": np.exp(rng.normal(6 + age / 60, 1, n)).astype(int),
            "height": np.where(rng.random(n) < 0.1, np.nan, height),
            "admitted": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "urgent": rng.random(n) < 0.3,
            "illness": np.where(rng.random(n) < age / 120, "x", rng.choice(["y", "z"], n)),
        }
    )
    schema = make_schema()
    return Table(frame.astype({column.name: DTYPES[column.kind] for column in schema}), schema)
