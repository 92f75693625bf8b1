"""Anonymize a Parquet file that need not fit into memory.

The search needs the distinct rows alone: one pass over the file adds them up, a second one writes the labels, and a
third one reads these back and measures what they reach. In memory are the distinct combinations of quasi-identifiers
and of what the privacy models look at, one batch of records, and one part of the shuffle.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hybrid.anonymize.anonymize_table import recode, summarize
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.result import AnonymizationResult
from hybrid.anonymize.search.distinct_rows import collect, value_numbers
from hybrid.anonymize.search.outcome import Recoding
from hybrid.anonymize.search.person_rows import Members
from hybrid.anonymize.search.problem import SearchProblem, build_rules, encode, refuse_contradictions
from hybrid.anonymize.search.row_counts import Combinations
from hybrid.anonymize.streaming.count_rows import MemoryBudget, count_combinations, count_members
from hybrid.anonymize.streaming.labels import ByColumn, ByRow, Labelling, Labels
from hybrid.anonymize.streaming.verify_file import Origin, verify_classes
from hybrid.anonymize.streaming.write_labels import Relabel
from hybrid.base.arrays import Array, Codes, Leaves, Mask
from hybrid.base.errors import DataError, HierarchyError, Problem
from hybrid.base.manifest import Recorder
from hybrid.base.progress import Progress, silent
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.load import HierarchySource, load_hierarchy
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.table.files import File
from hybrid.table.options import DataOptions
from hybrid.table.read_batches import ParquetRows, ValueNumbers, open_parquet
from hybrid.table.read_options import ColumnOptions


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
class Streamed:
    """Aggregates of a streamed anonymization."""

    result: AnonymizationResult
    costs: tuple[StageCost, ...]
    schema: Schema
    hierarchies: Mapping[str, Hierarchy]

    def to_json(self) -> dict[str, Any]:
        """The content of ``anonymization.json``."""
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
    rows : ParquetRows
        The file.
    data : DataOptions
        Its columns' roles.
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
    persons : numpy.ndarray, shape (n_rows,), int64, or None
        Person of each record (:func:`hybrid.table.persons.person_codes`); None: each record is another person.
    """

    rows: ParquetRows
    data: DataOptions
    hierarchies: Mapping[str, HierarchySource]
    options: AnonymizeOptions
    memory: float
    training: Mask | None = None
    population: Table | None = None
    persons: Codes | None = None


def anonymize_file(
    task: FileTask, target: Path, seed: int, recorder: Recorder, progress: Progress = silent
) -> Streamed:
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
    Streamed
        Verified on what was written.

    Raises
    ------
    HybridError
        As :func:`~hybrid.anonymize.anonymize`; and there are more distinct combinations than memory has room for.
    """
    cpu: dict[str, float] = {}
    with _timed(recorder, "read", cpu):
        source = _count(task, progress)
    with _timed(recorder, "search", cpu):
        decided = _decide(task, source, progress)
    with _timed(recorder, "write", cpu):
        written = _relabel(task, source, decided).write(target, seed, progress)
    with _timed(recorder, "verify", cpu):
        reread = _reread(target, source, progress)
        origin = _origin(source, decided)
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
    return Streamed(replace(result, verified=verified), tuple(costs), decided.schema, decided.task.hierarchies)


def _origin(source: _Source, decided: _Decided) -> Origin | None:
    if source.members is None:
        return None
    columns = zip(source.attributes, decided.value_of, source.found.columns[len(source.names) :], strict=True)
    return Origin(source.members, {name: value_of[numbers] for name, value_of, numbers in columns})


@contextmanager
def _timed(recorder: Recorder, stage: str, cpu: dict[str, float]) -> Iterator[None]:
    """A stage of the recorder; its processor seconds go into ``cpu``."""
    started = time.process_time()
    with recorder.stage(stage):
        yield
    cpu[stage] = round(time.process_time() - started, 4)


@dataclass(frozen=True)
class _Source:
    """Findings of the first pass.

    Quasi-identifiers come first, then the columns that the models look at.
    """

    names: list[str]
    attributes: list[str]
    numbers: list[ValueNumbers]
    found: Combinations
    room: MemoryBudget
    members: Members | None


@dataclass(frozen=True)
class _Decided:
    """Decision of the search, with the inputs of later passes."""

    schema: Schema
    task: SearchProblem
    recoding: Recoding
    leaf_of: list[Leaves]
    value_of: list[Codes]


def _role(data: DataOptions, name: str) -> Role:
    return data.columns.get(name, ColumnOptions()).role


def _count(task: FileTask, progress: Progress) -> _Source:
    columns = task.rows.schema.names
    names = [name for name in columns if _role(task.data, name) is Role.QUASI_IDENTIFIER]
    others = [name for name in columns if _role(task.data, name) in (Role.SENSITIVE, Role.INSENSITIVE)]
    attributes = [name for name in task.options.attributes if name in others]
    numbers = [ValueNumbers(name, task.rows.schema.field(name).type) for name in (*names, *attributes)]
    room = MemoryBudget.of(task.memory, task.rows, len(numbers))
    found = count_combinations(task.rows, numbers, room, training=task.training, step="read", progress=progress)
    members = None
    if task.persons is not None:
        training = task.training
        members = count_members(task.rows, numbers, found, room, task.persons, training=training, progress=progress)
    return _Source(names, attributes, numbers, found, room, members)


def _decide(task: FileTask, source: _Source, progress: Progress) -> _Decided:
    typed = _typed(task, source)
    schema = Schema(
        tuple(
            typed[name][0] if name in typed else Column(name, _role(task.data, name), Kind.CATEGORICAL)
            for name in task.rows.schema.names
        )
    ).without_identifiers()
    hierarchies = _load(task, source, typed)
    refuse_contradictions(schema, hierarchies, task.options, task.population)
    used = [hierarchies[name] for name in source.names]
    leaf_of = [_lookup(typed[name][1].index, hierarchies[name].encode(typed[name][1])) for name in source.names]
    rows, counts = source.found.columns, source.found.counts
    if not len(counts):
        raise DataError("there are no records to anonymize", hint="check the input file and the split")
    leaves = np.stack([lookup[column] for lookup, column in zip(leaf_of, rows, strict=False)], axis=1)
    values = dict(zip(source.attributes, rows[len(used) :], strict=True))
    sensitive = {name: _values(typed[name][1], column) for name, column in values.items()}
    people = None if task.population is None else encode(task.population, used)
    records = collect(leaves, used, sensitive, people, counts, source.members)
    elsewhere = Table(pd.DataFrame(index=pd.RangeIndex(records.n_records)), Schema(()))
    rules = build_rules(task.options, hierarchies, records)
    prepared = SearchProblem(elsewhere, hierarchies, task.options, leaves, records, rules, task.population)
    value_of = [_lookup(column, value_numbers(sensitive[name])[0]) for name, column in values.items()]
    return _Decided(schema, prepared, recode(prepared, progress), leaf_of, value_of)


def _typed(task: FileTask, source: _Source) -> dict[str, tuple[Column, pd.Series]]:
    """Each column, and its values by their numbers."""
    typed: dict[str, tuple[Column, pd.Series]] = {}
    problems: list[Problem] = []
    for numbers in source.numbers:
        try:
            typed[numbers.name] = numbers.typed(task.rows.source, task.data)
        except DataError as error:
            problems.extend(error.problems)
    if problems:
        raise DataError(problems)
    return typed


def _load(task: FileTask, source: _Source, typed: Mapping[str, tuple[Column, pd.Series]]) -> dict[str, Hierarchy]:
    sensitive = [name for name in source.attributes if _role(task.data, name) is Role.SENSITIVE]
    wanted = [name for name in (*source.names, *sensitive) if name in task.hierarchies]
    counts = {numbers.name: numbers.counts[numbers.counts > 0] for numbers in source.numbers}
    loaded: dict[str, Hierarchy] = {}
    problems: list[Problem] = []
    for name in wanted:
        try:
            loaded[name] = load_hierarchy(task.hierarchies[name], *typed[name], counts[name])
        except HierarchyError as error:
            problems.extend(error.problems)
    if problems:
        raise HierarchyError(problems)
    return loaded


def _values(by_number: pd.Series, numbers: Codes) -> pd.Series:
    """The value of each number."""
    return by_number.take(np.searchsorted(by_number.index, numbers)).reset_index(drop=True)


def _lookup(numbers: Codes | pd.Index, results: Array) -> Array:
    """An array that holds the result of each number at its place."""
    lookup = np.full(int(np.max(numbers)) + 1, -1, dtype=results.dtype)
    lookup[numbers] = results
    return lookup


def _relabel(task: FileTask, source: _Source, decided: _Decided) -> Relabel:
    labels = Labels.of(decided.schema, decided.task, decided.recoding)
    numbers = source.numbers[: len(source.names)]
    labelling: Labelling
    if decided.recoding.levels is None:
        rows = source.found.columns[: len(numbers)]
        labelling = ByRow(decided.task, decided.recoding, labels, rows, [len(column) for column in numbers])
    else:
        labelling = ByColumn(decided.task, decided.recoding, labels, decided.leaf_of)
    by_name = dict(zip(source.names, numbers, strict=True))
    return Relabel(task.rows, decided.schema.names, by_name, labels, labelling, source.room, task.training)


def _reread(target: Path, source: _Source, progress: Progress) -> Combinations:
    """Distinct combinations of labels and sensitive values in the written file."""
    rows = open_parquet(File.local(target), DataOptions(path=target.name))
    labels = [ValueNumbers(name, rows.schema.field(name).type) for name in source.names]
    attributes = source.numbers[len(source.names) :]
    return count_combinations(rows, [*labels, *attributes], source.room, step="verify", progress=progress)
