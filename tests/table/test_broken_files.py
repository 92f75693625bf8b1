"""Files that are cut off, or no text at all, are refused with the reason."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import DataError, HybridError
from hybrid.pipeline.starter.reading import guess_reading
from hybrid.table.data_options import DataOptions
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
    with pytest.raises(DataError, match=r"1 rows x 1 columns.*hybrid run learns a sample"):
        read_table(path, OPTIONS)


def test_more_than_memory_can_be_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, parquet(), "people.parquet")
    monkeypatch.setattr("hybrid.table.read_file.available_bytes", lambda: 10)
    with pytest.raises(DataError, match="are free") as caught:
        read_table(path, OPTIONS.model_copy(update={"accept": ALL_ACCEPTED}))
    assert "data.accept: [more_than_memory]" in caught.value.problems[0].hint
    assert len(read_table(path, OPTIONS.model_copy(update={"accept": ("more_than_memory",)}))) == 1


READ = """
import resource, sys
from pathlib import Path
from hybrid.base.errors import DataError, HybridError
from hybrid.pipeline.starter.reading import guess_reading
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ReadOptions
import pyarrow.parquet, pyarrow.csv, pandas
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + int(sys.argv[2]) * 10**6,) * 2)
try:
    print("read", len(read_table(Path(sys.argv[1]), ReadOptions())))
except DataError as error:
    print("refused", error)
"""


def bombs(folder: Path) -> Iterator[tuple[Path, int, str]]:
    """Small Parquet files of much content, the megabytes that a reader may take, and what becomes of them."""
    large = pa.table({"a": ["A" * 300_000_000], "b": [1]})
    pq.write_table(large, folder / "cell.parquet", compression="zstd")
    yield folder / "cell.parquet", 300, "300 million bytes on average"
    several = pa.table({"a": ["A" * 80_000_000, "B" * 80_000_000], "b": [1, 2]})
    pq.write_table(several, folder / "cells.parquet", compression="zstd")
    yield folder / "cells.parquet", 1000, "2 rows x 2 columns take about 1.5 GiB of memory"
    same = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000_000, "int32")), ["P"])
    pq.write_table(pa.table({"a": same, "b": np.zeros(20_000_000, "int8")}), folder / "rle.parquet", compression="zstd")
    yield folder / "rle.parquet", 600, "20,000,000 rows x 2 columns take about 0.7 GiB of memory"
    long = pa.array(["B" * 100_000, "C" * 100_000]).take(pa.array(np.arange(20_000) % 2))
    pq.write_table(pa.table({"a": long}), folder / "dictionary.parquet", compression="zstd")
    yield folder / "dictionary.parquet", 600, "read 20000"


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no limit of address space")
def test_a_small_file_takes_no_more_memory_than_it_says(tmp_path: Path) -> None:
    """Judged by the kernel: beyond the limit the reader would end with a MemoryError."""
    for path, megabytes, said in bombs(tmp_path):
        assert path.stat().st_size < 3_000_000
        command = [sys.executable, "-c", READ, str(path), str(megabytes)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        assert said in done.stdout, (path.name, done.stdout, done.stderr[-500:])


def test_a_damaged_parquet_file_is_refused_or_read(tmp_path: Path) -> None:
    """Bytes changed at random, most of them in the footer: nothing but a message, of no value, whoever reads it."""
    table = pa.table(
        {
            "name": [f"canary{n}" for n in range(60)],
            "age": pa.array(range(60), pa.uint64()),
            "day": pa.array([date(2024, 1, 1 + n % 28) for n in range(60)]),
            "at": pa.array([datetime(2024, 1, 1 + n % 28) for n in range(60)], pa.timestamp("ns")),
            "x": [n * 1.5 for n in range(60)],
            "ward": pa.DictionaryArray.from_arrays(pa.array([n % 3 for n in range(60)]), ["a", "b", "c"]),
        }
    )
    refused = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        path = tmp_path / "people.parquet"
        pq.write_table(table, path, compression=(None, "zstd")[seed % 2], row_group_size=(60, 13)[seed // 2 % 2])
        content = bytearray(path.read_bytes())
        places = len(content) - 1 - rng.integers(0, len(content) if seed % 3 else 1500, rng.integers(1, 6))
        content[places[0]] = 255 - content[places[0]]
        for place in places[1:]:
            content[place] = rng.integers(256)
        path.write_bytes(content)
        for attempt in (read_table, lambda path, _: guess_reading(path)):
            try:
                attempt(path, OPTIONS)
            except HybridError as error:
                refused += 1
                assert "canary" not in str(error)
    assert refused > 60
