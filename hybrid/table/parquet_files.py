"""Parquet files as one table, read a batch at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileType, LocalFileSystem

from hybrid.base.arrays import Array, Codes
from hybrid.base.errors import DataError, Problem
from hybrid.table.arrow import is_text, kind_of, plain_type
from hybrid.table.csv_files import copy_csv
from hybrid.table.data_options import DataOptions
from hybrid.table.file_formats import PARQUET_SUFFIXES
from hybrid.table.file_problems import refuse_other_format
from hybrid.table.files import File
from hybrid.table.persons import person_codes, unknown_person
from hybrid.table.read_file import INDEX, parquet_metadata, readable
from hybrid.table.read_options import ColumnOptions, ReadOptions
from hybrid.table.typed_table import column_problems, typed_table, unsupported

_BATCH = 1 << 18


def is_parquet(file: File) -> bool:
    """True for a Parquet file by name, or a folder with one."""
    return file.suffix in PARQUET_SUFFIXES or bool(files_below(file))


@dataclass(frozen=True)
class ParquetRows:
    """The rows of one or more Parquet files with the same columns."""

    source: str
    """The file or folder, for messages."""
    files: tuple[File, ...]
    """Read one after the other."""
    schema: pa.Schema
    """The columns, without the row index that pandas stores."""
    n_rows: int
    """In all files together."""
    has_types: bool = True
    """False for the cells of a CSV file, which are texts."""

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of all rows, in the order of the names, a batch at a time in the order of the files."""
        for file in self.files:
            with (
                readable(file, "the file could not be read to its end"),
                pq.ParquetFile(file.path, filesystem=file.filesystem) as reader,
            ):
                for batch in reader.iter_batches(_BATCH, columns=list(names)):
                    if len(batch):
                        yield batch.select(list(names))


def open_parquet(file: File, options: ReadOptions) -> ParquetRows:
    """Open one Parquet file, or all those in a folder, by their metadata.

    Of a folder at any depth; hidden files and those named ``_*`` are left out. DataError has all problems at once.
    """
    files = [file] if file.info().is_file else files_below(file)
    if not files:
        raise DataError(f"{file}: there is no Parquet file", hint="set data.path to a Parquet file or a folder of them")
    found = [parquet_metadata(one) for one in files]
    schema = _without_index(found[0].schema.to_arrow_schema())
    problems = column_problems(str(file), schema.names, options)
    for one, metadata in zip(files[1:], found[1:], strict=True):
        problems += _differences(one, _without_index(metadata.schema.to_arrow_schema()), files[0], schema)
    problems += [
        unsupported(str(file), field.name, field.type)
        for field in schema
        if not is_text(field.type) and kind_of(field.type)[0] is None
    ]
    n_rows = sum(metadata.num_rows for metadata in found)
    if not n_rows and not problems:
        problems.append(Problem(f"{file}: there are columns and no rows", "point data.path to a table with rows"))
    if problems:
        raise DataError(problems)
    return ParquetRows(str(file), tuple(files), schema, n_rows)


def files_below(folder: File) -> list[File]:
    """Parquet files below a folder, by name; none if it is no folder."""
    if folder.info().type is not FileType.Directory:
        return []
    found = folder.filesystem.get_file_info(FileSelector(folder.path, recursive=True))
    inside = {PurePosixPath(info.path).relative_to(folder.path): info for info in found if info.is_file}
    return [
        File(f"{folder}/{name}", folder.filesystem, info.path)
        for name, info in sorted(inside.items())
        if name.suffix.lower() in PARQUET_SUFFIXES and not any(part[0] in "._" for part in name.parts)
    ]


def files_of(place: File) -> list[File]:
    """The Parquet files below a folder, by name; the file itself, if it is one."""
    return files_below(place) or [place]


def _without_index(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.remove_metadata() for field in schema if not field.name.startswith(INDEX)])


def _differences(file: File, schema: pa.Schema, first: File, wanted: pa.Schema) -> list[Problem]:
    if schema.names != wanted.names:
        return [Problem(f"{file}: not the same columns as in {first}", "give all files the same columns in one order")]
    return [
        Problem(f"{file}: column {a.name!r} is {a.type}, and {b.type} in {first}", "write all files alike")
        for a, b in zip(schema, wanted, strict=True)
        if a.type != b.type
    ]


def person_column(rows: ParquetRows, options: ReadOptions, names: Sequence[str]) -> Codes:
    """Person of each record of Parquet files by some columns, as :func:`hybrid.table.persons.person_codes`."""
    unknown = [name for name in names if name not in rows.schema.names]
    if unknown:
        raise unknown_person(unknown, rows.schema.names)
    columns = []
    for name in names:
        parts = [batch.column(0) for batch in rows.batches([name])]
        encoded = pa.chunked_array(parts).combine_chunks().dictionary_encode()
        own = options.model_copy(update={"columns": {name: options.columns.get(name, ColumnOptions())}})
        values = typed_table(rows.source, pa.table({name: encoded.dictionary}), own, keep_types=False).frame[name]
        number = np.append(pd.factorize(values)[0], -1)
        columns.append(number[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)].astype(np.int64))
    return person_codes(columns)


def persons_beside(rows: ParquetRows, options: DataOptions) -> dict[str, Array]:
    """The column :data:`PERSON` for :func:`engine_rows`; none where each row is another person."""
    names = options.person_columns
    return {PERSON: person_column(rows, options, names)} if names else {}


TRAINING, PERSON = "hybrid_training", "hybrid_owner"
"""Columns beside the copied rows: whether a row is anonymized, and the number of its person."""


def rows_of(file: File, options: ReadOptions, work: Path) -> ParquetRows:
    """Rows of a file that need not fit into memory: Parquet, a folder of it, or CSV.

    Cells of CSV are copied to a Parquet file in the private folder ``work``.
    """
    if is_parquet(file):
        return open_parquet(file, options)
    refuse_other_format(file)
    copy = work / "cells.parquet"
    copy_csv(file, options, copy)
    return replace(open_parquet(File.local(copy), options), source=str(file), has_types=False)


def engine_rows(rows: ParquetRows, work: Path, beside: Mapping[str, Array]) -> ParquetRows:
    """Rows as DuckDB reads them without a difference to Arrow.

    They are those of the files themselves where these are on this machine, have types that both know, and nothing is to
    stand beside the rows. Otherwise a copy is made in the private folder ``work``, with the columns of ``beside``, each
    of shape (n_rows,): :data:`TRAINING`, bool, the rows that are anonymized; :data:`PERSON`, int64, the person of each
    row (:func:`hybrid.table.persons.person_codes`), which becomes null for nobody known.

    DataError for names that differ in upper and lower case alone, which are one to DuckDB, and values that it has no
    type for.
    """
    _refuse_equal_names(rows)
    plain = pa.schema([field.with_type(_engine_type(field.type)) for field in rows.schema])
    is_local = all(isinstance(file.filesystem, LocalFileSystem) for file in rows.files)
    if not beside and is_local and all(_engine_type(kind) == plain_type(kind) for kind in rows.schema.types):
        return replace(rows, schema=plain)
    added = {name: pa.array(values, mask=values < 0 if name == PERSON else None) for name, values in beside.items()}
    schema = pa.schema([*plain, *((name, values.type) for name, values in added.items())])
    copy, done = work / "rows.parquet", 0
    with pq.ParquetWriter(copy, schema) as writer:
        for batch in rows.batches(plain.names):
            with readable(rows.files[0], "a column has values beyond the numbers and times that are read"):
                columns = [column.cast(field.type) for column, field in zip(batch.columns, plain, strict=True)]
            columns += [values.slice(done, len(batch)) for values in added.values()]
            writer.write_batch(pa.record_batch(columns, schema=schema))
            done += len(batch)
    return replace(rows, files=(File.local(copy),), schema=schema)


def _refuse_equal_names(rows: ParquetRows) -> None:
    names = Counter(name.casefold() for name in rows.schema.names)
    alike = [name for name in rows.schema.names if names[name.casefold()] > 1]
    own = [name for name in rows.schema.names if name.casefold().startswith("hybrid_")]
    if alike:
        raise DataError(
            f"{rows.source}: columns whose names differ in upper and lower case alone: {', '.join(map(repr, alike))}",
            hint="rename them: a table larger than memory is counted by DuckDB, to which they are one column",
        )
    if own:
        raise DataError(
            f"{rows.source}: columns whose names begin with hybrid_: {', '.join(map(repr, own))}",
            hint="rename them: such names are used for what is counted beside the columns",
        )


def _engine_type(kind: pa.DataType) -> pa.DataType:
    """Type that a column has for DuckDB: without dictionary, null, and numbers and times that it does not know."""
    plain = plain_type(kind)
    if pa.types.is_float16(plain):
        return pa.float32()
    if pa.types.is_decimal256(plain):
        return pa.decimal128(min(plain.precision, 38), plain.scale)
    if pa.types.is_null(plain):
        return pa.string()
    return pa.time64("us") if plain == pa.time64("ns") else plain
