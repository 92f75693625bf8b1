"""Private domains: what a record becomes, and what comes back."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from hybrid.privacy.domain import (
    CategoryDomain,
    KnownColumn,
    PrivacyOptions,
    ValueGrid,
    interval_domain,
    neutral_column,
    single_value_domain,
)
from hybrid.privacy.plan import column_problems
from hybrid.table import DTYPES, Column, ColumnFormat, Kind, Role, Schema

RNG = np.random.default_rng(0)


def column(kind: Kind, name: str = "x") -> Column:
    return Column(name, Role.INSENSITIVE, kind)


def test_values_beyond_the_bounds_are_the_nearer_bound() -> None:
    domain = single_value_domain(column(Kind.INTEGER), ValueGrid.of(Kind.INTEGER, (10, 14)))
    codes = domain.encode(pd.Series([3, 10, 12, 99, None], dtype="Int64"))
    assert codes.tolist() == [0, 0, 2, 4, 5]
    assert domain.decode(codes, RNG).tolist() == [10, 10, 12, 14, pd.NA]


def test_decimals_infinite_ones_too_stay_on_their_grid() -> None:
    domain = interval_domain(column(Kind.DECIMAL), ValueGrid.of(Kind.DECIMAL, (0, 1.5), 1), [(0, 0), (1, 14), (15, 15)])
    codes = domain.encode(pd.Series([-np.inf, 0.04, 0.06, 1.44, np.inf, np.nan]))
    assert codes.tolist() == [0, 0, 1, 1, 2, 3]
    drawn = domain.decode(np.ones(500, dtype=np.int32), RNG)
    assert set((drawn * 10).round().astype(int)) == set(range(1, 15))


@pytest.mark.parametrize(
    ("kind", "bounds", "value"),
    [
        (Kind.DATE, (date(2020, 1, 1), date(2020, 12, 31)), "2020-02-29"),
        (Kind.DATETIME, (datetime(2020, 1, 1), datetime(2020, 1, 2)), "2020-01-01 13:00:07"),
    ],
)
def test_dates_and_times_come_back(kind: Kind, bounds: tuple, value: str) -> None:
    grid = ValueGrid.of(kind, bounds)
    domain = single_value_domain(column(kind), grid)
    given = pd.Series(pd.to_datetime([value, None])).astype(DTYPES[kind])
    back = domain.decode(domain.encode(given), RNG)
    assert back.dtype == DTYPES[kind]
    assert str(back[0]).startswith(value)
    assert back.isna().tolist() == [False, True]


def test_categories_outside_the_domain_are_missing() -> None:
    domain = CategoryDomain(column(Kind.CATEGORICAL), ("a", "b"))
    codes = domain.encode(pd.Series(["b", "z", None, "a"], dtype="category"))
    assert codes.tolist() == [1, 2, 2, 0]
    assert domain.decode(codes, RNG).astype(object).where(lambda each: each.notna(), None).tolist() == [
        "b",
        None,
        None,
        "a",
    ]


def test_truth_values_come_back() -> None:
    domain = CategoryDomain(column(Kind.BOOLEAN), (False, True))
    given = pd.Series([True, None, False], dtype="boolean")
    assert domain.decode(domain.encode(given), RNG).equals(given)


def test_formats_do_not_depend_on_records() -> None:
    seen = Column("x", Role.SENSITIVE, Kind.DECIMAL, True, ColumnFormat(missing="?", padding=" ", decimals=5))
    assert neutral_column(seen, 2) == Column("x", Role.SENSITIVE, Kind.DECIMAL, True, ColumnFormat(decimals=2))
    seen = ColumnFormat(missing="?", date_format="%d.%m.%Y %H:%M:%S.%f")
    moment = pd.Timestamp("2024-02-18 22:05:07")
    for kind, text in ((Kind.DATE, "2024-02-18"), (Kind.DATETIME, "2024-02-18 22:05:07"), (Kind.TIME, "22:05")):
        fixed = neutral_column(Column("x", Role.SENSITIVE, kind, False, seen))
        assert kind.type.text(moment, fixed.format) == text


def test_all_missing_declarations_are_named_at_once() -> None:
    kinds = {"age": Kind.INTEGER, "cost": Kind.DECIMAL, "day": Kind.DATE, "job": Kind.CATEGORICAL, "ill": Kind.BOOLEAN}
    schema = Schema(tuple(column(kind, name) for name, kind in kinds.items()))
    known = {
        "cost": KnownColumn(bounds=(0, 10)),
        "day": KnownColumn(bounds=(1, 2)),
        "job": KnownColumn(bounds=(1, 2)),
        "ill": KnownColumn(values=("a",)),
        "other": KnownColumn(),
    }
    options = PrivacyOptions(mode="dp", epsilon=1, delta=1e-6, columns=known)
    messages = [problem.message for problem in column_problems(schema, options, {})]
    for name in ("age", "cost", "day", "job", "ill", "other"):
        assert sum(name in message for message in messages) == 1
    assert not list(
        column_problems(
            schema.only(["age"]), PrivacyOptions(mode="dp", epsilon=1, delta=1e-6), {"age": np.array([1, 9])}
        )
    )


def test_bounds_ascend_and_are_of_one_sort() -> None:
    for bounds in ((2, 1), (1, date(2020, 1, 1)), (date(2020, 1, 1), datetime(2020, 1, 2))):
        with pytest.raises(ValidationError, match="bounds"):
            KnownColumn(bounds=bounds)
