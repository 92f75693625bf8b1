"""Anonymize a table of a warehouse without fetching its rows.

Fetched are distinct values, combinations and counts; sent are the class of each combination and the labels of each
class. The search is the one of tables in memory, so its optimum, loss and suppressed rows are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa

from hybrid.anonymize.anonymize_table import summarize
from hybrid.anonymize.decide import AnonymizationRequest, Decision, decide
from hybrid.anonymize.result import AnonymizationResult
from hybrid.anonymize.warehouse import expressions
from hybrid.anonymize.warehouse.count_rows import CombinationTable, WarehouseRows, count_rows, most_combinations
from hybrid.anonymize.warehouse.write_labels import SentClasses, VerifiedClasses, send_classes, verify_rows
from hybrid.base.errors import ConfigError, DataError
from hybrid.base.manifest import Recorder
from hybrid.base.progress import Progress, silent
from hybrid.table import Role
from hybrid.table.typed_table import column_problems
from hybrid.table.warehouse import Transfer, Warehouse, unverified

_STEPS = ("read", "search", "write", "verify", "sample")


@dataclass(frozen=True)
class RowsTask:
    """Rows to be anonymized that stay where they are: in a warehouse, or in files that DuckDB reads."""

    rows: WarehouseRows
    """The rows."""
    asked: AnonymizationRequest
    """What to do."""
    memory: float
    """Bytes that combinations and search may take here."""
    stored: pa.Schema | None = None
    """Types of the columns in files that have types; those of the rows without it."""


@dataclass(frozen=True)
class WarehouseResult:
    """Aggregates of an anonymization of rows that are not in memory."""

    result: AnonymizationResult
    decided: Decision
    engine: str
    labels: str
    """The table of labels, or their file."""
    combinations: int
    nameless: bool
    """Whether a row has no person, where others have one."""
    transfers: tuple[Transfer, ...]

    def to_json(self) -> dict[str, Any]:
        kept = {
            "engine": self.engine,
            "labels": self.labels,
            "combinations": self.combinations,
            "transfers": [asdict(transfer) for transfer in self.transfers],
        }
        return self.result.to_json() | {"warehouse": kept}


def anonymize_rows(task: RowsTask, recorder: Recorder, progress: Progress = silent) -> WarehouseResult:
    """Write the table ``data.sql.labels``, as :func:`~hybrid.anonymize.anonymize` would label the rows.

    It may not be there yet. It is verified by queries on all rows; else there is none. The recorder gets the stages.
    """
    searched, place = search_rows(task, recorder, progress), task.asked.data.place
    rows, asked, combinations, decided = searched.rows, searched.asked, searched.combinations, searched.decided
    assert place.labels_table is not None
    with unverified(rows.warehouse, place.labels_table) as name:
        with stage("write", recorder, progress):
            sent = send_classes(rows, asked, combinations, decided)
            written = _write(name, sent, decided.schema.names, progress)
        with stage("verify", recorder, progress):
            verified = verify_rows(sent, written, asked, combinations, decided)
    return searched.result(verified, recorder, place.labels_table)


def _write(name: str, sent: SentClasses, columns: Sequence[str], progress: Progress) -> Any:
    """Make a table of labelled rows part by part, each in the order of its content."""
    warehouse, labels, parts = sent.rows.warehouse, sent.labels(), sent.parts(len(columns))
    for number, part in enumerate(parts):
        labelled = expressions.labelled(sent.kept(part), labels, sent.names)
        ordered = expressions.in_content_order(labelled, sent.names, columns)
        if number == 0:
            warehouse.write(name, ordered)
            continue
        progress("sort", number, len(parts))
        warehouse.extend(name, ordered)
    return warehouse.table(name)


@dataclass(frozen=True)
class SearchedRows:
    """Rows of a warehouse, their distinct combinations, and the decision on them."""

    rows: WarehouseRows
    asked: AnonymizationRequest
    combinations: CombinationTable
    decided: Decision

    def summary(self, verified: VerifiedClasses, recorder: Recorder) -> AnonymizationResult:
        seconds = next(stage.seconds for stage in recorder.stages if stage.name == "search")
        found = summarize(self.decided.task, self.decided.recoding, verified.sizes, seconds)
        return replace(found, verified=verified.reached, min_class_persons=verified.reached["k"])

    def result(self, verified: VerifiedClasses, recorder: Recorder, labels: str) -> WarehouseResult:
        """Aggregates of the anonymization, once the labels are verified."""
        members, warehouse = self.combinations.counted.members, self.rows.warehouse
        nameless = members is not None and bool((members.persons < 0).any())
        found, moved = len(self.combinations.counted.found), tuple(warehouse.transfers)
        summary = self.summary(verified, recorder)
        return WarehouseResult(summary, self.decided, warehouse.engine, labels, found, nameless, moved)


def search_rows(task: RowsTask, recorder: Recorder, progress: Progress) -> SearchedRows:
    """Count combinations there, and search here; errors as :func:`anonymize_rows`."""
    rows, asked = task.rows, task.asked
    with stage("read", recorder, progress):
        combinations = count_rows(rows, asked, most_combinations(task.memory, len(asked.names) + len(asked.attributes)))
    with stage("search", recorder, progress), rows.warehouse.resting():
        return SearchedRows(rows, asked, combinations, decide(asked, combinations.counted, progress))


def table_task(warehouse: Warehouse, asked: AnonymizationRequest, memory: float) -> RowsTask:
    """Task of a table of a warehouse, whose columns are looked up there."""
    source, data = asked.source, asked.data
    table = expressions.plain(warehouse.table(source))
    problems = column_problems(source, list(table.columns), data)
    if problems:
        raise DataError(problems)
    persons, unit = data.person_columns, tuple(expressions.person_keys(data.person_columns))
    rows = WarehouseRows(warehouse, expressions.with_keys(table, persons, data.missing), persons, unit)
    task = RowsTask(rows, replace(asked, columns=tuple(table.columns)), memory)
    refuse_repeated(task)
    return task


def refuse_repeated(task: RowsTask) -> None:
    """Refuse identifiers that several rows share, where it was not said whose a row is."""
    asked, rows = task.asked, task.rows
    identifiers = [name for name in asked.columns if asked.role(name) is Role.IDENTIFIER]
    if asked.data.person is not None or not identifiers:
        return
    keys = expressions.person_keys(identifiers)
    keyed = expressions.with_keys(rows.table, identifiers, asked.data.missing)
    found = rows.warehouse.fetch("repeated identifiers", expressions.repeated(keyed, keys)).to_pylist()[0]
    names = [name for name, key in zip(identifiers, keys, strict=True) if found[key]]
    if names:
        raise ConfigError(
            f"identifiers repeat and data.person is not set: {', '.join(map(repr, names))}; k would count rows",
            hint="set data.person to the identifier that names the person of a row, or to none if each row is "
            "another person",
        )


@contextmanager
def stage(name: str, recorder: Recorder, progress: Progress) -> Iterator[None]:
    """One step, shown and recorded."""
    progress(name, _STEPS.index(name), len(_STEPS))
    with recorder.stage(name):
        yield
