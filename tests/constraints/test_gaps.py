"""Dates of a row that lie close together: found, and learned as one date and gaps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.constraints import Form, Rules
from hybrid.constraints.gaps import closeness, gaps, ties
from hybrid.table import Kind, Role, Schema, Table
from tests.constraints.small_tables import declared, table_of

DAY = pd.Timedelta(days=1)
NO = [None] * 20


def stay(n: int = 400) -> Table:
    """Birth, admission, discharge some days later, its date copied, and a letter written before the admission."""
    rng = np.random.default_rng(0)
    admitted = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"))
    length = pd.Series(rng.geometric(0.3, n))
    hour = pd.Series(pd.to_timedelta(rng.integers(0, 86_400, n), unit="s"))
    return table_of(
        born=(Kind.DATE, list(admitted - pd.to_timedelta(rng.integers(7_000, 30_000, n), unit="D"))),
        admitted=(Kind.DATE, list(admitted)),
        seen=(Kind.DATETIME, list(admitted + length * DAY + hour)),
        letter=(Kind.DATE, [*list(admitted - DAY)[:-20], *NO]),
        other=(Kind.DATE, list(admitted.sample(frac=1, random_state=1))),
    )


def test_ties_are_close_and_point_to_the_date_that_is_there() -> None:
    """The letter is earlier, but missing in twenty rows: it is counted from the admission, not the other way round."""
    assert ties(stay()) == [("admitted", "letter"), ("admitted", "seen")]


def test_few_rows_are_no_tie_and_a_column_is_tied_once() -> None:
    assert ties(stay(90)) == []
    table = stay()
    copy = table.frame.assign(other=table.frame["admitted"])
    found = ties(Table(copy, table.schema))
    assert ("admitted", "other") in found
    assert len({second for _, second in found}) == len(found) == 3


def test_days_are_counted_from_the_date_of_a_time() -> None:
    first = [pd.Timestamp("2024-01-01 23:00"), pd.Timestamp("2024-01-01 01:00"), None]
    table = table_of(a=(Kind.DATETIME, first), b=(Kind.DATE, [pd.Timestamp("2024-01-02")] * 3))
    assert gaps(table, "a", "b").tolist()[:2] == [1, 1]
    assert gaps(table, "b", "a").tolist()[:2] == [-3_600_000_000, -82_800_000_000]
    assert np.isnan(gaps(table, "a", "b")[2])


def test_closeness_is_the_spread_of_the_gaps_beside_that_of_the_dates() -> None:
    dates = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(101), unit="D")
    later = dates + pd.to_timedelta(np.tile([0, 8], 51)[:101], unit="D")
    table = table_of(a=(Kind.DATE, list(dates)), b=(Kind.DATE, list(later)))
    assert closeness(table, "b", "a") == pytest.approx(8 / 80)
    assert closeness(table, "a", "a") == 0


@pytest.mark.parametrize("pair", [["admitted", "seen"], ["admitted", "letter"], ["seen", "letter"]])
def test_the_form_gives_the_dates_back(pair: list[str]) -> None:
    table = stay()
    form = Form.of(Rules.fit(declared({"tied": pair}), table, 1), table)
    assert form.encoded.schema[pair[1]].kind is Kind.INTEGER
    pd.testing.assert_frame_equal(form.decode(form.encoded).frame, table.frame)


def test_the_closest_of_several_dates_is_counted_from() -> None:
    """An order after the birth is no reason to learn an admission as an age in days."""
    table = stay()
    orders = declared({"le": ["born", "admitted"]}, {"le": ["born", "seen"]}, {"le": ["admitted", "seen"]})
    steps = Form.of(Rules.fit(orders, table, 1), table).steps
    assert [(rule.columns, rule.replaces) for rule in steps] == [(("born", "admitted", "seen"), ("seen",))]


def test_two_rules_in_opposite_directions_are_not_both_learned() -> None:
    table = stay()
    rules = Rules.fit(declared({"le": ["admitted", "seen"]}, {"tied": ["seen", "admitted"]}), table, 1)
    assert len(Form.of(rules, table).steps) == 1


def test_a_gap_that_few_persons_reach_is_broken() -> None:
    table = stay()
    far = table.frame["admitted"] + 400 * DAY
    odd = Table(table.frame.assign(seen=table.frame["seen"].mask(table.frame.index < 3, far)), table.schema)
    rules = Rules.fit(declared({"tied": ["admitted", "seen"]}), odd, 5)
    assert rules.broken(odd)[:3].all()
    assert rules.broken(odd).sum() <= 2 * 4
    drawn = rules.forms(odd)[0].decode(rules.forms(odd)[0].encode(odd, odd), odd)
    assert not rules.broken(drawn).any()


def test_drawn_dates_stay_within_the_learned_range() -> None:
    table = stay()
    form = Form.of(Rules.fit(declared({"tied": ["admitted", "seen"]}), table, 1), table)
    late = form.encoded
    late = Table(late.frame.assign(admitted=table.frame["admitted"].max()), late.schema)
    assert form.decode(late).frame["seen"].max() == table.frame["seen"].max()


def test_dates_beside_the_order_of_rows_and_of_persons_are_tied_only_alike() -> None:
    table = stay()
    rules = Rules.fit(declared({"tied": ["admitted", "seen"]}), table, 1)
    assert [rule.other for rule in rules.tied(table, ())] == ["seen"]
    assert rules.tied(table, ("seen",)) == ()
    assert [rule.other for rule in rules.tied(table, ("admitted", "seen"))] == ["seen"]


def test_only_the_first_of_equal_columns_may_be_a_quasi_identifier() -> None:
    (equal,) = declared({"equal": ["a", "b"]})
    table = table_of(a=(Kind.INTEGER, [1, 2]), b=(Kind.INTEGER, [1, 2]))
    a, b = table.schema
    quasi = [replace(column, role=Role.QUASI_IDENTIFIER) for column in (a, b)]
    assert list(equal.problems(Schema((quasi[0], b)))) == []
    (problem,) = equal.problems(Schema((a, quasi[1])))
    assert "b" in problem.message
    (problem,) = equal.problems(Schema((a, replace(b, kind=Kind.DECIMAL))))
    assert "one kind" in problem.message
