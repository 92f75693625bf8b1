"""Files that are cut off, or no text at all, are refused with the reason."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import DataError
from hybrid.table.options import DataOptions
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ALL_ACCEPTED

OPTIONS = DataOptions(path="any")


def write(folder: Path, content: bytes, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "text",
    ['1,x\n2,"y\n3,z\n', '1,x\n2,"y', '1,x\n2,"', '1,x\n2,"y""', '1,x\n2,"y""\n', '1,x\n"2,y\n3,z\n', '"1'],
)
def test_an_open_quote(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="quote"):
        read_table(write(tmp_path, b"a,b\n" + text.encode()), OPTIONS)


def test_an_open_quote_far_from_the_end(tmp_path: Path) -> None:
    text = "a,b\n" + "1,x\n" * 10 + '2,"y\n' + "3,z\n" * 1_000_000
    with pytest.raises(DataError, match="every quote is closed"):
        read_table(write(tmp_path, text.encode()), OPTIONS)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16-le"])
def test_an_open_quote_in_other_encodings(encoding: str, tmp_path: Path) -> None:
    path = write(tmp_path, 'a,b\n1,x\n2,"ü'.encode(encoding))
    with pytest.raises(DataError, match="cut off"):
        read_table(path, OPTIONS.model_copy(update={"encoding": encoding}))


@given(st.lists(st.text(alphabet='a"\n, ', max_size=6), min_size=1, max_size=4), st.booleans())
def test_closed_quotes_are_read(tmp_path_factory: pytest.TempPathFactory, values: list[str], newline: bool) -> None:
    quoted = ['"' + value.replace('"', '""') + '"' for value in values]
    text = "a,b\n" + "\n".join(f"1,{value}" for value in quoted) + ("\n" if newline else "")
    # Such short cells may look like swallowed lines; whether quotes are closed is judged without that.
    options = OPTIONS.model_copy(update={"accept": ALL_ACCEPTED})
    table = read_table(write(tmp_path_factory.mktemp("csv"), text.encode()), options)
    assert len(table) == len(values)


def zipped() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("sheet.xml", "a,b\n1,2\n")
    return sink.getvalue()


def parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (zipped(), "a spreadsheet"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "gzip"),
        (parquet(), "Parquet"),
        (bytes(range(256)), "is not text"),
        (b"\x7fELF\x02\x01\x01\x00" + bytes(99), "is not text"),
        ("age,sex\n41,f\n52,m\n".encode("utf-16"), "is text in UTF-16"),
    ],
)
def test_no_text(content: bytes, what: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=what):
        read_table(write(tmp_path, content), OPTIONS)


def test_parquet_beyond_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, parquet(), "people.parquet")
    assert len(read_table(path, OPTIONS)) == 1
    monkeypatch.setattr("hybrid.table.read_file.available_bytes", lambda: 10)
    with pytest.raises(DataError, match=r"1 rows x 1 columns.*hybrid anonymize streams"):
        read_table(path, OPTIONS)
