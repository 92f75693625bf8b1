from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.evaluation.engine.encoding import encode, ranks_of, row_keys
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from tests.evaluation.simulated_people import make_people
from tests.evaluation.small_tables import measured


def table(**columns: tuple[Kind, list[object]]) -> Table:
    schema = Schema(tuple(Column(name, Role.INSENSITIVE, kind) for name, (kind, _) in columns.items()))
    frame = pd.DataFrame(
        {name: pd.Series(pd.array(values, dtype=DTYPES[kind])) for name, (kind, values) in columns.items()}
    )
    return Table(frame, schema)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 70_000), st.integers(-1, 2)), min_size=2, max_size=30))
def test_row_keys_are_equal_exactly_where_rows_are(rows: list[tuple[int, ...]]) -> None:
    matrix = np.array(rows)
    first, second = row_keys([matrix[:1], matrix[1:]])
    keys = [*first, *second]
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            assert (keys[i] == keys[j]) == (a == b)


def test_one_vocabulary_for_tables_with_different_categories() -> None:
    a = table(c=(Kind.CATEGORICAL, ["u", "v", None, "u"]))
    b = table(c=(Kind.CATEGORICAL, ["w", "u", None]))
    encoding = encode([a, a, b])
    first, _, third = (part.ranks[:, 0].tolist() for part in encoding.tables)
    assert first[0] == first[3] == third[1]
    assert first[2] == third[2] == -1
    assert len({first[0], first[1], third[0]}) == 3
    assert encoding.cardinality.tolist() == [3]


def test_codes_do_not_tell_whose_values_only_control_has() -> None:
    """A value that one training record has, and one that one control record has, are coded by their texts."""
    train, control = table(c=(Kind.CATEGORICAL, ["u", "u", "b", "d"])), table(c=(Kind.CATEGORICAL, ["u", "a", "c"]))
    own, other = (part.ranks[:, 0].tolist() for part in encode([train, control]).tables)
    assert own == [0, 0, 2, 4] and other == [0, 1, 3]


@pytest.mark.parametrize("name", ["membership", "membership_density", "mir"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_values_that_the_table_lacks_are_no_leak(name: str, share: float) -> None:
    """Most postcodes have one person; protection took them from the table, or half of them."""
    rng = np.random.default_rng(3)

    def people(n: int, known: float) -> Table:
        codes = [f"{code}" if rng.random() < known else None for code in rng.integers(0, 3000, n)]
        return table(age=(Kind.INTEGER, list(rng.integers(18, 90, n))), postcode=(Kind.CATEGORICAL, codes))

    found = measured(name, people(600, 1), people(300, 1), people(500, share))
    assert abs(float(found.value) - 0.5) < 0.08


def test_numbers_dates_and_missing() -> None:
    t = table(
        n=(Kind.INTEGER, [3, None, 2**60, 2**60 + 1]),
        x=(Kind.DECIMAL, [0.5, np.inf, -0.0, 0.0]),
        d=(Kind.DATETIME, [pd.Timestamp(0), pd.NaT, pd.Timestamp(60, unit="s"), pd.Timestamp(0)]),
    )
    encoding = encode([t, t])
    ranks = {name: encoding.tables[0].ranks[:, i].tolist() for i, name in enumerate(encoding.names)}
    assert ranks["n"] == [0, -1, 1, 2]
    assert ranks["x"][2] == ranks["x"][3]
    numbers = {name: encoding.tables[0].numbers[:, i].tolist() for i, name in enumerate(encoding.names)}
    assert numbers["d"][2] - numbers["d"][0] == 60.0
    assert np.isnan(numbers["d"][1])
    assert np.isnan(numbers["x"][1])


def test_what_names_a_row_or_never_varies_is_left_out_and_reported() -> None:
    n = 120
    rng = np.random.default_rng(1)
    values: dict[str, tuple[Kind, list[object]]] = {
        "number": (Kind.INTEGER, list(rng.permutation(n) + 1000)),
        "text": (Kind.CATEGORICAL, [f"note {i}" for i in range(n)]),
        "constant": (Kind.DECIMAL, [1.5] * n),
        "empty": (Kind.CATEGORICAL, [None] * n),
        "income": (Kind.INTEGER, list(rng.choice(10**7, n, replace=False))),
        "half": (Kind.CATEGORICAL, ["a", None] * (n // 2)),
    }
    t = table(**values)
    encoding = encode([t, t.take(np.arange(0)), t])
    assert encoding.names == ["half", "income"]
    assert encoding.excluded == {
        "number": "identifier",
        "text": "identifier or free text",
        "constant": "constant",
        "empty": "constant",
    }
    assert [r.shape for r in ranks_of([t], ["text", "empty"])] == [(n, 2)]


def test_codes_do_not_depend_on_names_or_order_of_columns_or_rows(rng: np.random.Generator) -> None:
    people = make_people(200, rng)
    renamed = people.frame.assign(place=people.frame["place"].cat.rename_categories(lambda v: f"{99 - int(v)}!"))
    moved = Table(renamed[people.schema.names[::-1]], Schema(people.schema.columns[::-1]))
    before, after = encode([people, people]), encode([moved, moved])
    assert before.names == after.names
    at = before.names.index("place")
    counts = np.bincount(before.tables[0].ranks[:, at])
    if len(set(counts)) == len(counts):
        np.testing.assert_array_equal(before.tables[0].ranks, after.tables[0].ranks)
    shuffled = people.take(rng.permutation(200))
    again = encode([shuffled, shuffled]).tables[0]
    np.testing.assert_array_equal(again.ranks[again.order], before.tables[0].ranks[before.tables[0].order])


def test_people_are_coded_alike_beside_every_table() -> None:
    train = table(c=(Kind.CATEGORICAL, ["u", "v", "w", "x", "x"]))
    control = table(c=(Kind.CATEGORICAL, ["w", "y", "z"]))
    others = [["v"] * 3 + ["z"] * 2, ["u", "y", "y"], ["new", "new", "z"]]
    coded = [encode([train, control, table(c=(Kind.CATEGORICAL, list(other)))]).tables for other in others]
    for tables in coded:
        assert tables[0].ranks[:, 0].tolist() == [2, 3, 0, 1, 1]
        assert tables[1].ranks[:, 0].tolist() == [0, 4, 5]
