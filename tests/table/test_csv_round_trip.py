"""What goes out as CSV is what came in, byte for byte, in every kind and convention."""

from __future__ import annotations

import csv
import io
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hybrid.table import Kind, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.files import File
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ALL_ACCEPTED
from hybrid.table.write import layout_of, write_table

modest = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def options(**given: object) -> DataOptions:
    return DataOptions(path="data.csv", **given)  # type: ignore[arg-type]


def back(folder: Path, content: bytes, **given: object) -> tuple[Table, bytes]:
    """Read a file and write it again."""
    source, copy = folder / "data.csv", folder / "copy.csv"
    source.write_bytes(content)
    chosen = options(**given)
    table = read_table(source, chosen)
    write_table(
        table, copy, chosen.separator, chosen.encoding, layout_of(File.local(source), chosen.separator, chosen.encoding)
    )
    return table, copy.read_bytes()


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-20", "0"], Kind.INTEGER),
        (["9223372036854775807", "-9223372036854775808"], Kind.INTEGER),
        (["9223372036854775808", "1"], Kind.CATEGORICAL),
        (["01", "12"], Kind.CATEGORICAL),
        (["+4912345", "+4312345"], Kind.CATEGORICAL),
        (["-0", "1"], Kind.DECIMAL),
        (["1.50", "2.25", "-0.10"], Kind.DECIMAL),
        (["1", "2.5", "2.25"], Kind.DECIMAL),
        (["10.0", "2.5", "0.125"], Kind.DECIMAL),
        (["0.1", "0.30000000000000004", "1e-07", "123456.789"], Kind.DECIMAL),
        (["1e+16", "2.5"], Kind.DECIMAL),
        (["True", "False"], Kind.BOOLEAN),
        (["TRUE"], Kind.BOOLEAN),
        (["yes", "no"], Kind.BOOLEAN),
        (["Y", "N"], Kind.BOOLEAN),
        (["yes", "YES", "no"], Kind.CATEGORICAL),
        (["2024-02-29", "1899-12-31", "9999-12-31", "0999-01-01"], Kind.DATE),
        (["29.02.2024", "01.03.1950"], Kind.DATE),
        (["12/31/2024", "01/02/2024"], Kind.DATE),
        (["2024-02-29 12:30", "2024-03-01 00:00"], Kind.DATETIME),
        (["2024-02-29T12:30:05Z", "0001-01-01T00:00:00Z"], Kind.DATETIME),
        (["2024-02-29 12:30:05.000001"], Kind.DATETIME),
        (["2024-02-30", "2024-02-29"], Kind.CATEGORICAL),
        (["14:30", "09:05"], Kind.TIME),
        (["14:30", "9:05", "0:00"], Kind.TIME),
        (["14:30:15", "23:59:59"], Kind.TIME),
        (["14:30:15.25", "09:00:00.50"], Kind.TIME),
        (["3:45", "25:00"], Kind.CATEGORICAL),
        (["2:1", "10:10"], Kind.CATEGORICAL),
        (["14:30", "14:30:15"], Kind.CATEGORICAL),
        (["24:00", "12:00"], Kind.CATEGORICAL),
        (["Zürich", "東京", "a,b", 'say "hi"', "two\nlines", "cr\rhere"], Kind.CATEGORICAL),
    ],
)
def test_kinds(tmp_path: Path, cells: list[str], kind: Kind) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["x", "y"], *([cell, "z"] for cell in [*cells, "", cells[0]])])
    content = text.getvalue().replace("cr\rhere", '"cr\rhere"').replace('""cr\rhere""', '"cr\rhere"').encode()
    table, copy = back(tmp_path, content)
    assert table.schema["x"].kind is kind
    assert table.frame["x"].isna().sum() == 1
    assert copy == content


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,x\n",
        b"a,b\r\n1,x\r\n2,\r\n",
        b"\xef\xbb\xbfa,b\n1,x\n",
        b'\xef\xbb\xbf"a","b"\r\n"1","x"\r\n"","y"\r\n',
        b'"a","b"\n1,"x"\n2,NA\n',
        b'"a b","c","d"\n1,"x",2\n',
        b"a,b\n39, State-gov\n50, ?\n",
        b'a\n1\n""\n3\n',
        b"a,b\n,\n1,x\n",
        "a,b\n1,Größe\n".encode(),
    ],
    ids=range(10),
)
def test_layouts(tmp_path: Path, content: bytes) -> None:
    _, copy = back(tmp_path, content, missing=("", "?", "NA"))
    assert copy == content


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    content = "name,n\nGröße,1\nMaß,2\n".encode(encoding)
    table, copy = back(tmp_path, content, encoding=encoding)
    assert table.frame["name"].tolist() == ["Größe", "Maß"]
    assert copy == content


def test_decimal_comma(tmp_path: Path) -> None:
    table, copy = back(tmp_path, b"a;b\n1,50;x\n2,25;y\n", separator=";", decimal=",")
    assert table.frame["a"].tolist() == [1.5, 2.25]
    assert copy == b"a;b\n1,50;x\n2,25;y\n"


def test_what_is_not_kept_is_the_same_value(tmp_path: Path) -> None:
    """Several spellings of one value become one: the commonest missing marker, one padding, plain decimals."""
    _, copy = back(tmp_path, b"a,b\n?,x \n,y\n?,z\n1, u\n2,v\n", missing=("", "?"))
    assert copy == b"a,b\n?,x\n?,y\n?,z\n1,u\n2,v\n"


def test_census_comes_back(census: Path, tmp_path: Path) -> None:
    _, copy = back(tmp_path, census.read_bytes(), missing=("?", ""))
    assert copy == census.read_bytes()
    continental = census.read_bytes().replace(b", ", b";").replace(b",", b";").replace(b"\n", b"\r\n")
    _, copy = back(tmp_path, continental, separator=";", missing=("?", ""))
    assert copy == continental


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8).map(str.strip)
columns = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1).map(str), min_size=1),
    st.lists(st.integers(-(10**6), 10**6).map(lambda n: f"{n / 100:.2f}"), min_size=1),
    st.lists(st.floats(allow_nan=False, allow_infinity=False).map(repr), min_size=1),
    st.lists(st.dates().map(date.isoformat), min_size=1),
    st.lists(st.dates(min_value=date(1000, 1, 1)).map(lambda d: d.strftime("%d.%m.%Y")), min_size=1),
    st.lists(st.datetimes().map(lambda t: t.replace(microsecond=0).isoformat(sep=" ")), min_size=1),
    st.lists(st.sampled_from(["yes", "no"]), min_size=1),
    st.lists(words, min_size=1),
)


@modest
@given(columns, st.booleans())
# More control characters than 5 % of the file, and no NUL byte: text.
@example(["\U00010000", "0000", '0000"\u0800', '0000"\x1f\x08\u0800', '0000"\x1f\x08\u0800'], False)
@example(["\x01" * 8] * 10, True)
def test_any_column_comes_back(tmp_path: Path, cells: list[str], crlf: bool) -> None:
    end = "\r\n" if crlf else "\n"
    quoted = ['"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\r\n') else cell for cell in cells]
    content = (end.join(["x,y", *(f"{cell},{i}" for i, cell in enumerate(quoted))]) + end).encode()
    table, copy = back(tmp_path, content, accept=ALL_ACCEPTED)
    assert len(table) == len(cells)
    assert copy == content


@modest
@given(st.lists(st.sampled_from(["1", "2.5", "", "?", "x", "2024-01-01", "yes", "007"]), min_size=1, max_size=6))
def test_a_mixture_loses_no_value(tmp_path: Path, cells: list[str]) -> None:
    content = ("x,y\n" + "".join(f"{cell},1\n" for cell in cells)).encode()
    table, copy = back(tmp_path, content, missing=("",))
    assert copy == content
    assert table.frame["x"].isna().tolist() == [cell == "" for cell in cells]


def test_date_formats_are_told_apart_by_the_whole_column(tmp_path: Path) -> None:
    days = [date(2024, 1, 1) + timedelta(days=i) for i in range(40)]
    american = "d,n\n" + "".join(f"{day:%m/%d/%Y},1\n" for day in days)
    table, copy = back(tmp_path, american.encode())
    assert table.schema["d"].format.date_format == "%m/%d/%Y"
    assert table.frame["d"].iloc[31] == datetime(2024, 2, 1)
    assert copy == american.encode()
