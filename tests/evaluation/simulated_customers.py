"""Customers of a bank: many amounts with heavy tails that move together, and a few categories."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table

MONTHS = range(1, 5)
KNOWN = {"age": Kind.INTEGER, "sex": Kind.CATEGORICAL, "education": Kind.CATEGORICAL, "marriage": Kind.CATEGORICAL}
AMOUNTS = ("limit", *(f"bill_{month}" for month in MONTHS), *(f"paid_{month}" for month in MONTHS))
SCHEMA = Schema(
    (
        *(Column(name, Role.QUASI_IDENTIFIER, kind) for name, kind in KNOWN.items()),
        *(Column(name, Role.INSENSITIVE, Kind.INTEGER) for name in AMOUNTS),
        *(Column(f"late_{month}", Role.INSENSITIVE, Kind.INTEGER) for month in MONTHS),
        Column("default", Role.SENSITIVE, Kind.BOOLEAN, target=True),
    )
)


def make_customers(n: int, rng: np.random.Generator) -> Table:
    """``n`` customers, alike in kind to published tables of credit cards: none of them is a person."""
    wealth = rng.normal(size=n)
    values: dict[str, object] = {
        "age": np.clip(np.round(21 + 8.4 * rng.gamma(2, 1, n) + 3 * rng.normal(size=n)), 21, 79),
        "sex": rng.choice(["f", "m"], n, p=[0.6, 0.4]),
        "education": rng.choice(list("abcde"), n, p=[0.35, 0.46, 0.16, 0.02, 0.01]),
        "marriage": rng.choice(list("abc"), n, p=[0.45, 0.53, 0.02]),
    }
    limit = np.minimum(np.round(np.exp(11.7 + 0.6 * wealth + 0.4 * rng.normal(size=n)) / 10_000 + 0.5), 80) * 10_000
    values["limit"] = limit
    bill = limit * rng.beta(0.6, 0.9, n)
    for month in MONTHS:
        share = np.where(rng.random(n) < 0.04, 1.0, rng.beta(0.3, 9, n))
        paid = np.where(rng.random(n) < 0.18, 0.0, np.round(bill * share + np.exp(rng.normal(6, 1.5, n))))
        values[f"bill_{month}"] = np.where(rng.random(n) < 0.03, 0.0, np.round(bill))
        values[f"paid_{month}"] = paid
        bill = np.maximum(bill * np.exp(rng.normal(0, 0.04, n)) - paid + 0.02 * limit * rng.exponential(size=n), 0.0)
    late = np.round(rng.normal(-0.2 - 0.3 * wealth))
    for month in MONTHS:
        values[f"late_{month}"] = np.clip(late + rng.integers(-1, 2, n), -2, 8)
    values["default"] = rng.random(n) < 1 / (1 + np.exp(1.5 - 0.8 * late))
    frame = pd.DataFrame(values)[SCHEMA.names]
    return Table(frame.astype({column.name: DTYPES[column.kind] for column in SCHEMA}), SCHEMA)
