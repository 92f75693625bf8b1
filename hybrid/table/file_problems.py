"""Files that are refused: those of other programs, and CSV files whose cells are several records or half of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import PurePath

import pyarrow as pa
import pyarrow.compute as pc

from hybrid.base.errors import DataError, Problem
from hybrid.table.file_formats import is_csv
from hybrid.table.files import File
from hybrid.table.read_options import ReadOptions

_HEAD = 64


@dataclass(frozen=True)
class OtherFormat:
    """A format, and how its files are converted where it is not read."""

    name: str
    """What such a file is."""
    suffixes: tuple[str, ...]
    """How their names end, in lower case."""
    beginnings: tuple[bytes, ...] = ()
    """How their content begins."""
    conversion: str = ""
    """Expression of Python that reads ``FILE`` and writes ``NEW``; empty if there is none."""
    packages: str = "pandas pyarrow"
    """What it needs, for pip."""

    def hint(self, file: str) -> str:
        if not self.conversion:
            return "unpack or export the table as CSV or Parquet, and name that file"
        new = f"{PurePath(file).stem}{'.csv' if 'to_csv' in self.conversion else '.parquet'}"
        line = self.conversion.replace("FILE", repr(file)).replace("NEW", repr(new))
        module = line.partition(".")[0]
        return f'convert it once, and name {new}: pip install {self.packages}; python -c "import {module}; {line}"'


FORMATS = (
    OtherFormat(
        "a spreadsheet",
        (".xlsm", ".xlsb", ".xls"),
        (b"\xd0\xcf\x11\xe0",),
        "pandas.read_excel(FILE).to_csv(NEW, index=False)",
        "pandas openpyxl xlrd pyxlsb",
    ),
    OtherFormat(
        "a spreadsheet",
        (".ods",),
        (),
        "pandas.read_excel(FILE, engine='odf').to_csv(NEW, index=False)",
        "pandas odfpy",
    ),
    OtherFormat(
        "a file of R",
        (".rds", ".rdata", ".rda"),
        (b"RDX3", b"RDX2"),
        "pyreadr.read_r(FILE).popitem()[1].to_parquet(NEW)",
        "pyreadr pyarrow",
    ),
    OtherFormat(
        "a file of Arrow",
        (".arrow", ".feather"),
        (b"ARROW1",),
        "pandas.read_feather(FILE).to_parquet(NEW)",
    ),
    OtherFormat(
        "a file of JSON",
        (".json", ".jsonl", ".ndjson"),
        (),
        "pandas.read_json(FILE).to_csv(NEW, index=False)",
    ),
    OtherFormat("a zip archive or a spreadsheet", (".zip",), (b"PK\x03\x04",)),
    OtherFormat(
        "compressed (gzip, bzip2, xz or zstd)",
        (".gz", ".bz2", ".xz", ".zst"),
        (b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"),
    ),
    OtherFormat("an SQLite database, which data.sql reads", (".sqlite", ".sqlite3", ".db"), (b"SQLite format 3",)),
    OtherFormat("a DuckDB database, which data.sql reads", (".duckdb",), (bytes(8) + b"DUCK",)),
)
"""Formats by the ends of names and, for files of any name, by how they begin."""
MISNAMED = (
    OtherFormat("Parquet", (".parquet",), (b"PAR1",)),
    OtherFormat("a file of Stata", (".dta",), (b"<stata_dta>",)),
    OtherFormat("a file of SAS", (".sas7bdat",), (bytes(12) + b"\xc2\xea\x81\x60",)),
    OtherFormat("a transport file of SAS", (".xpt",), (b"HEADER RECORD*******LIB",)),
    OtherFormat("a file of SPSS", (".sav",), (b"$FL2",)),
    OtherFormat("a compressed file of SPSS", (".zsav",), (b"$FL3",)),
)
"""Formats that are read by the ends of their names, and how they begin."""


def refuse_other_format(file: File) -> None:
    """Refuse a file of a format that is not read, or that is read under another name, by its name or its beginning.

    The hint has the command that converts it, or the name that it needs.
    """
    try:
        with file.open() as data:
            head = data.read(_HEAD)
    except OSError:
        return
    found = next((one for one in FORMATS if file.suffix in one.suffixes), None)
    if found is None and is_csv(file.path):
        found = next((one for one in (*FORMATS, *MISNAMED) if one.beginnings and head.startswith(one.beginnings)), None)
    if found in MISNAMED:
        ending = found.suffixes[0]
        raise DataError(
            f"{file}: this is {found.name} without the ending {ending}",
            hint=f"rename it, so that its name ends in {ending}",
        )
    if found is not None:
        raise DataError(f"{file}: this is {found.name}, which is not read", hint=found.hint(PurePath(file.path).name))


_LONG = 200
"""Characters up to which no cell is suspicious."""
_TIMES = 50
"""Times the median length of a column's other cells from which a cell is suspicious."""
_FEWEST = 5
"""Rows before the last one with which its last cell is compared."""
_VALUE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T].*)?|[+-]?\d*[.,]\d+|\S+@\S+\.\w+")
"""Dates, decimal numbers and e-mail addresses, which are seldom names of columns."""
_WHOLE = re.compile(r"\d{1,9}")
_TOTAL = (
    r"(?i)\A(grand |sub)?(total|totals|sum|mean|average)\b|\A(zwischen|gesamt)?(summe|gesamt|insgesamt|durchschnitt)\b"
    r"|\A(sous-)?(total|totaux|somme|moyenne)\b|\A(totale|totaal|suma|soma|media|gemiddelde)\b"
)
"""What stands in front of a total, in seven languages."""
_NOTE = r"\S\s+\S"
"""A text of several words."""
_LAST = 5
"""Lines at the end among which a note is looked for."""
_VALUES_IN_HEADER = 0.2
"""Share of the columns that are named like a value, from which the first line is taken for a record."""


def header_problem(file: File, raw: pa.Table, header: Sequence[str]) -> Problem | None:
    """Problem of a first line that is a record, or is repeated; it names no column.

    A record in place of the header would show a person's values wherever columns are named. A name counts as a value if
    it stands among the cells of its own column, or is a date, a decimal number or an e-mail address, unless it
    continues a series: whole numbers and dates beside each other.
    """
    among = [pc.equal(pc.utf8_trim_whitespace(raw.column(at)), name) for at, name in enumerate(header)]
    again = reduce(pc.and_, among)
    if len(header) > 1 and pc.any(again).as_py():
        first = line_of(raw, header, pc.index(again, True).as_py())
        return Problem(
            f"{file}: line {first}: {pc.sum(again).as_py()} lines repeat the header, as where files were joined",
            "remove these lines",
        )
    held = [bool(pc.any(own).as_py()) for own in among]
    values = [bool(name) and (one or bool(_VALUE.fullmatch(name))) for name, one in zip(header, held, strict=True)]
    count = sum(value and not _in_series(header, at) for at, value in enumerate(values))
    if count < 2 or count < _VALUES_IN_HEADER * len(header):
        return None
    return Problem(
        f"{file}: the first line seems to be a record and not the names of the columns: {count} of its {len(header)} "
        "cells look like values",
        "write the names of the columns into a line above it; if it does hold names, rename the columns",
    )


def _in_series(header: Sequence[str], at: int) -> bool:
    name = header[at]
    for beside in (header[max(at - 1, 0)], header[min(at + 1, len(header) - 1)]):
        if _WHOLE.fullmatch(name) and _WHOLE.fullmatch(beside) and abs(int(name) - int(beside)) == 1:
            return True
        if beside != name and _VALUE.fullmatch(name) and len(beside) == len(name) and _VALUE.fullmatch(beside):
            return True
    return False


def suspicious_cells(
    file: File, raw: pa.Table, header: Sequence[str], options: ReadOptions, *, first: int = 0, is_end: bool = True
) -> Iterator[Problem]:
    """Find cells that the options do not accept: one problem per column and kind, which names the first such line.

    ``raw`` are cells as texts without the header, or those of some rows: ``first`` lines after the header, the last of
    the file where ``is_end``. No problem shows a cell value.
    """
    for wrong, found in _suspicions(raw, header, options, is_end):
        count = pc.sum(wrong).as_py()
        if count:
            line = first + line_of(raw, header, pc.index(wrong, True).as_py())
            yield Problem(f"{file}: line {line}: {count} {found.message}", found.hint)
    if is_end and "short_last_line" not in options.accept and _is_cut(file, raw, options.encoding):
        yield Problem(
            f"{file}: line {first + line_of(raw, header, raw.num_rows - 1)}: the last line seems to be cut off: it has "
            f"no line break at its end, and its last cell ({header[-1]!r}) is shorter than all others",
            "write the file again in full, or end it with a line break; if it is whole: data.accept: [short_last_line]",
        )


def short_last_line(file: File, line: int, header: Sequence[str], fields: int) -> Problem:
    """Problem of a last line with too few fields."""
    return Problem(
        f"{file}: line {line}: the last line has {fields} of {len(header)} fields, so the file seems to be cut off",
        "write the file again in full; to leave this line out: data.accept: [short_last_line]",
    )


def is_last_line(file: File, line: str, encoding: str) -> bool:
    """True if the file ends in this line, with or without a line break."""
    wanted = line.rstrip("\r\n").encode(encoding, errors="replace")
    return bool(wanted) and file.end(len(wanted) + 8).rstrip(b"\r\n\0").endswith(wanted.rstrip(b"\0"))


def _suspicions(
    raw: pa.Table, header: Sequence[str], options: ReadOptions, is_end: bool
) -> Iterator[tuple[pa.ChunkedArray, Problem]]:
    """Rows with suspicious cells, and what they are, to follow their number."""
    for at, name in enumerate(header):
        cells = raw.column(at)
        broken = pc.match_substring(cells, "\n")
        if "multiline_cells" not in options.accept and len(header) > 1 and pc.any(broken).as_py():
            as_record = pc.greater_equal(pc.count_substring(cells, options.separator), len(header) - 1)
            yield (
                pc.and_(broken, as_record),
                Problem(
                    f"cells of column {name!r} hold line breaks and as many separators as a whole record, as where two "
                    "quotes are mispaired",
                    "correct the quotes there; if cells do hold such texts: data.accept: [multiline_cells]",
                ),
            )
        lengths = pc.utf8_length(cells)
        if "long_cells" not in options.accept and (pc.max(lengths).as_py() or 0) > _LONG:
            usual = pc.quantile(lengths.filter(pc.greater(lengths, 0)), 0.5)[0].as_py()
            yield (
                pc.greater_equal(lengths, max(_LONG + 1, _TIMES * usual)),
                Problem(
                    f"cells of column {name!r} are longer than {_LONG} characters and {_TIMES} times the usual "
                    f"{usual:g}",
                    "look whether a quote is missing there; if cells are that long: data.accept: [long_cells]",
                ),
            )
    if "total_lines" not in options.accept and len(header) > 2:
        yield (
            _totals(raw, len(header), _LAST if is_end else 0),
            Problem(
                "lines seem to be totals or notes and not records; each would count as a person",
                "remove these lines; if they are records: data.accept: [total_lines]",
            ),
        )


def _totals(raw: pa.Table, n_columns: int, n_last: int) -> pa.ChunkedArray:
    """Lines that are no records: totals, and notes at the end.

    A total says so in the first of its cells, and a quarter of the others are empty; a note is the only cell of one of
    the last ``n_last`` lines, and has several words.
    """
    cells = [pc.utf8_trim_whitespace(column) for column in raw.columns]
    empty = [pc.equal(column, "") for column in cells]
    gaps = reduce(pc.add, [pc.cast(column, pa.int32()) for column in empty])
    first = pc.coalesce(*(pc.if_else(no, None, column) for no, column in zip(empty, cells, strict=True)), "")
    total = pc.and_(pc.match_substring_regex(first, _TOTAL), pc.greater_equal(gaps, n_columns / 4))
    last = pc.less_equal(pa.array(range(raw.num_rows, 0, -1), pa.int64()), n_last)
    note = pc.and_(pc.and_(pc.equal(gaps, n_columns - 1), last), pc.match_substring_regex(first, _NOTE))
    return pc.or_(total, note)


def _is_cut(file: File, raw: pa.Table, encoding: str) -> bool:
    """True if the last line break is missing, and the last cell is shorter than those of all other rows."""
    if raw.num_rows <= _FEWEST:
        return False
    if "\n" in file.end(4).decode(encoding, errors="ignore")[-1:]:
        return False
    lengths = pc.utf8_length(raw.column(raw.num_columns - 1))
    return bool(lengths[-1].as_py() < pc.min(lengths.slice(0, raw.num_rows - 1)).as_py())


def line_of(raw: pa.Table, header: Sequence[str], row: int) -> int:
    """Line of the file in which a row begins, from 1; empty lines are not counted."""
    before = raw.slice(0, row)
    inside = sum(pc.sum(pc.count_substring(column, "\n")).as_py() or 0 for column in before.columns)
    return 2 + row + int(inside) + sum(name.count("\n") for name in header)
