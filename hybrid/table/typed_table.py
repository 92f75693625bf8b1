"""Typed columns with roles from an Arrow table or a data frame; reports all problems at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from hybrid.base.arrays import Array
from hybrid.base.errors import DataError, Problem
from hybrid.table.arrow import is_text, kind_of, plain_type
from hybrid.table.kinds.registry import Kind
from hybrid.table.kinds.value_type import plain_values
from hybrid.table.read_options import ColumnOptions, ReadOptions
from hybrid.table.schema import Column, Schema, Table
from hybrid.table.text import convert_texts

DATA_FRAME = "<DataFrame>"
"""Name of the source in messages and manifests."""
MOST_COLUMNS = 10_000
"""Columns of a table; ten thousand take half a minute to read."""
MOST_NAMED = 5
"""Rows of a wrong length that an error names."""
TITLE_HINT = "remove the lines above the names of the columns: the first line seems to be a title"
_RENAME = (
    "give each a name of its own: in the first line of a CSV file, or with AS in a query; pandas numbers them by "
    "itself: pandas.read_csv(FILE, dtype=str, keep_default_na=False).to_csv(NEW, index=False)"
)


def typed_table(
    source: str,
    raw: pa.Table,
    options: ReadOptions,
    *,
    keep_types: bool,
    counts: Array | None = None,
    stored: pa.Schema | None = None,
) -> Table:
    """Give every column of an Arrow table its role and kind; texts are parsed, other types taken as they are.

    ``keep_types``: what is written later has these Arrow types, or those of ``stored`` where the table has texts as
    dictionaries that its source has not. ``counts``, shape (n_rows,): records that each row stands for, for messages.
    """
    problems = column_problems(source, raw.column_names, options)
    if raw.num_rows == 0 and not problems:
        problems.append(Problem(f"{source}: the table has a header and no rows", "point to a table with rows"))
    if problems:
        raise DataError(problems)
    columns: list[Column] = []
    data: dict[str, pd.Series] = {}
    for name in raw.column_names:
        wanted = options.columns.get(name, ColumnOptions())
        column, values = _convert(source, name, raw[name], wanted, options, problems, counts)
        if keep_types:
            kept = (raw.schema if stored is None else stored).field(name).type
            column = replace(column, format=replace(column.format, arrow_type=str(kept)))
        columns.append(column)
        data[name] = values
    if problems:
        raise DataError(problems)
    return Table(pd.DataFrame(data), Schema(tuple(columns)))


def column_problems(source: str, names: list[str], options: ReadOptions) -> list[Problem]:
    """Problems of a table's column names, in themselves and against the config."""
    if len(names) > MOST_COLUMNS:
        hint = "leave out columns, or make one row of several: a record is described by its columns, not by a series"
        return [Problem(f"{source}: {len(names):,} columns; at most {MOST_COLUMNS:,} are read", hint)]
    problems = []
    duplicates = [name for name, count in Counter(names).items() if count > 1 and name.strip()]
    if duplicates:
        places = {name: " and ".join(str(at) for at, one in enumerate(names, 1) if one == name) for name in duplicates}
        listed = ", ".join(f"{name!r} (columns {at})" for name, at in places.items())
        problems.append(Problem(f"{source}: column names occur more than once: {listed}", _RENAME))
    nameless = [str(at) for at, name in enumerate(names, 1) if not name.strip()]
    if nameless:
        listed = ", ".join(nameless[:MOST_NAMED])
        hint = TITLE_HINT if len(nameless) >= len(names) / 2 else "name every column"
        problems.append(Problem(f"{source}: a column has no name: column {listed}", hint))
    missing = [name for name in options.columns if name not in names]
    if missing and len(names) == 1:
        problems.append(
            Problem(
                f"{source}: only one column was found with separator {options.separator!r}, "
                f"but the config names {len(options.columns)}",
                'set data.separator to the character between the fields, such as ";" or "\\t"',
            )
        )
    elif missing:
        have = ", ".join(names)
        problems += [
            Problem(
                f"{source}: the config names the column {name!r}, which the data does not have",
                f"remove it from data.columns or correct its name; the data has: {have}",
            )
            for name in missing
        ]
    extra = [name for name in names if name not in options.columns]
    if extra and options.unlisted == "error":
        problems.append(
            Problem(
                f"{source}: columns that the config does not name: {', '.join(extra)}",
                "add them under data.columns, or set data.unlisted: insensitive",
            )
        )
    return problems


def _convert(
    source: str,
    name: str,
    raw: pa.ChunkedArray,
    wanted: ColumnOptions,
    options: ReadOptions,
    problems: list[Problem],
    counts: Array | None,
) -> tuple[Column, pd.Series]:
    if is_text(raw.type):
        column, values, problem = convert_texts(name, raw, wanted, options.missing, options.decimal, counts)
        if problem is not None:
            problems.append(replace(problem, message=f"{source}: {problem.message}"))
    else:
        column, values = _convert_typed(source, name, raw, wanted, problems)
    return column, values


def _convert_typed(
    source: str, name: str, raw: pa.ChunkedArray, wanted: ColumnOptions, problems: list[Problem]
) -> tuple[Column, pd.Series]:
    kind, shape = kind_of(raw.type)
    empty = Column(name, wanted.role, Kind.CATEGORICAL, wanted.target), pd.Series(dtype="category")
    if kind is None:
        problems.append(unsupported(source, name, raw.type))
        return empty
    plain = plain_values(raw)
    if what := kind.type.unstorable(plain):
        hint = "correct these values or make them missing, store the column as text, or drop it"
        problems.append(Problem(f"{source}: column {name!r} holds {what}", hint))
        return empty
    values = kind.type.from_arrow(plain)
    if wanted.kind is not None and wanted.kind is not kind:
        changed = wanted.kind.type.recast(values, kind)
        if changed is None:
            problems.append(
                Problem(
                    f"{source}: column {name!r} holds {kind} values and is declared {wanted.kind}",
                    f"declare it {kind}, or convert it in the file",
                )
            )
            return empty
        values, kind = changed, wanted.kind
    return Column(name, wanted.role, kind, wanted.target, kind.type.format_of_values(values, shape)), values


def unsupported(source: str, name: str, arrow_type: pa.DataType) -> Problem:
    return Problem(
        f"{source}: column {name!r} has the type {arrow_type}, which is not supported",
        "convert it to numbers, text, booleans or dates, or drop it",
    )


@runtime_checkable
class ArrowStream(Protocol):
    """Table with Arrow's PyCapsule interface, as polars, pyarrow, DuckDB and narwhals have it."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the columns over without a copy."""


Frame: TypeAlias = pd.DataFrame | ArrowStream
"""An input table in memory."""


def read_frame(frame: Frame, options: ReadOptions) -> Table:
    """Give every column of a table in memory its role and kind.

    Columns of texts are parsed as those of a Parquet file; other dtypes keep their kind. The index of pandas is not a
    column and is ignored; ``frame.reset_index()`` makes it one. DataError has all problems at once.
    """
    if not isinstance(frame, pd.DataFrame):
        return typed_table(DATA_FRAME, _arrow_table(frame), options, keep_types=True)
    names = list(frame.columns)
    if not all(isinstance(name, str) for name in names):
        raise DataError(
            f"{DATA_FRAME}: column names must be texts", hint="rename the columns: frame.rename(columns=str)"
        )
    problems = column_problems(DATA_FRAME, names, options)
    if problems:
        raise DataError(problems)
    arrays: dict[str, pa.Array] = {}
    for name in names:
        try:
            arrays[name] = pa.array(frame[name], from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            # Arrow's own message quotes a value.
            problems.append(
                Problem(
                    f"{DATA_FRAME}: column {name!r} mixes types, or holds objects that are no cell values",
                    f"convert it to one type, such as frame[{name!r}].astype('string')",
                )
            )
    if problems:
        raise DataError(problems)
    return typed_table(DATA_FRAME, pa.table(arrays), options, keep_types=True)


def is_frame(data: object) -> bool:
    """True for a table in memory that :func:`read_frame` takes."""
    return isinstance(data, pd.DataFrame | ArrowStream)


def _arrow_table(frame: ArrowStream) -> pa.Table:
    try:
        table = pa.table(frame)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        raise DataError(
            f"{DATA_FRAME}: the table cannot be read as Arrow columns", hint="give one record per row, in named columns"
        ) from None
    has_views = any(_is_view(kind) for kind in table.schema.types)
    return pa.table({name: _plain(table[name]) for name in table.column_names}) if has_views else table


def _is_view(kind: Any) -> bool:
    return bool(pa.types.is_string_view(plain_type(kind)))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not _is_view(column.type):
        return column
    text = pa.large_string()
    if not pa.types.is_dictionary(column.type):
        return column.cast(text)
    chunks = [pa.DictionaryArray.from_arrays(one.indices, one.dictionary.cast(text)) for one in column.chunks]
    return pa.chunked_array(chunks, pa.dictionary(column.type.index_type, text))
