"""Small tables, and the options that many tests go through."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from hybrid.anonymize.options import LossOptions
from hybrid.hierarchy import Hierarchy, from_levels
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from tests.anonymize.slow_search import Problem

LIMITS = st.sampled_from([0.0, 0.02, 0.1, 0.3, 0.6, 1.0])
LOSSES = st.one_of(
    st.builds(
        LossOptions,
        name=st.just("loss"),
        mean=st.sampled_from(["geometric", "arithmetic"]),
        gs_factor=st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]),
        weights=st.sampled_from([{}, {"q0": 2.5}, {"q0": 0.0}]),
    ),
    st.builds(
        LossOptions,
        name=st.just("precision"),
        mean=st.sampled_from(["geometric", "arithmetic"]),
        gs_factor=st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]),
    ),
    st.builds(LossOptions, name=st.just("entropy"), normalized=st.booleans()),
    st.just(LossOptions(name="aecs")),
    st.just(LossOptions(name="discernibility")),
)
MODELS = st.one_of(
    st.builds(lambda n: {"model": "l_diversity", "l": n}, st.integers(1, 3)),
    st.builds(lambda n: {"model": "l_diversity", "kind": "entropy", "l": n}, st.sampled_from([1.3, 1.8, 2.5])),
    st.builds(
        lambda n, c: {"model": "l_diversity", "kind": "recursive", "l": n, "c": c},
        st.integers(2, 3),
        st.sampled_from([0.7, 1.0, 2.0, 3.0]),
    ),
    st.builds(
        lambda t, d: {"model": "t_closeness", "t": t, "distance": d},
        st.sampled_from([0.0, 0.15, 0.3]),
        st.sampled_from(["equal", "ordered", "hierarchical"]),
    ),
    st.builds(lambda a: {"model": "alpha_k", "alpha": a}, st.sampled_from([0.5, 0.6, 0.8])),
    st.builds(
        lambda b, k: {"model": "beta_likeness", "beta": b, "kind": k},
        st.sampled_from([0.3, 1.0, 2.0]),
        st.sampled_from(["basic", "enhanced"]),
    ),
)


def table_of(roles: dict[str, Role], **values: list) -> Table:
    kinds = {
        name: Kind.CATEGORICAL
        if any(isinstance(v, str) for v in column) or not any(v is not None for v in column)
        else Kind.INTEGER
        for name, column in values.items()
    }
    frame = pd.DataFrame({name: pd.Series(column).astype(DTYPES[kinds[name]]) for name, column in values.items()})
    return Table(frame, Schema(tuple(Column(name, roles[name], kinds[name]) for name in values)))


def flat(name: str, leaves: list, *, missing: bool = False) -> Hierarchy:
    kind = Kind.CATEGORICAL if any(isinstance(leaf, str) for leaf in leaves) or not leaves else Kind.INTEGER
    array = np.array(leaves, dtype=object if kind is Kind.CATEGORICAL else np.int64)
    return from_levels(name, kind, array, [["*"] * len(leaves)], missing=missing)


Q, S = Role.QUASI_IDENTIFIER, Role.SENSITIVE


def wide_table(n_columns: int, n_rows: int) -> tuple[Table, dict]:
    rng = np.random.default_rng(3)
    person = rng.normal(size=n_rows)
    hierarchies, frame, columns = {}, {}, []
    for at in range(n_columns):
        name = f"q{at}"
        value = np.clip(np.round(person * 2 + rng.normal(size=n_rows) + 8), 0, 15).astype(int)
        levels = [[f"{leaf // width}/{width}" for leaf in range(16)] for width in (2, 4, 16)]
        hierarchies[name] = from_levels(name, Kind.INTEGER, np.arange(16), levels)
        frame[name] = pd.Series(value, dtype="Int64")
        columns.append(Column(name, Role.QUASI_IDENTIFIER, Kind.INTEGER))
    return Table(pd.DataFrame(frame), Schema(tuple(columns))), hierarchies


def random_levels(rng: np.random.Generator, n_leaves: int) -> list[list[str]]:
    levels, group = [[f"v{leaf}" for leaf in range(n_leaves)]], np.arange(n_leaves)
    for level in range(rng.integers(0, 3)):
        parent = rng.integers(0, max(1, group.max() // 2 + 1), group.max() + 1)
        group = np.unique(parent[group], return_inverse=True)[1].reshape(-1)
        levels.append([f"{level}.{g}" for g in group])
    return [*levels, ["*"] * n_leaves]


def random_problem(seed: int) -> Problem:
    """Two to four columns of skewed values that depend on each other, 15 to 40 rows."""
    rng = np.random.default_rng(seed)
    levels = [random_levels(rng, int(rng.integers(1, 8))) for _ in range(rng.integers(2, 5))]
    person = rng.random(rng.integers(15, 41))
    rows = [
        tuple(int(len(column[0]) * (p if rng.random() < 0.6 else rng.random()) ** 2) for column in levels)
        for p in person
    ]
    n_secrets = int(rng.integers(2, 5))
    secrets = [int(n_secrets * (p if rng.random() < 0.3 else rng.random())) for p in person]
    return Problem(rows, secrets, levels, n_secrets)
