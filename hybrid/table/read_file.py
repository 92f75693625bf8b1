"""Reader of data files: CSV and Parquet here, those of other programs in modules of their own."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from pyarrow.fs import FileType

from hybrid.base.errors import DataError
from hybrid.base.resources import available_bytes
from hybrid.table.arrow import is_text
from hybrid.table.file_formats import SPREADSHEET_SUFFIXES, STATISTICS_SUFFIXES, TYPED_SUFFIXES
from hybrid.table.file_problems import (
    header_problem,
    is_last_line,
    refuse_other_format,
    short_last_line,
    suspicious_cells,
)
from hybrid.table.files import File, unreachable
from hybrid.table.read_options import ReadOptions
from hybrid.table.schema import PARQUET_SUFFIXES, Table
from hybrid.table.spreadsheets import read_spreadsheet
from hybrid.table.sql_connection import LARGEST_CELL
from hybrid.table.statistics.read import read_statistics_file
from hybrid.table.typed_table import MOST_COLUMNS, MOST_NAMED, TITLE_HINT, column_problems, typed_table

_CELL_BYTES = 20
"""Of memory per cell while a Parquet file is read: 21 measured on eight columns of text and four of numbers."""
_COPIES = 10
"""Times that the bytes of texts are in memory while a Parquet file is read: 8 measured on one long cell, 10 on a
million different texts of a hundred bytes."""
_HEAD = 4096
_FEW = 64
"""Bytes: shorter files are judged by their decoding alone."""
_MUCH = 0.05
"""Share of control characters from which a file with NUL bytes is not text."""
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
ROW_NUMBER = "row_number"
"""Name of a first column without one: pandas and R write row numbers so."""
_UNCLOSED = "close the quotes: one is left open"
_MEND_LENGTH = "quote fields that contain the separator, or correct data.separator"


def read_table(path: Path | File, options: ReadOptions) -> Table:
    """Read a table and give every column its role and kind.

    Parameters
    ----------
    path : Path or File
        Its suffix says its format (:mod:`hybrid.table.file_formats`); any other is CSV.
    options : ReadOptions
        Separator, missing markers, and the columns' roles and kinds. ``options.path`` is not used.

    Returns
    -------
    Table
        Typed columns; how the source wrote them is in the schema's formats.

    Raises
    ------
    DataError
        With all problems at once: unreadable or empty file, duplicate column names, rows of the wrong length,
        columns that the config names and the file lacks (and the reverse with ``unlisted: error``), values
        that are not of the declared kind; the file was changed while it was read.
    MissingExtraError
        The format needs a package that is not installed.
    """
    file = File.local(path) if isinstance(path, Path) else path
    before = file.info()
    if not before.is_file:
        what = "is a folder" if before.type is FileType.Directory else "does not exist"
        raise DataError(f"{file}: the data file {what}", hint="set data.path to a data file")
    refuse_other_format(file)
    stored = None
    if file.suffix in PARQUET_SUFFIXES:
        raw, stored = _read_parquet(file, options)
    elif file.suffix in STATISTICS_SUFFIXES:
        raw = read_statistics_file(file, options)
    elif file.suffix in SPREADSHEET_SUFFIXES:
        raw = read_spreadsheet(file, options)
    else:
        raw = _read_csv(file, options)
    after = file.info()
    if (before.size, before.mtime_ns) != (after.size, after.mtime_ns):
        raise DataError(f"{file}: the file was changed while it was read", hint="run again when it is complete")
    return typed_table(str(file), raw, options, keep_types=file.suffix in TYPED_SUFFIXES, stored=stored)


def _read_csv(file: File, options: ReadOptions) -> pa.Table:
    _refuse_binary(file, options.encoding)
    header = _csv_header(file, options)
    if len(header) > MOST_COLUMNS:
        raise DataError(column_problems(str(file), header, options))
    wrong: list[Any] = []
    raw = _records(file, header, options, wrong)
    short = len(wrong) == 1 and wrong[0].actual_columns < len(header)
    if short and is_last_line(file, wrong[0].text, options.encoding):
        if "short_last_line" not in options.accept:
            raise DataError(short_last_line(file, raw.slice(1), header, wrong[0].actual_columns))
    elif wrong:
        raise _wrong_length(file, header, options, is_title=len(header) == 1 and len(wrong) >= raw.num_rows)
    if raw.num_rows and _ends_in_quotes(file, raw.column(raw.num_columns - 1)[-1].as_py(), options):
        raise DataError(
            f"{file}: the last field opens a quote that is never closed, so the file seems to be cut off",
            hint="write it again in full, or double the quotes inside of fields",
        )
    cells = raw.slice(1)
    if not options.columns.keys() >= set(header) and (record := header_problem(file, cells, header)) is not None:
        raise DataError([record])
    problems = list(suspicious_cells(file, cells, header, options))
    if problems:
        raise DataError(problems)
    return cells.rename_columns(header)


def _records(
    file: File, header: list[str], options: ReadOptions, wrong: list[Any], *, numbered: bool = False
) -> pa.Table:
    """Cells of a CSV file, its first line included; rows of another length go to ``wrong``."""

    def keep_reading(row: Any) -> str:
        wrong.append(row)
        return "skip"

    # Columns are read under their positions, so that duplicate names can be reported instead of crashing.
    names = [str(i) for i in range(len(header))]
    try:
        return pa.csv.read_csv(
            file.open(),
            read_options=pa.csv.ReadOptions(
                column_names=names, skip_rows_after_names=0, encoding=options.encoding, use_threads=not numbered
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=options.separator,
                newlines_in_values=True,
                ignore_empty_lines=len(header) > 1,
                invalid_row_handler=keep_reading,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError, LookupError):
        # Arrow's own message may quote a row.
        raise DataError(
            f"{file}: the file could not be read as CSV (encoding {options.encoding}, separator {options.separator!r})",
            hint="check data.encoding and data.separator, that the file is text, and that every quote is closed",
        ) from None
    except OSError as error:
        unreachable(str(file), error)


def _wrong_length(file: File, header: list[str], options: ReadOptions, *, is_title: bool) -> DataError:
    wrong: list[Any] = []
    _records(file, header, options, wrong, numbered=True)
    lengths = ", ".join(map(str, sorted({row.actual_columns for row in wrong})[:MOST_NAMED]))
    rows = ", ".join(f"{row.number:,}" for row in wrong[:MOST_NAMED]) + (" ..." if len(wrong) > MOST_NAMED else "")
    counted = f"{len(wrong):,} rows do" if len(wrong) > 1 else "a row does"
    return DataError(
        f"{file}: {counted} not have the header's {len(header)} fields (found: {lengths}); row {rows}, "
        "with the header as row 1",
        hint=TITLE_HINT if is_title else _UNCLOSED if any(row.text.count('"') % 2 for row in wrong) else _MEND_LENGTH,
    )


def parquet_metadata(file: File) -> pq.FileMetaData:
    """Metadata of a Parquet file, before any of it is read.

    Raises
    ------
    DataError
        It is no Parquet file, or its rows are too large on average (:data:`LARGEST_CELL`).
    """
    with readable(file):
        metadata = pq.read_metadata(file.path, filesystem=file.filesystem)
    size = max((group.total_byte_size / max(group.num_rows, 1) for group in _groups(metadata)), default=0.0)
    if size > LARGEST_CELL:
        raise DataError(
            f"{file}: a row holds {size / 10**6:,.0f} million bytes on average; at most {LARGEST_CELL // 10**6:,} "
            "million are read",
            hint="drop the column with the large cells, or cut it to what somebody will use",
        )
    return metadata


def _groups(metadata: pq.FileMetaData) -> list[pq.RowGroupMetaData]:
    """Row groups; their columns are not looked at: Arrow ends the process where a broken file has wrong ones."""
    return [metadata.row_group(at) for at in range(metadata.num_row_groups)]


@contextmanager
def readable(file: File, problem: str = "the file could not be read as Parquet") -> Iterator[None]:
    """Report errors of Arrow as a problem of the file.

    Raises
    ------
    DataError
        Says so. Arrow's own text may quote what the file holds.
    """
    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError):
        raise DataError(f"{file}: {problem}", hint="write it again") from None


def _refuse_too_large(file: File, metadata: pq.FileMetaData, options: ReadOptions) -> None:
    if "more_than_memory" in options.accept:
        return
    cells = metadata.num_rows * metadata.num_columns * _CELL_BYTES
    need, free = cells + _COPIES * sum(group.total_byte_size for group in _groups(metadata)), available_bytes()
    if need > free:
        raise DataError(
            f"{file}: {metadata.num_rows:,} rows x {metadata.num_columns} columns take about {need / 2**30:.1f} GiB of "
            f"memory, and {free / 2**30:.1f} GiB are free",
            hint="hybrid anonymize streams Parquet files of any size; run everything else on a sample of the rows, on "
            "a larger machine, or with data.accept: [more_than_memory]",
        )


def _ends_in_quotes(file: File, last: str, options: ReadOptions) -> bool:
    """True if the file ends inside of quotes, judged from the last value as it was read."""
    opened = '"' + last.replace('"', '""')
    longest = 4 * (len(opened) + 4)
    with file.filesystem.open_input_file(file.path) as data:
        data.seek(max(data.size() - longest, 0))
        tail = data.read().decode(options.encoding, errors="ignore")
    without_newline = tail.removesuffix("\n").removesuffix("\r")
    return _ends_in_field(tail, opened, options) and not _ends_in_field(without_newline, opened + '"', options)


def _ends_in_field(text: str, field: str, options: ReadOptions) -> bool:
    return text.endswith(field) and text[: -len(field)][-1:] in ("", "\n", "\r", options.separator)


def _refuse_binary(file: File, encoding: str) -> None:
    try:
        with file.open() as data:
            head = data.read(_HEAD)
    except OSError:
        return
    # Cells may hold control characters, in any number; only with a NUL byte among them are they not text.
    wide = "16" in encoding or "32" in encoding
    if not wide and b"\0" in head and head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(f"{file}: the file is text in UTF-16", hint="add to the section data: encoding: utf-16")
    controls = 0 if wide or b"\0" not in head else len(_CONTROL.findall(head))
    if len(head) < _FEW or controls < _MUCH * len(head):
        return
    raise DataError(
        f"{file}: the file is not text, as CSV is",
        hint="export the table as CSV or Parquet (with the matching suffix), and set data.path to that file",
    )


def _csv_header(file: File, options: ReadOptions) -> list[str]:
    """Names in the first line that is not empty; nothing beyond that line is read."""
    try:
        is_utf8 = codecs.lookup(options.encoding).name == "utf-8"
        encoding = "utf-8-sig" if is_utf8 else options.encoding
        with io.TextIOWrapper(file.open(), encoding=encoding, newline="") as text:
            rows = csv.reader(text, delimiter=options.separator)
            first = next((row for row in rows if any(field.strip() for field in row)), [])
    except (UnicodeDecodeError, LookupError, csv.Error):
        raise DataError(
            f"{file}: the file is not text in the encoding {options.encoding}", hint="set data.encoding"
        ) from None
    except OSError as error:
        raise DataError(f"{file}: the file could not be opened ({error.strerror or type(error).__name__})") from None
    if not first:
        raise DataError(f"{file}: the file is empty", hint="point data.path to a table with a header and rows")
    names = [name.strip() for name in first]
    return names if names[0] or len(names) < 2 else [ROW_NUMBER, *names[1:]]


def _read_parquet(file: File, options: ReadOptions) -> tuple[pa.Table, pa.Schema]:
    """Columns of a Parquet file, texts as dictionaries, and its types."""
    metadata = parquet_metadata(file)
    _refuse_too_large(file, metadata, options)
    with readable(file):
        stored = metadata.schema.to_arrow_schema()
    if len(set(stored.names)) < len(stored):
        raise DataError(column_problems(str(file), stored.names, options))
    with readable(file):
        texts = [field.name for field in stored if is_text(field.type)]
        raw = pq.read_table(file.path, filesystem=file.filesystem, read_dictionary=texts)
        raw.validate()
    for name in raw.column_names:
        with readable(file, f"column {name!r} holds values that its type does not allow"):
            raw[name].validate(full=True)
    # pandas stores a row index as a column of its own: a row number, never data.
    index = [name for name in raw.column_names if name.startswith("__index_level_")]
    return raw.drop_columns(index).replace_schema_metadata(None), stored
