"""Columns of texts: markers, padding, problems with the number of records they concern."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hybrid.table import Column, ColumnFormat, Kind, Role
from hybrid.table.kinds.numbers import decimal_text
from hybrid.table.read_options import ColumnOptions
from hybrid.table.text import as_text, convert_texts, encode_texts


def raw(*texts: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(texts[:2], pa.string()), pa.array(texts[2:], pa.string())])


def test_values_markers_and_padding() -> None:
    column, values, problem = convert_texts("n", raw(" 2", " ?", " 1", None, " ?", ""), ColumnOptions(), {"?", ""}, ".")
    assert problem is None
    assert column.kind is Kind.INTEGER and values.dtype == "Int64"
    assert values.tolist() == [2, pd.NA, 1, pd.NA, pd.NA, pd.NA]
    assert (column.format.missing, column.format.padding) == (" ?", " ")


def test_no_common_padding() -> None:
    column, values, _ = convert_texts("c", raw(" b", "a", " a"), ColumnOptions(), {""}, ".")
    assert column.format.padding == ""
    assert values.tolist() == ["b", "a", "a"]


def test_a_problem_counts_values_and_records_and_keeps_values_apart() -> None:
    wanted = ColumnOptions(kind=Kind.INTEGER)
    texts = raw("1", "secret", "2", "secret", "other")
    column, values, problem = convert_texts("n", texts, wanted, {""}, ".")
    assert problem is not None and column.kind is Kind.INTEGER
    assert "2 distinct values (3 rows)" in problem.message
    assert "secret" not in problem.message and "'secret'" in problem.values
    assert values.isna().tolist() == [False, True, False, True, True]
    _, _, problem = convert_texts("n", texts, wanted, {""}, ".", np.array([1, 10, 1, 100, 1000]))
    assert problem is not None and "2 distinct values (1110 rows)" in problem.message


def test_a_problem_lists_ten_values_at_most() -> None:
    texts = raw(*(f"text {at:02}" for at in range(12)))
    _, _, problem = convert_texts("n", texts, ColumnOptions(kind=Kind.DECIMAL), {""}, ".")
    assert problem is not None
    assert problem.values.count("text") == 10 and "text 09" in problem.values and "text 10" not in problem.values


@pytest.mark.parametrize(
    ("value", "most", "least", "text"),
    [
        (1.0, 2, 2, "1.00"),
        (1.0, 2, 1, "1.0"),
        (1.0, 2, 0, "1"),
        (1.25, 1, 0, "1.2"),
        (-0.5, 3, 1, "-0.5"),
        (0.1, None, 3, "0.1"),
        (100.0, 0, 0, "100"),
    ],
)
def test_decimals_as_text(value: float, most: int | None, least: int, text: str) -> None:
    assert decimal_text(value, most, least) == text


def test_values_as_the_source_writes_them() -> None:
    shape = ColumnFormat(missing="?", padding=" ", decimals=2, fixed_decimals=True, decimal_mark=",")
    column = Column("x", Role.INSENSITIVE, Kind.DECIMAL, format=shape)
    assert as_text(pd.Series([1.5, None, 1.5, 2.0]), column).tolist() == [" 1,50", "?", " 1,50", " 2,00"]
    codes, texts = encode_texts(pd.Series([1.5, None, 1.5]), column)
    assert codes.tolist() == [0, 1, 0] and texts == [" 1,50", "?"]
    day = Column("d", Role.INSENSITIVE, Kind.DATE, format=ColumnFormat(date_format="%d.%m.%Y"))
    assert as_text(pd.Series(["0999-01-02"], dtype="datetime64[us]"), day).tolist() == ["02.01.0999"]
    flag = Column("f", Role.INSENSITIVE, Kind.BOOLEAN, format=ColumnFormat(true="Y", false="N"))
    assert as_text(pd.Series([True, False, None], dtype="boolean"), flag).tolist() == ["Y", "N", ""]
