"""Batch reader of Parquet files, for tables larger than memory, and their rows in random order."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileType

from hybrid.base.arrays import Array, Codes
from hybrid.base.errors import DataError, Problem
from hybrid.table.arrow import is_text, kind_of
from hybrid.table.files import File
from hybrid.table.persons import person_codes, unknown_person
from hybrid.table.read_file import parquet_metadata, readable
from hybrid.table.read_options import ColumnOptions, ReadOptions
from hybrid.table.schema import PARQUET_SUFFIXES, Column
from hybrid.table.typed_table import column_problems, typed_table

_FIRST = 10_000
_CHUNK = 1 << 22
_PERSONS = 1 << 20


def is_parquet(file: File) -> bool:
    """True for a Parquet file by name, or a folder with one."""
    return file.suffix in PARQUET_SUFFIXES or bool(_files(file))


@dataclass(frozen=True)
class ParquetRows:
    """The rows of one or more Parquet files with the same columns.

    Parameters
    ----------
    source : str
        The file or folder, for messages.
    files : tuple of File
        Read one after the other.
    schema : pyarrow.Schema
        The columns, without the row index that pandas stores.
    n_rows : int
        In all files together.
    """

    source: str
    files: tuple[File, ...]
    schema: pa.Schema
    n_rows: int

    def row_bytes(self) -> float:
        """Estimated bytes of a row in memory, from the first rows."""
        first = next(self.batches(self.schema.names, _FIRST))
        return float(max(first.nbytes / len(first), 1.0))

    def batches(self, names: Sequence[str], most: int, numbered: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Some columns of all rows, in the order of the files.

        Parameters
        ----------
        names : sequence of str
            Columns, in the order in which they are wanted.
        most : int
            Rows per batch.
        numbered : collection of str
            Columns whose texts may come as a dictionary (faster where values repeat).

        Raises
        ------
        DataError
            A file cannot be read to its end.
        """
        texts = [name for name in numbered if is_text(self.schema.field(name).type)]
        for file in self.files:
            with (
                readable(file, "the file could not be read to its end"),
                pq.ParquetFile(file.path, filesystem=file.filesystem, read_dictionary=texts) as reader,
            ):
                for batch in reader.iter_batches(most, columns=list(names)):
                    if len(batch):
                        yield batch.select(list(names))

    def state(self) -> list[tuple[int, int]]:
        """Size and time of the last change of each file."""
        return [(info.size, info.mtime_ns) for info in (file.info() for file in self.files)]

    def sha256(self) -> str:
        sink = hashlib.sha256()
        for file in self.files:
            with file.open() as stream:
                while chunk := stream.read(_CHUNK):
                    sink.update(chunk)
        return sink.hexdigest()


def open_parquet(file: File, options: ReadOptions) -> ParquetRows:
    """Open one Parquet file, or all those in a folder, by their metadata.

    Parameters
    ----------
    file : File
        A file, or a folder with Parquet files (at any depth; hidden ones and those named ``_*`` are left out).
    options : ReadOptions
        The columns' roles.

    Raises
    ------
    DataError
        With all problems at once: no file, unreadable files, files with different columns, duplicate names,
        columns that the config names and the files lack (and the reverse with ``unlisted: error``), types that
        are not supported, no rows.
    """
    files = [file] if file.info().is_file else _files(file)
    if not files:
        raise DataError(f"{file}: there is no Parquet file", hint="set data.path to a Parquet file or a folder of them")
    found = [parquet_metadata(one) for one in files]
    schema = _without_index(found[0].schema.to_arrow_schema())
    problems = column_problems(str(file), schema.names, options)
    for one, metadata in zip(files[1:], found[1:], strict=True):
        problems += _differences(one, _without_index(metadata.schema.to_arrow_schema()), files[0], schema)
    problems += [_unsupported(file, field) for field in schema if not _is_supported(field.type)]
    n_rows = sum(metadata.num_rows for metadata in found)
    if not n_rows and not problems:
        problems.append(Problem(f"{file}: there are columns and no rows", "point data.path to a table with rows"))
    if problems:
        raise DataError(problems)
    return ParquetRows(str(file), tuple(files), schema, n_rows)


def _files(folder: File) -> list[File]:
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


def _without_index(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.remove_metadata() for field in schema if not field.name.startswith("__index_level_")])


def _is_supported(arrow_type: pa.DataType) -> bool:
    return is_text(arrow_type) or kind_of(arrow_type)[0] is not None


def _unsupported(file: File, field: pa.Field) -> Problem:
    return Problem(
        f"{file}: column {field.name!r} has the type {field.type}, which is not supported",
        "convert it to numbers, text, booleans or dates, or drop it",
    )


def _differences(file: File, schema: pa.Schema, first: File, wanted: pa.Schema) -> list[Problem]:
    if schema.names != wanted.names:
        return [Problem(f"{file}: not the same columns as in {first}", "give all files the same columns in one order")]
    return [
        Problem(f"{file}: column {a.name!r} is {a.type}, and {b.type} in {first}", "write all files alike")
        for a, b in zip(schema, wanted, strict=True)
        if a.type != b.type
    ]


class ValueNumbers:
    """Incremental numbering of a column's values: 0 is null, then 1, 2, ... by appearance.

    Parameters
    ----------
    name : str
        Of the column.
    arrow_type : pyarrow.DataType
        Its type; a dictionary's values are what is numbered.
    """

    def __init__(self, name: str, arrow_type: pa.DataType) -> None:
        self.name = name
        plain = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
        self._known = pa.array([None], plain)
        self.counts = np.zeros(1, dtype=np.int64)
        """How often each value was seen; shape (n_values,)."""

    def __len__(self) -> int:
        return len(self._known)

    @property
    def values(self) -> pa.Array:
        """The values by their numbers; the first is null."""
        return self._known

    def tally(self, column: pa.Array, counts: Array) -> None:
        """Number distinct values, and count their records.

        Parameters
        ----------
        column : pyarrow.Array, n values
            Each once.
        counts : numpy.ndarray, shape (n,), int
            Records of each.
        """
        codes, numbers = self.number(column)
        self.counts[:] = np.bincount(numbers[codes], counts, len(self)).astype(np.int64)

    def number(self, column: pa.Array, grow: bool = True) -> tuple[Array, Array]:
        """Number a batch of the column.

        Parameters
        ----------
        column : pyarrow.Array, n rows
            Of the column's type; texts may come as a dictionary.
        grow : bool
            Whether values that were not seen before get a number. If not, they are an error.

        Returns
        -------
        codes : numpy.ndarray, shape (n,), int64
            Position in ``numbers`` of each row's value.
        numbers : numpy.ndarray, shape (n_here,), int64
            The numbers of the batch's values; the first is 0, for a null. A number may be there twice.

        Raises
        ------
        DataError
            A value is new and ``grow`` is False.
        """
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        here = pa.concat_arrays([pa.nulls(1, self._known.type), encoded.dictionary.cast(self._known.type)])
        numbers = self._find(here)
        if (numbers < 0).any():
            if not grow:
                raise DataError(f"the column {self.name!r} changed while it was read", hint="run again")
            fresh = here.filter(pa.array(numbers < 0)).unique()
            self._known = pa.concat_arrays([self._known, fresh])
            self.counts = np.append(self.counts, np.zeros(len(fresh), dtype=np.int64))
            numbers = self._find(here)
        codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False) + 1
        if grow:
            np.add.at(self.counts, numbers, np.bincount(codes, minlength=len(numbers)))
        return codes, numbers

    def _find(self, values: pa.Array) -> Array:
        at: Array = pc.index_in(values, value_set=self._known).fill_null(-1).to_numpy(zero_copy_only=False)
        return at.astype(np.int64)

    def typed(self, source: str, options: ReadOptions) -> tuple[Column, pd.Series]:
        """The column's role and kind, and the values that records have, typed and indexed by their number.

        Raises
        ------
        DataError
            Values that are not of the declared kind.
        """
        seen = np.flatnonzero(self.counts)
        own = options.model_copy(update={"columns": {self.name: options.columns.get(self.name, ColumnOptions())}})
        raw = pa.table({self.name: self._known.take(pa.array(seen))})
        table = typed_table(source, raw, own, keep_types=False, counts=self.counts[seen])
        return table.schema[self.name], table.frame[self.name].set_axis(seen)


def person_column(rows: ParquetRows, options: ReadOptions, names: Sequence[str]) -> Codes:
    """Person of each record of Parquet files, by some of their columns.

    Parameters
    ----------
    rows : ParquetRows
        The files.
    options : ReadOptions
        Kinds of the columns, and which texts mean "missing".
    names : sequence of str
        Columns whose values together name a person.

    Returns
    -------
    numpy.ndarray, shape (n_rows,), int64
        As :func:`hybrid.table.persons.person_codes`.

    Raises
    ------
    ConfigError
        A column does not exist.
    DataError
        A file cannot be read to its end, or has values that are not of the declared kind.
    """
    unknown = [name for name in names if name not in rows.schema.names]
    if unknown:
        raise unknown_person(unknown, rows.schema.names)
    columns = []
    for name in names:
        parts = [batch.column(0) for batch in rows.batches([name], _PERSONS)]
        encoded = pa.chunked_array(parts).combine_chunks().dictionary_encode()
        own = options.model_copy(update={"columns": {name: options.columns.get(name, ColumnOptions())}})
        values = typed_table(rows.source, pa.table({name: encoded.dictionary}), own, keep_types=False).frame[name]
        number = np.append(pd.factorize(values)[0], -1)
        columns.append(number[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)].astype(np.int64))
    return person_codes(columns)


MOST_PARTS = 128
"""Open files at a time, at most."""


class Shuffle:
    """Batches in, the same rows in uniformly random order out.

    Every row goes to a random part, a file of its own; then the parts are read back one after the other, each in
    random order.

    Parameters
    ----------
    folder : Path
        Made with mode 0700; the caller removes it.
    schema : pyarrow.Schema
        Of the batches.
    n_parts : int
        1..:data:`MOST_PARTS`; one part of the rows is in memory at a time.
    """

    def __init__(self, folder: Path, schema: pa.Schema, n_parts: int) -> None:
        folder.mkdir(mode=0o700)
        self._paths = [folder / f"{part}.arrow" for part in range(n_parts)]
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._writers = [pa.ipc.new_stream(str(path), schema, options=options) for path in self._paths]
        self._schema = schema

    def places(self, n_rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw the parts that the rows of a batch go to.

        Returns
        -------
        order : numpy.ndarray, shape (n_rows,), int64
            The rows, those of one part together.
        ends : numpy.ndarray, shape (n_parts,), int64
            Where the rows of each part end.
        """
        part = rng.integers(len(self._paths), size=n_rows, dtype=np.uint8)
        return np.argsort(part, kind="stable"), np.cumsum(np.bincount(part, minlength=len(self._paths)))

    def add(self, batch: pa.RecordBatch, ends: Array) -> None:
        """Add a batch whose rows are in the order of :meth:`places`."""
        start = 0
        for writer, end in zip(self._writers, ends, strict=True):
            if end > start:
                writer.write_batch(batch.slice(start, end - start))
            start = end

    def parts(self, rng: np.random.Generator) -> Iterator[pa.Table]:
        """All rows, part by part, each in random order; a part's file is removed when it is read."""
        for writer in self._writers:
            writer.close()
        for path in self._paths:
            with pa.memory_map(str(path)) as file:
                rows = pa.ipc.open_stream(file).read_all()
            path.unlink()
            yield rows.take(pa.array(rng.permutation(len(rows))))
