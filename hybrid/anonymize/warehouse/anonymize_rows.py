"""Anonymize a table of a warehouse without fetching its rows.

Fetched are distinct values, combinations and counts; sent are the class of each combination and the labels of each
class. The search is the one of tables in memory, so its optimum, loss and suppressed rows are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

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
class TableTask:
    """A table of a warehouse to be anonymized."""

    warehouse: Warehouse
    """Where it is."""
    asked: AnonymizationRequest
    """What to do; the columns are looked up there."""
    memory: float
    """Bytes that combinations and search may take here."""


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


def anonymize_rows(task: TableTask, recorder: Recorder, progress: Progress = silent) -> WarehouseResult:
    """Write the table ``data.sql.labels``, as :func:`~hybrid.anonymize.anonymize` would label the rows.

    It may not be there yet. It is verified by queries on all rows; else there is none. The recorder gets the stages.
    """
    warehouse, place = task.warehouse, task.asked.data.place
    searched = search_rows(*table_rows(task), task.memory, recorder, progress)
    rows, asked, combinations, decided = searched.rows, searched.asked, searched.combinations, searched.decided
    with unverified(warehouse, place.labels_table) as name:
        with stage("write", recorder, progress):
            sent = send_classes(rows, asked, combinations, decided)
            written = _write(name, sent, decided.schema.names, progress)
        with stage("verify", recorder, progress):
            verified = verify_rows(sent, written, asked, combinations, decided)
    result = searched.summary(verified, recorder)
    return searched.told(result, place.labels_table)


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

    def told(self, result: AnonymizationResult, labels: str) -> WarehouseResult:
        """Aggregates of the anonymization, once the labels are verified."""
        members, warehouse = self.combinations.counted.members, self.rows.warehouse
        nameless = members is not None and bool((members.persons < 0).any())
        found, moved = len(self.combinations.counted.found), tuple(warehouse.transfers)
        return WarehouseResult(result, self.decided, warehouse.engine, labels, found, nameless, moved)


def search_rows(
    rows: WarehouseRows, asked: AnonymizationRequest, memory: float, recorder: Recorder, progress: Progress
) -> SearchedRows:
    """Count combinations there, and search here within ``memory`` bytes; errors as :func:`anonymize_rows`."""
    with stage("read", recorder, progress):
        combinations = count_rows(rows, asked, most_combinations(memory, len(asked.names) + len(asked.attributes)))
    with stage("search", recorder, progress), rows.warehouse.resting():
        return SearchedRows(rows, asked, combinations, decide(asked, combinations.counted, progress))


def table_rows(task: TableTask) -> tuple[WarehouseRows, AnonymizationRequest]:
    """The table and what is asked of it."""
    source, data = task.asked.source, task.asked.data
    table = expressions.plain(task.warehouse.table(source))
    problems = column_problems(source, list(table.columns), data)
    if problems:
        raise DataError(problems)
    identifiers = [
        name for name in table.columns if name in data.columns and data.columns[name].role is Role.IDENTIFIER
    ]
    if data.person is None and identifiers:
        _refuse_repeated(task.warehouse, table, identifiers)
    asked, persons = replace(task.asked, columns=tuple(table.columns)), data.person_columns
    return WarehouseRows(task.warehouse, expressions.with_keys(table, persons, data.missing), persons), asked


def _refuse_repeated(warehouse: Warehouse, table: Any, identifiers: Sequence[str]) -> None:
    found = warehouse.fetch("repeated identifiers", expressions.repeated(table, identifiers)).to_pylist()[0]
    names = [name for name in identifiers if found[name]]
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
