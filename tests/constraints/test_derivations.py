"""Columns that are computed from others are found, and coincidences are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.constraints import Form, Rules
from hybrid.constraints.discover import derivations, discover
from hybrid.table import ColumnFormat, Kind, Schema, Table
from tests.constraints.small_tables import declared, table_of

RNG = np.random.default_rng(4)
N = 400
BORN = pd.Timestamp("1930-01-01") + pd.to_timedelta(RNG.integers(0, 30_000, N), unit="D")
CAME = pd.Timestamp("2023-06-01 08:00") + pd.to_timedelta(RNG.integers(0, 60 * 24 * 400, N), unit="min")
LEFT = CAME + pd.to_timedelta(RNG.integers(30, 60 * 24 * 20, N), unit="min")
PRICE, COUNT = np.round(RNG.uniform(1, 90, N), 2), RNG.integers(1, 12, N)
FEES = np.where(RNG.random(N) < 0.1, np.round(RNG.uniform(1, 9, N), 2), 0.0)
GIVEN: dict[str, tuple[Kind, Any]] = {
    "born": (Kind.DATE, BORN),
    "came": (Kind.DATETIME, CAME),
    "left": (Kind.DATETIME, LEFT),
    "price": (Kind.DECIMAL, PRICE),
    "count": (Kind.INTEGER, COUNT),
    "fees": (Kind.DECIMAL, FEES),
}


def nights() -> Any:
    return (LEFT.normalize() - CAME.normalize()).days


def months() -> Any:
    return 12 * (CAME.year - BORN.year) + CAME.month - BORN.month - (CAME.day < BORN.day)


COMPUTED: dict[str, tuple[Kind, Any, str]] = {
    "nights": (Kind.INTEGER, nights(), "days(came, left)"),
    "days": (Kind.INTEGER, nights() + 1, "days(came, left) + 1"),
    "hours": (Kind.INTEGER, (LEFT - CAME) // pd.Timedelta(hours=1), "floor((left - came) * 24)"),
    "year": (Kind.INTEGER, CAME.year, "year(came)"),
    "weekday": (Kind.INTEGER, CAME.weekday + 1, "weekday(came)"),
    "age": (
        Kind.INTEGER,
        2024 - BORN.year - ((BORN.month > 4) | ((BORN.month == 4) & (BORN.day > 1))),
        "years(born, '2024-04-01')",
    ),
    "months": (Kind.INTEGER, months(), "months(born, came)"),
    "years": (Kind.INTEGER, months() // 12, "years(born, came)"),
    "day": (Kind.INTEGER, (CAME.normalize() - pd.Timestamp("2023-01-01")).days, "days('2023-01-01', came)"),
    "entry": (Kind.DATE, CAME.normalize(), "came"),
    "total": (Kind.DECIMAL, np.round(PRICE * COUNT, 2), "price * count"),
    "square": (Kind.INTEGER, COUNT**2, "count * count"),
    "whole": (Kind.DECIMAL, np.round(PRICE + COUNT + FEES, 2), "price + count + fees"),
    "cents": (Kind.DECIMAL, np.round(PRICE * 100), "100 * price"),
    "fahrenheit": (Kind.DECIMAL, 1.8 * COUNT + 32, "1.8 * count + 32"),
}


WAGES = np.round(RNG.lognormal(2, 0.6, N), 2)
LOGS = RNG.normal(2, 0.6, N)
GROWN: dict[str, tuple[Any, Any, int | None, str]] = {
    "log": (WAGES, np.log(WAGES), None, "log(other)"),
    "of single precision": (WAGES, np.log(WAGES).astype(np.float32).astype(float), None, "log(other)"),
    "rounded": (WAGES, np.log(WAGES), 4, "log(other)"),
    "of what may be 0": (COUNT - 1.0, np.log(COUNT), None, "log(other + 1)"),
    "to 10": (WAGES, np.log10(WAGES), None, "log(other) / log(10)"),
    "of which only the logarithm has all digits": (LOGS, np.exp(LOGS), 2, "exp(other)"),
}


@pytest.mark.parametrize("case", GROWN)
def test_logarithms_are_found(case: str) -> None:
    other, values, digits, text = GROWN[case]
    values = values if digits is None else np.round(values, digits)
    for off, wanted in ((0.0, [{"grown": text}]), (0.05, [])):
        wrong = values + np.where(np.arange(N) % 3, 0, off)
        table = table_of(other=(Kind.DECIMAL, other), grown=(Kind.DECIMAL, wrong))
        first, grown = table.schema
        schema = Schema((first, replace(grown, format=ColumnFormat(decimals=digits))))
        assert [one.derived for one in derivations(replace(table, schema=schema))] == wanted


@pytest.mark.parametrize("name", COMPUTED)
def test_what_is_computed_is_found(name: str) -> None:
    kind, values, text = COMPUTED[name]
    (found,) = derivations(table_of(**GIVEN, **{name: (kind, list(values))}))
    assert found.derived == {name: text}


def test_two_flags_that_are_both_up_are_one_flag() -> None:
    """afhigh = afchnge * highearn: rows with one of three up, or the wrong one, came out."""
    one, other = (RNG.random(N) < 0.4).astype(int), (RNG.random(N) < 0.3).astype(int)
    flags = {"one": (Kind.INTEGER, one), "other": (Kind.INTEGER, other)}
    (found,) = derivations(table_of(**flags, both=(Kind.INTEGER, one * other)))
    assert found.derived == {"both": "one * other"}
    nearly = one * other
    nearly[np.flatnonzero(one > other)[0]] = 1
    assert list(derivations(table_of(**flags, both=(Kind.INTEGER, nearly)))) == []
    assert list(derivations(table_of(**flags, copy=(Kind.INTEGER, one)))) == []


def test_a_total_of_what_was_answered_is_found() -> None:
    items = {
        f"item_{at}": [None if RNG.random() < 0.2 else int(RNG.integers(-1, 2)) for _ in range(N)] for at in "abcd"
    }
    columns = {name: (Kind.INTEGER, answers) for name, answers in items.items()}
    total = [sum(answer or 0 for answer in row) for row in zip(*items.values(), strict=True)]
    (found,) = derivations(table_of(**columns, total=(Kind.INTEGER, total)))
    assert found.derived == {"total": " + ".join(f"known({name}, 0)" for name in items)}
    assert not found.broken(table_of(**columns, total=(Kind.INTEGER, total))).any()


def test_a_source_with_errors_is_told_by_the_number_of_its_rows() -> None:
    wrong = nights().to_numpy().copy()
    wrong[[5, 50]] += 3
    found = {one.constraint.key: one for one in discover(table_of(**GIVEN, nights=(Kind.INTEGER, list(wrong))))}
    assert found["derived"].constraint.text == "{derived: {nights: 'days(came, left)'}}"
    assert found["derived"].broken == 2
    wrong[::20] += 1
    assert not list(derivations(table_of(**GIVEN, nights=(Kind.INTEGER, list(wrong)))))


def test_a_balance_that_is_never_negative_has_a_limit() -> None:
    loan, paid = RNG.integers(20, 90, N) * 1_000, np.round(RNG.uniform(0, 9_000, N), 2)
    balance = {"balance": (Kind.DECIMAL, list(np.round(loan - paid, 2)))}
    table = table_of(loan=(Kind.INTEGER, list(loan)), **balance, paid=(Kind.DECIMAL, list(paid)))
    texts = [one.constraint.text for one in discover(table)]
    assert "{derived: {balance: loan - paid}}" in texts and "{range: {balance: [0, null]}}" in texts


def test_shuffled_columns_and_many_rows_of_few_people_show_nothing() -> None:
    mixed = {
        name: (kind, list(pd.Series(list(values)).sample(frac=1, random_state=at)))
        for at, (name, (kind, values, _)) in enumerate(COMPUTED.items())
    }
    assert not list(derivations(table_of(**GIVEN, **mixed)))
    few = table_of(np.arange(N) // 8, **GIVEN, nights=(Kind.INTEGER, list(nights())))
    assert not list(derivations(few))


def test_discovery_on_a_wide_table_takes_seconds() -> None:
    """60 columns of 10,000 rows: a sum of three among them is found, and hardly a formula is tried on all rows."""
    rng = np.random.default_rng(0)
    values = {f"n{at}": (Kind.INTEGER, list(rng.integers(0, 50 + at, 10_000))) for at in range(59)}
    total = sum(np.array(values[f"n{at}"][1]) for at in (3, 17, 40))
    (found,) = derivations(table_of(**values, total=(Kind.INTEGER, list(total))))
    assert found.derived == {"total": "n3 + n17 + n40"}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 0.5))
def test_what_is_derived_is_never_broken_in_what_is_drawn(seed: int, missing: float) -> None:
    """Whatever a generator draws for the sources, with missing values: no formula is broken, and kinds are kept."""
    rng = np.random.default_rng(seed)
    kinds = {name: (kind, list(values)) for name, (kind, values) in GIVEN.items()}
    kinds |= {name: (kind, list(values)) for name, (kind, values, _) in COMPUTED.items() if name != "day"}
    formulas = [{"derived": {name: text}} for name, (_, _, text) in COMPUTED.items() if name != "day"]
    table = table_of(**kinds)
    form = Form.of(Rules.fit(declared(*formulas), table, 5), table)
    drawn = form.encoded
    mixed = {}
    for name in drawn.schema.names:
        column = drawn.frame[name].iloc[rng.permutation(N)].reset_index(drop=True)
        mixed[name] = column.mask(pd.Series(rng.random(N) < missing)).astype(drawn.frame[name].dtype)
    decoded = form.decode(Table(pd.DataFrame(mixed), drawn.schema))
    rules = Rules.fit(declared(*formulas), table, 5)
    assert not rules.broken(decoded).any() and not rules.broken(rules.settle(decoded)).any()
    pd.testing.assert_frame_equal(rules.settle(decoded).frame, decoded.frame)
    assert decoded.frame.dtypes.equals(table.frame.dtypes)
