"""Constraints that hold in all rows are found, and what holds by chance is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.constraints import Rules
from hybrid.constraints.discover import SAMPLED, discover
from hybrid.table import Column, Kind, Role, Schema, Table
from tests.constraints.small_tables import stays, table_of


def texts(table: Table) -> list[str]:
    return [one.constraint.text for one in discover(table)]


def changed(table: Table, **columns: pd.Series) -> Table:
    return Table(table.frame.assign(**columns), table.schema)


TABLE = stays(400)
ROW = TABLE.frame.index
FOUND = [
    "{le: [admitted, discharged]}",
    "{derived: {total: drugs + bed}}",
    "{combinations: [postcode, city]}",
    "{missing_together: [test, result]}",
]


def test_what_holds_in_all_rows_is_found_in_the_order_of_the_kinds() -> None:
    assert texts(TABLE) == FOUND


@pytest.mark.parametrize(
    ("broken", "lost"),
    [
        ({"discharged": TABLE.frame["discharged"].where(ROW != 7, pd.Timestamp("2020-01-01"))}, 0),
        ({"total": TABLE.frame["total"].where(ROW > 7, 1000)}, 1),
        (
            {"city": TABLE.frame["city"].mask(ROW == 7, "city 1").mask(ROW == 8, "city 2")},
            2,
        ),
        ({"test": TABLE.frame["test"].mask(TABLE.frame["test"].first_valid_index() == ROW)}, 3),
    ],
)
def test_a_row_that_breaks_it_is_enough_and_of_a_formula_some(broken: dict[str, pd.Series], lost: int) -> None:
    assert FOUND[lost] not in texts(changed(TABLE, **broken))


@pytest.mark.parametrize(("kind", "wanted"), [(Kind.INTEGER, "(died == 0)"), (Kind.BOOLEAN, "(not died)")])
def test_a_flag_that_says_whether_there_is_a_date_is_found(kind: Kind, wanted: str) -> None:
    rng = np.random.default_rng(6)
    dead = rng.random(300) < 0.2
    dates = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 300), "D")).where(dead)
    table = table_of(died=(kind, list(dead)), death=(Kind.DATE, dates), x=(Kind.INTEGER, list(rng.integers(0, 2, 300))))
    text = f"missing(death) == {wanted}"
    assert texts(table) == [f"{{formula: {text}}}"] or texts(table) == [f"{{formula: '{text}'}}"]
    wrong = dates.mask(dates.index == np.flatnonzero(dead)[0])
    assert texts(changed(table, death=wrong.astype("datetime64[us]"))) == []


def test_shuffled_columns_have_no_constraints() -> None:
    rng = np.random.default_rng(3)
    columns = {name: TABLE.frame[name].iloc[rng.permutation(400)].reset_index(drop=True) for name in TABLE.frame}
    assert texts(changed(TABLE, **columns)) == []


def test_identifiers_and_undecided_columns_do_not_count() -> None:
    roles = {"city": Role.IDENTIFIER, "total": Role.UNDECIDED}
    columns = tuple(replace(c, role=roles.get(c.name, c.role)) for c in TABLE.schema)
    assert texts(Table(TABLE.frame, Schema(columns))) == [FOUND[0], FOUND[3]]


def test_copies_are_found_and_stand_for_one_another() -> None:
    twice = {"entered": Kind.DATE, "town": Kind.CATEGORICAL}
    frame = TABLE.frame.assign(entered=TABLE.frame["admitted"], town=TABLE.frame["city"])
    schema = Schema((*TABLE.schema, *(Column(name, Role.INSENSITIVE, kind) for name, kind in twice.items())))
    equal = ["{equal: [admitted, entered]}", "{equal: [city, town]}"]
    assert texts(Table(frame, schema)) == [*equal, *FOUND]
    other = Table(frame.assign(town=frame["town"].where(ROW != 3, "city 1")), schema)
    assert equal[1] not in texts(other)


def test_dates_that_lie_close_together_are_tied_where_some_are_out_of_order() -> None:
    before = TABLE.frame["discharged"].where(ROW > 7, TABLE.frame["admitted"] - pd.Timedelta(days=1))
    found = texts(changed(TABLE, discharged=before))
    assert found[0] == "{tied: [admitted, discharged]}"
    assert "{le: [admitted, discharged]}" not in found


def test_few_rows_show_nothing() -> None:
    assert texts(stays(90)) == []


def test_numbers_whose_ranges_hardly_meet_have_no_order_worth_a_word() -> None:
    n = np.arange(200)
    assert texts(table_of(a=(Kind.INTEGER, list(n % 5)), b=(Kind.INTEGER, list(1000 + n % 7)))) == []


def test_an_order_that_follows_from_two_others_is_left_out() -> None:
    rng = np.random.default_rng(0)
    a, b, c = np.cumsum(rng.integers(0, 5, (3, 300)), axis=0)
    table = table_of(a=(Kind.INTEGER, list(a)), b=(Kind.INTEGER, list(b)), c=(Kind.INTEGER, list(c)))
    orders = [text for text in texts(table) if text.startswith("{le")]
    assert orders == ["{le: [a, b]}", "{le: [b, c]}"]


def test_categories_that_exclude_each_other_are_found() -> None:
    rng = np.random.default_rng(0)
    work, job = rng.choice(["none", "state", "own"], 600), rng.choice(["x", "y"], 600)
    table = table_of(
        work=(Kind.CATEGORICAL, list(work)), job=(Kind.CATEGORICAL, list(np.where(work == "none", None, job)))
    )
    assert texts(table) == ["{combinations: [work, job]}"]


def test_categories_that_exclude_each_other_are_not_found_where_many_rows_would_get_others() -> None:
    """A department has its own grades, and a few people at each grade of others."""
    rng = np.random.default_rng(1)
    office, own = rng.integers(0, 3, 900), rng.integers(0, 5, 900)
    grade = np.where(rng.random(900) < 0.1, 100 + rng.integers(0, 300, 900), 3 * office + own)
    table = table_of(
        office=(Kind.CATEGORICAL, [f"o{one}" for one in office]), grade=(Kind.CATEGORICAL, [f"g{one}" for one in grade])
    )
    assert texts(table) == []
    kept = table.take(np.flatnonzero(grade < 100))
    assert texts(kept) == ["{combinations: [office, grade]}"]


def test_counters_need_persons_with_several_rows() -> None:
    persons = np.repeat(np.arange(150), 3)
    rng = np.random.default_rng(0)
    day = np.sort(rng.integers(0, 90, (150, 3)), axis=1).ravel()
    columns = {"visit": (Kind.INTEGER, [1, 2, 3] * 150), "day": (Kind.INTEGER, list(day))}
    found = texts(table_of(persons, born=(Kind.INTEGER, list(1950 + persons % 60)), **columns))
    assert [text for text in found if "counter" in text] == ["{counter: {column: visit, within: person, by: day}}"]
    assert not any("counter" in text for text in texts(table_of(**columns)))


def test_what_a_sample_suggests_is_checked_on_all_rows() -> None:
    n = 2 * SAMPLED
    a = np.arange(n) % 50
    b = a + 1
    b[np.random.default_rng(1).integers(n)] = -1
    table = table_of(a=(Kind.INTEGER, list(a)), b=(Kind.INTEGER, list(b)))
    assert "{le: [a, b]}" not in texts(table)


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_no_row_breaks_what_is_found(seed: int) -> None:
    table = stays(150, seed)
    found = [one.constraint for one in discover(table)]
    assert found
    assert not Rules.fit(found, table, 1).broken(table).any()
