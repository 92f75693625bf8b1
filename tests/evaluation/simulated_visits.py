"""Visits of simulated persons: about five each, alike but for their cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from hybrid.evaluation.context import Context
from hybrid.evaluation.options import EvaluateOptions
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table

SCHEMA = Schema(
    (
        Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER),
        Column("ward", Role.INSENSITIVE, Kind.CATEGORICAL),
        Column("cost", Role.SENSITIVE, Kind.DECIMAL),
    )
)


def visits(n_persons: int, rng: np.random.Generator, first: int = 0) -> Table:
    """About five visits of each person, alike but for their cost."""
    rows = rng.poisson(4, n_persons) + 1
    persons = np.repeat(np.arange(n_persons), rows)
    age, ward = rng.integers(18, 95, n_persons)[persons], rng.integers(0, 6, n_persons)[persons]
    cost = np.round(rng.lognormal(7 + 0.01 * age, 0.6), 2)
    return visits_of(age, ward, cost, persons + first)


def visits_of(age: np.ndarray, ward: np.ndarray, cost: np.ndarray, persons: np.ndarray | None = None) -> Table:
    """A table with these columns."""
    frame = pd.DataFrame({"age": pd.Series(age), "ward": pd.Series(ward).astype(str), "cost": pd.Series(cost)})
    frame = frame.astype({column.name: DTYPES[column.kind] for column in SCHEMA})
    return Table(frame, SCHEMA, persons)


def context(train: Table, control: Table, table: Table) -> Context:
    """The context of a released table, whose rows are nobody's."""
    return Context(train, control, replace(table, named_persons=None), EvaluateOptions())


def joined(one: Table, other: Table) -> Table:
    """Rows of both tables, nobody's."""
    return Table(pd.concat([one.frame, other.frame], ignore_index=True).astype(one.frame.dtypes.to_dict()), SCHEMA)


def one_visit_each(train: Table, share: float, rng: np.random.Generator) -> Table:
    """The first visit of a random share of the persons."""
    first = np.unique(train.persons, return_index=True)[1]  # type: ignore[arg-type]
    return train.take(rng.permutation(first)[: round(share * len(first))])
