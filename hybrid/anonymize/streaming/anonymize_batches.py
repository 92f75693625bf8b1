"""Anonymize a Parquet file that need not fit into memory.

The search needs the distinct rows alone: one pass over the file adds them up, a second one writes the labels, and a
third one reads these back and measures what they reach. In memory are the distinct combinations of quasi-identifiers
and of what the privacy models look at, one batch of records, and one part of the shuffle.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hybrid.anonymize.anonymize_table import summarize
from hybrid.anonymize.decide import AnonymizationRequest, CountedRows, Decision, decide, source_persons
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.result import AnonymizationResult
from hybrid.anonymize.search.distinct_rows import DistinctRowCounts
from hybrid.anonymize.streaming.count_rows import MemoryBudget, count_combinations, count_members
from hybrid.anonymize.streaming.verify_file import verify_classes
from hybrid.anonymize.streaming.write_labels import ByColumn, ByRow, Labelling, Labels, LabelWriter
from hybrid.base.arrays import Codes, Mask
from hybrid.base.manifest import Recorder
from hybrid.base.progress import Progress, silent
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.load import HierarchySource
from hybrid.table import Schema, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.files import File
from hybrid.table.read_batches import ParquetRows, ValueNumbers, open_parquet


@dataclass(frozen=True)
class StageCost:
    """Time and memory of one stage of a streamed anonymization."""

    stage: str
    rows: int
    """Records that went through it; of the search, distinct rows of quasi-identifiers."""
    combinations: int
    """Distinct combinations that it held."""
    seconds: float
    """Wall clock."""
    cpu_seconds: float
    """Of this process, all threads together."""
    peak_memory_bytes: int


@dataclass(frozen=True)
class StreamedResult:
    """Aggregates of a streamed anonymization."""

    result: AnonymizationResult
    costs: tuple[StageCost, ...]
    schema: Schema
    hierarchies: Mapping[str, Hierarchy]

    def to_json(self) -> dict[str, Any]:
        read = self.costs[0]
        streamed = {
            "rows": read.rows,
            "combinations": read.combinations,
            "stages": [asdict(cost) for cost in self.costs],
        }
        return self.result.to_json() | {"streamed": streamed}


@dataclass(frozen=True)
class FileTask:
    """A Parquet file to be anonymized.

    Parameters
    ----------
    hierarchies : mapping of str to Path or HierarchySpec
        The file, or the description, of each quasi-identifier's hierarchy.
    options : AnonymizeOptions
        What to do; engine exact.
    memory : float
        Bytes that may be taken beyond what the program itself needs.
    training : numpy.ndarray, shape (n_rows,), bool, or None
        Records that are anonymized, all if None; the others' values count for hierarchies only.
    population : Table or None
        Of k-map.
    persons : numpy.ndarray, shape (n_rows,), int64
        Person of each record (:func:`hybrid.table.persons.person_codes`); empty, and no room taken, where each record
        is another person.
    """

    rows: ParquetRows
    data: DataOptions
    hierarchies: Mapping[str, HierarchySource]
    options: AnonymizeOptions
    memory: float
    training: Mask | None = None
    population: Table | None = None
    persons: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def asked(self) -> AnonymizationRequest:
        columns = tuple(self.rows.schema.names)
        return AnonymizationRequest(
            self.rows.source, columns, self.data, self.hierarchies, self.options, self.population
        )


def anonymize_file(
    task: FileTask, target: Path, seed: int, recorder: Recorder, progress: Progress = silent
) -> StreamedResult:
    """Write the labels of a file's records, as :func:`~hybrid.anonymize.anonymize` would label them.

    Parameters
    ----------
    task : FileTask
        What to do.
    target : Path
        The Parquet file to write, under a temporary name: it is complete when this returns.
    seed : int
        Of the order of the records.
    recorder : Recorder
        Gets the stages' seconds and peak memory.
    progress : Progress
        Receives the progress of each pass.

    Returns
    -------
    StreamedResult
        Verified on what was written.

    Raises
    ------
    HybridError
        As :func:`~hybrid.anonymize.anonymize`; and there are more distinct combinations than memory has room for.
    """
    cpu: dict[str, float] = {}
    asked = task.asked
    with _timed(recorder, "read", cpu):
        room = MemoryBudget.of(task.memory, task.rows, len(asked.names) + len(asked.attributes))
        source = _count(task, room, progress)
    with _timed(recorder, "search", cpu):
        decided = decide(asked, source, progress)
    with _timed(recorder, "write", cpu):
        written = _relabel(task, source, decided, room).write(target, seed, progress)
    with _timed(recorder, "verify", cpu):
        reread = _reread(target, asked, source, room, progress)
        origin = source_persons(asked, source, decided)
        sizes, verified = verify_classes(decided.task, decided.recoding, reread, decided.value_of, origin)
    seconds = next(stage.seconds for stage in recorder.stages if stage.name == "search")
    result = summarize(decided.task, decided.recoding, sizes, seconds)
    if source.members is not None:
        result = replace(result, min_class_persons=verified["k"])
    records = decided.task.records
    through = {
        "read": (task.rows.n_rows, len(source.found)),
        "search": (records.n_records, records.n_distinct),
        "write": (written, len(sizes)),
        "verify": (written, len(reread)),
    }
    costs = [
        StageCost(stage.name, *through[stage.name], stage.seconds, cpu[stage.name], stage.peak_memory_bytes)
        for stage in recorder.stages
        if stage.name in through
    ]
    return StreamedResult(replace(result, verified=verified), tuple(costs), decided.schema, decided.task.hierarchies)


@contextmanager
def _timed(recorder: Recorder, stage: str, cpu: dict[str, float]) -> Iterator[None]:
    """A stage of the recorder; its processor seconds go into ``cpu``."""
    started = time.process_time()
    with recorder.stage(stage):
        yield
    cpu[stage] = round(time.process_time() - started, 4)


def _count(task: FileTask, room: MemoryBudget, progress: Progress) -> CountedRows:
    asked = task.asked
    numbers = [ValueNumbers(name, task.rows.schema.field(name).type) for name in (*asked.names, *asked.attributes)]
    found = count_combinations(task.rows, numbers, room, training=task.training, step="read", progress=progress)
    members = None
    if len(task.persons):
        training = task.training
        members = count_members(task.rows, numbers, found, room, task.persons, training=training, progress=progress)
    return CountedRows(numbers, found, members)


def _relabel(task: FileTask, source: CountedRows, decided: Decision, room: MemoryBudget) -> LabelWriter:
    labels, names = Labels.of(decided.schema, decided.task, decided.recoding), task.asked.names
    numbers = source.numbers[: len(names)]
    labelling: Labelling
    if decided.recoding.levels is None:
        rows = source.found.columns[: len(numbers)]
        labelling = ByRow(decided.task, decided.recoding, labels, rows, [len(column) for column in numbers])
    else:
        labelling = ByColumn(decided.task, decided.recoding, labels, decided.leaf_of)
    by_name = dict(zip(names, numbers, strict=True))
    return LabelWriter(task.rows, decided.schema.names, by_name, labels, labelling, room, task.training)


def _reread(
    target: Path, asked: AnonymizationRequest, source: CountedRows, room: MemoryBudget, progress: Progress
) -> DistinctRowCounts:
    rows = open_parquet(File.local(target), DataOptions(path=target.name))
    labels = [ValueNumbers(name, rows.schema.field(name).type) for name in asked.names]
    attributes = source.numbers[len(asked.names) :]
    return count_combinations(rows, [*labels, *attributes], room, step="verify", progress=progress)
