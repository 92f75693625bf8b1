"""Surrogate identifiers that no source record has; hashes that recognize a record without its values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from hybrid.table.record_hash import SECRET_BYTES, each_once, hash_pairs, record_hashes
from hybrid.table.surrogates import with_surrogates

SECRET = bytes(range(SECRET_BYTES))


def table_of(*columns: tuple[str, Role, Kind, list[object]]) -> Table:
    frame = pd.DataFrame({name: pd.Series(values, dtype=DTYPES[kind]) for name, _, kind, values in columns})
    return Table(frame, Schema(tuple(Column(name, role, kind) for name, role, kind, _ in columns)))


def one_column(kind: Kind, values: list[object]) -> Table:
    return table_of(("id", Role.IDENTIFIER, kind, values), ("x", Role.INSENSITIVE, Kind.INTEGER, [1] * len(values)))


@pytest.mark.parametrize(
    ("kind", "values", "surrogates"),
    [
        (Kind.INTEGER, [7, 345, None], [1001, 1002]),
        (Kind.INTEGER, [-9999, 1, 2], [10001, 10002]),
        (Kind.INTEGER, [None, None, None], [11, 12]),
        (Kind.INTEGER, [2**63 - 1, 1, 2], [10**17 + 1, 10**17 + 2]),
        (Kind.DECIMAL, [7.0, 345.0, None], [1001.0, 1002.0]),
        (Kind.CATEGORICAL, ["P1", "P2", None], ["S000001", "S000002"]),
        (Kind.CATEGORICAL, ["S7", "SY0001", None], ["SYY000001", "SYY000002"]),
        (Kind.CATEGORICAL, ["Smith", "S", None], ["S000001", "S000002"]),
    ],
)
def test_surrogates(kind: Kind, values: list[object], surrogates: list[object]) -> None:
    source = one_column(kind, values)
    filled = with_surrogates(source.only(["x"]).take(np.array([0, 1])), source.schema, source)
    assert filled.schema == source.schema
    assert filled.frame["id"].tolist() == surrogates
    assert not set(filled.frame["id"]) & set(source.frame["id"].dropna())


def test_rows_of_a_synthetic_person_share_the_surrogates_of_a_person() -> None:
    source = table_of(
        ("visit", Role.IDENTIFIER, Kind.INTEGER, [1, 2, 3]),
        ("name", Role.IDENTIFIER, Kind.CATEGORICAL, ["Ann", "Ann", "Bob"]),
        ("patient", Role.IDENTIFIER, Kind.CATEGORICAL, ["P1", "P1", "P2"]),
        ("x", Role.INSENSITIVE, Kind.INTEGER, [1, 2, 3]),
    )
    source = replace(source, named_persons=np.array([0, 0, 1]))
    drawn = replace(source.only(["x"]), named_persons=np.array([4, 9, 4]))
    found = with_surrogates(drawn, source.schema, source, ["patient"]).frame
    assert found["visit"].tolist() == [11, 14, 17]
    assert found["patient"].tolist() == ["S000003", "S000006", "S000003"]
    assert found["name"].tolist() == ["S000002", "S000005", "S000002"]


def test_drawn_persons_share_no_household() -> None:
    source = table_of(
        ("home", Role.IDENTIFIER, Kind.CATEGORICAL, ["H1", "H1", "H1"]),
        ("patient", Role.IDENTIFIER, Kind.CATEGORICAL, ["P1", "P1", "P2"]),
        ("x", Role.INSENSITIVE, Kind.INTEGER, [1, 2, 3]),
    )
    source = replace(source, named_persons=np.array([0, 0, 1]))
    drawn = replace(source.only(["x"]), named_persons=np.array([4, 9, 4]))
    homes = with_surrogates(drawn, source.schema, source, ["patient"]).frame["home"]
    assert homes[0] != homes[1] != homes[2] and "H1" not in set(homes)


def test_surrogates_of_a_row_differ_and_are_never_given_again() -> None:
    """Name, first name and case number of a person once read the same."""
    values: list[object] = [f"N{at}" for at in range(12)]
    names = ("name", "first", "case")
    source = table_of(
        *((name, Role.IDENTIFIER, Kind.CATEGORICAL, values) for name in names),
        ("x", Role.INSENSITIVE, Kind.INTEGER, [1] * 12),
    )
    first = with_surrogates(source.only(["x"]), source.schema, source).frame
    later = with_surrogates(source.only(["x"]).take(np.arange(5)), source.schema, source, after=(12, 12)).frame
    together = pd.concat([first, later])
    assert all(len(set(row)) == 3 for row in together[list(names)].to_numpy())
    assert all(together[name].is_unique for name in names)


@pytest.mark.parametrize("told_by", ["value", "number", "gap", "nothing", "few"])
def test_an_identifier_stays_empty_where_the_source_has_none(told_by: str) -> None:
    """A case number was once made for the half of the rows that have no case."""
    rows, rng = 400, np.random.default_rng(1)
    again = rng.random(rows) < (0.005 if told_by == "few" else 0.5)
    cases: list[object] = [f"C{at}" if one else None for at, one in enumerate(again)]
    cases = [None if one is not None else f"C{at}" for at, one in enumerate(cases)] if told_by == "few" else cases
    charge = [f"F{at % 30}" if one or told_by != "gap" else None for at, one in enumerate(again)]
    flag = [bool(one) if told_by == "value" else bool(at % 2) for at, one in enumerate(again)]
    source = table_of(
        ("case", Role.IDENTIFIER, Kind.CATEGORICAL, cases),
        ("flag", Role.INSENSITIVE, Kind.BOOLEAN, list(flag)),
        ("charge", Role.INSENSITIVE, Kind.CATEGORICAL, list(charge)),
        ("prior", Role.INSENSITIVE, Kind.INTEGER, [1 if one or told_by != "number" else None for one in again]),
    )
    drawn = source.only(["flag", "charge", "prior"]).take(rng.permutation(rows)[:300])
    found = with_surrogates(drawn, source.schema, source).frame
    empty = found["case"].isna().to_numpy()
    match told_by:
        case "value":
            assert (empty == ~found["flag"].astype(bool)).all()
        case "number":
            assert (empty == found["prior"].isna()).all() and empty.any()
        case "gap":
            assert (empty == found["charge"].isna()).all() and empty.any()
        case "nothing":
            assert abs(empty.mean() - source.frame["case"].isna().mean()) < 0.01
        case _:
            assert not empty.any(), "a gap of two people is theirs alone"


@pytest.mark.parametrize("kind", [Kind.DATE, Kind.DECIMAL, Kind.BOOLEAN])
def test_identifiers_of_other_kinds_are_missing(kind: Kind) -> None:
    source = one_column(kind, [None, None])
    assert with_surrogates(source.only(["x"]), source.schema, source).frame["id"].isna().all()


def test_decimals_that_measure_are_no_numbers_of_people() -> None:
    source = one_column(Kind.DECIMAL, [52.52, 13.4])
    assert with_surrogates(source.only(["x"]), source.schema, source).frame["id"].isna().all()


PEOPLE = table_of(
    ("id", Role.IDENTIFIER, Kind.INTEGER, [1, 1, 2, None, None]),
    ("age", Role.QUASI_IDENTIFIER, Kind.INTEGER, [30, 31, 30, 40, 41]),
)


def test_a_record_is_its_identifier_and_without_one_all_its_values() -> None:
    hashes = record_hashes(PEOPLE, SECRET)
    assert hashes.dtype == np.uint64
    assert hashes[0] == hashes[1]
    assert len(set(hashes.tolist())) == 4
    by_age = record_hashes(PEOPLE, SECRET, key=["age"])
    assert by_age[0] == by_age[2] and len(set(by_age.tolist())) == 4


def test_one_identifier_of_several_is_enough() -> None:
    table = table_of(
        ("id", Role.IDENTIFIER, Kind.INTEGER, [1, 1, None]),
        ("card", Role.IDENTIFIER, Kind.INTEGER, [None, None, None]),
        ("age", Role.QUASI_IDENTIFIER, Kind.INTEGER, [30, 31, 30]),
    )
    first, same, nameless = record_hashes(table, SECRET).tolist()
    assert first == same != nameless


def test_hashes_neither_depend_on_the_other_rows_nor_survive_another_secret() -> None:
    turned = np.array([3, 1, 0])
    np.testing.assert_array_equal(record_hashes(PEOPLE.take(turned), SECRET), record_hashes(PEOPLE, SECRET)[turned])
    other = record_hashes(PEOPLE, bytes(SECRET_BYTES))
    assert not set(other.tolist()) & set(record_hashes(PEOPLE, SECRET).tolist())


def test_a_missing_value_is_no_text() -> None:
    table = table_of(
        ("a", Role.INSENSITIVE, Kind.CATEGORICAL, ["nan", None, "x"]),
        ("b", Role.INSENSITIVE, Kind.CATEGORICAL, ["x", "x", "nan"]),
    )
    assert len(set(record_hashes(table, SECRET).tolist())) == 3


def test_equal_hashes_are_numbered_in_order_of_appearance() -> None:
    hashes = np.array([5, 7, 5, 5, 7], dtype=np.uint64)
    once = each_once(hashes)
    assert len(set(once.tolist())) == 5
    np.testing.assert_array_equal(once[:2], hashes[:2])
    assert once[3] == hash_pairs(hashes[3:4], np.array([2], dtype=np.uint64))[0]
    assert each_once(hashes[:0]).tolist() == []


def test_pairs_are_ordered() -> None:
    one, two = np.uint64(1), np.uint64(2)
    assert hash_pairs(one, two) != hash_pairs(two, one)
    # SplitMix64 (Steele et al. 2014) of state 0: the first output of the published reference code with seed 0.
    assert int(hash_pairs(np.uint64(0), np.uint64(0))) == 0xE220A8397B1DCDAF
