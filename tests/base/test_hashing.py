"""The same content has the same name everywhere; any change has another."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.base.hashing import file_sha256, fingerprint, library_versions
from hybrid.base.options import Options
from hybrid.table import Column, Kind, Role, Schema, Table


class Size(StrEnum):
    SMALL = "small"


class SomeOptions(Options):
    k: int = 5
    names: tuple[str, ...] = ()


class OtherOptions(Options):
    k: int = 5
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pair:
    a: object
    b: object


def a_table() -> Table:
    frame = pd.DataFrame(
        {
            "age": pd.array([41, None, 2**60], dtype="Int64"),
            "pay": [0.5, np.nan, -1.0],
            "job": pd.Categorical(["nurse", None, "größe"], categories=["größe", "nurse", "unused"]),
            "ok": pd.array([True, None, False], dtype="boolean"),
            "born": pd.to_datetime(["1980-01-01", None, "2020-02-29"]).astype("datetime64[us]"),
        }
    )
    kinds = [Kind.INTEGER, Kind.DECIMAL, Kind.CATEGORICAL, Kind.BOOLEAN, Kind.DATE]
    columns = [Column(name, Role.INSENSITIVE, kind) for name, kind in zip(frame.columns, kinds, strict=True)]
    return Table(frame, Schema(tuple(columns)))


def changed(column: str, values: object) -> Table:
    table = a_table()
    frame = table.frame.copy()
    frame[column] = values
    return Table(frame, table.schema)


def test_equal_tables_have_one_fingerprint() -> None:
    assert fingerprint(a_table()) == fingerprint(a_table())


def test_what_lies_under_a_missing_integer_does_not_count() -> None:
    hidden = pd.arrays.IntegerArray(np.array([41, 999, 2**60]), np.array([False, True, False]))
    assert fingerprint(changed("age", hidden)) == fingerprint(a_table())


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("age", pd.array([41, 0, 2**60], dtype="Int64")),
        ("age", pd.array([41, None, 2**60 + 1], dtype="Int64")),
        ("pay", [0.5, 0.0, -1.0]),
        ("job", pd.Categorical(["nurse", "nurse", "größe"], categories=["größe", "nurse", "unused"])),
        ("job", pd.Categorical(["nurse", None, "größe"], categories=["nurse", "größe", "unused"])),
        ("job", pd.Categorical(["nurse", None, "größe"], categories=["größe", "nurse"])),
        ("job", pd.Categorical(["nurse", None, "größe"], categories=["größe", "nurse", "unused"], ordered=True)),
        ("ok", pd.array([True, False, False], dtype="boolean")),
        ("born", pd.to_datetime(["1980-01-02", None, "2020-02-29"]).astype("datetime64[us]")),
    ],
)
def test_any_change_of_a_column_shows(column: str, values: object) -> None:
    assert fingerprint(changed(column, values)) != fingerprint(a_table())


def test_names_order_and_schema_of_a_table_count() -> None:
    table = a_table()
    renamed = table.frame.rename(columns={"pay": "wage"})
    turned = table.frame[table.frame.columns[::-1]]
    prints = {fingerprint(frame) for frame in (table.frame, renamed, turned)}
    assert len(prints) == 3
    columns = (replace(table.schema.columns[0], role=Role.SENSITIVE), *table.schema.columns[1:])
    assert fingerprint(Table(table.frame, Schema(columns))) != fingerprint(table)


def test_types_are_told_apart() -> None:
    plain = [None, 1, 1.0, True, "1", b"1", Path("1"), (1,), {1}, {"1": 1}, Size.SMALL, "small", float("nan")]
    numpy = [np.int64(1), np.array([1]), np.array([[1]]), np.array([1], dtype="int8"), np.array(True)]
    dates = [date(2020, 1, 1), "2020-01-01", pd.Timestamp("2020-01-01"), np.datetime64("2020-01-01"), pd.NA, pd.NaT]
    values = [*plain, *numpy, *dates, SomeOptions(), OtherOptions(), Pair(1, 2), Pair((1, 2), ())]
    assert len({fingerprint(value) for value in values}) == len(values)


def test_columns_of_nullable_types_have_a_fingerprint_by_type_and_value() -> None:
    columns = [pd.Series([1, None], dtype=dtype) for dtype in ("Int64", "Int32", "Float64", "boolean")]
    columns += [pd.Series([1, 0], dtype="Int64"), *(pd.Series(["1", end], dtype="string") for end in (None, ""))]
    assert len({fingerprint(column) for column in columns}) == len(columns)
    assert fingerprint(columns[-1]) == fingerprint(columns[-1].copy())


def test_boundaries_between_values_count() -> None:
    texts = [np.array(items, dtype=object) for items in (["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["abc", None])]
    assert len({fingerprint(text) for text in texts}) == len(texts)
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
    assert fingerprint(("a",), "b") != fingerprint("a", ("b",))


def test_the_order_of_a_mapping_does_not_count() -> None:
    assert fingerprint({"a": 1, "b": [2]}) == fingerprint({"b": [2], "a": 1})
    assert fingerprint({"a": 1, "b": 2}) != fingerprint({"a": 2, "b": 1})


def test_a_slice_is_its_content() -> None:
    values = np.arange(20)
    assert fingerprint(values[::2]) == fingerprint(values[::2].copy())
    texts = np.array(["x", "ab", None, "c"], dtype=object)
    assert fingerprint(texts[1:3]) == fingerprint(texts[1:3].copy())


def test_objects_of_mixed_types_work() -> None:
    one = np.array([1, "a", None], dtype=object)
    assert fingerprint(one) == fingerprint(one.copy()) != fingerprint(np.array(["1", "a", None], dtype=object))


def test_empty_things_work() -> None:
    empty = [pd.DataFrame(), np.array([]), np.array([], dtype=object), (), {}, "", pd.Series([], dtype="Int64")]
    assert len({fingerprint(value) for value in empty}) == len(empty)


def test_an_index_with_meaning_counts() -> None:
    frame = pd.DataFrame({"a": [1, 2]})
    assert fingerprint(frame) != fingerprint(frame.set_axis([1, 0]))


def test_a_generator_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(TypeError, match="has no fingerprint"):
        fingerprint(rng)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=6), st.data())
def test_texts_equal_exactly_when_fingerprints_do(texts: list[str | None], data: st.DataObject) -> None:
    other = data.draw(st.one_of(st.just(list(texts)), st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=6)))
    one, two = (fingerprint(np.array(items, dtype=object)) for items in (texts, other))
    assert (one == two) == (texts == other)


def test_another_process_gives_the_same_fingerprint() -> None:
    code = (
        "from hybrid.base.hashing import fingerprint; import numpy as np, pandas as pd; "
        "print(fingerprint({'b': {'x', 'y', 'z'}, 'a': 2.5}, np.arange(3), pd.Series(['a', None], dtype='category')))"
    )
    here = fingerprint({"a": 2.5, "b": {"x", "y", "z"}}, np.arange(3), pd.Series(["a", None], dtype="category"))
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == here


def test_library_versions_leaves_out_what_is_not_there() -> None:
    assert library_versions("numpy", "no-such-distribution") == {"numpy": np.__version__}


def test_file_sha256_is_that_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_sha256(tmp_path / "a") == expected


def test_decimals_are_themselves() -> None:
    kinds = [Decimal("1.5"), Decimal("1.50"), 1.5, "1.5"]
    assert len({fingerprint(one) for one in kinds}) == len(kinds)
    assert fingerprint(Decimal("1.5")) == fingerprint(Decimal("1.5"))
