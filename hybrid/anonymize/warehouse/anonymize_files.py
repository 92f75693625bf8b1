"""Anonymize files that need not fit into memory.

DuckDB counts, joins and sorts their rows; the search is that of tables in memory. The file of labels is the same, byte
for byte, as if the table had been read into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hybrid.anonymize.decide import AnonymizationRequest
from hybrid.anonymize.warehouse import expressions
from hybrid.anonymize.warehouse.anonymize_rows import RowsTask, SearchedRows, WarehouseResult, search_rows, stage
from hybrid.anonymize.warehouse.count_rows import WarehouseRows, distinct_values
from hybrid.anonymize.warehouse.expressions import CLASS
from hybrid.anonymize.warehouse.write_labels import SentClasses, send_classes, verify_rows
from hybrid.base.arrays import Array
from hybrid.base.errors import DataError
from hybrid.base.manifest import Recorder
from hybrid.base.progress import Progress, silent
from hybrid.table.arrow import cast_to, is_text, kind_of
from hybrid.table.data_options import DataOptions
from hybrid.table.parquet_files import PERSON, TRAINING, ParquetRows, engine_rows
from hybrid.table.read_options import ColumnOptions
from hybrid.table.value_numbers import ValueNumbers
from hybrid.table.warehouse import ENGINE_SHARE, DuckdbWarehouse, open_files
from hybrid.table.write import marked

_ROW_GROUP = 1 << 20
"""Rows of a part of the written file, as of a table in memory."""
_TEXT_BYTES = 400
"""What a distinct text takes while it is typed and mapped."""


@dataclass(frozen=True)
class FileTask:
    """Files to be anonymized."""

    rows: ParquetRows
    """Their rows."""
    asked: AnonymizationRequest
    """What to do."""
    work: Path
    """A private folder for what does not fit into memory."""
    memory: float
    """Bytes that DuckDB and the search may take, beyond what the program itself needs."""
    beside: Mapping[str, Array] = field(default_factory=dict)
    """What stands beside the columns, each of shape (n_rows,). :data:`TRAINING`: mask of the records that are
    anonymized, all without it; the others' values count for kinds and hierarchies only. :data:`PERSON`: person of each
    record (:func:`hybrid.table.persons.person_codes`); without it each is another one."""


def anonymize_files(task: FileTask, target: Path, recorder: Recorder, progress: Progress = silent) -> WarehouseResult:
    """Write the labels of the rows of files, as :func:`~hybrid.anonymize.anonymize` would label them.

    ``target``, a Parquet file, is complete and verified by queries when this returns; the recorder gets the stages.
    """
    asked = task.asked
    with opened(task) as (session, there):
        searched = search_rows(there, recorder, progress)
        combinations, decided = searched.combinations, searched.decided
        with stage("write", recorder, progress):
            sent = send_classes(there.rows, asked, combinations, decided)
            columns = _Columns.of(task, searched)
            _write(session, sent, columns, target, progress)
        with stage("verify", recorder, progress):
            values = [columns.values_of(numbers) for numbers in combinations.counted.numbers[len(asked.names) :]]
            verified = verify_rows(sent, session.read([target]), asked, combinations, decided, values)
        return searched.result(verified, recorder, target.name)


@contextmanager
def opened(task: FileTask) -> Iterator[tuple[DuckdbWarehouse, RowsTask]]:
    """Start DuckDB on the files for the block."""
    copied = engine_rows(task.rows, task.work, task.beside)
    with open_files(task.rows.source, task.work, task.memory * ENGINE_SHARE) as session:
        stored = task.rows.schema if task.rows.has_types else None
        yield session, RowsTask(_rows(task, session, copied), task.asked, task.memory * (1 - session.held), stored)


def _rows(task: FileTask, session: DuckdbWarehouse, copied: ParquetRows) -> WarehouseRows:
    found = session.read([Path(file.path) for file in copied.files]).select(*copied.schema.names)
    everything = expressions.plain(found)
    persons = (PERSON,) * (PERSON in task.beside)
    table, others = everything, None
    if TRAINING in task.beside:
        table, others = everything.filter(everything[TRAINING]), everything
    unit = task.asked.data.person_columns
    return WarehouseRows(session, expressions.with_keys(table, persons, ()), persons, unit, others)


@dataclass(frozen=True)
class _Columns:
    """Columns of the written file."""

    schema: pa.Schema
    """Names and types, quasi-identifiers as texts."""
    written: Mapping[str, pa.Array] = field(default_factory=dict)
    """For columns whose values are written otherwise than they are read: those by their numbers."""
    numbers: Mapping[str, ValueNumbers] = field(default_factory=dict)
    """The values of these columns as they are read."""

    @classmethod
    def of(cls, task: FileTask, searched: SearchedRows) -> _Columns:
        """Columns of a task; each text is written as a table in memory would write it."""
        asked, rows = searched.asked, searched.rows
        everything = rows.table if rows.others is None else rows.others
        known = {column.name: column for column in searched.combinations.counted.numbers}
        fields, written, numbers = [], {}, {}
        problems: list[Any] = []
        for name in searched.decided.schema.names:
            kind = task.rows.schema.field(name).type
            stored = kind if task.rows.has_types else None
            if name in asked.names:
                fields.append(pa.field(name, pa.string()))
                continue
            if not _is_parsed(name, kind, asked.data):
                fields.append(pa.field(name, stored))
                continue
            _refuse_many(task, rows, everything, name)
            numbers[name] = known.get(name) or distinct_values(rows.warehouse, everything, name)
            try:
                written[name] = numbers[name].written(asked.source, asked.data, stored)
            except DataError as error:
                problems.extend(error.problems)
                continue
            fields.append(pa.field(name, written[name].type if stored is None else stored))
        if problems:
            raise DataError(problems)
        return cls(marked(pa.schema(fields), synthetic=False), written, numbers)

    def values_of(self, numbers: ValueNumbers) -> pa.Array:
        """Values of a column by their numbers, as they are written."""
        values = self.written.get(numbers.name, numbers.values)
        return pc.if_else(pc.is_nan(values), None, values) if pa.types.is_floating(values.type) else values

    def changed(self, name: str) -> pa.Table | None:
        """Values of a column that are written otherwise, beside what is written; None where there are none."""
        if name not in self.written:
            return None
        read, written = self.numbers[name].values, self.written[name]
        if pa.types.is_null(written.type) or written.equals(read):
            return None
        return pa.table({_FROM: read.slice(1), _TO: written.slice(1)})


_FROM, _TO = "hybrid_read", "hybrid_written"
_MICRO = 6
"""Digits of a second that tables in memory keep."""


def _is_parsed(name: str, kind: pa.DataType, data: DataOptions) -> bool:
    """True for texts, and for values of another kind than is declared."""
    wanted = data.columns.get(name, ColumnOptions()).kind
    return is_text(kind) or (wanted is not None and wanted is not kind_of(kind)[0])


def _refuse_many(task: FileTask, rows: WarehouseRows, everything: Any, name: str) -> None:
    most = int(task.memory / _TEXT_BYTES)
    if task.rows.n_rows <= most:
        return
    found = rows.warehouse.fetch("number of texts", everything.aggregate(n=everything[name].nunique()))["n"][0].as_py()
    if found > most:
        raise DataError(
            f"{task.rows.source}: column {name!r} has {found:,} distinct texts; memory has room for {most:,}",
            hint="give it the role excluded, write it as numbers or dates in Parquet, or raise anonymize.memory_limit",
        )


def _write(session: DuckdbWarehouse, sent: SentClasses, columns: _Columns, target: Path, progress: Progress) -> None:
    """Write labelled rows part by part, each in the order of its content."""
    others = [name for name in columns.schema.names if name not in sent.names]
    mappings = {name: found for name in others if (found := columns.changed(name)) is not None}
    tables = {name: session.send(f"texts of {name}", found) for name, found in mappings.items()}
    parts = sent.parts(1 + len(others))
    with pq.ParquetWriter(target, columns.schema) as writer:
        waiting: list[pa.RecordBatch] = []
        for number, part in enumerate(parts):
            progress("sort", number, len(parts))
            rows = _canonical(sent.kept(part if len(parts) > 1 else None), others, tables, columns)
            for batch in session.batches(rows.order_by([CLASS, *others]).select(CLASS, *others)):
                waiting.append(batch)
                waiting = _flush(writer, waiting, sent, columns.schema, all_of_it=False)
        _flush(writer, waiting, sent, columns.schema, all_of_it=True)


def _canonical(rows: Any, others: Sequence[str], tables: Mapping[str, Any], columns: _Columns) -> Any:
    """Rows with the copied columns as a table in memory would write them."""
    import ibis

    for name in others:
        if name in tables:
            joined = rows.left_join(tables[name], rows[name] == tables[name][_FROM])
            null = columns.written[name][0].as_py()
            value = joined[_TO] if null is None else ibis.ifelse(joined[name].isnull(), null, joined[_TO])
            rows = joined.select(**{each: value if each == name else joined[each] for each in rows.columns})
        column, kind = rows[name], rows[name].type()
        if kind.is_floating():
            rows = rows.mutate(**{name: expressions.number(column)})
        elif kind.is_timestamp() and (kind.scale or 0) > _MICRO:
            rows = rows.mutate(**{name: column.cast(kind.copy(scale=_MICRO))})
    return rows


def _flush(
    writer: pq.ParquetWriter, waiting: list[pa.RecordBatch], sent: SentClasses, schema: pa.Schema, *, all_of_it: bool
) -> list[pa.RecordBatch]:
    """Write whole groups of rows; gives what is left."""
    while sum(map(len, waiting)) >= (1 if all_of_it else _ROW_GROUP):
        rows = pa.Table.from_batches(waiting)
        content = _labelled(rows.slice(0, _ROW_GROUP), sent, schema)
        writer.write_table(content, row_group_size=_ROW_GROUP)
        waiting = rows.slice(_ROW_GROUP).to_batches()
    return waiting


def _labelled(rows: pa.Table, sent: SentClasses, schema: pa.Schema) -> pa.Table:
    """Rows with the labels of their class, in the types of the file."""
    classes = rows[CLASS].combine_chunks().cast(pa.int64())
    columns = []
    for each in schema:
        if each.name in sent.names:
            labels = sent.classes.labels[each.name].combine_chunks()
            columns.append(labels.dictionary.take(labels.indices.take(classes)))
            continue
        found = rows[each.name].combine_chunks()
        kind = kind_of(found.type)[0]
        if not is_text(found.type) and kind is not None and (what := kind.type.unstorable(rows[each.name])):
            raise DataError(
                f"column {each.name!r} holds {what}",
                hint="correct these values or make them missing, store the column as text, or drop it",
            )
        columns.append(cast_to(found, each.type))
    return pa.table(columns, schema=schema)
