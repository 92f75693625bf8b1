"""Planted leaks have the stated size, the people's values, and nothing else of the table is touched."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest

from hybrid.evaluation.attacks.vulnerability import RANKINGS, most_exposed
from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import NotComputable
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.planted_leaks import LEAKS, Leak, LeakName, Planted
from hybrid.table import Column, ColumnFormat, Kind, Role, Schema, Table

SCHEMA = Schema(
    (
        Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER),
        Column("town", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        Column("born", Role.INSENSITIVE, Kind.DATE),
        Column("pay", Role.INSENSITIVE, Kind.DECIMAL, format=ColumnFormat(decimals=1)),
        Column("illness", Role.SENSITIVE, Kind.CATEGORICAL),
        Column("sick", Role.INSENSITIVE, Kind.BOOLEAN, target=True),
    )
)


def table(n: int, ages: tuple[int, int], towns: tuple[str, ...], illnesses: tuple[str, ...], seed: int) -> Table:
    """People whose ages, towns and illnesses tell which table they are from."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("1960-01-01") + pd.to_timedelta(rng.integers(0, 20_000, n), unit="D")
    frame = pd.DataFrame(
        {
            "age": pd.array(rng.integers(*ages, n), dtype="Int64"),
            "town": pd.Categorical(np.resize(towns, n)),
            "born": pd.Series(days).astype("datetime64[us]"),
            "pay": rng.integers(100, 900, n) / 10,
            "illness": pd.Categorical(rng.choice(illnesses, n)),
            "sick": pd.array(rng.random(n) < 0.5, dtype="boolean"),
        }
    )
    return Table(frame, SCHEMA)


def context(people: int = 2000, secrets: tuple[str, ...] | None = None) -> Context:
    train = table(people, (1000, 9000), ("A", "B"), ("flu", "cold"), 1)
    synthetic = table(1000, (10, 90), ("C", "D"), ("none",), 2)
    control = table(200, (1000, 9000), ("A", "B"), ("flu", "cold"), 3)
    return Context(train, control, synthetic, EvaluateOptions(secrets=secrets))


def planted(name: LeakName, share: float, tables: Context, seed: int = 5) -> tuple[Table, np.ndarray]:
    """The table with a leak, and which of its rows differ from the table without."""
    found = LEAKS[name].plant(tables, share, np.random.default_rng(seed))
    assert not isinstance(found, NotComputable)
    made = found.table
    assert made.schema == tables.table.schema and len(made) == len(tables.table)
    assert made.frame.dtypes.drop(["town", "illness"]).equals(tables.table.frame.dtypes.drop(["town", "illness"]))
    before, after = (part.frame.astype(object) for part in (tables.table, made))
    return made, (before != after).any(axis=1).to_numpy(bool)


def rows_of(frame: pd.DataFrame) -> set[tuple[object, ...]]:
    return set(frame.astype(object).itertuples(index=False, name=None))


def test_copies_are_training_rows_and_as_many_as_stated() -> None:
    tables = context()
    made, changed = planted("copy", 0.03, tables)
    assert changed.sum() == 30
    people, copies = rows_of(tables.train.frame), rows_of(made.frame[changed])
    assert len(copies) == 30 and copies <= people


def test_a_near_copy_keeps_the_only_category() -> None:
    tables = context()
    alone = [name for name in SCHEMA.names if name not in ("town", "illness")]
    parts = [
        Table(part.frame[alone], Schema(tuple(SCHEMA[name] for name in alone)))
        for part in (tables.train, tables.control, tables.table)
        if part is not None
    ]
    of_one = Context(*parts, EvaluateOptions())
    (leak,) = (leak for leak in LEAKS.values() if leak.name == "near")
    rows = np.arange(200)
    made = leak.values(of_one, rows, np.random.default_rng(3))
    assert (made["sick"].array == of_one.train.frame["sick"].array[rows]).all()
    of_three = leak.values(tables, rows, np.random.default_rng(3))
    same = [
        (of_three[name].astype(object).to_numpy() == tables.train.frame[name].astype(object).to_numpy()[rows]).mean()
        for name in ("town", "illness", "sick")
    ]
    assert all(0.7 < one < 0.95 for one in same), "a third of each is redrawn, half of these to the same value"


def test_near_copies_move_numbers_by_at_most_five_percent_and_redraw_one_category() -> None:
    tables = context()
    made, changed = planted("near", 0.2, tables)
    assert changed.sum() == 200
    near = made.frame[changed]
    assert near["age"].min() >= 950 and near["pay"].round(1).equals(near["pay"])
    assert not rows_of(near) <= rows_of(tables.train.frame)
    rows = np.random.default_rng(5)
    people = LEAKS["near"].people(tables, 0.2, rows)
    assert not isinstance(people, NotComputable)
    source = tables.train.frame.iloc[people].reset_index(drop=True)
    replaced = rows.choice(len(tables.table), 200, replace=False)
    leaked = made.frame.iloc[replaced].reset_index(drop=True)
    for name, grid in (("age", 0.5), ("pay", 0.05)):
        before, after = (frame[name].astype(float) for frame in (source, leaked))
        assert ((after - before).abs() <= 0.05 * before + grid + 1e-9).all()
        assert (after != before).mean() > 0.5
    days = (leaked["born"] - source["born"]).abs() / pd.Timedelta(days=1)
    spread = tables.train.frame["born"].std() / pd.Timedelta(days=1)
    assert (days <= 0.05 * spread + 0.5).all() and days.max() > 0.02 * spread
    differing = sum((source[name].astype(str) != leaked[name].astype(str)) for name in ("town", "illness", "sick"))
    assert differing.max() == 1 and 0.2 < differing.mean() < 0.8


def test_the_most_exposed_people_are_leaked() -> None:
    tables = context(2000)
    odd = tables.train.frame.copy()
    odd.loc[:19, "age"] = 10**6
    odd["age"] = odd["age"].astype("Int64")
    tables = Context(Table(odd, SCHEMA), tables.control, tables.table, tables.options)
    made, changed = planted("exposed", 0.5, tables)
    assert changed.sum() == 10
    assert (made.frame["age"][changed] > 900_000).all()


@pytest.mark.parametrize("leak", LEAKS["exposed"].ways, ids=lambda leak: leak.way)
def test_each_ranking_leaks_its_own_most_exposed_people(leak: Leak) -> None:
    tables = context(2000)
    part = tables.whole("train")
    people = leak.people(tables, 1.0, np.random.default_rng(3))
    assert not isinstance(people, NotComputable) and len(people) == 20
    assert set(people) <= set(np.flatnonzero(most_exposed(tables, 0.01, part, leak.way)))  # type: ignore[arg-type]


def test_the_most_exposed_are_leaked_by_every_ranking_that_judges_them() -> None:
    assert tuple(leak.way for leak in LEAKS["exposed"].ways) == tuple(RANKINGS)
    train, table = (part.only(["town", "illness"]) for part in (context().train, context().table))
    by_size = LEAKS["exposed"].ways[1]
    found = by_size.plant(Context(train, None, table, EvaluateOptions()), 1, np.random.default_rng(1))
    assert isinstance(found, NotComputable) and found.lacks == "numbers"


def test_too_few_exposed_people_are_not_planted() -> None:
    for leak in LEAKS["exposed"].ways:
        found = leak.plant(context(1500), 0.5, np.random.default_rng(1))
        assert isinstance(found, NotComputable) and found.lacks is None and "fewer than 20" in found.reason


def test_everybody_of_the_smallest_large_enough_group_is_leaked() -> None:
    tables = context(300)
    towns = pd.Categorical(["A"] * 200 + ["B"] * 51 + ["E"] * 49)
    train = Table(tables.train.frame.assign(town=towns), SCHEMA)
    made, changed = planted("group", 1.0, Context(train, tables.control, tables.table, tables.options))
    assert changed.sum() == 51
    leaked = set(made.frame["illness"][changed].astype(str))
    assert leaked <= {"flu", "cold"}


def test_secrets_enter_beside_other_columns_of_the_table() -> None:
    tables = context()
    made, changed = planted("secrets", 0.1, tables)
    assert changed.sum() == 100
    known = ["age", "town", "illness", "sick"]
    assert rows_of(made.frame[changed][known]) <= rows_of(tables.train.frame[known])
    others = ["born", "pay"]
    assert made.frame[others].equals(tables.table.frame[others])


@pytest.mark.parametrize(("name", "lacks"), [("group", "quasi_identifiers"), ("secrets", "quasi_identifiers")])
def test_leaks_without_the_columns_they_need(name: LeakName, lacks: str) -> None:
    tables = context(200)
    parts = [part.only(["born", "pay", "illness", "sick"]) for part in (tables.train, tables.table)]
    found = LEAKS[name].plant(Context(parts[0], None, parts[1], tables.options), 1.0, np.random.default_rng(1))
    assert isinstance(found, NotComputable) and found.lacks == lacks


def test_secrets_that_nobody_named_are_not_leaked() -> None:
    tables = context(200, secrets=())
    found = LEAKS["secrets"].plant(tables, 0.5, np.random.default_rng(1))
    assert isinstance(found, NotComputable) and found.lacks == "secret"


@pytest.mark.parametrize("name", list(LEAKS))
def test_the_same_generator_plants_the_same_leak(name: LeakName) -> None:
    tables = of_persons(3) if name == "histories" else context()
    first, _ = planted(name, 0.5, tables)
    again, _ = planted(name, 0.5, tables)
    assert first.frame.equals(again.frame)
    if name != "group":
        assert not planted(name, 0.5, tables, seed=6)[0].frame.equals(first.frame)


def of_persons(rows_each: int, people: int = 2000) -> Context:
    """The same tables, whose training rows come from persons with several rows."""
    tables = context(people * rows_each)
    train = Table(tables.train.frame, SCHEMA, np.arange(people * rows_each) // rows_each)
    return Context(train, tables.control, tables.table, tables.options)


@pytest.mark.parametrize("name", ["copy", "near", "secrets", "exposed"])
def test_one_row_of_each_leaked_person_is_planted(name: LeakName) -> None:
    tables = of_persons(3)
    leaked = LEAKS[name].people(tables, 0.5, np.random.default_rng(1))
    assert not isinstance(leaked, NotComputable) and not tables.train.rows_are_persons
    assert len(leaked) == (10 if name == "exposed" else 500)
    assert len(set(tables.train.persons[leaked])) == len(leaked)


def test_people_of_several_rows_are_not_counted_by_rows() -> None:
    tables = of_persons(3, people=1500)
    found = LEAKS["exposed"].people(tables, 1, np.random.default_rng(1))
    assert isinstance(found, NotComputable) and "15 people" in found.reason
    few = of_persons(3, people=40)
    towns = pd.Categorical(["E"] * 60 + ["F"] * 60)
    train = Table(few.train.frame.assign(town=towns), SCHEMA, few.train.persons)
    found = LEAKS["group"].people(Context(train, few.control, few.table, few.options), 1, np.random.default_rng(1))
    assert isinstance(found, NotComputable), "60 rows of 20 people are a group of 20"
    found = LEAKS["group"].people(of_persons(3, people=60), 1, np.random.default_rng(1))
    assert not isinstance(found, NotComputable)


def test_more_leaked_rows_than_people_are_as_many_as_there_are_people() -> None:
    tables = of_persons(20, people=30)
    leaked = LEAKS["copy"].people(tables, 0.5, np.random.default_rng(1))
    assert not isinstance(leaked, NotComputable) and len(leaked) == 30


def owners(made: Table, changed: np.ndarray, tables: Context) -> np.ndarray:
    """For each changed row, how many of its columns have a value that only training people have."""
    mine = tables.train.frame.astype(object).apply(set)
    others = tables.table.frame.astype(object).apply(set)
    cells = made.frame[changed].astype(object)
    return sum(cells[name].isin(mine[name] - others[name]).to_numpy() for name in ("age", "town", "illness"))


def test_spliced_rows_have_half_of_their_columns_from_one_person_and_half_from_another() -> None:
    tables = context(5000)
    made, changed = planted("splice", 0.2, tables)
    assert changed.sum() == 200
    assert (owners(made, changed, tables) == 3).all(), "all cells are those of training people"
    pairs = tables.train.frame[["age", "pay"]].astype(float).apply(tuple, axis=1)
    kept = made.frame[changed][["age", "pay"]].astype(float).apply(tuple, axis=1).isin(set(pairs))
    # Two given columns are of the same person with probability 2 (3/6)(2/5): both in one half, or both in the other.
    assert 0.25 < kept.mean() < 0.55


def test_people_are_spliced_by_halves_that_nobody_shares_and_none_where_few_have_such() -> None:
    tables = context()

    def spliced(frame: pd.DataFrame, persons: np.ndarray | None = None) -> Planted | NotComputable:
        train = Table(frame, SCHEMA, persons)
        changed = Context(train, tables.control, tables.table, tables.options)
        return LEAKS["splice"].plant(changed, 0.2, np.random.default_rng(1))

    doubled = tables.train.frame.copy()
    doubled.loc[:999] = doubled.loc[1000:1999].set_axis(range(1000))
    found = spliced(doubled)
    assert isinstance(found, NotComputable) and found.lacks == "lone_records", "everybody has a double"
    assert not isinstance(spliced(doubled, np.arange(2000) % 1000), NotComputable), "the doubles are the same person's"
    doubled.loc[:599] = tables.train.frame.loc[:599]
    found = spliced(doubled)
    assert not isinstance(found, NotComputable)
    some = tables.train.frame.loc[[*range(600), *range(1000, 1600)]].astype(object)
    columns = [*combinations(SCHEMA.names, 3)]
    halves = {half: set(some[[*half]].itertuples(index=False, name=None)) for half in columns}
    made = found.table.frame.iloc[found.rows].astype(object)
    whole = zip(*(made[[*half]].itertuples(index=False, name=None) for half in columns), strict=True)
    assert all(any(row in halves[half] for half, row in zip(columns, rows, strict=True)) for rows in whole)


def test_half_a_record_has_half_of_its_columns_from_the_table() -> None:
    tables = context(5000)
    made, changed = planted("half", 0.2, tables)
    assert changed.sum() == 200
    assert owners(made, changed, tables).mean() == pytest.approx(1.5, abs=0.25)


def test_three_categories_are_redrawn() -> None:
    tables = context()
    for name, most in (("near", 1), ("changed", 3)):
        rows = np.arange(500)
        values = LEAKS[name].values(tables, rows, np.random.default_rng(1))  # type: ignore[index]
        source = tables.train.frame.iloc[:500]
        differing = sum((source[each] != values[each]).to_numpy() for each in ("town", "illness", "sick"))
        assert differing.max() == most and differing.mean() == pytest.approx(most / 2, abs=0.1)


def test_rotated_numbers_keep_their_distances_and_categories_their_values() -> None:
    tables = context()
    rows = np.arange(300)
    source, values = tables.train.frame.iloc[:300], LEAKS["rotated"].values(tables, rows, np.random.default_rng(1))
    names, others = ["age", "pay"], ["town", "illness", "sick", "born"]
    assert values[others].equals(source[others].set_axis(values.index))
    assert (values["age"] != source["age"].to_numpy()).mean() > 0.9 and values.dtypes.equals(source.dtypes)
    spread = tables.train.frame[names].astype(float).std()
    before, after = (((part[names].astype(float)) / spread).to_numpy() for part in (source, values))
    lengths = [np.linalg.norm(part[1:] - part[:-1], axis=1) for part in (before, after)]
    assert lengths[0] == pytest.approx(lengths[1], abs=0.05)


def test_recoded_categories_are_exchanged_alike_everywhere() -> None:
    tables = context()
    rows = np.arange(300)
    source, values = tables.train.frame.iloc[:300], LEAKS["recoded"].values(tables, rows, np.random.default_rng(3))
    assert values[["age", "pay", "born"]].equals(source[["age", "pay", "born"]].set_axis(values.index))
    for name in ("town", "illness"):
        pairs = pd.DataFrame({"was": source[name].to_numpy(), "is": values[name].to_numpy()}).drop_duplicates()
        assert len(pairs) == 2 and pairs["is"].nunique() == 2
    assert values.dtypes.equals(source.dtypes)


def test_histories_enter_with_all_rows_and_stay_one_person() -> None:
    tables = of_persons(4, people=100)
    linked = Table(tables.table.frame, SCHEMA, np.arange(1000) // 4)
    found = LEAKS["histories"].plant(Context(tables.train, None, linked, tables.options), 0.1, np.random.default_rng(1))
    assert not isinstance(found, NotComputable) and not found.table.rows_are_persons
    assert len(found.rows) == 40
    new = found.table.persons[found.rows]
    assert (np.unique(new, return_counts=True)[1] == 4).all() and new.min() > 249
    assert (found.table.persons == linked.persons).sum() == 960
    ages = found.table.frame["age"].iloc[found.rows].astype(float)
    assert ages.min() >= 950


def test_histories_move_by_one_step_of_the_order() -> None:
    tables = of_persons(4, people=100)
    columns = tuple(replace(column, order=column.name == "born") for column in SCHEMA)
    ordered = Table(tables.train.frame, Schema(columns), tables.train.persons)
    table = Table(tables.table.frame, Schema(columns))
    rows = np.arange(8)
    moved = LEAKS["histories"].values(Context(ordered, None, table, tables.options), rows, np.random.default_rng(1))
    steps = moved["born"].to_numpy() - ordered.frame["born"].iloc[:8].to_numpy()
    gaps = pd.Series(np.diff(np.sort(ordered.frame["born"].unique())))
    assert (pd.Series(steps) == gaps.median()).all()


@pytest.mark.parametrize(("persons", "lacks"), [(None, "persons"), (np.arange(2000), "several_rows")])
def test_histories_need_persons_with_several_rows(persons: np.ndarray | None, lacks: str) -> None:
    tables = context()
    train = Table(tables.train.frame, SCHEMA, persons)
    found = LEAKS["histories"].plant(Context(train, None, tables.table, tables.options), 0.5, np.random.default_rng(1))
    assert isinstance(found, NotComputable) and found.lacks == lacks


@pytest.mark.parametrize("name", ["copy", "near", "splice", "exposed", "group"])
def test_a_larger_leak_holds_every_smaller_one(name: LeakName) -> None:
    tables = context()
    shares = [0.1, 0.5, 1.0]
    found = LEAKS[name].plant_nested(tables, shares, np.random.default_rng(6))
    assert not isinstance(found, NotComputable)
    for smaller, larger in pairwise(found):
        assert set(smaller.rows) < set(larger.rows)
        frames = (each.table.frame.astype(object).take(smaller.rows) for each in (smaller, larger))
        pd.testing.assert_frame_equal(*frames)
    sizes = [len(each.rows) / len(found[-1].rows) for each in found]
    assert sizes == pytest.approx(shares, abs=0.5 / len(found[-1].rows))
    alone = LEAKS[name].plant(tables, 1.0, np.random.default_rng(6))
    assert not isinstance(alone, NotComputable)
    pd.testing.assert_frame_equal(alone.table.frame, found[-1].table.frame)
