"""CSV files: their cells as texts, all at once or a part at a time, and what is no table in them."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from hybrid.base.errors import DataError
from hybrid.table.file_problems import header_problem, is_last_line, line_of, short_last_line, suspicious_cells
from hybrid.table.files import File, unreachable
from hybrid.table.read_options import ReadOptions
from hybrid.table.typed_table import MOST_COLUMNS, MOST_NAMED, TITLE_HINT, column_problems

_HEAD = 4096
_PEEK = 1 << 20
_FEW = 64
"""Bytes: shorter files are judged by their decoding alone."""
_MUCH = 0.05
"""Share of control characters from which a file with NUL bytes is not text."""
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
ROW_NUMBER = "row_number"
"""Name of a first column without one: pandas and R write row numbers so."""
_UNCLOSED = "close the quotes: one is left open"
_MEND_LENGTH = "quote fields that contain the separator, or correct data.separator"
_PART = 1 << 19
"""Rows that are looked at together in a file that is read part by part."""


def read_csv(file: File, options: ReadOptions) -> pa.Table:
    """Read the cells of a CSV file as texts, under the names of its first line."""
    header = _header(file, options)
    wrong: list[Any] = []
    with _parsing(file, options):
        raw = pa.csv.read_csv(file.open(), **_options(header, options, wrong))
    cells = raw.slice(1)
    _refuse_bad_end(file, header, wrong, options, raw, lambda: line_of(cells, header, raw.num_rows - 1))
    _refuse_suspicious(file, cells, header, options, 0, is_end=True)
    return cells.rename_columns(header)


def copy_csv(file: File, options: ReadOptions, target: Path) -> None:
    """Write the cells of a CSV file to a Parquet file, columns of texts, a part of the rows at a time.

    The cells are those of :func:`read_csv`, and so are the errors; what is usual in a column, and whether the first
    line is a record, is judged part by part.
    """
    schema = pa.schema([(name, pa.string()) for name in _header(file, options)])
    with pq.ParquetWriter(target, schema) as writer:
        for cells in parts_of_csv(file, options):
            writer.write_table(cells)


def parts_of_csv(file: File, options: ReadOptions) -> Iterator[pa.Table]:
    """Cells of a CSV file as texts, a part of the rows at a time; errors as of :func:`copy_csv`."""
    header = _header(file, options)
    problems = column_problems(str(file), header, options)
    if problems:
        raise DataError(problems)
    wrong: list[Any] = []
    n_lines, last = 0, None
    for cells, is_end in _parts(file, header, options, wrong):
        _refuse_suspicious(file, cells, header, options, n_lines, is_end=is_end)
        yield cells.rename_columns(header)
        n_lines += line_of(cells, header, cells.num_rows) - line_of(cells, header, 0)
        last = cells
    if last is None:
        raise DataError(f"{file}: the table has a header and no rows", hint="point to a table with rows")
    _refuse_bad_end(file, header, wrong, options, last, lambda: n_lines + line_of(last, header, 0))


def estimated_shape(file: File, options: ReadOptions) -> tuple[int, int]:
    """Estimated rows, from the length of the first lines, and the columns of a CSV file."""
    header = _header(file, options)
    with file.open() as data:
        head = data.read(_PEEK)
    return file.info().size * head.count(b"\n") // max(len(head), 1), len(header)


def _refuse_suspicious(
    file: File, cells: pa.Table, header: list[str], options: ReadOptions, first: int, *, is_end: bool
) -> None:
    record = None if options.columns.keys() >= set(header) else header_problem(file, cells, header)
    problems = [record] if record else list(suspicious_cells(file, cells, header, options, first=first, is_end=is_end))
    if problems:
        raise DataError(problems)


def _parts(file: File, header: list[str], options: ReadOptions, wrong: list[Any]) -> Iterator[tuple[pa.Table, bool]]:
    """Rows of a file under its header, some at a time, and whether they are the last ones."""
    waiting: list[pa.RecordBatch] = []
    ready, n_waiting = None, -1  # the first row is the header
    with _parsing(file, options), pa.csv.open_csv(file.open(), **_options(header, options, wrong)) as reader:
        for batch in reader:
            waiting.append(batch)
            n_waiting += len(batch)
            if n_waiting >= _PART:
                if ready is not None:
                    yield ready, False
                ready = pa.Table.from_batches(waiting).slice(0 if ready is not None else 1)
                waiting, n_waiting = [], 0
    rest = pa.Table.from_batches(waiting).slice(0 if ready is not None else 1) if waiting else None
    if rest is not None and len(rest):
        if ready is not None:
            yield ready, False
        ready = rest
    if ready is not None:
        yield ready, True


def _options(header: list[str], options: ReadOptions, wrong: list[Any]) -> dict[str, Any]:
    """Options of Arrow's reader: cells as texts, the first line included; rows of another length go to ``wrong``."""

    def keep_reading(row: Any) -> str:
        wrong.append(row)
        return "skip"

    # Columns are read under their positions, so that duplicate names can be reported instead of crashing.
    names = [str(i) for i in range(len(header))]
    return {
        "read_options": pa.csv.ReadOptions(column_names=names, skip_rows_after_names=0, encoding=options.encoding),
        "parse_options": pa.csv.ParseOptions(
            delimiter=options.separator,
            newlines_in_values=True,
            ignore_empty_lines=len(header) > 1,
            invalid_row_handler=keep_reading,
        ),
        "convert_options": pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    }


@contextmanager
def _parsing(file: File, options: ReadOptions) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowInvalid, UnicodeDecodeError, LookupError):
        raise DataError(
            f"{file}: the file could not be read as CSV (encoding {options.encoding}, separator {options.separator!r})",
            hint="check data.encoding and data.separator, that the file is text, and that every quote is closed",
        ) from None
    except OSError as error:
        unreachable(str(file), error)


def _refuse_bad_end(
    file: File, header: list[str], wrong: list[Any], options: ReadOptions, raw: pa.Table, line: Callable[[], int]
) -> None:
    """Refuse rows of a wrong length, a last line that is short, and an open quote; ``raw`` are the last rows."""
    short = len(wrong) == 1 and wrong[0].actual_columns < len(header)
    if wrong and not (short and is_last_line(file, wrong[0].text, options.encoding)):
        raise _wrong_length(file, header, options, is_title=len(header) == 1 and len(wrong) >= raw.num_rows)
    if wrong and "short_last_line" not in options.accept:
        raise DataError(short_last_line(file, line(), header, int(wrong[0].actual_columns)))
    if raw.num_rows and _ends_in_quotes(file, raw.column(raw.num_columns - 1)[-1].as_py(), options):
        raise DataError(
            f"{file}: the last field opens a quote that is never closed, so the file seems to be cut off",
            hint="write it again in full, or double the quotes inside of fields",
        )


def _wrong_length(file: File, header: list[str], options: ReadOptions, *, is_title: bool) -> DataError:
    wrong: list[Any] = []
    serial = _options(header, options, wrong)
    serial["read_options"].use_threads = False  # so that rows have numbers
    with _parsing(file, options), pa.csv.open_csv(file.open(), **serial) as reader:
        for _ in reader:
            pass
    lengths = ", ".join(map(str, sorted({row.actual_columns for row in wrong})[:MOST_NAMED]))
    rows = ", ".join(f"{row.number:,}" for row in wrong[:MOST_NAMED]) + (" ..." if len(wrong) > MOST_NAMED else "")
    counted = f"{len(wrong):,} rows do" if len(wrong) > 1 else "a row does"
    return DataError(
        f"{file}: {counted} not have the header's {len(header)} fields (found: {lengths}); row {rows}, "
        "with the header as row 1",
        hint=TITLE_HINT if is_title else _UNCLOSED if any(row.text.count('"') % 2 for row in wrong) else _MEND_LENGTH,
    )


def _header(file: File, options: ReadOptions) -> list[str]:
    """Names of the columns of a file that is text."""
    _refuse_binary(file, options.encoding)
    names = _names(file, options)
    if len(names) > MOST_COLUMNS:
        raise DataError(column_problems(str(file), names, options))
    return names


def _ends_in_quotes(file: File, last: str, options: ReadOptions) -> bool:
    """True if the file ends inside of quotes, judged from the last value as it was read."""
    opened = '"' + last.replace('"', '""')
    longest = 4 * (len(opened) + 4)
    tail = file.end(longest).decode(options.encoding, errors="ignore")
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


def _names(file: File, options: ReadOptions) -> list[str]:
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
    if len(names) > 1 and not names[0]:
        names[0] = ROW_NUMBER
    if 2 * names.count("") >= len(names):  # a title
        return names
    return [name or f"column_{at}" for at, name in enumerate(names, 1)]
