"""What goes out as Parquet has the types and the values of what came in."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid.base.errors import DataError
from hybrid.table import Kind, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ColumnOptions
from hybrid.table.write import to_arrow, write_table

modest = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(folder: Path, array: pa.Array, **column: object) -> Table:
    path = folder / "data.parquet"
    pq.write_table(pa.table({"x": array}), path)
    return read_table(path, DataOptions(path="data.parquet", columns={"x": ColumnOptions(**column)}))  # type: ignore[arg-type]


def back(folder: Path, array: pa.Array, **column: object) -> tuple[Table, pa.ChunkedArray]:
    table = read(folder, array, **column)
    write_table(table, folder / "copy.parquet")
    return table, pq.read_table(folder / "copy.parquet")["x"]


MOMENT = datetime(2024, 2, 29, 12, 30, 5)


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([1, None, -3], pa.int8()), Kind.INTEGER),
        (pa.array([1, None, -3], pa.int32()), Kind.INTEGER),
        (pa.array([2**63 - 1, None], pa.int64()), Kind.INTEGER),
        (pa.array([7, None], pa.uint64()), Kind.INTEGER),
        (pa.array([1.5, None], pa.float32()), Kind.DECIMAL),
        (pa.array([0.1, None]), Kind.DECIMAL),
        (pa.array([Decimal("1.50"), None, Decimal("-99999.99")], pa.decimal128(7, 2)), Kind.DECIMAL),
        (pa.array([Decimal("12345678.91")], pa.decimal256(40, 2)), Kind.DECIMAL),
        (pa.array([True, None, False]), Kind.BOOLEAN),
        (pa.array([date(2024, 2, 29), None, date(9999, 12, 31)]), Kind.DATE),
        (pa.array([date(2024, 2, 29), None], pa.date64()), Kind.DATE),
        (pa.array([MOMENT, None], pa.timestamp("s")), Kind.DATETIME),
        (pa.array([MOMENT, None], pa.timestamp("ns")), Kind.DATETIME),
        (pa.array([MOMENT, None], pa.timestamp("us", tz="Europe/Berlin")), Kind.DATETIME),
        (pa.array([time(14, 30), None], pa.time32("s")), Kind.TIME),
        (pa.array([time(14, 30, 15, 250_000), None], pa.time64("ns")), Kind.TIME),
        (pa.array(["a", None, "ü"]), Kind.CATEGORICAL),
        (pa.array(["a", None, "b"], pa.large_string()), Kind.CATEGORICAL),
        (pa.array(["a", None, "b", "a"]).dictionary_encode(), Kind.CATEGORICAL),
        (pa.array(["a", "b"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.large_string())), Kind.CATEGORICAL),
        (pa.array([5, 6, 5]).dictionary_encode(), Kind.INTEGER),
        (pa.nulls(3), Kind.CATEGORICAL),
        (pa.array([None, None], pa.string()), Kind.CATEGORICAL),
        (pa.array([None, None], pa.int16()), Kind.INTEGER),
        (pa.array(["1", None, "20"]), Kind.INTEGER),
        (pa.array(["yes", "no", None]), Kind.BOOLEAN),
        (pa.array(["1.50", "2.25", None]), Kind.DECIMAL),
        (pa.array(["29.02.2024", None]), Kind.DATE),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else str(value),
)
def test_types(tmp_path: Path, array: pa.Array, kind: Kind) -> None:
    table, copy = back(tmp_path, array)
    assert table.schema["x"].kind is kind
    source = pq.read_table(tmp_path / "data.parquet")["x"]
    assert copy.type == source.type
    assert copy.to_pylist() == source.to_pylist()


@pytest.mark.parametrize(
    ("array", "declared"),
    [
        (pa.array([0, 1, None]), "boolean"),
        (pa.array([3, 4, None]), "categorical"),
        (pa.array([True, False, None]), "categorical"),
        (pa.array([3, 4, None]), "decimal"),
        (pa.array([3.0, 4.0, None]), "integer"),
        (pa.array([date(2024, 1, 1), None]), "datetime"),
        (pa.array([datetime(2024, 1, 1), None]), "date"),
    ],
)
def test_declared_kinds_go_back_to_the_type_of_the_file(tmp_path: Path, array: pa.Array, declared: str) -> None:
    table, copy = back(tmp_path, array, kind=declared)
    assert table.schema["x"].kind == declared
    source = pq.read_table(tmp_path / "data.parquet")["x"]
    assert copy.type == source.type
    assert copy.to_pylist() == source.to_pylist()


@pytest.mark.parametrize(
    ("array", "declared"),
    [
        (pa.array([1.5]), "integer"),
        (pa.array([1.5]), "categorical"),
        (pa.array([2]), "boolean"),
        (pa.array([2]), "date"),
        (pa.array([MOMENT]), "date"),
        (pa.array([[1]]), None),
        (pa.array([b"x"]), None),
        (pa.array([2**64 - 1], pa.uint64()), None),
        (pa.array([90_000], pa.int32()).cast(pa.time32("s")), None),
    ],
)
def test_kinds_that_would_lose_something_are_refused(tmp_path: Path, array: pa.Array, declared: str | None) -> None:
    with pytest.raises(DataError, match="column 'x'"):
        read(tmp_path, array, kind=declared)


def test_decimals_are_the_nearest_floats(tmp_path: Path) -> None:
    texts = [f"{tenth // 10}.{tenth % 10}" for tenth in range(400, 1200)]
    table = read(tmp_path, pa.array([Decimal(text) for text in texts], pa.decimal128(6, 1)))
    assert table.frame["x"].tolist() == [float(text) for text in texts]


def test_a_number_too_large_for_its_type_is_not_cut(tmp_path: Path) -> None:
    table = read(tmp_path, pa.array([1, 2], pa.int8()))
    table.frame.loc[0, "x"] = 1000
    assert to_arrow(table)["x"].to_pylist() == [1000, 2]


def test_the_row_index_of_pandas_is_no_column(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"x": [1, 2]}, index=[5, 6])
    frame.to_parquet(tmp_path / "data.parquet")
    assert read_table(tmp_path / "data.parquet", DataOptions(path="data.parquet")).schema.names == ["x"]


@modest
@given(
    st.one_of(
        st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), min_size=1).map(lambda v: pa.array(v, pa.int64())),
        st.lists(st.floats(-1e30, 1e30) | st.none(), min_size=1).map(lambda v: pa.array(v, pa.float64())),
        st.lists(st.dates() | st.none(), min_size=1).map(lambda v: pa.array(v, pa.date32())),
        st.lists(st.datetimes() | st.none(), min_size=1).map(lambda v: pa.array(v, pa.timestamp("us"))),
        st.lists(st.decimals(-(10**9), 10**9, places=3) | st.none(), min_size=1).map(
            lambda v: pa.array(v, pa.decimal128(13, 3))
        ),
    )
)
def test_any_values_come_back(tmp_path: Path, array: pa.Array) -> None:
    _, copy = back(tmp_path, array)
    assert copy.type == array.type
    assert copy.to_pylist() == array.to_pylist()


def test_csv_to_parquet_and_back(tmp_path: Path) -> None:
    source = tmp_path / "data.csv"
    source.write_text("n,d,b,t\n1,2024-01-31,yes,a\n,2024-02-01,no,\n")
    table = read_table(source, DataOptions(path="data.csv"))
    write_table(table, tmp_path / "data.parquet")
    raw = pq.read_table(tmp_path / "data.parquet")
    assert [str(t) for t in raw.schema.types] == ["int64", "date32[day]", "bool", "string"]
    again = read_table(tmp_path / "data.parquet", DataOptions(path="data.parquet"))
    assert [column.kind for column in again.schema] == [column.kind for column in table.schema]
