"""Reading Parquet in batches, and numbering values."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import DataError
from hybrid.table.data_options import DataOptions
from hybrid.table.files import File
from hybrid.table.parquet_files import open_parquet
from hybrid.table.value_numbers import ValueNumbers

OPTIONS = DataOptions(path="any")


@given(st.lists(st.lists(st.none() | st.sampled_from("abcdefg"), min_size=1, max_size=9), min_size=1, max_size=6))
def test_equal_values_have_equal_numbers(batches: list[list[str | None]]) -> None:
    column = ValueNumbers("letter", pa.string())
    seen: dict[str | None, int] = {None: 0}
    for at, batch in enumerate(batches):
        array = pa.array(batch, pa.string())
        codes, numbers = column.number(array.dictionary_encode() if at % 2 else array)
        for value, number in zip(batch, numbers[codes].tolist(), strict=True):
            assert seen.setdefault(value, number) == number
    assert len(set(seen.values())) == len(seen)
    occurring = Counter(value for batch in batches for value in batch)
    assert {value: column.counts[number] for value, number in seen.items() if occurring[value]} == occurring


@pytest.mark.parametrize(
    ("values", "arrow_type"),
    [
        ([1.5, float("nan"), None, -0.0, 1.5], pa.float64()),
        ([True, None, False], pa.bool_()),
        ([2**63 - 1, -(2**63), None], pa.int64()),
        ([0, 86_400_000_000_000, None], pa.timestamp("ns", tz="UTC")),
        ([None, None], pa.null()),
    ],
)
def test_values_of_every_type_come_back(values: list[Any], arrow_type: pa.DataType) -> None:
    column = ValueNumbers("value", arrow_type)
    for _ in range(2):
        codes, numbers = column.number(pa.array(values, arrow_type))
    _, typed = column.typed("people.parquet", OPTIONS)
    known = typed.loc[numbers[codes]]
    whole = pd.Series(pa.array(values, arrow_type).to_pandas()).isna()
    assert known.isna().tolist() == whole.tolist()
    if arrow_type in (pa.float64(), pa.int64(), pa.bool_()):
        assert known.dropna().tolist() == [value for value, missing in zip(values, whole, strict=True) if not missing]
    assert column.counts.sum() == 2 * len(values)


def test_a_value_that_is_new_later_is_refused() -> None:
    column = ValueNumbers("letter", pa.string())
    column.number(pa.array(["a"]))
    with pytest.raises(DataError, match="'letter' changed"):
        column.number(pa.array(["b"]), grow=False)


def test_a_category_that_no_row_has_is_no_value() -> None:
    column = ValueNumbers("letter", pa.dictionary(pa.int8(), pa.string()))
    column.number(pa.DictionaryArray.from_arrays(pa.array([1, 1], pa.int8()), ["never", "a"]))
    assert column.typed("people.parquet", OPTIONS)[1].tolist() == ["a"]


def test_the_row_index_of_pandas_is_left_out_and_names_with_dots_are_no_paths(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2], "a.b": [3, 4], "__index_level_0__": [7, 8]})
    pq.write_table(table, tmp_path / "people.parquet")
    rows = open_parquet(File.local(tmp_path / "people.parquet"), OPTIONS)
    assert rows.schema.names == ["a", "a.b"]
    assert [batch.to_pydict() for batch in rows.batches(["a"])] == [{"a": [1, 2]}]


def test_problems_are_said_at_once(tmp_path: Path) -> None:
    pq.write_table(pa.table({"list": [[1]], "a": [1]}), tmp_path / "people.parquet")
    options = DataOptions.model_validate({"path": "any", "columns": {"b": {}}, "unlisted": "error"})
    with pytest.raises(DataError) as caught:
        open_parquet(File.local(tmp_path / "people.parquet"), options)
    assert [needle for needle in ("'b'", "list, a", "list<") if needle in str(caught.value)] == [
        "'b'",
        "list, a",
        "list<",
    ]
    for content, what in ((b"PAR1 and no more", "could not be read"), (None, "no Parquet file")):
        path = tmp_path / "other.parquet"
        if content is not None:
            path.write_bytes(content)
        else:
            path.unlink()
        with pytest.raises(DataError, match=what):
            open_parquet(File.local(path), OPTIONS)
