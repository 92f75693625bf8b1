"""Table from a DataFrame, with the checks of a file."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import pandas as pd
import pyarrow as pa

from hybrid.base.errors import DataError, Problem
from hybrid.table.read_file import column_problems, typed_table
from hybrid.table.read_options import ReadOptions
from hybrid.table.schema import Table

DATA_FRAME = "<DataFrame>"
"""Name of the source in messages and manifests."""


@runtime_checkable
class ArrowStream(Protocol):
    """Table with Arrow's PyCapsule interface.

    Those of polars, pyarrow, DuckDB and narwhals have it.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the columns over without a copy."""


Frame: TypeAlias = pd.DataFrame | ArrowStream
"""An input table in memory."""


def read_frame(frame: Frame, options: ReadOptions) -> Table:
    """Give every column of a DataFrame its role and kind.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, pyarrow.Table or another table of Arrow's PyCapsule interface
        One record per row. The index of pandas is not a column and is ignored; ``frame.reset_index()`` makes it one.
    options : ReadOptions
        The columns' roles and kinds, missing markers.

    Returns
    -------
    Table
        Columns of texts are parsed as those of a Parquet file; other dtypes keep their kind.

    Raises
    ------
    DataError
        With all problems at once: names that are not texts or occur twice, columns that the config names and the
        frame lacks, a column of mixed or unsupported types, values that are not of the declared kind; no rows.
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
    """Arrow table of another library's table, with plain texts."""
    try:
        table = pa.table(frame)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        raise DataError(
            f"{DATA_FRAME}: the table cannot be read as Arrow columns", hint="give one record per row, in named columns"
        ) from None
    return pa.table({name: _plain(table[name]) for name in table.column_names}) if _has_views(table) else table


def _has_views(table: pa.Table) -> bool:
    return any(_is_view(kind) for kind in table.schema.types)


def _is_view(kind: Any) -> bool:
    """True for texts or categories of texts that are views."""
    return bool(pa.types.is_string_view(kind.value_type if pa.types.is_dictionary(kind) else kind))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with texts in the layout that files have."""
    if not _is_view(column.type):
        return column
    text = pa.large_string()
    if not pa.types.is_dictionary(column.type):
        return column.cast(text)
    chunks = [pa.DictionaryArray.from_arrays(one.indices, one.dictionary.cast(text)) for one in column.chunks]
    return pa.chunked_array(chunks, pa.dictionary(column.type.index_type, text))
