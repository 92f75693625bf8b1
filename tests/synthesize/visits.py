"""Visits of persons in order."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.persons import with_order

FIRST = np.datetime64("2024-01-01", "us")
STATIC = ("sex", "born")


def visits(n_persons: int = 400, seed: int = 0) -> Table:
    """Visits of persons with a sex, a year of birth (missing in some rows) and a disease that mostly stays."""
    rng = np.random.default_rng(seed)
    counts = 1 + rng.negative_binomial(1, 0.45, n_persons)
    whose = np.repeat(np.arange(n_persons), counts)
    n = len(whose)
    born = pd.Series(rng.integers(1930, 2010, n_persons)[whose], dtype="Int64")
    disease = np.where(rng.random(n) < 0.7, rng.choice(list("abcd"), n_persons)[whose], rng.choice(list("abcd"), n))
    frame = pd.DataFrame(
        {
            "sex": pd.Series(rng.choice(["f", "m"], n_persons)[whose], dtype="category"),
            "born": born.mask(rng.random(n) < 0.1),
            "day": pd.Series(FIRST + rng.integers(0, 700, n).astype("timedelta64[D]")),
            "disease": pd.Series(disease, dtype="category"),
            "cost": pd.Series(np.round(rng.lognormal(3, 1, n) * (1 + 4 * (disease == "a")), 2)),
        }
    )
    kinds = (Kind.CATEGORICAL, Kind.INTEGER, Kind.DATE, Kind.CATEGORICAL, Kind.DECIMAL)
    schema = Schema(tuple(Column(str(c), Role.INSENSITIVE, k) for c, k in zip(frame, kinds, strict=True)))
    shuffled = Table(frame, schema, whose).take(rng.permutation(n))
    return with_order(shuffled, "day")
