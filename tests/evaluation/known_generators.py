"""Generators whose leak is known."""

from __future__ import annotations

import numpy as np

from hybrid.table import DTYPES, Table
from tests.evaluation.simulated_people import make_people


def copier(table: Table, seed: int) -> Table:
    return table.take(np.random.default_rng(seed).permutation(len(table)))


def ignorant(table: Table, seed: int) -> Table:
    return make_people(len(table), np.random.default_rng(seed))


def half(table: Table, seed: int) -> Table:
    """Every row a copy with a chance of one half, else somebody new."""
    rng = np.random.default_rng(seed)
    mixed = make_people(len(table), rng).frame.astype(object)
    kept = rng.random(len(table)) < 0.5
    mixed[kept] = table.frame.astype(object)[kept]
    return Table(mixed.astype({c.name: DTYPES[c.kind] for c in table.schema}), table.schema)
