"""Reader of data files: Parquet here, others in modules of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileType

from hybrid.base.arrays import Mask
from hybrid.base.errors import DataError
from hybrid.base.resources import available_bytes
from hybrid.table.arrow import is_text
from hybrid.table.csv_files import estimated_shape, parts_of_csv, read_csv
from hybrid.table.file_formats import (
    PARQUET_SUFFIXES,
    SPREADSHEET_SUFFIXES,
    STATISTICS_SUFFIXES,
    TYPED_SUFFIXES,
    is_csv,
)
from hybrid.table.file_problems import refuse_other_format
from hybrid.table.files import File, unchanged
from hybrid.table.read_options import ReadOptions
from hybrid.table.schema import Table
from hybrid.table.spreadsheets import read_spreadsheet
from hybrid.table.sql_connection import LARGEST_CELL
from hybrid.table.statistics_files import read_statistics_file
from hybrid.table.typed_table import column_problems, typed_table

_CELL_BYTES = 20
"""Of memory per cell while a Parquet file is read: 21 measured on eight columns of text and four of numbers."""
_COPIES = 10
"""Times that the bytes of texts are in memory while a Parquet file is read: 8 measured on one long cell, 10 on a
million different texts of a hundred bytes."""
_CSV_COPIES = 3
"""Times that the bytes of a CSV file are in memory while it is read."""
_TABLES = 2
"""Tables that are in memory while one is anonymized: the records and their labels."""
_QUASI_BYTES = 100
"""Of memory per row and quasi-identifier while a table is anonymized: 145 less its cells measured on a million rows of
12 columns, 8 of them quasi-identifiers."""


def read_table(path: Path | File, options: ReadOptions) -> Table:
    """Read a data file and give every column its role and kind.

    Its suffix says its format (:mod:`hybrid.table.file_formats`); any other is CSV. How the source wrote the columns is
    in the schema's formats. DataError has all problems at once; MissingExtraError names a package that the format
    needs.
    """
    file = File.local(path) if isinstance(path, Path) else path
    info = file.info()
    if not info.is_file:
        what = "is a folder" if info.type is FileType.Directory else "does not exist"
        raise DataError(f"{file}: the data file {what}", hint="set data.path to a data file")
    refuse_other_format(file)
    stored = None
    with unchanged(file):
        if file.suffix in PARQUET_SUFFIXES:
            raw, stored = _read_parquet(file, options)
        elif file.suffix in STATISTICS_SUFFIXES:
            raw = read_statistics_file(file, options)
        elif file.suffix in SPREADSHEET_SUFFIXES:
            raw = read_spreadsheet(file, options)
        else:
            raw = read_csv(file, options)
    return typed_table(str(file), raw, options, keep_types=file.suffix in TYPED_SUFFIXES, stored=stored)


INDEX = "__index_level_"
"""Begin of the names under which pandas stores a row index: a row number, never data."""
_PART = 1 << 17
"""Rows of a Parquet file that are looked at together."""


def reads_parts(file: File) -> bool:
    """True for a file that :func:`read_part` reads: CSV or Parquet."""
    return file.suffix in PARQUET_SUFFIXES or is_csv(file.path)


def read_part(
    file: File, options: ReadOptions, columns: Collection[str] | None = None, rows: Mask | None = None
) -> Table:
    """Some columns, or the rows of a mask (n_rows,), of a file that memory need not hold as a whole.

    Columns that the file lacks are left out. Errors as :func:`read_table`.
    """
    kept, at = [], 0
    for part in _parts_of(file, options, columns):
        kept.append(part if rows is None else part.filter(pa.array(rows[at : at + len(part)])))
        at += len(part)
    return _typed_part(file, options, columns, pa.concat_tables(kept))


def column_parts(file: File, options: ReadOptions, name: str) -> Iterator[Table]:
    """One column of a file, a part of the rows at a time; errors as :func:`read_table`."""
    for part in _parts_of(file, options, [name]):
        yield _typed_part(file, options, [name], part)


def _parts_of(file: File, options: ReadOptions, columns: Collection[str] | None) -> Iterator[pa.Table]:
    with unchanged(file):
        parts = _parquet_parts(file, columns) if file.suffix in PARQUET_SUFFIXES else parts_of_csv(file, options)
        for part in parts:
            yield part if columns is None else part.select([name for name in part.column_names if name in columns])


def _typed_part(file: File, options: ReadOptions, columns: Collection[str] | None, part: pa.Table) -> Table:
    if columns is not None:
        known = {name: one for name, one in options.columns.items() if name in columns}
        options = options.model_copy(update={"columns": known, "unlisted": "insensitive"})
    stored = parquet_metadata(file).schema.to_arrow_schema() if file.suffix in PARQUET_SUFFIXES else None
    return typed_table(str(file), part, options, keep_types=file.suffix in TYPED_SUFFIXES, stored=stored)


def _parquet_parts(file: File, columns: Collection[str] | None) -> Iterator[pa.Table]:
    names = [name for name in parquet_metadata(file).schema.to_arrow_schema().names if not name.startswith(INDEX)]
    named = [name for name in names if columns is None or name in columns]
    with readable(file):
        for batch in pq.ParquetFile(file.path, filesystem=file.filesystem).iter_batches(_PART, columns=named):
            batch.validate(full=True)
            yield pa.Table.from_batches([batch]).replace_schema_metadata(None)


def parquet_metadata(file: File) -> pq.FileMetaData:
    """Metadata of a Parquet file, before any of it is read."""
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
    """Report errors of Arrow as a problem of the file: Arrow's own text may quote what the file holds."""
    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError):
        raise DataError(f"{file}: {problem}", hint="write it again") from None


def memory_need(file: File, options: ReadOptions, n_quasi: int) -> float:
    """Estimated bytes that a table takes while it is read and anonymized in memory."""
    if file.suffix in PARQUET_SUFFIXES:
        metadata = parquet_metadata(file)
        rows, columns, texts = metadata.num_rows, metadata.num_columns, _reading(metadata)
    else:
        rows, columns = estimated_shape(file, options)
        texts = _CSV_COPIES * file.info().size
    return table_memory(rows, columns, n_quasi, texts)


def table_memory(rows: int, columns: int, n_quasi: int, texts: float) -> float:
    """Estimated bytes of a table that is read and anonymized in memory; ``texts``: those that reading takes."""
    return float(texts + rows * (_TABLES * columns * _CELL_BYTES + n_quasi * _QUASI_BYTES))


def _reading(metadata: pq.FileMetaData) -> float:
    """Estimated bytes that a Parquet file takes while it is read."""
    cells = metadata.num_rows * metadata.num_columns * _CELL_BYTES
    return float(cells + _COPIES * sum(group.total_byte_size for group in _groups(metadata)))


def _refuse_too_large(file: File, metadata: pq.FileMetaData, options: ReadOptions) -> None:
    if "more_than_memory" in options.accept:
        return
    need, free = _reading(metadata), available_bytes()
    if need > free:
        raise DataError(
            f"{file}: {metadata.num_rows:,} rows x {metadata.num_columns} columns take about {need / 2**30:.1f} GiB of "
            f"memory, and {free / 2**30:.1f} GiB are free",
            hint="with a section anonymize, and hybrid-release[warehouse], hybrid run learns a sample of the rows; run "
            "everything else on a sample, on a larger machine, or with data.accept: [more_than_memory]",
        )


def _read_parquet(file: File, options: ReadOptions) -> tuple[pa.Table, pa.Schema]:
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
    index = [name for name in raw.column_names if name.startswith(INDEX)]
    return raw.drop_columns(index).replace_schema_metadata(None), stored
