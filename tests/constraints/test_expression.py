"""Formulas: the grammar, its limits, and three-valued truth."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.constraints.expression import NotAnExpression, _Evaluation, parse
from hybrid.table import Kind
from tests.constraints.small_tables import table_of

TABLE = table_of(
    cost=(Kind.DECIMAL, [1.5, -2.0, None]),
    stay=(Kind.INTEGER, [0, 3, 4]),
    ward=(Kind.CATEGORICAL, ["ICU", "ER", None]),
    dead=(Kind.BOOLEAN, [True, False, None]),
    start=(Kind.DATE, pd.to_datetime(["2024-01-01", "2024-02-01", None])),
    end=(Kind.DATE, pd.to_datetime(["2024-01-03", "2024-01-31", "2024-05-01"])),
    **{"capital-gain": (Kind.INTEGER, [1, 2, 3])},
)
T, F, U = True, False, None


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("cost >= 0", [T, F, U]),
        ("0 <= stay < 4", [T, T, F]),
        ("ward == 'ICU'", [T, F, U]),
        ("ward = 'ICU' and cost >= 0", [T, F, U]),
        ("ward != 'a = b' and stay = 3", [F, T, F]),
        ("ward != 'ICU' or stay == 0", [T, T, U]),
        ("ward in ['ICU', 'ER']", [T, T, U]),
        ("ward not in ('ICU',)", [F, T, U]),
        ("not dead", [F, T, U]),
        ("dead == true", [T, F, U]),
        ("end - start >= 2", [T, F, U]),
        ("start <= end", [T, F, U]),
        ("start < '2024-01-15'", [T, F, U]),
        ("`capital-gain` * 2 - 1 <= stay + 1", [T, T, T]),
        ("abs(cost) > 1.6", [F, T, U]),
        ("max(stay, 2) == 2 and min(stay, `capital-gain`) <= 1", [T, F, F]),
        ("missing(ward) or cost > -5", [T, T, T]),
        ("-cost < +stay", [T, T, U]),
        ("cost / stay > 0 or stay == 0", [T, F, U]),
    ],
)
def test_truth_of_each_row(text: str, truth: list[bool | None]) -> None:
    found = parse(text).value(TABLE)
    assert [None if value is pd.NA else bool(value) for value in found] == truth
    assert parse(text).sort(TABLE.schema) == "truth"


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__",
        "cost.real > 0",
        "cost[0] > 1",
        "lambda: 1",
        "[x for x in cost]",
        "cost ** 9 > 1",
        "cost if dead else stay",
        "(a := 1) > 0",
        "f'{cost}' == '1'",
        "eval('1') > cost",
        "abs(x=cost) > 1",
        "abs(cost, stay) > 1",
        "cost is None",
        "cost >",
        "1 < 2",
        "cost > " + "(" * 500,
        "cost > " + " + ".join(["1"] * 300),
        "cost > b'1'",
        "",
    ],
)
def test_whatever_is_not_in_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(NotAnExpression):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "ward > 3",
        "ward + 1 > 2",
        "cost and dead",
        "dead < true",
        "start < 'May'",
        "start + end > 3",
        "missing(3) or dead",
        "stay in dead",
        "[cost] == 1",
    ],
)
def test_parts_that_do_not_fit_the_columns_are_refused(text: str) -> None:
    with pytest.raises(NotAnExpression):
        parse(text).sort(TABLE.schema)


def test_columns_in_order_of_appearance() -> None:
    assert parse("`capital-gain` > cost and missing(ward) or cost < 3").columns == ("capital-gain", "cost", "ward")


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=20))
def test_numbers_as_numpy_computes_them(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs).T
    table = table_of(a=(Kind.INTEGER, list(a)), b=(Kind.INTEGER, list(b)))
    found = parse("2 * a - b <= max(a, b) + 1 and not a == b").value(table)
    assert list(found) == list((2 * a - b <= np.maximum(a, b) + 1) & ~(a == b))


NUMBERS = ["1/0", "0/0", "(1 < 2)", "1e308*10", "true", "age/0", "(1 in [2])"]


@pytest.mark.parametrize("sign", ["<", "==", "*", "/", "and", "or", "not in", "> 1 and age >"])
@pytest.mark.parametrize("form", ["age > 0 or {}", "not (age > {})"])
def test_constants_are_computed_as_columns_are(sign: str, form: str) -> None:
    """Whatever has a sort gives a truth of each row, and no other error than that of the grammar."""
    table = table_of(age=(Kind.INTEGER, [41, None, 0]))
    for first, second in product(NUMBERS, [*NUMBERS, "age"]):
        text = form.format(f"{first} {sign} [{second}]" if sign == "not in" else f"{first} {sign} {second}")
        try:
            expression = parse(text)
            sort = expression.sort(table.schema)
        except NotAnExpression:
            continue
        assert sort == "truth"
        assert list(expression.value(table).index) == [0, 1, 2]
        assert expression.value(table).dtype == "boolean"


def test_each_part_of_a_long_sum_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level was computed twice: a sum of 18 columns took a quarter of a million additions."""
    seen = []
    once = _Evaluation._name
    monkeypatch.setattr(_Evaluation, "_name", lambda self, node: seen.append(node.id) or once(self, node))
    table = table_of(a=(Kind.INTEGER, [1, 2]))
    assert parse(" + ".join(["a"] * 12)).value(table).tolist() == [12, 24]
    assert len(seen) == 12


def test_logarithms_worked_by_hand() -> None:
    table = table_of(wage=(Kind.DECIMAL, [1.0, 10.0, 0.0, -3.0, None, 1000.0]))
    log = parse("log(wage)").value(table)
    assert log.isna().tolist() == [False, False, True, True, True, False]
    assert log.dropna().tolist() == pytest.approx([0.0, 2.302585093, 6.907755279])
    power = parse("exp(wage)").value(table)
    assert power.isna().tolist() == [False] * 4 + [True, True], "e to the 1000 is beyond every number"
    assert parse("exp(log(wage)) - wage").value(table).dropna().tolist() == pytest.approx([0, 0, 0], abs=1e-9)


def test_what_cannot_be_computed_is_unknown_and_breaks_nothing() -> None:
    table = table_of(age=(Kind.INTEGER, [41, 0]))
    for text in ("age > 1/0", "0/0*age > 1", "age*1e308*1e308 > 1", "1/age > 1/41"):
        assert parse(text).value(table).isna().any()
    assert list(parse("1/age > 0").value(table).fillna(True)) == [True, True]
    assert list(parse("(1 not in [2]) and age > 0").value(table)) == [True, False]


@pytest.mark.parametrize("text", ["age < " + "9" * 900, "age < 1e999", "age > -1e999"])
def test_a_number_beyond_all_numbers_is_refused(text: str) -> None:
    with pytest.raises(NotAnExpression, match="largest that there is"):
        parse(text)


def test_a_time_with_its_zone_is_refused() -> None:
    table = table_of(day=(Kind.DATE, pd.to_datetime(["2024-01-01"])))
    with pytest.raises(NotAnExpression, match="without its zone"):
        parse("day > '2024-01-01T00:00:00+14:00'").sort(table.schema)


def test_a_column_is_not_taken_for_a_quoted_one() -> None:
    assert parse("`blood pressure` > column_0_").columns == ("blood pressure", "column_0_")


DAYS = {
    # from, to, days, complete months, complete years
    "a birthday": ("1990-05-20", "2024-05-20", 12419, 408, 34),
    "the day before": ("1990-05-20", "2024-05-19", 12418, 407, 33),
    "29 February to 28 February": ("2000-02-29", "2001-02-28", 365, 11, 0),
    "29 February to 1 March": ("2000-02-29", "2001-03-01", 366, 12, 1),
    "29 February to 29 February": ("2000-02-29", "2004-02-29", 1461, 48, 4),
    "the end of January to that of February": ("2023-01-31", "2023-02-28", 28, 0, 0),
    "the end of January to March": ("2023-01-31", "2023-03-01", 29, 1, 0),
    "the end of February to that of March": ("2024-02-29", "2024-03-31", 31, 1, 0),
    "backwards": ("2024-03-01", "2024-02-29", -1, -1, -1),
    "the same day": ("2024-02-29", "2024-02-29", 0, 0, 0),
}


@pytest.mark.parametrize("case", DAYS)
def test_lengths_of_time_worked_by_hand(case: str) -> None:
    first, second, *wanted = DAYS[case]
    dates = {name: (Kind.DATE, [pd.Timestamp(day)]) for name, day in (("a", first), ("b", second))}
    table = table_of(**dates)
    found = [parse(f"{unit}(a, b)").value(table)[0] for unit in ("days", "months", "years")]
    assert found == wanted
    assert [parse(f"{unit}(a, '{second}')").value(table)[0] for unit in ("days", "months", "years")] == wanted
    assert parse(f"a + {wanted[0]}").value(table)[0] == pd.Timestamp(second)
    assert parse("b - a").value(table)[0] == wanted[0]


def test_the_first_known_value_takes_the_place_of_missing_ones() -> None:
    found = parse("known(cost, stay, 9) + 1").value(TABLE)
    assert list(found) == [2.5, -1.0, 5.0]
    assert list(parse("days(known(start, end), end)").value(TABLE)) == [2, -1, 0]
    assert list(parse("known(ward, 'home') == 'home'").value(TABLE)) == [False, False, True]
    with pytest.raises(NotAnExpression, match="one sort"):
        parse("known(cost, ward)").sort(TABLE.schema)


def test_parts_of_dates_and_rounded_numbers() -> None:
    table = table_of(
        at=(Kind.DATETIME, pd.to_datetime(["2024-02-29 23:59", "2023-01-01 00:00", None])),
        cost=(Kind.DECIMAL, [2.345, -2.5, None]),
        year=(Kind.INTEGER, [2024, 2022, 2020]),
    )
    wanted = {
        "year(at)": [2024, 2023],
        "month(at)": [2, 1],
        "day(at)": [29, 1],
        "weekday(at)": [4, 7],
        "hour(at)": [23, 0],
    }
    wanted |= {"round(cost, 1)": [2.3, -2.5], "floor(cost)": [2, -3], "days('2024-02-29', at)": [0, -424]}
    for text, values in wanted.items():
        found = parse(text).value(table)
        assert list(found[:2]) == values, text
        assert found[2] is pd.NA, text
    assert list(parse("year(at) == year").value(table)[:2]) == [True, False]
    assert parse("year(at) == year").columns == ("year", "at")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("years(cost, start)", "about dates"),
        ("round(cost, stay)", "digits"),
        ("start + end", "not about a time"),
        ("year(ward)", "dates"),
    ],
)
def test_functions_that_do_not_fit_are_refused(text: str, words: str) -> None:
    with pytest.raises(NotAnExpression, match=words):
        parse(text).sort(TABLE.schema)


@given(st.dates(pd.Timestamp("1900-01-01").date(), pd.Timestamp("2100-12-31").date()), st.integers(0, 60_000))
def test_complete_years_are_those_after_which_the_birthday_has_come(born: Any, days: int) -> None:
    table = table_of(born=(Kind.DATE, [pd.Timestamp(born)]))
    age = int(parse(f"years(born, born + {days})").value(table)[0])
    day = born + timedelta(days=days)
    birthday = [
        born.replace(year=born.year + n)
        if (born.month, born.day) != (2, 29)
        else (date(born.year + n, 2, 28) + timedelta(days=1))
        for n in (age, age + 1)
    ]
    assert birthday[0] <= day < birthday[1]
