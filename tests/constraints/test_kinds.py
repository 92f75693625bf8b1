"""Each kind of constraint: what breaks it, worked by hand, and what its form gives back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from hybrid.constraints import KINDS, Form, Rules
from hybrid.table import ColumnFormat, Kind, Schema, Table
from tests.constraints.small_tables import declared, stays, table_of

NA = None


def broken(constraint: dict[str, Any], table: Table, least: int = 1) -> list[int]:
    """Positions of the rows that break one constraint, fitted to the same table."""
    return list(np.flatnonzero(Rules.fit(declared(constraint), table, least).broken(table)))


def test_every_kind_is_registered_under_its_key() -> None:
    for key, kind in KINDS.items():
        assert list(kind.model_fields) == [key]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"lee": ["a", "b"]}, "lee"),
        ({"le": ["a", "a"]}, "two different columns"),
        ({"tied": ["a", "a"]}, "two different columns"),
        ({"equal": ["a", "b", "a"]}, "each column once"),
        ({"le": ["a", "b"], "range": {"a": [0, 1]}}, "not permitted"),
        ({"range": {"a": [2, 1]}}, "no row can meet it"),
        ({"range": {"a": [None, None]}}, "at least one"),
        ({"range": {"a": [1, "2024-01-01"]}}, "a date and the other a number"),
        ({"combinations": ["a"]}, "at least 2"),
        ({"derived": {"a": "a + b"}}, "not from itself"),
        ({"derived": {"a": "b +"}}, "not an expression"),
        ({"derived": {}}, "at least 1"),
        ({"derived": {"a": "b", "c": "d"}}, "at most 1"),
        ({"counter": {"column": "a"}}, "by"),
    ],
)
def test_a_wrong_declaration_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        declared(wrong)


def test_le_compares_where_both_have_a_value() -> None:
    table = table_of(a=(Kind.INTEGER, [1, 3, 2, NA, 5]), b=(Kind.DECIMAL, [1.0, 2.5, NA, 0.0, 5.5]))
    assert broken({"le": ["a", "b"]}, table) == [1]


def test_range_includes_its_limits() -> None:
    table = table_of(
        a=(Kind.INTEGER, [0, 60, 61, -1, NA]), d=(Kind.DATE, pd.to_datetime(["2024-01-01"] * 4 + ["2025-01-02"]))
    )
    assert broken({"range": {"a": [0, 60]}}, table) == [2, 3]
    assert broken({"range": {"d": [None, "2025-01-01"]}}, table) == [4]
    assert broken({"range": {"d": [None, "2025-01-01"], "a": [0, None]}}, table) == [3, 4]


def test_missing_together_is_all_or_none() -> None:
    table = table_of(a=(Kind.INTEGER, [1, NA, 1, NA]), b=(Kind.CATEGORICAL, ["x", NA, NA, "y"]))
    assert broken({"missing_together": ["a", "b"]}, table) == [2, 3]


def test_combinations_count_persons_and_missing_values() -> None:
    table = table_of(
        persons=np.array([1, 1, 2, 3, 4, 5]),
        a=(Kind.CATEGORICAL, ["x", "x", "y", "y", NA, NA]),
        b=(Kind.INTEGER, [1, 1, 2, 2, 3, 3]),
    )
    assert broken({"combinations": ["a", "b"]}, table, least=2) == [0, 1]
    assert broken({"combinations": ["a", "b"]}, table, least=3) == [0, 1, 2, 3, 4, 5]


def test_combinations_that_the_source_never_has_are_broken() -> None:
    source = table_of(a=(Kind.CATEGORICAL, ["x", "y"]), b=(Kind.CATEGORICAL, ["1", "2"]))
    other = table_of(a=(Kind.CATEGORICAL, ["x", "y", "x"]), b=(Kind.CATEGORICAL, ["2", "2", NA]))
    rules = Rules.fit(declared({"combinations": ["a", "b"]}), source, 1)
    assert list(rules.broken(other)) == [True, False, True]


def test_the_name_of_a_group_goes_with_any_value_and_the_others_keep_the_rule() -> None:
    """Towns of few people are "Other"; county and state must still be a pair that enough people have."""
    source = table_of(
        town=(Kind.CATEGORICAL, [*["Ulm"] * 6, *["Bonn"] * 6, "Lind", "Hof"]),
        county=(Kind.CATEGORICAL, [*["A"] * 6, *["K"] * 6, "K", "H"]),
        state=(Kind.CATEGORICAL, [*["BW"] * 6, *["NW"] * 6, "NW", "BY"]),
    )
    released = table_of(
        town=(Kind.CATEGORICAL, ["Other", "Other", "Ulm", "Other", "Other", "Ulm", "Bonn"]),
        county=(Kind.CATEGORICAL, ["K", "A", "K", "Other", "H", "A", "K"]),
        state=(Kind.CATEGORICAL, ["NW", "NW", "NW", "BY", "BY", "BW", "NW"]),
    )
    groups = {name: ["Other", "*"] for name in ("town", "county")}
    rules = Rules.fit(declared({"combinations": ["town", "county", "state"]}), source, 5, groups)
    assert list(rules.broken(released)) == [False, True, True, False, True, False, False]
    kept = released.take(np.array([0, 3]))
    form = Form.of(rules, kept)
    assert [rule.constraint.key for rule in form.steps] == ["combinations"]
    pd.testing.assert_frame_equal(form.decode(form.encoded).frame, kept.frame)
    mended = rules.repair(released, released, np.random.default_rng(0)).frame
    assert mended.iloc[[0, 3]].astype(object).equals(released.frame.iloc[[0, 3]].astype(object))
    assert not rules.broken(Table(mended, released.schema)).any()


def test_texts_that_name_no_group_are_broken_where_the_source_never_has_them() -> None:
    source = table_of(a=(Kind.CATEGORICAL, ["y"] * 5), b=(Kind.CATEGORICAL, ["x"] * 5))
    other = table_of(a=(Kind.CATEGORICAL, ["z", "Other", "y"]), b=(Kind.CATEGORICAL, ["x", "x", "Other"]))
    rules = Rules.fit(declared({"combinations": ["a", "b"]}), source, 5, {"a": ["Other"]})
    assert list(rules.broken(other)) == [True, False, True]


def test_a_protected_record_with_a_rare_combination_gets_an_allowed_one_that_agrees_most() -> None:
    before = table_of(a=(Kind.CATEGORICAL, ["x"] * 6 + ["y"] * 6 + ["x"]), b=(Kind.INTEGER, [1] * 6 + [2] * 6 + [2]))
    rules = Rules.fit(declared({"combinations": ["a", "b"]}), before, 5)
    after = rules.repair(before, before, np.random.default_rng(0))
    pairs = set(zip(after.frame["a"], after.frame["b"], strict=True))
    assert pairs == {("x", 1), ("y", 2)}
    assert after.frame.iloc[:12].equals(before.frame.iloc[:12])


def test_protection_that_swaps_two_dates_is_repaired_and_what_the_source_breaks_is_not() -> None:
    before = table_of(a=(Kind.INTEGER, [1, 1, 5]), b=(Kind.INTEGER, [2, 2, 3]))
    after = table_of(a=(Kind.INTEGER, [1, 3, 5]), b=(Kind.INTEGER, [2, 2, 3]))
    repaired = Rules.fit(declared({"le": ["a", "b"]}), before, 1).repair(after, before, np.random.default_rng(0))
    assert list(repaired.frame["b"]) == [2, 3, 3]


def test_a_sum_is_exact_for_integers_and_rounded_for_decimals() -> None:
    whole = table_of(t=(Kind.INTEGER, [3, 4, NA, 5]), a=(Kind.INTEGER, [1, 1, 1, NA]), b=(Kind.INTEGER, [2, 2, 2, 5]))
    assert broken({"derived": {"t": "a + b"}}, whole) == [1]
    parts = {"a": (Kind.DECIMAL, [0.1, 0.1, 0.1]), "b": (Kind.DECIMAL, [0.2, 0.2, 0.2])}
    table = table_of(t=(Kind.DECIMAL, [0.3, 0.30001, 0.4]), **parts)
    assert broken({"derived": {"t": "a + b"}}, table) == [1, 2]
    tenths = tuple(replace(c, format=ColumnFormat(decimals=1)) for c in table.schema)
    assert broken({"derived": {"t": "a + b"}}, Table(table.frame, Schema(tenths))) == [2]


def test_what_is_derived_is_computed_in_the_order_of_its_chain_and_missing_without_its_sources() -> None:
    table = table_of(
        all=(Kind.INTEGER, [0, NA, 0]),
        some=(Kind.INTEGER, [0, 0, 7]),
        a=(Kind.INTEGER, [1, 2, 3]),
        b=(Kind.DECIMAL, [4.0, 5.0, None]),
        c=(Kind.INTEGER, [1, 1, 1]),
    )
    rules = Rules.fit(declared({"derived": {"all": "some + c"}}, {"derived": {"some": "a + b"}}), table, 1)
    settled = rules.settle(table).frame
    assert list(settled["some"].fillna(-1)) == [5, 7, -1]
    assert list(settled["all"].fillna(-1)) == [6, -1, -1]
    assert not rules.broken(rules.settle(table)).any()
    assert list(rules.settle(table, keep=["all"]).frame["all"].fillna(-1)) == [0, -1, 0]


def test_the_generator_learns_of_a_derived_column_whether_it_has_a_value() -> None:
    days = pd.to_datetime(["2023-12-31", "2024-02-29", "2024-01-01"])
    table = table_of(
        cost=(Kind.DECIMAL, [0.3, 0.0, None]),
        a=(Kind.DATE, days),
        b=(Kind.DATE, pd.to_datetime(["2024-01-03", "2024-02-29", "2024-01-31"])),
        stay=(Kind.INTEGER, [3, 0, 30]),
    )
    rules = Rules.fit(declared({"derived": {"cost": "stay * 0.1"}}, {"derived": {"stay": "days(a, b)"}}), table, 1)
    form = Form.of(rules, table)
    assert [rule.replaces for rule in form.steps] == [("stay",), ("cost",)]
    encoded = form.encoded
    assert encoded.schema["cost"].kind is encoded.schema["stay"].kind is Kind.BOOLEAN
    assert list(encoded.frame["cost"]) == [True, True, False]
    decoded = form.decode(encoded)
    assert decoded.schema == table.schema
    pd.testing.assert_frame_equal(decoded.frame, table.frame.assign(cost=[0.1 * 3, 0.0, np.nan]))


def test_equal_columns_are_copied_and_only_the_first_is_learned() -> None:
    columns = {"a": [1, NA, 3, NA], "b": [1, NA, 4, 4], "c": [1, NA, 3, 4]}
    table = table_of(**{name: (Kind.INTEGER, values) for name, values in columns.items()})
    assert broken({"equal": ["a", "b"]}, table) == [2, 3]
    assert broken({"equal": ["a", "b", "c"]}, table) == [2, 3]
    rules = Rules.fit(declared({"equal": ["b", "a", "c"]}), table, 1)
    form = Form.of(rules, table)
    assert form.encoded.schema.names == ["b"]
    pd.testing.assert_frame_equal(form.decode(form.encoded).frame, form.learned.frame)
    assert list(form.learned.frame["c"].fillna(-1)) == [1, -1, 4, 4]
    assert rules.repair(table, table, np.random.default_rng(0)).frame["a"].equals(table.frame["b"].rename("a"))


def test_unique_marks_repetitions_of_an_earlier_row() -> None:
    table = table_of(a=(Kind.INTEGER, [1, 1, 2, 1, NA, NA]), b=(Kind.CATEGORICAL, ["x", "y", "x", "x", "x", "x"]))
    assert broken({"unique": ["a", "b"]}, table) == [3]
    assert broken({"unique": ["b"]}, table) == [2, 3, 4, 5]


COUNTED = {"n": (Kind.INTEGER, [2, 1, 1, 2, NA]), "day": (Kind.INTEGER, [9, 3, 5, 5, 1])}


def test_a_counter_numbers_the_rows_of_a_person_in_their_order() -> None:
    of_person = {"counter": {"column": "n", "by": "day"}}
    assert broken(of_person, table_of(np.array([7, 7, 8, 8, 9]), **COUNTED)) == []
    other = table_of(np.array([7, 8, 8, 7, 9]), **COUNTED)
    assert broken(of_person, other) == [2, 3]
    rules = Rules.fit(declared(of_person), other, 1)
    assert list(rules.settle(other).frame["n"].fillna(-1)) == [2, 1, 2, 1, -1]
    assert rules.unjudged(table_of(**COUNTED)) == [rules.rules[0].constraint]


def test_a_counter_within_the_values_of_a_column() -> None:
    table = table_of(ward=(Kind.CATEGORICAL, ["x", "x", "y", "y", "x"]), **COUNTED)
    assert broken({"counter": {"column": "n", "within": "ward", "by": "day"}}, table) == [0, 1]


DECLARED = (
    {"le": ["admitted", "discharged"]},
    {"combinations": ["city", "postcode"]},
    {"missing_together": ["test", "result"]},
    {"derived": {"total": "drugs + bed"}},
)


def test_the_form_gives_the_records_back() -> None:
    table = stays(200)
    form = Form.of(Rules.fit(declared(*DECLARED), table, 1), table)
    assert [rule.constraint.key for rule in form.steps] == ["derived", "le", "combinations"]
    assert "postcode" not in form.encoded.schema
    assert form.replaced == {"discharged", "city", "postcode", "total"}
    decoded = form.decode(form.encoded)
    pd.testing.assert_frame_equal(decoded.frame, table.frame)
    assert decoded.schema == table.schema


def test_a_gap_is_no_longer_than_enough_persons_have_it() -> None:
    admitted = pd.to_datetime(["2024-01-01"] * 10)
    table = table_of(
        a=(Kind.DATE, admitted), b=(Kind.DATE, admitted + pd.to_timedelta([2] * 3 + [5] * 5 + [9, 400], unit="D"))
    )
    form = Form.of(Rules.fit(declared({"le": ["a", "b"]}), table, 5), table)
    assert sorted(set(form.encoded.frame["b"])) == [5]
    assert Form.of(Rules.fit(declared({"le": ["a", "b"]}), table, 1), table).encoded.frame["b"].max() == 400


def test_an_order_whose_smaller_column_alone_is_missing_is_held_by_drawing_again() -> None:
    table = table_of(a=(Kind.INTEGER, [NA, 1, 2]), b=(Kind.INTEGER, [4, 4, NA]))
    form = Form.of(Rules.fit(declared({"le": ["a", "b"]}), table, 1), table)
    assert form.steps == ()


def test_rules_that_write_the_same_column_are_not_both_held_by_the_form() -> None:
    table = table_of(a=(Kind.INTEGER, [1, 2]), b=(Kind.INTEGER, [2, 2]), c=(Kind.INTEGER, [3, 9]))
    constraints = declared({"le": ["a", "b"]}, {"le": ["b", "c"]}, {"combinations": ["b", "c"]})
    form = Form.of(Rules.fit(constraints, table, 1), table)
    assert [rule.constraint.columns for rule in form.steps] == [("a", "b"), ("b", "c")]
    pd.testing.assert_frame_equal(form.decode(form.encoded).frame, table.frame)
