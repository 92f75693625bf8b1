"""What is not computed again for a changed table is what would have been computed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.evaluation import EvaluateOptions
from hybrid.evaluation.changed_table import ChangedContext, encode_changed
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.encoding import Encoding, encode
from hybrid.evaluation.registry import REGISTRY
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from tests.evaluation.simulated_people import make_people

KINDS = {"n": Kind.INTEGER, "x": Kind.DECIMAL, "day": Kind.DATE, "c": Kind.CATEGORICAL, "yes": Kind.BOOLEAN}
SCHEMA = Schema(tuple(Column(name, Role.INSENSITIVE, kind) for name, kind in KINDS.items()))
FEW = st.integers(0, 3)
ROW = st.tuples(*(st.none() | FEW for _ in KINDS))


def table(rows: list[tuple[int | None, ...]]) -> Table:
    columns = dict(zip(KINDS, zip(*rows, strict=True), strict=True))
    made = {
        "n": pd.array(columns["n"], dtype="Int64"),
        "x": pd.array([None if v is None else v / 4 for v in columns["x"]], dtype="Float64"),
        "day": [pd.NaT if v is None else pd.Timestamp("2024-01-01") + pd.Timedelta(days=v) for v in columns["day"]],
        "c": pd.Categorical([None if v is None else "abcd"[v] for v in columns["c"]]),
        "yes": pd.array([None if v is None else v > 1 for v in columns["yes"]], dtype="boolean"),
    }
    return Table(pd.DataFrame(made).astype({name: DTYPES[kind] for name, kind in KINDS.items()}), SCHEMA)


def assert_same(found: Encoding, expected: Encoding) -> None:
    assert found.columns == expected.columns and found.excluded == expected.excluded
    assert found.cardinality.tolist() == expected.cardinality.tolist()
    for mine, its in zip(found.tables, expected.tables, strict=True):
        np.testing.assert_array_equal(mine.ranks, its.ranks)
        np.testing.assert_array_equal(mine.numbers, its.numbers)


@settings(max_examples=30, deadline=None)
@given(st.lists(ROW, min_size=3, max_size=12), st.lists(ROW, min_size=1, max_size=4), st.integers(1, 3), st.data())
def test_a_changed_table_is_encoded_as_it_is_alone(
    rows: list[tuple[int | None, ...]], new: list[tuple[int | None, ...]], people: int, data: st.DataObject
) -> None:
    real, judged = [table(rows[:people]), table(rows[:1])], table(rows)
    places = data.draw(st.permutations(range(len(rows))))[: len(new)]
    after = list(rows)
    for place, row in zip(places, new, strict=False):
        after[place] = row
    changed = np.array(places, dtype=np.int64)
    assert_same(encode_changed(encode([*real, judged]), [*real, table(after)], changed), encode([*real, table(after)]))


def changed(judged: Context, rng: np.random.Generator) -> tuple[Table, np.ndarray]:
    """Some rows become training records, one of them with values that nobody had."""
    rows = rng.choice(len(judged.table), 12, replace=False)
    frame = judged.table.frame.astype({"place": object, "sex": object, "illness": object})
    people = judged.train.frame.astype({"place": object, "sex": object, "illness": object}).iloc[:12]
    frame.iloc[rows] = people.to_numpy(dtype=object)
    frame.loc[rows[0], ["age", "place", "height"]] = [55, "elsewhere", 171.25]
    return Table(
        frame.astype(judged.table.frame.dtypes.drop("place")).astype({"place": "category"}), judged.schema
    ), rows


@pytest.fixture(scope="module")
def judged() -> Context:
    rng = np.random.default_rng(3)
    return Context(*(make_people(n, rng) for n in (300, 200, 250)), EvaluateOptions(secrets=("illness", "cost")), 1)


@pytest.mark.parametrize(
    "name",
    [
        *("identical_match", "nndr_share", "nndr", "membership", "membership_subgroups", "hitting_rate"),
        *("linkability", "shared_cells"),
    ],
)
def test_metrics_of_a_changed_table_are_those_of_the_table_alone(name: str, judged: Context) -> None:
    table, rows = changed(judged, np.random.default_rng(4))
    alone = Context(judged.train, judged.control, table, judged.options, judged.seed)
    again, metric = ChangedContext(judged, table, rows), REGISTRY[name]
    for column in metric.columns(alone):
        assert metric.measure(again, column).outcome == metric.measure(alone, column).outcome


@pytest.mark.parametrize("k", [1, 2, 5])
def test_nearest_neighbours_of_a_changed_table_are_those_of_the_table_alone(k: int, judged: Context) -> None:
    table, rows = changed(judged, np.random.default_rng(5))
    contexts = ChangedContext(judged, table, rows), Context(judged.train, judged.control, table, judged.options, 1)
    for mine, its in (("train", "table"), ("control", "table"), ("table", "train"), ("table", "table")):
        found = [
            (one.distances(one.whole(mine), one.whole(its), k), one.neighbours(one.whole(mine), one.whole(its), k))
            for one in contexts
        ]  # type: ignore[arg-type]
        np.testing.assert_array_equal(found[0][0], found[1][0])
        np.testing.assert_array_equal(found[0][1], found[1][1])


def test_a_sample_of_a_changed_table_is_where_that_of_the_judged_one_is(judged: Context) -> None:
    options = judged.options.model_copy(update={"max_records": 100})
    sampled = Context(judged.train, judged.control, judged.table, options, 1)
    table, rows = changed(sampled, np.random.default_rng(6))
    again = ChangedContext(sampled, table, rows)
    asked = again.asked(again.whole("table")).rows
    assert len(asked) == 100 and again.sampled()["table"] == {"records": 100, "of": 250}
    np.testing.assert_array_equal(asked, sampled.asked(sampled.whole("table")).rows)
    distances = again.distances(again.whole("table"), again.whole("train"), 2)
    alone = Context(judged.train, judged.control, table, judged.options, 1)
    np.testing.assert_array_equal(distances, alone.distances(alone.whole("table"), alone.whole("train"), 2)[asked])
