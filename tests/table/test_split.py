"""Train and control: disjoint, complete, by seed, and one person never on both sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hybrid.base.errors import ConfigError, DataError
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.split import SplitOptions, folds, split

modest = settings(max_examples=60, deadline=None)


def table(keys: list[int | None]) -> Table:
    columns = (Column("row", Role.INSENSITIVE, Kind.INTEGER), Column("person", Role.IDENTIFIER, Kind.INTEGER))
    frame = pd.DataFrame({"row": pd.Series(range(len(keys)), dtype="Int64"), "person": pd.Series(keys, dtype="Int64")})
    return Table(frame, Schema(columns))


@modest
@given(st.integers(2, 200), st.floats(0.01, 0.99), st.integers(0, 2**32))
def test_disjoint_complete_and_of_the_asked_size(n: int, share: float, seed: int) -> None:
    whole = table(list(range(n)))
    if not 0 < round(share * n) < n:
        with pytest.raises(DataError, match="leaves one side"):
            split(whole, SplitOptions(control=share), np.random.default_rng(seed))
        return
    train, control, _ = split(whole, SplitOptions(control=share), np.random.default_rng(seed))
    assert control is not None
    assert len(control) == round(share * n)
    rows = [*train.frame["row"], *control.frame["row"]]
    assert sorted(rows) == list(range(n))
    assert train.frame["row"].is_monotonic_increasing
    assert control.frame["row"].is_monotonic_increasing
    again, *_ = split(whole, SplitOptions(control=share), np.random.default_rng(seed))
    pd.testing.assert_frame_equal(again.frame, train.frame)


@modest
@given(st.lists(st.integers(0, 8) | st.none(), min_size=4, max_size=60), st.integers(0, 2**32))
def test_one_person_is_on_one_side(keys: list[int | None], seed: int) -> None:
    whole = table(keys)
    try:
        train, control, _ = split(whole, SplitOptions(control=0.5, key="person"), np.random.default_rng(seed))
    except DataError:
        assert len({key for key in keys if key is not None}) + keys.count(None) <= 2
        return
    assert control is not None
    assert not set(train.frame["person"].dropna()) & set(control.frame["person"].dropna())
    assert len(train) + len(control) == len(keys)
    people = len({key for key in keys if key is not None}) + keys.count(None)
    in_control = control.frame["person"].nunique() + int(control.frame["person"].isna().sum())
    assert in_control == round(0.5 * people)


def test_everybody_is_as_likely_to_be_control() -> None:
    whole = table(list(range(10)))
    counts = np.zeros(10)
    for seed in range(600):
        _, control, _ = split(whole, SplitOptions(control=0.3), np.random.default_rng(seed))
        assert control is not None
        counts[control.frame["row"].to_numpy(dtype=int)] += 1
    assert np.all(np.abs(counts / 600 - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 600))


def test_no_control() -> None:
    whole = table([1, 2])
    train, control, _ = split(whole, SplitOptions(control=0), np.random.default_rng(0))
    assert control is None
    assert train is whole


def test_unknown_key() -> None:
    with pytest.raises(ConfigError, match=r"split\.key names the column 'perosn'"):
        split(table([1, 2]), SplitOptions(key="perosn"), np.random.default_rng(0))


def test_the_whole_table_is_not_changed() -> None:
    whole = table([3, 1, 2, 1])
    before = whole.frame.copy()
    split(whole, SplitOptions(control=0.5, key="person"), np.random.default_rng(0))
    pd.testing.assert_frame_equal(whole.frame, before)


@modest
@given(st.lists(st.integers(0, 10**6), unique=True, min_size=10, max_size=200), st.integers(0, 2**32))
def test_a_stable_split_hardly_moves_when_others_come(keys: list[int], seed: int) -> None:
    options = SplitOptions(control=0.3, stable=True)
    before, after = table(keys[: len(keys) // 2]), table([*reversed(keys)])
    sides = [split(whole, options, np.random.default_rng(seed)) for whole in (before, after)]
    assert [None if control is None else len(control) for _, control, _ in sides] == [
        round(0.3 * len(before)),
        round(0.3 * len(after)),
    ]
    first, second = ({*control.frame["person"]} & {*before.frame["person"]} for _, control, _ in sides if control)
    # The cut lies at one place among the sorted hashes: nobody passes it in the other direction.
    assert first <= second or second <= first


def test_a_stable_split_needs_no_identifier_and_parts_equal_records() -> None:
    whole = Table(
        pd.DataFrame({"age": pd.Series([None] * 10, dtype="Int64")}),
        Schema((Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER),)),
    )
    train, control, _ = split(whole, SplitOptions(control=0.5, stable=True), np.random.default_rng(3))
    assert control is not None
    assert (len(train), len(control)) == (5, 5)


def test_records_without_a_key_are_told_apart_by_all_columns() -> None:
    keys = [None] * 40
    train, control, _ = split(
        table(keys), SplitOptions(control=0.5, key="person", stable=True), np.random.default_rng(3)
    )
    assert control is not None
    assert (len(train), len(control)) == (20, 20)


def test_a_budget_of_rows_is_drawn_at_random_and_then_split() -> None:
    whole = table(list(range(1000)))
    train, control, _ = split(whole, SplitOptions(rows=100, control=0.3), np.random.default_rng(1))
    assert control is not None
    assert (len(train), len(control)) == (70, 30)
    used = pd.concat([train.frame["row"], control.frame["row"]])
    assert not used.duplicated().any()
    assert 400 < used.mean() < 600
    everything, *_ = split(whole, SplitOptions(rows=5000, control=0), np.random.default_rng(1))
    assert everything is whole


@modest
@given(st.integers(6, 200), st.floats(0.2, 0.4), st.floats(0.2, 0.4), st.integers(0, 2**32))
def test_fresh_records_are_a_third_part_of_the_same_shuffle(n: int, control: float, release: float, seed: int) -> None:
    whole = table(list(range(n)))
    parts = split(whole, SplitOptions(control=control, release=release), np.random.default_rng(seed))
    rows = [set() if part is None else set(part.frame["row"]) for part in parts]
    assert sorted(row for part in rows for row in part) == list(range(n))
    without = split(whole, SplitOptions(control=control), np.random.default_rng(seed))
    assert without.control is not None and rows[1] == set(without.control.frame["row"])
    assert rows[0] | rows[2] == set(without.train.frame["row"])


def test_fresh_records_are_other_people() -> None:
    keys: list[int | None] = [number // 3 for number in range(90)]
    parts = split(table(keys), SplitOptions(control=1 / 3, release=1 / 3, key="person"), np.random.default_rng(5))
    people = [set() if part is None else set(part.frame["person"]) for part in parts]
    assert [len(each) for each in people] == [10, 10, 10]
    assert not people[0] & people[1] and not people[0] & people[2] and not people[1] & people[2]


def test_shares_leave_somebody_to_train_on() -> None:
    with pytest.raises(ValueError, match="nothing to train on"):
        SplitOptions(control=0.5, release=0.5)


@modest
@given(st.lists(st.integers(0, 30) | st.none(), min_size=8, max_size=80), st.integers(2, 6), st.integers(0, 2**32))
def test_everybody_is_control_of_exactly_one_fold(keys: list[int | None], count: int, seed: int) -> None:
    whole = table(keys)
    people = len({key for key in keys if key is not None}) + keys.count(None)
    options = SplitOptions(control="cross", folds=count, key="person")
    assert split(whole, options, np.random.default_rng(seed)).control is None
    if people < count:
        with pytest.raises(DataError, match="cannot be control"):
            folds(whole, options, np.random.default_rng(seed))
        return
    found = folds(whole, options, np.random.default_rng(seed))
    assert len(found) == count
    rows = [row for _, control, _ in found if control is not None for row in control.frame["row"]]
    assert sorted(rows) == list(range(len(keys)))
    sizes = []
    for train, control, release in found:
        assert control is not None
        assert release is None
        assert sorted([*train.frame["row"], *control.frame["row"]]) == list(range(len(keys)))
        assert not set(train.frame["person"].dropna()) & set(control.frame["person"].dropna())
        sizes.append(control.frame["person"].nunique() + int(control.frame["person"].isna().sum()))
    assert max(sizes) - min(sizes) <= 1


@modest
@given(st.integers(12, 60), st.integers(2, 4), st.integers(0, 2**32))
def test_households_are_whole_in_every_fold(n: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    persons = rng.integers(0, n // 2, n)
    homes = persons // 2
    whole = replace(table(persons.tolist()), named_persons=persons, named_households=homes)
    assume(len(np.unique(homes)) >= count)
    for train, control, _ in folds(whole, SplitOptions(control="cross", folds=count), rng):
        assert control is not None
        assert control.has_households
        assert train.has_households
        assert not set(control.households) & set(train.households)
        assert not set(control.persons) & set(train.persons)


@pytest.mark.parametrize("other", [{"release": 0.1}, {"rows": 100}, {"independent": True}])
def test_a_split_that_keeps_nobody_apart_leaves_nobody_out(other: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="control: cross"):
        SplitOptions.model_validate({"control": "cross", **other})
