"""Read a table from CSV or Parquet; every problem is found before the first is reported."""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from hybrid.errors import DataError, Problem
from hybrid.table.arrow import is_text, kind_of, recast, typed_values
from hybrid.table.options import ColumnOptions, DataOptions
from hybrid.table.schema import PARQUET_SUFFIXES as PARQUET_SUFFIXES
from hybrid.table.schema import Column, Kind, Schema, Table
from hybrid.table.text_column import convert_texts


def read_table(path: Path, options: DataOptions) -> Table:
    """Read a table and give every column its role and kind.

    Parameters
    ----------
    path : Path
        A CSV or Parquet file.
    options : DataOptions
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
        that are not of the declared kind.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{path}: the data file {what}", mend="set data.path to a CSV or Parquet file")
    raw = _read_parquet(path) if path.suffix.lower() in PARQUET_SUFFIXES else _read_csv(path, options)
    problems = _column_problems(path, raw.column_names, options)
    if raw.num_rows == 0 and not problems:
        problems.append(Problem(f"{path}: the file has a header and no rows", "point data.path to a table with rows"))
    if problems:
        raise DataError(problems)
    columns: list[Column] = []
    data: dict[str, pd.Series] = {}
    for name in raw.column_names:
        wanted = options.columns.get(name, ColumnOptions())
        column, values = _convert(path, name, raw[name], wanted, options, problems)
        columns.append(column)
        data[name] = values
    if problems:
        raise DataError(problems)
    return Table(pd.DataFrame(data), Schema(tuple(columns)))


def _column_problems(path: Path, names: list[str], options: DataOptions) -> list[Problem]:
    problems = []
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        listed = ", ".join(repr(name) for name in duplicates)
        problems.append(
            Problem(f"{path}: column names occur more than once: {listed}", "rename the columns in the file")
        )
    if any(not name.strip() for name in names):
        problems.append(Problem(f"{path}: a column has no name", "name every column in the first line of the file"))
    missing = [name for name in options.columns if name not in names]
    if missing and len(names) == 1:
        problems.append(
            Problem(
                f"{path}: only one column was found with separator {options.separator!r}, "
                f"but the config names {len(options.columns)}",
                'set data.separator to the character between the fields, such as ";" or "\\t"',
            )
        )
    elif missing:
        have = ", ".join(names)
        problems += [
            Problem(
                f"{path}: the config names the column {name!r}, which the file does not have",
                f"remove it from data.columns or correct its name; the file has: {have}",
            )
            for name in missing
        ]
    extra = [name for name in names if name not in options.columns]
    if extra and options.unlisted == "error":
        problems.append(
            Problem(
                f"{path}: columns that the config does not name: {', '.join(extra)}",
                "add them under data.columns, or set data.unlisted: insensitive",
            )
        )
    return problems


def _read_csv(path: Path, options: DataOptions) -> pa.Table:
    header = _csv_header(path, options)
    wrong_length: list[tuple[int, int]] = []

    def keep_reading(row: Any) -> str:
        wrong_length.append((row.actual_columns, row.number or 0))
        return "skip"

    # Columns are read under their positions, so that duplicate names can be reported instead of crashing.
    names = [str(i) for i in range(len(header))]
    try:
        raw = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(column_names=names, skip_rows_after_names=0, encoding=options.encoding),
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
            f"{path}: the file could not be read as CSV (encoding {options.encoding}, separator {options.separator!r})",
            mend="check data.encoding and data.separator, and that the file is text",
        ) from None
    if wrong_length:
        found = ", ".join(str(n) for n in sorted({columns for columns, _ in wrong_length})[:5])
        raise DataError(
            f"{path}: {len(wrong_length)} rows do not have the header's {len(header)} fields (they have {found})",
            mend="quote fields that contain the separator, or correct data.separator",
        )
    return raw.slice(1).rename_columns(header)


def _csv_header(path: Path, options: DataOptions) -> list[str]:
    """The names in the first line that is not empty; reads no further."""
    try:
        is_utf8 = codecs.lookup(options.encoding).name == "utf-8"
        with path.open(encoding="utf-8-sig" if is_utf8 else options.encoding, newline="") as file:
            rows = csv.reader(file, delimiter=options.separator)
            first = next((row for row in rows if any(field.strip() for field in row)), [])
    except (UnicodeDecodeError, LookupError, csv.Error):
        raise DataError(
            f"{path}: the file is not text in the encoding {options.encoding}", mend="set data.encoding"
        ) from None
    except OSError as error:
        raise DataError(f"{path}: the file could not be opened ({error.strerror})") from None
    if not first:
        raise DataError(f"{path}: the file is empty", mend="point data.path to a table with a header and rows")
    return [name.strip() for name in first]


def _read_parquet(path: Path) -> pa.Table:
    try:
        raw = pq.read_table(path)
    except (pa.ArrowInvalid, OSError):
        raise DataError(f"{path}: the file could not be read as Parquet") from None
    # pandas stores a row index as a column of its own: a row number, never data.
    index = [name for name in raw.column_names if name.startswith("__index_level_")]
    return raw.drop_columns(index).replace_schema_metadata(None)


def _convert(
    path: Path,
    name: str,
    raw: pa.ChunkedArray,
    wanted: ColumnOptions,
    options: DataOptions,
    problems: list[Problem],
) -> tuple[Column, pd.Series]:
    if is_text(raw.type):
        column, values, problem = convert_texts(name, raw, wanted, options.missing, options.decimal)
        if problem is not None:
            problems.append(replace(problem, message=f"{path}: {problem.message}"))
    else:
        column, values = _convert_typed(path, name, raw, wanted, problems)
    if path.suffix.lower() in PARQUET_SUFFIXES:
        column = replace(column, format=replace(column.format, arrow_type=str(raw.type)))
    return column, values


def _convert_typed(
    path: Path, name: str, raw: pa.ChunkedArray, wanted: ColumnOptions, problems: list[Problem]
) -> tuple[Column, pd.Series]:
    kind, shape = kind_of(raw.type)
    empty = Column(name, wanted.role, Kind.CATEGORICAL, wanted.target), pd.Series(dtype="category")
    if kind is None:
        problems.append(
            Problem(
                f"{path}: column {name!r} has the type {raw.type}, which is not supported",
                "convert it to numbers, text, booleans or dates, or drop it",
            )
        )
        return empty
    try:
        values = typed_values(raw, kind)
    except pa.ArrowInvalid:
        problems.append(
            Problem(f"{path}: column {name!r} holds integers beyond 64 signed bits", "store it as text, or drop it")
        )
        return empty
    if wanted.kind is not None and wanted.kind is not kind:
        changed = recast(values, kind, wanted.kind)
        if changed is None:
            problems.append(
                Problem(
                    f"{path}: column {name!r} holds {kind} values and is declared {wanted.kind}",
                    f"declare it {kind}, or convert it in the file",
                )
            )
            return empty
        values, kind = changed, wanted.kind
    return Column(name, wanted.role, kind, wanted.target, shape), values
