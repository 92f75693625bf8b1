"""Persons with several rows: what is theirs stays theirs, rows follow one another in order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.base.errors import GeneratorError
from hybrid.synthesize import SynthesizeOptions, fit
from hybrid.synthesize.fitted import arranged
from hybrid.synthesize.generators.person_rows import RowHistory, lasting_columns, past_summaries, person_table
from hybrid.synthesize.protocol import Children, DrawnColumns, Encoded, Feature
from hybrid.synthesize.registry import sequence_generators
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from hybrid.table.persons import constant_within, with_order
from tests.synthesize.visits import STATIC, visits


@pytest.fixture(scope="module")
def pair() -> tuple[Table, Table]:
    real = visits(1500)
    fitted = fit(real, SynthesizeOptions(options={"min_leaf": 20}), 1, static=STATIC)
    return real, fitted.sample(1500, 2)


def rows_of(table: Table) -> np.ndarray:
    assert not table.rows_are_persons
    return np.unique(table.persons, return_counts=True)[1]


def pairs_of(table: Table, name: str) -> pd.DataFrame:
    """Values of successive rows of a person, in order."""
    frame = table.frame.assign(whose=table.persons).sort_values(["whose", "day"], kind="stable")
    before = frame.groupby("whose")[name].shift(1)
    return pd.DataFrame({"before": before, "after": frame[name]})[frame["whose"].duplicated().to_numpy()]


def test_persons_come_back_as_persons(pair: tuple[Table, Table]) -> None:
    real, synthetic = pair
    assert synthetic.schema == real.schema and synthetic.frame.dtypes.equals(real.frame.dtypes)
    assert not synthetic.rows_are_persons and len(rows_of(synthetic)) == 1500
    shares = [np.bincount(np.minimum(rows_of(table), 9), minlength=10).cumsum() / 1500 for table in pair]
    assert np.abs(shares[0] - shares[1]).max() < 0.05
    assert constant_within(synthetic, STATIC) == list(STATIC)
    missing = [table.frame["born"].isna().mean() for table in pair]
    assert missing[1] == pytest.approx(missing[0], abs=0.03)


def test_rows_of_a_person_are_adjacent_and_in_order(pair: tuple[Table, Table]) -> None:
    persons, day = pair[1].persons, pair[1].frame["day"].to_numpy()
    assert persons is not None and (np.diff(persons) >= 0).all()
    assert (np.diff(day)[np.diff(persons) == 0] >= np.timedelta64(0)).all()
    gaps = [pairs_of(table, "day").diff(axis=1)["after"].dt.days for table in pair]
    assert [gaps[1].quantile(q) for q in (0.25, 0.5, 0.75)] == pytest.approx(
        [gaps[0].quantile(q) for q in (0.25, 0.5, 0.75)], rel=0.25
    )


def test_no_rows_pile_up_at_the_end_of_a_panel() -> None:
    """Of a panel that ends for all in one year, 2 % of the drawn rows were second ones of a person in that year."""
    rng = np.random.default_rng(5)
    first, counts = rng.integers(70, 86, 600), rng.integers(1, 9, 600)
    years = [start + np.append(0, np.cumsum(rng.integers(1, 4, n - 1))) for start, n in zip(first, counts, strict=True)]
    whose = np.repeat(np.arange(600), counts)
    frame = pd.DataFrame({"year": pd.Series(np.concatenate(years), dtype="Int64"), "x": rng.normal(size=len(whose))})
    kept = (frame["year"] <= 88).to_numpy(dtype=bool)
    columns = Column("year", Role.INSENSITIVE, Kind.INTEGER), Column("x", Role.INSENSITIVE, Kind.DECIMAL)
    real = with_order(Table(frame[kept].reset_index(drop=True), Schema(columns), whose[kept]), "year")
    drawn = fit(real, SynthesizeOptions(), 1, static=[]).sample(600, 2)
    assert not drawn.frame.assign(whose=drawn.persons).duplicated(["whose", "year"]).any()
    shares = [float((table.frame["year"] == 88).mean()) for table in (real, drawn)]
    assert 0.5 * shares[0] < shares[1] < 1.2 * shares[0]
    assert len(rows_of(drawn)) == 600 and len(drawn) == pytest.approx(len(real), rel=0.1)


def test_what_mostly_stays_mostly_stays(pair: tuple[Table, Table]) -> None:
    agreement = [(pairs["before"] == pairs["after"]).mean() for pairs in (pairs_of(t, "disease") for t in pair)]
    assert agreement[0] > 0.5 and agreement[1] == pytest.approx(agreement[0], abs=0.05)
    means = [table.frame.groupby("disease", observed=True)["cost"].median() for table in pair]
    assert means[1]["a"] / means[1]["b"] == pytest.approx(means[0]["a"] / means[0]["b"], rel=0.25)


def test_values_that_repeat_from_row_to_row_repeat_exactly() -> None:
    """A number of which nobody has the same, and one of 300 codes: each mostly that of the visit before."""
    rng = np.random.default_rng(2)
    whose = np.repeat(np.arange(500), 3)
    weights, codes = (np.round(rng.normal(80, 15, 500), 3)[whose], rng.integers(0, 300, 500)[whose])
    new = rng.random(1500) < 0.2
    frame = pd.DataFrame(
        {
            "weight": np.where(new, np.round(rng.normal(80, 15, 1500), 3), weights),
            "code": pd.Series(
                [f"C{code}" for code in np.where(new, rng.integers(0, 300, 1500), codes)], dtype="category"
            ),
        }
    )
    kinds = (Kind.DECIMAL, Kind.CATEGORICAL)
    schema = Schema(tuple(Column(str(c), Role.INSENSITIVE, k) for c, k in zip(frame, kinds, strict=True)))
    drawn = fit(Table(frame, schema, whose), SynthesizeOptions(), 1, static=[]).sample(500, 1)
    assert not drawn.rows_are_persons
    inside = drawn.persons[1:] == drawn.persons[:-1]
    for name in ("weight", "code"):
        values = drawn.frame[name].to_numpy(object)
        assert (values[1:] == values[:-1])[inside].mean() == pytest.approx(0.65, abs=0.06)
    assert drawn.frame["weight"].isin(frame["weight"]).mean() < 0.1, "a number of one person is not copied"


def test_the_same_seed_gives_the_same_persons_and_another_seed_others() -> None:
    table = visits(80)
    fitted = fit(table, SynthesizeOptions(), 1, static=STATIC)
    again = fit(table, SynthesizeOptions(), 1, static=STATIC)
    assert fitted.sample(60, 5).frame.equals(again.sample(60, 5).frame)
    assert not fitted.sample(60, 5).frame.equals(fitted.sample(60, 6).frame)


@pytest.mark.parametrize(
    "names", [["sex"], ["day"], ["sex", "born", "day", "disease", "cost"], ["disease"], ["sex", "born"]]
)
def test_any_columns_will_do(names: list[str]) -> None:
    table = visits(60).only(names)
    drawn = fit(table, SynthesizeOptions(), 1, static=[name for name in STATIC if name in names]).sample(30, 1)
    assert drawn.schema.names == table.schema.names and len(rows_of(drawn)) == 30


def test_persons_with_one_row_each_and_missing_dates() -> None:
    table = visits(80)
    alone = replace(table, named_persons=np.arange(len(table)))
    assert set(rows_of(fit(alone, SynthesizeOptions(), 1, static=[]).sample(40, 1))) == {1}
    undated = replace(table, frame=table.frame.assign(day=table.frame["day"].mask(np.arange(len(table)) % 4 == 0)))
    drawn = fit(undated, SynthesizeOptions(), 1, static=STATIC).sample(60, 1)
    for _, rows in drawn.frame.assign(whose=drawn.persons).groupby("whose"):
        assert rows["day"].dropna().is_monotonic_increasing
        assert not rows["day"].isna().to_numpy()[:-1][rows["day"].notna().to_numpy()[1:]].any()
    assert drawn.frame["day"].isna().any()


def test_labels_in_order_are_drawn_in_order() -> None:
    table = visits(100)
    quarters = table.frame["day"].dt.to_period("Q").astype(str)
    labels = pd.Series(pd.Categorical(quarters, sorted(set(quarters)), ordered=True))
    columns = tuple(replace(c, kind=Kind.CATEGORICAL) if c.name == "day" else c for c in table.schema)
    drawn = fit(
        Table(table.frame.assign(day=labels), Schema(columns), table.persons), SynthesizeOptions(), 1, static=STATIC
    ).sample(80, 1)
    assert drawn.frame["day"].dtype == labels.dtype
    codes = drawn.frame["day"].cat.codes.groupby(drawn.persons)
    assert all(rows.is_monotonic_increasing for _, rows in codes)


def test_the_largest_numbers_of_rows_are_those_that_ten_persons_reach() -> None:
    counts = np.r_[np.full(30, 2), np.full(9, 5), [80]]
    encoded = [Feature("x", 0, True, False)], [np.arange(counts.sum(), dtype=float)]
    table = person_table(Children(*encoded, parents=Encoded([], []), counts=counts))
    assert table.encoded.columns[table.counts_at].max() == 5


def test_the_person_table_holds_the_number_and_the_extent_of_rows() -> None:
    day = np.array([0.0, 5, np.nan, 7, 7, 3, 9])
    rows = [Feature("day", 0, True, True)], [day]
    table = person_table(Children(*rows, parents=Encoded([], []), counts=np.array([3, 2, 0, 2]), order=0))
    found = {f.name: c for f, c in zip(table.encoded.features, table.encoded.columns, strict=True)}
    assert table.first_at == 1 and found["number of rows"].max() == 0
    assert found["first day"].tolist()[:2] == [0, 7] and np.isnan(found["first day"][2])
    assert found["span of day"].tolist()[:2] == [5, 0] and found["span of day"][3] == 6


def test_summaries_while_drawing_are_those_while_learning() -> None:
    rng = np.random.default_rng(0)
    counts = np.sort(rng.integers(1, 6, 40))[::-1].copy()
    features = {0: Feature("x", 0, True, True), 1: Feature("state", 4, False, False)}
    n = int(counts.sum())
    columns = [np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)), rng.integers(0, 4, n).astype(np.int32)]
    learned = past_summaries(features, columns, counts)
    history, starts = RowHistory.empty(features, len(counts)), np.cumsum(counts) - counts
    for position in range(int(counts.max())):
        rows = starts[counts > position] + position
        history = history.of_first(len(rows))
        for at, summary in history.summaries().items():
            assert summary == pytest.approx(learned[at][rows], nan_ok=True)
        history = history.after([column[rows] for column in columns])


def test_columns_that_last_are_summarized() -> None:
    table = visits(600)
    data, _ = arranged(
        Encoded(
            [Feature("disease", 4, False, False), Feature("noise", 0, True, False)],
            [table.frame["disease"].cat.codes.to_numpy(np.int32), np.random.default_rng(1).random(len(table))],
            table.persons,
        ),
        np.zeros(2, dtype=bool),
        None,
    )
    assert 0 in lasting_columns(data.features, data.columns, data.counts)
    assert lasting_columns(data.features, data.columns, np.ones(len(table), dtype=np.int64)) == {}


def test_columns_of_persons_and_of_rows_are_put_together_again() -> None:
    features = [Feature("a", 3, False, True), Feature("b", 0, True, False), Feature("c", 0, True, True)]
    columns = [np.array([0, 1, 2, 1], dtype=np.int32), np.array([5.0, 6, 7, 8]), np.array([np.nan, 2, 1, 2.0])]
    data, arrangement = arranged(Encoded(features, columns, np.array([4, 9, 4, 9])), np.array([True, False, True]), 1)
    assert data.order == 0 and data.counts.tolist() == [2, 2]
    assert [c.tolist() for c in data.parents.columns] == [[0, 1], [1, 2]]
    assert [f.name for f in data.features] == ["b", "a is missing", "c is missing"]
    drawn = DrawnColumns(data.columns, data.parents.columns, data.counts)
    whole = arrangement.whole(drawn)
    assert whole[0].tolist() == [0, 2, 1, 1] and whole[1].tolist() == [5, 7, 6, 8]
    assert np.isnan(whole[2][0]) and whole[2][1:].tolist() == [1, 2, 2]


def test_a_generator_of_single_rows_is_refused() -> None:
    assert sequence_generators() == ["cart", "tabddpm", "realtabformer"]
    table = visits(20)
    with pytest.raises(GeneratorError, match=r"baynet draws single rows.*cart or tabddpm or realtabformer"):
        fit(table, SynthesizeOptions(generator="baynet"), 1, static=[])
    with pytest.raises(GeneratorError, match="draws single rows"):
        fit(replace(table, named_persons=None), SynthesizeOptions(), 1, static=[])
    assert not SynthesizeOptions(generator="tabddpm", options={"engine": "synthcity"}).learns_sequences
    assert DTYPES[Kind.DATE] == table.frame["day"].dtype
