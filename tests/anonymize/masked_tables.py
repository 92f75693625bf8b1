"""Small tables of mixed columns, and MDAV in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from hybrid.table import Column, ColumnFormat, Kind, Role, Schema, Table

Q, S = Role.QUASI_IDENTIFIER, Role.SENSITIVE
SCHOOLS = ("none", "primary", "secondary", "degree")
SCHEMA = Schema(
    (
        Column("age", Q, Kind.INTEGER),
        Column("pay", Q, Kind.DECIMAL, format=ColumnFormat(decimals=2)),
        Column("school", Q, Kind.CATEGORICAL),
        Column("town", Q, Kind.CATEGORICAL),
        Column("born", Q, Kind.DATE),
        Column("illness", S, Kind.CATEGORICAL),
    )
)


def people(n: int, seed: int = 0, *, missing: float = 0.0, persons: int = 0) -> Table:
    """Mixed quasi-identifiers that depend on each other; each of ``persons`` may have several rows."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    frame = pd.DataFrame(
        {
            "age": pd.Series(age, dtype="Int64").mask(rng.random(n) < missing),
            "pay": pd.Series(np.round(rng.lognormal(7, 0.5, n) + 10 * age, 2)).mask(rng.random(n) < missing),
            "school": pd.Series(np.array(SCHOOLS)[rng.integers(0, 4, n)]).astype("category"),
            "town": pd.Series(rng.choice(["Bonn", "Kiel", "Ulm"], n, p=[0.6, 0.3, 0.1])).astype("category"),
            "born": pd.Series(np.datetime64("2024-01-01") - (age * 365).astype("timedelta64[D]")).astype(
                "datetime64[us]"
            ),
            "illness": pd.Series(np.where(age > 50, "stroke", rng.choice(["flu", "gout"], n))).astype("category"),
        }
    )
    if missing:
        frame["town"] = frame["town"].mask(rng.random(n) < missing)
    whose = np.concatenate([np.arange(persons), rng.integers(-1, persons, n - persons)]) if persons else None
    return Table(frame, SCHEMA, whose)


def plain_mdav(points: list[list[float]], k: int) -> list[list[int]]:
    """Groups by MDAV, written from the paper: lists, no arrays, no incremental sums."""
    left, groups = list(range(len(points))), []

    def from_place(place: list[float], record: int) -> float:
        return math.dist(place, points[record])

    def take(record: int) -> None:
        group = sorted(left, key=lambda other: from_place(points[record], other))[:k]
        groups.append(group)
        left[:] = [other for other in left if other not in group]

    def farthest() -> int:
        centre = [sum(points[record][at] for record in left) / len(left) for at in range(len(points[0]))]
        return max(left, key=lambda record: from_place(centre, record))

    while len(left) >= 3 * k:
        first = farthest()
        second = max(left, key=lambda record: from_place(points[first], record))
        take(first)
        take(second)
    if len(left) >= 2 * k:
        take(farthest())
    groups.append(left)
    return groups
