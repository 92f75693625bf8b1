"""Protection of values: hand-worked examples and invariants."""

from __future__ import annotations

from dataclasses import replace as changed

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import DataError
from hybrid.protect import ProtectOptions, protect
from hybrid.protect.numbers import protect_numbers
from hybrid.table import DTYPES, Column, ColumnFormat, Kind, Role, Schema, Table
from hybrid.table.holders import holders, people_bounds


def column(name: str, kind: Kind, **format_: object) -> Column:
    return Column(name, Role.INSENSITIVE, kind, format=ColumnFormat(**format_))  # type: ignore[arg-type]


def table(**columns: tuple[Kind, list[object]]) -> Table:
    frame = pd.DataFrame({name: pd.Series(values, dtype=DTYPES[kind]) for name, (kind, values) in columns.items()})
    return Table(frame, Schema(tuple(column(name, kind) for name, (kind, _) in columns.items())))


def test_hand_worked_example() -> None:
    """Ten wards a, six b, one c: c becomes a or b, and no other record changes; ages end at the fifth from each end."""
    ages = [19, 20, 30, 30, 30, 30, 30, 40, 40, 40, 40, 40, 50, 50, 50, 60, 99]
    people = table(ward=(Kind.CATEGORICAL, [*"a" * 10, *"b" * 6, "c"]), age=(Kind.INTEGER, ages))
    done = protect(people, ProtectOptions(), np.random.default_rng(0))
    ward, age = done.table.frame["ward"], done.table.frame["age"]
    assert list(ward[:16]) == list(people.frame["ward"][:16])
    assert ward[16] in ("a", "b") and set(ward.cat.categories) == {"a", "b"}
    # Seven records have rare ages, too few for a block of ten; fifth smallest is 30 and fifth largest 50, which three
    # hold: 19 and 20 become 30; 50, 50, 50, 60 and 99 (coded to 50) become the nearest age that five hold, 40.
    assert list(age) == [30] * 7 + [40] * 10
    said = {each.column: each for each in done.result.columns}
    assert said["ward"].values == 3 and said["ward"].rare is None and said["ward"].changed is None
    assert "very few of the records changed" in said["ward"].sentence
    assert said["age"].values == 7 and said["age"].rare == 5 and said["age"].changed == round(7 / 17, 3)


def test_bounds_are_the_values_of_the_fifth_person_from_each_end() -> None:
    codes = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1])
    assert people_bounds(codes, 3, np.arange(11)) == (2, 7)
    assert people_bounds(codes, 6, np.arange(11)) is None
    one_has_the_three_largest = np.array([0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 8])
    assert people_bounds(codes, 3, one_has_the_three_largest) == (2, 5)


def test_holders_are_people_and_not_records() -> None:
    codes = np.array([0, 0, 0, 1, 1, -1])
    assert holders(codes, 2, np.arange(6)).tolist() == [3, 2]
    assert holders(codes, 2, np.array([7, 7, 7, 8, 9, 9])).tolist() == [1, 2]


def test_equal_values_of_a_person_stay_equal() -> None:
    """One patient with two dates of birth once gave all patients another date in every visit."""
    persons = np.repeat(np.arange(-1, 299), 4)
    born = np.random.default_rng(1).integers(0, 20_000, 300)[persons + 1]
    born[4:6] = 15_000  # a person with two dates
    values = pd.Series(np.datetime64("1930-01-01", "us") + born * np.timedelta64(1, "D"))
    new = protect_numbers(values, column("born", Kind.DATE), 5, np.random.default_rng(0), persons).values
    of_person = new[4:].groupby(persons[4:]).nunique()
    assert of_person[0] == 2 and (of_person[1:] == 1).all()
    assert new[:4].nunique() == 4, "rows without a person may be of four people"
    assert float((new != values).mean()) > 0.9 and new.nunique() > 250


def test_a_value_of_one_person_with_many_records_is_rare() -> None:
    people = table(ward=(Kind.CATEGORICAL, ["x"] * 40 + ["y"] * 260))
    persons = np.concatenate([np.zeros(40, dtype=np.int64), np.arange(1, 261)])
    done = protect(changed(people, named_persons=persons), ProtectOptions(), np.random.default_rng(0))
    assert set(done.table.frame["ward"]) == {"y"}
    assert set(protect(people, ProtectOptions(), np.random.default_rng(0)).table.frame["ward"]) == {"x", "y"}


@pytest.mark.parametrize(("replace", "expected"), [("other", {"a", "other"}), ("missing", {"a", None})])
def test_rare_categories_become_other_or_missing(replace: str, expected: set[str | None]) -> None:
    people = table(ward=(Kind.CATEGORICAL, ["a"] * 94 + ["b", "b", "c", "d", "e", "e"]))
    done = protect(people, ProtectOptions(replace=replace), np.random.default_rng(0))  # type: ignore[arg-type]
    found = done.table.frame["ward"].astype(object)
    assert set(found.where(found.notna(), None)) == expected


def test_other_that_few_people_make_is_drawn() -> None:
    people = table(ward=(Kind.CATEGORICAL, ["a"] * 96 + ["b", "b", "c", "d"]))
    done = protect(people, ProtectOptions(replace="other"), np.random.default_rng(0))
    assert set(done.table.frame["ward"]) == {"a"}


def test_a_drawn_category_follows_the_other_columns() -> None:
    """Rare wards of men become the men's ward, of women the women's."""
    sex = ["m", "f"] * 300
    ward = ["north" if each == "m" else "south" for each in sex]
    for at in range(40):
        ward[at] = f"rare {at}"
    people = table(sex=(Kind.CATEGORICAL, sex), ward=(Kind.CATEGORICAL, ward))
    new = protect(people, ProtectOptions(), np.random.default_rng(0)).table.frame
    assert (new["ward"] == np.where(new["sex"] == "m", "north", "south")).all()


def test_texts_need_a_decision_and_all_are_named_at_once() -> None:
    names = [f"person {at}" for at in range(200)]
    people = table(
        name=(Kind.CATEGORICAL, names), note=(Kind.CATEGORICAL, names), sex=(Kind.CATEGORICAL, ["m", "f"] * 100)
    )
    with pytest.raises(DataError) as refused:
        protect(people, ProtectOptions(columns={"nme": "keep"}), np.random.default_rng(0))
    assert [problem.message.split(":")[0] for problem in refused.value.problems] == [
        "protect.columns.nme",
        "data.columns.name",
        "data.columns.note",
    ]
    assert not any("person 1" in str(problem) for problem in refused.value.problems)
    decided = ProtectOptions(columns={"name": "keep", "note": "missing"})
    done = protect(people, decided, np.random.default_rng(0))
    assert list(done.table.frame["name"]) == names and done.result.kept == ["name"]
    assert done.table.frame["note"].isna().all()


def test_the_largest_income_is_not_revealed_and_one_person_more_does_not_change_that() -> None:
    rng = np.random.default_rng(1)
    incomes = [*rng.lognormal(10, 0.5, 999).round(2), 77_000_000.0]
    fifth = sorted(incomes)[-5]
    for seed in range(20):
        for night in (incomes, [*incomes, 99_000_000.0]):
            new = protect(table(income=(Kind.DECIMAL, night)), ProtectOptions(), np.random.default_rng(seed))
            assert new.table.frame["income"].max() <= sorted(night)[-5] <= sorted(incomes)[-4]
    assert fifth < 500_000


@pytest.mark.parametrize("digits", [0, 2])
def test_a_value_of_one_person_is_no_likelier_than_one_that_only_others_have(digits: int) -> None:
    """Also on a dense grid, where a third of the values that could be drawn are taken."""
    equal = {"train": 0.0, "control": 0.0}
    before, after = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        train, control = (rng.lognormal(7.5 if digits == 0 else 2, 0.5, 1500).round(digits) for _ in range(2))
        new = protect_numbers(
            pd.Series(train), column("x", Kind.DECIMAL), 5, rng, np.arange(len(train))
        ).values.to_numpy()
        for name, side in (("train", train), ("control", control)):
            values, counts = np.unique(side, return_counts=True)
            equal[name] += np.isin(new, values[counts == 1]).mean() / 30
        before.append(np.sort(train))
        after.append(np.sort(new))
        grid = np.concatenate([train, new])
        distance = np.abs(
            np.searchsorted(np.sort(train), grid, "right") - np.searchsorted(np.sort(new), grid, "right")
        ).max()
        assert distance / 1500 < 0.02
    assert equal["control"] > 0.02
    assert equal["train"] - equal["control"] < 0.004


@pytest.mark.parametrize("smoothed", [False, True])
def test_values_of_up_to_four_people_are_no_likelier_than_those_of_others(smoothed: bool) -> None:
    """On a grid where most rare values have several holders; also drawn anew between neighbours, as trees do."""
    excess = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        train, control = (np.rint(rng.lognormal(8.6, 0.9, 20_000)).clip(max=99_999).astype(int) for _ in range(2))
        new = protect_numbers(
            pd.Series(train), column("x", Kind.INTEGER), 5, rng, np.arange(len(train))
        ).values.to_numpy(int)
        if smoothed:
            ordered, at = np.sort(new), rng.integers(0, len(new) - 4, len(new))
            new = rng.integers(ordered[at], ordered[at + 4] + 1)
        held = [np.bincount(side, minlength=100_000) for side in (train, control)]
        shares = [((side > 0) & (sum(held) <= 4))[new].mean() for side in held]
        assert shares[1] > 0.25
        excess.append(shares[0] - shares[1])
    assert abs(np.mean(excess)) < (0.008 if smoothed else 0.004)


KINDS = {
    Kind.INTEGER: st.integers(-(2**40), 2**40) | st.integers(0, 30),
    Kind.DECIMAL: st.integers(-10_000, 10_000).map(lambda cents: cents / 100) | st.floats(-1e6, 1e6).map(float),
    Kind.CATEGORICAL: st.sampled_from([*"aaaabbbc", "other", *map(str, range(9))]),
    Kind.BOOLEAN: st.booleans() | st.just(True),
    Kind.DATE: st.dates().filter(lambda date: 1700 < date.year < 2200).map(pd.Timestamp),
    Kind.DATETIME: st.datetimes(pd.Timestamp("1900-01-01"), pd.Timestamp("2100-01-01")).map(pd.Timestamp),
}


@st.composite
def tables(draw: st.DrawFn) -> Table:
    n = draw(st.integers(1, 60))
    columns: dict[str, tuple[Kind, list[object]]] = {}
    for at, kind in enumerate(draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=4))):
        pool = draw(st.lists(KINDS[kind], min_size=1, max_size=20))
        cells = st.none() | st.sampled_from(pool) | st.sampled_from(pool)
        columns[f"c{at}"] = kind, draw(st.lists(cells, min_size=n, max_size=n))
    return table(**columns)


@given(tables(), st.sampled_from(["sample", "other", "missing"]), st.integers(2, 8), st.integers(0, 99))
def test_invariants(people: Table, replace: str, least: int, seed: int) -> None:
    decided = dict.fromkeys(people.schema.names, replace)
    options = ProtectOptions(min_count=least, columns=decided)  # type: ignore[arg-type]
    new = protect(people, options, np.random.default_rng(seed)).table
    assert new.schema == people.schema and len(new) == len(people)
    for each in people.schema:
        before, after = people.frame[each.name], new.frame[each.name]
        assert after.isna()[before.isna()].all()
        counts = before.value_counts()
        stays = set(counts[counts >= least].index)
        kept = before.isin(list(stays)).to_numpy() & before.notna().to_numpy()
        if not each.kind.is_continuous or after.notna().sum() == before.notna().sum():
            assert (before.astype(object)[kept] == after.astype(object)[kept]).all()
        if each.kind.is_continuous:
            assert after.dtype == before.dtype
            known = before.dropna().sort_values()
            if after.notna().any():
                assert known.iloc[least - 1] <= after.min() and after.max() <= known.iloc[-least]
        elif each.kind is Kind.CATEGORICAL:
            occurring = after.value_counts()
            assert (occurring[occurring > 0] >= least).all()
            assert set(after.cat.categories) == set(after.dropna())
        else:
            assert after.dtype == before.dtype and (after.value_counts() >= least).all()


@given(tables(), st.integers(0, 99), st.randoms())
def test_deterministic_and_independent_of_the_order_of_the_records(people: Table, seed: int, shuffled: object) -> None:
    options = ProtectOptions(columns=dict.fromkeys(people.schema.names, "sample"))
    new = protect(people, options, np.random.default_rng(seed)).table.frame
    again = protect(people, options, np.random.default_rng(seed)).table.frame
    pd.testing.assert_frame_equal(new, again)
    order = np.arange(len(people))
    shuffled.shuffle(order)  # type: ignore[attr-defined]
    other = protect(people.take(order), options, np.random.default_rng(seed)).table.frame

    def content(frame: pd.DataFrame) -> list[tuple[str, ...]]:
        return sorted(map(tuple, frame.astype(str).to_numpy()))

    assert content(new) == content(other)


def test_values_are_drawn_on_the_grid_of_the_column() -> None:
    rng = np.random.default_rng(3)
    amounts = (rng.integers(0, 5000, 400) * 5 / 100).tolist()
    start = pd.Timestamp("2024-01-01")
    days = start + pd.to_timedelta(rng.integers(0, 3000, 400) * 7, unit="D")
    people = table(amount=(Kind.DECIMAL, amounts), day=(Kind.DATE, list(days)))
    new = protect(people, ProtectOptions(), rng).table.frame
    assert (np.rint(new["amount"] * 100) % 5 == 0).all()
    assert ((new["day"] - start).dt.days % 7 == 0).all()


def test_listed_values_are_the_only_ones_drawn() -> None:
    rng = np.random.default_rng(3)
    listed = np.array([1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377])
    people = table(x=(Kind.INTEGER, rng.choice(listed, 40).tolist()))
    new = protect_numbers(people.frame["x"], people.schema["x"], 5, rng, people.persons, listed)
    assert set(new.values) <= set(listed.tolist())
