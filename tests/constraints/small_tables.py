"""Small tables whose columns depend on each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from hybrid.constraints import AnyConstraint, Constraint
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table


def declared(*constraints: dict[str, Any]) -> tuple[Constraint, ...]:
    """Constraints as a configuration gives them."""
    found: tuple[Constraint, ...] = TypeAdapter(tuple[AnyConstraint, ...]).validate_python(list(constraints))
    return found


def table_of(persons: np.ndarray | None = None, **columns: tuple[Kind, list[object]]) -> Table:
    """A table from kinds and values."""
    schema = Schema(tuple(Column(name, Role.INSENSITIVE, kind) for name, (kind, _) in columns.items()))
    frame = pd.DataFrame({name: pd.Series(values, dtype=DTYPES[kind]) for name, (kind, values) in columns.items()})
    return Table(frame, schema, persons)


def stays(n: int, seed: int = 0) -> Table:
    """Stays in order, with a city that its postcode determines, and tests that are missing together."""
    rng = np.random.default_rng(seed)
    admitted = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 60, n), unit="D")
    missing = rng.random(n) < 0.2
    city = rng.integers(0, 4, n)
    drugs, bed = rng.integers(1, 40, n), rng.integers(1, 40, n)
    frame = pd.DataFrame(
        {
            "admitted": admitted.astype("datetime64[us]"),
            "discharged": (admitted + pd.to_timedelta(rng.poisson(3, n), unit="D")).astype("datetime64[us]"),
            "city": pd.Series([f"city {c}" for c in city], dtype="category"),
            "postcode": pd.Series([f"{1000 * c + d}" for c, d in zip(city, rng.integers(0, 3, n), strict=True)]).astype(
                "category"
            ),
            "drugs": pd.Series(drugs, dtype="Int64"),
            "bed": pd.Series(bed, dtype="Int64"),
            "total": pd.Series(drugs + bed, dtype="Int64"),
            "test": pd.Series(np.where(missing, np.nan, rng.integers(1, 9, n).astype(float))),
            "result": pd.Series(np.where(missing, None, rng.choice(["high", "low"], n)), dtype="category"),
        }
    )
    kinds = {"admitted": Kind.DATE, "discharged": Kind.DATE, "test": Kind.DECIMAL}
    kinds |= dict.fromkeys(("city", "postcode", "result"), Kind.CATEGORICAL)
    schema = Schema(tuple(Column(name, Role.INSENSITIVE, kinds.get(name, Kind.INTEGER)) for name in frame))
    return Table(frame, schema)
