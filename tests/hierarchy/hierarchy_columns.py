"""Columns and values that the hierarchy tests build on."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st

from hybrid.hierarchy import Hierarchy
from hybrid.table import DTYPES, Column, ColumnFormat, Kind, Role

modest = settings(max_examples=50, deadline=None)


def column(kind: Kind, name: str = "x", **shape: object) -> Column:
    return Column(name, Role.QUASI_IDENTIFIER, kind, format=ColumnFormat(**shape))  # type: ignore[arg-type]


def series(values: list[object], kind: Kind) -> pd.Series:
    if kind.is_temporal:
        return pd.Series(np.array(values, dtype="datetime64[us]"))
    return pd.Series(values, dtype=DTYPES[kind])


def labels_at(hierarchy: Hierarchy, values: pd.Series, level: int) -> list[str]:
    return [hierarchy.labels[node] for node in hierarchy.node_at(values, level)]


def check_tree(hierarchy: Hierarchy) -> None:
    """What holds for every hierarchy, whoever built it."""
    parents = hierarchy.parents()
    assert (parents >= 0).sum() == hierarchy.n_nodes - 1
    assert parents[hierarchy.root] == -1
    assert len(set(hierarchy.node_of[:, -1])) == 1
    assert np.all((hierarchy.share > 0) & (hierarchy.share <= 1))
    assert hierarchy.share[hierarchy.root] == 1
    child = np.flatnonzero(parents >= 0)
    assert np.all(hierarchy.share[child] <= hierarchy.share[parents[child]] + 1e-12)
    if hierarchy.kind.is_continuous:
        known = child[child != (-1 if hierarchy.missing_node is None else hierarchy.missing_node)]
        assert np.all(hierarchy.low[known] >= hierarchy.low[parents[known]])
        assert np.all(hierarchy.high[known] <= hierarchy.high[parents[known]])
        assert np.all(hierarchy.low[known] <= hierarchy.high[known])
    if hierarchy.n_leaves > 1000:
        return
    covers = hierarchy.covers()
    for level in range(hierarchy.n_levels):
        assert np.all(covers[np.unique(hierarchy.node_of[:, level])].sum(axis=0) == 1)


integers = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 200), min_size=1, max_size=30)
tenths = st.lists(st.integers(-500, 500).map(lambda n: n / 10), min_size=1, max_size=30)
floats = st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=1, max_size=30)
moments = st.lists(
    st.datetimes(min_value=pd.Timestamp("1000-01-01"), max_value=pd.Timestamp("2500-12-31")), min_size=1, max_size=30
)
