"""Everything that can be wrong with a table's file is said at once, without a cell value; nothing is half-written."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hybrid.base.atomic import atomic_file, write_text
from hybrid.base.errors import DataError, OutputError
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ColumnOptions
from hybrid.table.write import write_table


def refused(path: Path, **given: object) -> DataError:
    with pytest.raises(DataError) as caught:
        read_table(path, DataOptions(path=path.name, **given))  # type: ignore[arg-type]
    assert str(path) in str(caught.value)
    assert caught.value.exit_code == 2
    return caught.value


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "data.csv"


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert "does not exist" in str(refused(tmp_path / "none.csv"))
    assert "is a folder" in str(refused(tmp_path))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b" \n"])
def test_empty_file(source: Path, content: bytes) -> None:
    source.write_bytes(content)
    assert "the file is empty" in str(refused(source))


@pytest.mark.parametrize("content", [b"a,b\n", b"a,b", b"\n\na,b\r\n\r\n"])
def test_header_only(source: Path, content: bytes) -> None:
    source.write_bytes(content)
    assert "a header and no rows" in str(refused(source))


def test_duplicate_and_empty_names(source: Path) -> None:
    source.write_text("a,,a,,\n1,2,3,4,5\n")
    error = refused(source)
    assert "more than once: 'a'" in str(error)
    assert "a column has no name: column 2, 4, 5" in str(error)


def test_a_column_without_a_name_is_called_by_its_place(source: Path) -> None:
    source.write_text("a,b,c,\n1,2,3,\n4,5,6,7\n")
    assert read_table(source, DataOptions(path=source.name)).schema.names == ["a", "b", "c", "column_4"]
    source.write_text("a,b,column_4,\n1,2,3,4\n")
    assert "more than once: 'column_4'" in str(refused(source))


def test_a_first_column_without_a_name_is_the_row_number(source: Path) -> None:
    source.write_text(",a\n1,5\n2,6\n")
    assert list(read_table(source, DataOptions(path=source.name)).schema.names) == ["row_number", "a"]
    source.write_text(",row_number\n1,5\n2,6\n")
    assert "more than once: 'row_number'" in str(refused(source))


def test_config_and_file_disagree_both_ways(source: Path) -> None:
    source.write_text("a,b\n1,2\n")
    columns = {"a": ColumnOptions(), "age": ColumnOptions(), "sex": ColumnOptions()}
    error = refused(source, columns=columns, unlisted="error")
    assert len(error.problems) == 3
    for said in ("'age'", "'sex'", "does not name: b"):
        assert said in str(error)


def test_wrong_separator(source: Path) -> None:
    source.write_text("a;b\n1;2\n")
    error = refused(source, columns={"a": ColumnOptions(), "b": ColumnOptions()})
    assert "only one column was found with separator ','" in str(error)
    assert len(error.problems) == 1


def test_rows_of_other_lengths(source: Path) -> None:
    source.write_text("a,b\n1,2\nsecret\n1,2,3\n1,2\n")
    error = refused(source)
    assert "2 rows do not have the header's 2 fields (found: 1, 3); row 3, 4," in str(error)
    assert "secret" not in str(error)


def test_all_values_of_a_wrong_kind_are_counted_for_all_columns(source: Path) -> None:
    source.write_text("a,b,c\n1,x,2024-01-01 10:00\nsecret,y,2024-01-02 00:00\nsecret,1,2024-01-02 00:00\n")
    kinds = {"a": "integer", "b": "decimal", "c": "date"}
    columns = {name: ColumnOptions(kind=kind) for name, kind in kinds.items()}  # type: ignore[arg-type]
    columns["c"] = ColumnOptions(kind=Kind.DATE, format="%Y-%m-%d %H:%M")
    error = refused(source, columns=columns)
    assert len(error.problems) == 3
    assert "column 'a' is declared integer but 1 distinct values (2 rows) are not" in str(error)
    assert "column 'c' is declared date but 1 distinct values (1 rows) are not" in str(error)
    assert "secret" not in str(error)
    assert error.problems[0].values == "'secret'"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [(b"a,b\n\xff\xfe,1\n", "utf-8"), (b"a\xff,b\n1,2\n", "utf-8"), (b"a,b\n1,2\n", "no-such-code")],
)
def test_wrong_encoding(source: Path, content: bytes, encoding: str) -> None:
    source.write_bytes(content)
    assert "encoding" in str(refused(source, encoding=encoding))


def test_parquet_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    path.write_bytes(b"a,b\n1,2\n")
    assert "could not be read as Parquet" in str(refused(path))
    pq.write_table(pa.table({"x": pa.array([], pa.int64())}), path)
    assert "no rows" in str(refused(path))


@pytest.fixture
def table() -> Table:
    column = Column("x", Role.INSENSITIVE, Kind.INTEGER)
    return Table(pd.DataFrame({"x": pd.Series(range(200_000), dtype="Int64")}), Schema((column,)))


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may grow beyond 10,000 bytes: what a program sees is what it sees on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_full_disk_leaves_what_was_there(tmp_path: Path, table: Table, name: str) -> None:
    (tmp_path / name).write_text("before")
    with pytest.raises(OutputError, match="nothing was changed"), full_disk():
        write_table(table, tmp_path / name)
    assert (tmp_path / name).read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_unwritable_folder(tmp_path: Path, table: Table) -> None:
    (tmp_path / "file").write_text("a file where a folder is needed")
    with pytest.raises(OutputError, match=r"writing failed .File exists.; nothing was changed"):
        write_table(table, tmp_path / "file" / "out.csv")


def test_interrupt_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "out.txt") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_text_is_replaced_whole(tmp_path: Path) -> None:
    write_text(tmp_path / "deep" / "a.txt", "one")
    write_text(tmp_path / "deep" / "a.txt", "zwei ü")
    assert (tmp_path / "deep" / "a.txt").read_text(encoding="utf-8") == "zwei ü"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_that_is_too_wide_is_refused_at_once(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"wide.{suffix}"
    names = [f"c{at}" for at in range(10_001)]
    if suffix == "csv":
        path.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    else:
        pq.write_table(pa.table([pa.array([1])] * len(names), names=names), path)
    with pytest.raises(DataError, match=r"10,001 columns; at most 10,000 are read"):
        read_table(path, DataOptions.model_validate({"path": path.name}))
