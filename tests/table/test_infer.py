"""What a column of texts is taken for, and how it is written again."""

from __future__ import annotations

import pandas as pd
import pytest

from hybrid.table import ColumnFormat, Kind
from hybrid.table.kinds.moments import ambiguous_dates
from hybrid.table.text import parse


@pytest.mark.parametrize(
    ("texts", "shape"),
    [
        (["1.50", "2.25"], ColumnFormat(decimals=2, fixed_decimals=True, least_decimals=2)),
        (["10.0", "2.25"], ColumnFormat(decimals=2, least_decimals=1)),
        (["1", "2.5"], ColumnFormat(decimals=1)),
        (["0.1", "1e-07"], ColumnFormat()),
        (["0.1234567890123", "1.5"], ColumnFormat()),
        (["0.123456789012", "1.5"], ColumnFormat(decimals=12, least_decimals=1)),
    ],
)
def test_digits_of_decimals(texts: list[str], shape: ColumnFormat) -> None:
    parsed = parse(texts)
    assert parsed.kind is Kind.DECIMAL and parsed.bad == ()
    assert parsed.values.tolist() == [float(text) for text in texts]
    assert parsed.format == shape


def test_the_decimal_mark_decides() -> None:
    assert parse(["1,5"], mark=",").values.tolist() == [1.5]
    assert parse(["1,5"], mark=",").format.decimal_mark == ","
    assert parse(["1,5"]).kind is Kind.CATEGORICAL
    assert parse(["1.5"], mark=",").kind is Kind.CATEGORICAL


@pytest.mark.parametrize(
    ("texts", "kind", "bad"),
    [
        (["1", "x", "2"], Kind.INTEGER, (1,)),
        (["01", "7"], Kind.INTEGER, (0,)),
        (["9223372036854775807", "9223372036854775808", "-9223372036854775809"], Kind.INTEGER, (1, 2)),
        (["1.5", "", "one"], Kind.DECIMAL, (1, 2)),
        (["yes", "maybe", "no"], Kind.BOOLEAN, (1,)),
        (["2024-02-29", "2023-02-29"], Kind.DATE, (1,)),
        (["2024-02-29 12:30", "noon"], Kind.DATETIME, (1,)),
        (["anything", "1"], Kind.CATEGORICAL, ()),
    ],
)
def test_texts_that_are_not_of_the_declared_kind(texts: list[str], kind: Kind, bad: tuple[int, ...]) -> None:
    parsed = parse(texts, kind)
    assert parsed.kind is kind and parsed.bad == bad
    assert [at for at, missing in enumerate(parsed.values.isna()) if missing] == list(bad)


@pytest.mark.parametrize(
    ("texts", "true", "false", "values"),
    [
        (["TRUE"], "TRUE", "FALSE", [True]),
        (["False"], "True", "False", [False]),
        (["no", "yes"], "yes", "no", [False, True]),
        (["N", "Y"], "Y", "N", [False, True]),
    ],
)
def test_spellings_of_truth(texts: list[str], true: str, false: str, values: list[bool]) -> None:
    parsed = parse(texts)
    assert parsed.kind is Kind.BOOLEAN and parsed.values.tolist() == values
    assert (parsed.format.true, parsed.format.false) == (true, false)


def test_declared_booleans_may_be_written_as_one_and_zero() -> None:
    assert parse(["0", "1"]).kind is Kind.INTEGER
    assert parse(["0", "1"], Kind.BOOLEAN).values.tolist() == [False, True]
    assert parse(["off", "on"], Kind.BOOLEAN).values.tolist() == [False, True]


def test_one_letter_alone_is_no_truth_value() -> None:
    assert parse(["y"]).kind is parse(["yes"]).kind is parse(["yes", "y"]).kind is Kind.CATEGORICAL
    assert parse(["yes", "YES"]).kind is Kind.CATEGORICAL


def test_dates_read_day_before_month_where_both_would_do() -> None:
    assert parse(["01/02/2024", "03/04/2024"]).format.date_format == "%d/%m/%Y"
    assert parse(["01/02/2024", "03/14/2024"]).format.date_format == "%m/%d/%Y"
    assert parse(["01/02/2024"]).values.tolist() == [pd.Timestamp(2024, 2, 1)]
    assert ambiguous_dates(["01/02/2024", "03/04/2024"], "%d/%m/%Y")
    assert not ambiguous_dates(["01/02/2024", "13/04/2024"], "%d/%m/%Y")
    assert not ambiguous_dates(["2024-02-01"], "%Y-%m-%d")
    assert not ambiguous_dates(["01.02.2024"], "%d.%m.%Y")


def test_a_declared_format_decides_between_date_and_datetime() -> None:
    assert parse(["20240229"], date_format="%Y%m%d").kind is Kind.INTEGER
    assert parse(["29 Feb 2024"], date_format="%d %b %Y").kind is Kind.DATE
    assert parse(["29 Feb 2024 07"], date_format="%d %b %Y %H").kind is Kind.DATETIME
    assert parse(["29 Feb 2024 07"], date_format="%d %b %Y %H").values.tolist() == [pd.Timestamp(2024, 2, 29, 7)]


def test_categories_are_sorted_texts() -> None:
    for texts in (["a", "b", "é"], ["b", "a", "é"]):
        parsed = parse(texts)
        assert parsed.values.tolist() == texts
        assert parsed.values.cat.categories.tolist() == ["a", "b", "é"]
    assert parse([]).kind is Kind.CATEGORICAL
