"""What goes in comes out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.errors import DataError, GeneratorError
from hybrid.synthesize import Encoding
from hybrid.synthesize.codec import Codec
from hybrid.table import Column, ColumnFormat, Kind, Role, Schema, Table
from tests.synthesize.synthesize_tables import people, table_of, tables

ENCODINGS = [Encoding(), Encoding(flag_missing=True), Encoding(max_levels=4), Encoding(4, flag_missing=True)]


def roundtrip(table: Table, encoding: Encoding) -> Table:
    codec = Codec(table, encoding)
    data = codec.encode(table, np.random.default_rng(0)) if codec.features else None
    return codec.decode(data.columns if data else [], len(table))


def narrow(table: Table) -> bool:
    """Whether every integer and time spans at most 2**53 steps, so that nothing is rounded."""
    for column in table.schema:
        values = table.frame[column.name].dropna()
        if column.kind is Kind.INTEGER and len(values) and int(values.max()) - int(values.min()) > 2**53:
            return False
        if column.kind.is_temporal and len(values) and (values.max() - values.min()).total_seconds() * 1e6 > 2**53:
            return False
    return True


@settings(max_examples=80, deadline=None)
@given(tables(), st.sampled_from(ENCODINGS))
def test_decoding_what_was_encoded_gives_the_table_back(table, encoding):
    before = table.frame.copy(deep=True)
    result = roundtrip(table, encoding)
    assert result.schema == table.schema
    assert (result.frame.dtypes == table.frame.dtypes).all()
    assert (result.frame.isna() == table.frame.isna()).all(axis=None)
    if narrow(table):
        pd.testing.assert_frame_equal(result.frame, table.frame, check_exact=True)
    pd.testing.assert_frame_equal(table.frame, before)


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from(ENCODINGS), st.integers(0, 2**32 - 1))
def test_whatever_a_model_draws_becomes_possible_values(table, encoding, seed):
    codec = Codec(table, encoding)
    rng = np.random.default_rng(seed)
    drawn = [
        rng.integers(0, feature.n_levels, 7).astype(np.int32) if feature.is_discrete else rng.normal(0, 1e9, 7)
        for feature in codec.features
    ]
    result = codec.decode(drawn, 7)
    assert result.schema == table.schema
    assert (result.frame.dtypes == table.frame.dtypes).all()
    for column in table.schema:
        seen, got = table.frame[column.name].dropna(), result.frame[column.name].dropna()
        if column.kind.is_continuous and len(seen) and len(got):
            assert seen.min() <= got.min()
            assert got.max() <= seen.max()
        else:
            assert set(got) <= set(seen)
        if not table.frame[column.name].isna().any():
            assert len(got) == 7


def test_huge_integers_keep_53_bits_and_their_range():
    values = [-(2**63), 2**63 - 1, 0, 12345]
    table = table_of({"big": (Kind.INTEGER, values)})
    got = roundtrip(table, Encoding()).frame["big"].tolist()
    assert all(abs(a - b) <= 2**11 for a, b in zip(got, values, strict=True))


def test_values_between_the_grid_are_rounded_to_it():
    table = table_of(
        {
            "salary": (Kind.INTEGER, [1000, 1250, 3000]),
            "price": (Kind.DECIMAL, [0.1, 0.35, 2.0]),
            "first": (Kind.DATE, pd.Series(pd.to_datetime(["2024-01-01", "2024-01-08", "2024-02-05"]))),
        },
        price=ColumnFormat(decimals=2),
    )
    codec = Codec(table, Encoding())
    steps = [1.4, 0.6, 2.5]
    result = codec.decode([np.array([step]) for step in steps], 1).frame
    assert result["salary"][0] == 1250
    assert result["price"][0] == pytest.approx(0.15)
    assert result["first"][0] == pd.Timestamp("2024-01-15")


def dates(days: pd.DatetimeIndex) -> Table:
    column = Column("date", Role.INSENSITIVE, Kind.DATE, ColumnFormat(date_format="%Y-%m-%d"))
    return Table(pd.DataFrame({"date": days.astype("datetime64[us]")}), Schema((column,)))


@pytest.mark.parametrize("missing", [False, True])
def test_dates_lie_on_the_days_of_the_week_of_the_learned_ones(missing: bool) -> None:
    school = dates(pd.bdate_range("2025-09-02", "2025-12-19"))
    if missing:
        school.frame.iloc[3, 0] = pd.NaT
    codec = Codec(school, Encoding())
    drawn = codec.decode([np.linspace(-5, 90, 400)], 400).frame["date"]
    assert set(drawn.dt.dayofweek) == {0, 1, 2, 3, 4}
    assert (drawn.min(), drawn.max()) == (pd.Timestamp("2025-09-02"), pd.Timestamp("2025-12-19"))
    assert drawn.is_monotonic_increasing
    pd.testing.assert_frame_equal(roundtrip(school, Encoding()).frame, school.frame)


def test_few_dates_say_nothing_of_days_of_the_week() -> None:
    term = dates(pd.bdate_range("2025-09-01", periods=40))
    assert set(Codec(term, Encoding()).decode([np.arange(55.0)], 55).frame["date"].dt.dayofweek) == set(range(7))


def test_numbers_outside_the_learned_range_are_encoded_on_their_side_of_it():
    learned = table_of({"day": (Kind.INTEGER, [10, 20, 30]), "same": (Kind.INTEGER, [5, 5, 6])})
    others = table_of({"day": (Kind.INTEGER, [0, 20, 50]), "same": (Kind.INTEGER, [-(2**62), 5, 2**62])})
    day, same = Codec(learned, Encoding()).encode(others, np.random.default_rng(0)).columns
    assert day.tolist() == [-1, 1, 4]
    assert same[0] < -(2.0**61) and same[1] == 0 and same[2] > 2.0**61


def test_decimals_that_need_more_digits_than_a_float_keeps_are_plain_numbers():
    values = [1 / 3, 1e300, -2.5e-300]
    table = table_of({"x": (Kind.DECIMAL, values)})
    assert roundtrip(table, Encoding()).frame["x"].tolist() == values


def test_ordered_labels_keep_their_order_and_unused_categories_their_place():
    dtype = pd.CategoricalDtype(["low", "unused", "high"], ordered=True)
    table = table_of({"level": (Kind.CATEGORICAL, pd.Series(["high", "low", None], dtype=dtype))})
    codec = Codec(table, Encoding())
    assert codec.features[0].ordered
    assert codec.features[0].n_levels == 3
    assert codec.encode(table, np.random.default_rng(0)).columns[0].tolist() == [1, 0, 2]
    assert codec.decode([np.array([0, 1, 2], dtype=np.int32)], 3).frame["level"].dtype == dtype


def test_constant_and_all_missing_columns_are_restored_without_being_learned():
    table = people(50).only(["country", "note", "empty"])
    codec = Codec(table, Encoding())
    assert codec.features == ()
    pd.testing.assert_frame_equal(codec.decode([], 50).frame, table.frame)


def test_holes_of_flagged_columns_are_filled_with_values_that_occur():
    table = people(300)
    codec = Codec(table, Encoding(flag_missing=True))
    data = codec.encode(table, np.random.default_rng(0))
    names = [feature.name for feature in data.features]
    cost = data.columns[names.index("cost")]
    flag = data.columns[names.index("cost is missing")]
    assert not np.isnan(cost).any()
    assert (flag.astype(bool) == table.frame["cost"].isna()).all()
    assert set(cost[flag == 1]) <= set(cost[flag == 0])


@pytest.mark.parametrize("rows", [[], [0]])
def test_a_table_without_rows_or_columns_is_refused(rows):
    table = people(5).take(np.array(rows, dtype=int))
    with pytest.raises(DataError, match="cannot be learned"):
        Codec(table if not rows else table.only([]), Encoding())


def test_infinite_numbers_are_refused_by_column_name():
    with pytest.raises(DataError, match="'x' holds infinite"):
        Codec(table_of({"x": (Kind.DECIMAL, [1.0, np.inf, 2.0])}), Encoding())


def test_identifiers_are_never_learned():
    table = people(5).only(["age"])
    schema = Schema((Column("age", Role.IDENTIFIER, Kind.INTEGER),))
    with pytest.raises(GeneratorError, match="identifiers are never learned: age"):
        Codec(Table(table.frame, schema), Encoding())


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([], "0 columns instead of 1"),
        ([np.zeros(3)], "3 rows instead of 2"),
        ([np.array([1.0, np.inf])], "not numbers"),
        ([np.array([1.0, np.nan])], "not numbers"),
    ],
)
def test_a_model_that_draws_nonsense_is_an_error(columns, message):
    codec = Codec(table_of({"age": (Kind.INTEGER, [1, 2, 5])}), Encoding())
    with pytest.raises(GeneratorError, match=message):
        codec.decode(columns, 2)


def test_codes_that_do_not_exist_are_an_error():
    codec = Codec(people(50).only(["job"]), Encoding())
    with pytest.raises(GeneratorError, match="state that does not exist"):
        codec.decode([np.array([0, 99], dtype=np.int32)], 2)


@pytest.mark.parametrize(("odd", "digits"), [(1, 2), (9, 2), (10, 6)])
def test_digits_that_few_rows_need_are_not_those_of_the_column(odd: int, digits: int) -> None:
    """One person's many digits would be those of every number that is drawn."""
    rng = np.random.default_rng(1)
    amounts = np.round(rng.uniform(0, 50, 4000), 2)
    amounts[:odd] = 12.345678
    table = Table(pd.DataFrame({"amount": amounts}), Schema((Column("amount", Role.INSENSITIVE, Kind.DECIMAL),)))
    codec = Codec(table, Encoding())
    encoded = codec.encode(table, rng)
    drawn = codec.decode([encoded.columns[0][rng.permutation(4000)]], 4000).frame["amount"]
    assert (drawn.round(digits) == drawn).all()
    assert (drawn.round(digits - 1) != drawn).any()
