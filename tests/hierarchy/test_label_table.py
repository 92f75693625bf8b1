"""Labels as people read them, and back to nodes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from hybrid.hierarchy import LabelTable, from_levels
from hybrid.hierarchy.build import build_hierarchy
from hybrid.hierarchy.spec import IntervalsSpec
from hybrid.table import Column, ColumnFormat, Kind, Role, Schema, Table
from tests.hierarchy.hierarchy_columns import modest, series

AGE = Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER)
TOWN = Column("town", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL, format=ColumnFormat(padding=" "))
PAY = Column("pay", Role.SENSITIVE, Kind.DECIMAL)
SCHEMA = Schema((AGE, PAY, TOWN))
AGES = build_hierarchy(IntervalsSpec(widths=(5, 50)), AGE, series([5, 95, None], Kind.INTEGER))
TOWNS = from_levels(
    "town",
    Kind.CATEGORICAL,
    np.array(["Rome", "Oslo", "Other"], dtype=object),
    [["South", "Other", "Other"], ["*"] * 3],
)


def table(nodes: np.ndarray) -> LabelTable:
    pay = Table(pd.DataFrame({"pay": np.arange(len(nodes), dtype=float)}), Schema((PAY,)))
    return LabelTable(nodes.astype(np.int32), pay, SCHEMA, {"age": AGES, "town": TOWNS})


def test_columns_are_in_order_and_intervals_are_sorted_by_their_bounds() -> None:
    ages = AGES.node_at(series([95, 7, None, 7], Kind.INTEGER), np.array([1, 1, 0, 0]))
    towns = TOWNS.node_at(series(["Rome", "Oslo", "Rome", "Oslo"], Kind.CATEGORICAL), 1)
    made = table(np.stack([ages, towns], axis=1)).to_table()
    assert made.schema.names == ["age", "pay", "town"]
    assert made.frame["age"].tolist() == ["95-99", "5-9", "(missing)", "7"]
    assert made.frame["age"].cat.categories.tolist() == ["5-9", "7", "95-99", "(missing)"]
    assert made.frame["age"].cat.ordered
    assert made.frame["town"].tolist() == ["South", "Other", "South", "Other"]
    assert made.schema["town"].format.padding == " "


def test_nodes_that_share_a_text_are_told_apart() -> None:
    nodes = np.array([TOWNS.node_of[1, 1], TOWNS.node_of[2, 0]])
    labels = table(np.stack([np.full(2, AGES.root), nodes], axis=1))
    assert labels.to_table().frame["town"].tolist() == ["Other (level 1)", "Other (level 0)"]
    assert labels.from_table(labels.to_table()).nodes.tolist() == labels.nodes.tolist()


@modest
@given(
    st.lists(st.tuples(st.integers(0, AGES.n_nodes - 1), st.integers(0, TOWNS.n_nodes - 1)), min_size=1, max_size=30)
)
def test_there_and_back(pairs: list[tuple[int, int]]) -> None:
    labels = table(np.array(pairs))
    made = labels.to_table()
    again = labels.from_table(made.take(np.arange(len(pairs))[::-1]))
    assert np.array_equal(again.nodes, labels.nodes[::-1])
    assert again.rest.frame["pay"].tolist() == labels.rest.frame["pay"].tolist()[::-1]


def test_taking_rows() -> None:
    labels = table(np.array([[AGES.root, 0], [AGES.root, 1], [AGES.root, 2]]))
    taken = labels.take(np.array([False, True, True]))
    assert taken.nodes[:, 1].tolist() == [1, 2]
    assert taken.rest.frame["pay"].tolist() == [1.0, 2.0]
    assert len(labels) == 3
