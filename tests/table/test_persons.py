"""Persons behind rows: numbers, sides of the split, and the most rows of each."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hybrid.base.errors import ConfigError
from hybrid.base.hashing import fingerprint
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.persons import (
    constant_within,
    harmonized,
    n_persons,
    person_groups,
    with_order,
    with_persons,
    with_row_limit,
)
from hybrid.table.split import SplitOptions, split

KEYS = st.lists(st.integers(0, 8) | st.none(), min_size=2, max_size=60)
modest = settings(max_examples=60, deadline=None)


def table(keys: list[int | None], wards: list[str] | None = None) -> Table:
    columns = (
        Column("row", Role.INSENSITIVE, Kind.INTEGER),
        Column("person", Role.IDENTIFIER, Kind.INTEGER),
        Column("ward", Role.IDENTIFIER, Kind.CATEGORICAL),
    )
    frame = pd.DataFrame({"row": pd.Series(range(len(keys)), dtype="Int64"), "person": pd.Series(keys, dtype="Int64")})
    return Table(frame.assign(ward=pd.Series(wards or ["A"] * len(keys), dtype="category")), Schema(columns))


def test_rows_without_a_key_are_somebody_else_each() -> None:
    found = with_persons(table([7, None, 7, 3, None]), ["person"])
    assert not found.rows_are_persons
    assert found.persons.tolist() == [0, -1, 0, 1, -2]
    assert person_groups(found.persons).tolist() == [0, 2, 0, 1, 3]
    assert n_persons(found) == 4
    assert found.take(np.array([4, 3])).only(["row"]).persons.tolist() == [-2, 1]  # type: ignore[union-attr]


def test_several_columns_name_a_person_together() -> None:
    found = with_persons(table([7, 7, 7, None, 3], ["A", "B", "A", "A", "B"]), ["person", "ward"])
    assert not found.rows_are_persons
    assert found.persons.tolist() == [0, 1, 0, -1, 2]


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"data\.person names columns that the data does not have: 'patient'"):
        with_persons(table([1, 2]), ["patient"])


def test_without_persons_the_fingerprint_is_that_of_frame_and_schema_alone() -> None:
    plain = table([1, 1, 2])
    assert fingerprint(plain) != fingerprint(with_persons(plain, ["person"]))
    assert fingerprint(plain) == fingerprint(with_persons(plain, []))


@modest
@given(KEYS, st.booleans(), st.integers(0, 2**32))
def test_persons_part_as_the_same_key_does(keys: list[int | None], stable: bool, seed: int) -> None:
    whole, options = table(keys), SplitOptions(control=0.4, stable=stable)
    people = len(set(keys) - {None}) + keys.count(None)
    assume(0 < round(0.4 * people) < people)
    expected, *_ = split(whole, options.model_copy(update={"key": "person"}), np.random.default_rng(seed))
    train, control, _ = split(with_persons(whole, ["person"]), options, np.random.default_rng(seed), ["person"])
    pd.testing.assert_frame_equal(train.frame, expected.frame)
    assert control is not None
    assert not train.rows_are_persons
    assert not control.rows_are_persons
    assert not set(train.persons.tolist()) & set(control.persons.tolist())


@modest
@given(KEYS, st.integers(1, 4), st.integers(0, 2**32))
def test_no_person_has_more_rows_than_allowed(keys: list[int | None], most: int, seed: int) -> None:
    whole = with_persons(table(keys), ["person"])
    left = with_row_limit(whole, most, np.random.default_rng(seed))
    counts = pd.Series(keys).value_counts()
    assert left.frame["person"].value_counts().to_dict() == counts.clip(upper=most).to_dict()
    assert left.frame["person"].isna().sum() == keys.count(None)


def test_rows_of_a_person_are_drawn_evenly() -> None:
    whole = with_persons(table([1] * 10), ["person"])
    drawn = [with_row_limit(whole, 1, np.random.default_rng(seed)).frame["row"][0] for seed in range(400)]
    assert min(np.bincount(drawn, minlength=10)) > 20


def test_what_is_constant_within_persons() -> None:
    whole = with_persons(table([1, 1, 2, 2], ["A", "A", "B", "B"]), ["person"])
    assert constant_within(whole, ["row", "ward"]) == ["ward"]
    assert constant_within(with_persons(table([1, 2, 3]), ["person"]), ["row"]) == []


def test_a_column_that_some_rows_lack_is_constant_all_the_same() -> None:
    whole = with_persons(table([7, 7, 3, 3]), ["person"])
    frame = whole.frame.assign(ward=pd.Series(["A", None, "B", "B"], dtype="category"))
    assert constant_within(Table(frame, whole.schema, whole.persons), ["ward"]) == ["ward"]
    alone = frame.assign(ward=pd.Series(["A", None, None, "B"], dtype="category"))
    assert constant_within(Table(alone, whole.schema, whole.persons), ["ward"]) == []


def test_rows_drawn_one_by_one_agree_on_a_person() -> None:
    whole = with_order(with_persons(table([7, 3, 7, 3, None]), ["person"]), "row")
    frame = whole.frame.assign(
        row=pd.Series([5, 9, 2, None, 1], dtype="Int64"),
        ward=pd.Series([None, "B", "A", "C", "A"], dtype="category"),
    )
    drawn = Table(frame, whole.schema, whole.persons)
    found = harmonized(drawn, ["ward"]).frame
    assert found["row"].tolist() == [2, 9, 5, pd.NA, 1]
    assert found["ward"].astype(object).fillna("?").tolist() == ["?", "B", "A", "B", "A"]
    assert harmonized(drawn, None) is drawn


@modest
@given(KEYS, st.integers(0, 2**32))
def test_order_and_constants_hold_within_every_person(keys: list[int | None], seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = with_order(with_persons(table(keys, list(rng.choice(list("ABC"), len(keys)))), ["person"]), "row")
    frame = whole.frame.assign(row=pd.Series(rng.integers(0, 9, len(keys)), dtype="Int64"))
    found = harmonized(Table(frame, whole.schema, whole.persons), ["ward"])
    assert sorted(found.frame["row"]) == sorted(frame["row"])
    for rows in found.frame.assign(whose=found.persons).groupby("whose"):
        assert rows[1]["row"].is_monotonic_increasing and rows[1]["ward"].nunique() == 1


def test_rows_are_sorted_by_the_column_that_orders_them() -> None:
    plain = table([7, 3, 7])
    shuffled = plain.take(np.array([2, 0, 1]))
    found = with_order(shuffled, "row")
    assert found.frame["row"].tolist() == [0, 1, 2] and found.schema.order == "row"
    assert with_order(plain, None) is plain and plain.schema.order is None
    with pytest.raises(ConfigError, match="does not have"):
        with_order(plain, "day")
    with pytest.raises(ConfigError, match="has no order"):
        with_order(plain, "ward")
