"""Tables of an audit, read with equal columns and kinds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from hybrid.base.arrays import Codes
from hybrid.base.errors import DataError, Problem, refuse
from hybrid.base.sentence import sentence
from hybrid.evaluation.context import Parentage
from hybrid.evaluation.engine.encoding import ranks_of, row_keys
from hybrid.evaluation.measure import Subject
from hybrid.pipeline.starter.reading import guess_frame_reading, guess_reading
from hybrid.table import Kind, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.persons import with_persons
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ColumnOptions
from hybrid.table.typed_table import Frame, read_frame

File = Literal["train", "synthetic", "control"]
Source: TypeAlias = Path | Frame
"""A file, or a table in memory."""
READING = frozenset({"separator", "encoding", "decimal", "missing"})
"""Options about the format of a file."""
OVERLAP_NOTED, OVERLAP_REFUSED = 0.05, 0.5
"""Share of control records found in train, beyond what duplicates within train explain."""
NO_CONTROL = "no --control file: what needs people the generator never saw cannot be computed"
FEW_ROWS = 200
"""Rows below which only frequent success of an attack can be distinguished from chance."""


@dataclass(frozen=True)
class Audited:
    """Tables of an audit, without identifiers, in the columns and kinds of train.

    ``notes`` say what a reader of the results must know about the files; no cell values. ``without_person``: original
    files that lack columns of ``data.person``.
    """

    train: Table
    control: Table | None
    synthetic: Table
    notes: tuple[str, ...] = ()
    without_person: tuple[File, ...] = ()


@dataclass(frozen=True)
class AuditedTables:
    """All tables of an audit."""

    tables: Mapping[str, Audited]
    """The only one; or the person table, and tables below it with the columns of their persons beside, parents
    first."""
    parentage: Mapping[str, Mapping[Subject, Parentage]]
    """Parents of the rows, for tables that have any."""


def read_audited(train: Source, control: Source | None, synthetic: Source, options: DataOptions) -> Audited:
    """Read the files of an audit with equal kinds per column.

    ``control`` are records of the same population that the generator never saw. ``options.path`` is not used; if the
    options state none of :data:`READING`, these are guessed for each file. Columns that train does not have are not
    compared, and noted.
    """
    paths = audited_paths(train, control, synthetic)
    tables, notes = read_alike(paths, options)
    schema = tables["train"].schema.without_identifiers()
    people, lacking = _persons(tables, options.person_columns)
    same = {name: Table(table.frame[schema.names], schema, people.get(name)) for name, table in tables.items()}
    unknown = [without_person(lacking)] if lacking else []
    notes = [*unknown, *notes, *notes_on(same, paths)]
    return Audited(same["train"], same.get("control"), same["synthetic"], tuple(notes), tuple(lacking))


def audited_paths(train: Any, control: Any, synthetic: Any) -> dict[File, Any]:
    """Files, folders or tables of an audit; control only where there is one."""
    found: dict[File, Any] = {"train": train, "synthetic": synthetic}
    return found if control is None else {**found, "control": control}


def read_alike(
    paths: Mapping[File, Source], options: DataOptions, keys: Collection[str] = ()
) -> tuple[dict[File, Table], list[str]]:
    """Read the files of one table with equal kinds per column.

    ``keys`` are identifiers that every file must have. The tables have all columns that each file has. A column that
    was read as whole numbers in one file and decimals in another is decimal; other disagreements make it categorical.
    The notes are what a reader must know about the columns.
    """
    reading = {name: _reading(name, path, options) for name, path in paths.items()}
    tables = {name: _read(path, reading[name]) for name, path in paths.items()}
    schema = tables["train"].schema
    wanted = [column for column in schema.names if column in keys or column in schema.without_identifiers()]
    refuse(_lacking(paths, tables, wanted), DataError)
    kinds = _common_kinds(tables, wanted)
    disagreeing = {name: kinds[name] for name in wanted if len(_kinds(tables, name)) > 1}
    for name, path in paths.items():
        if any(tables[name].schema[column].kind is not kind for column, kind in kinds.items()):
            tables[name] = _read(path, _with_kinds(reading[name], kinds))
    return tables, [*_extra_columns(tables, keys), *_kind_notes(disagreeing)]


def _read(source: Source, options: DataOptions) -> Table:
    return read_table(source, options) if isinstance(source, Path) else read_frame(source, options)


def _called(source: Source, name: File) -> str:
    return str(source) if isinstance(source, Path) else name


def notes_on(tables: Mapping[File, Table], paths: Mapping[File, Source]) -> list[str]:
    """Notes on the number of rows and on the control records."""
    notes = list(_few_rows(tables))
    overlap = _overlap(tables["train"], tables["control"], paths) if "control" in tables else [NO_CONTROL]
    return [*notes, *overlap]


def _persons(tables: Mapping[File, Table], names: Sequence[str]) -> tuple[dict[File, Codes], list[File]]:
    """Person of each record, and the original files that lack it; then of no record.

    Of synthetic records as far as their file has it.
    """
    sides: tuple[File, ...] = ("train", "control")
    originals = [name for name in sides if name in tables]
    lacking = [name for name in originals if not set(names) <= set(tables[name].schema.names)]
    if not names or lacking:
        return {}, lacking
    known = [name for name in tables if set(names) <= set(tables[name].schema.names)]
    return {name: with_persons(tables[name], names).persons for name in known}, []


def without_person(lacking: Sequence[File]) -> str:
    """Note on files without the columns of ``data.person``."""
    return sentence("audit.rows_counted", files=tuple(lacking))


def _reading(name: File, path: Source, options: DataOptions) -> DataOptions:
    columns = options.columns
    if name != "train":
        columns = {column: wanted for column, wanted in columns.items() if wanted.role.is_learned}
        options = options.model_copy(update={"columns": columns, "unlisted": "insensitive"})
    if options.model_fields_set & READING:
        return options
    guessed = guess_reading(path, options.sheet) if isinstance(path, Path) else guess_frame_reading(path)
    return guessed.model_copy(update={"columns": {**guessed.columns, **columns}})


def _lacking(paths: Mapping[File, Source], tables: Mapping[File, Table], wanted: list[str]) -> Iterator[Problem]:
    for name, table in tables.items():
        absent = [column for column in wanted if column not in table.schema]
        if absent:
            listed = ", ".join(map(repr, absent))
            yield Problem(
                f"{_called(paths[name], name)}: columns of {_called(paths['train'], 'train')} are missing: {listed}",
                "give all files the same columns; what the generator was never shown (a name, a number) has "
                "role: identifier in --config, or is left out of the training file too",
            )


def _kinds(tables: Mapping[File, Table], name: str) -> set[Kind]:
    return {table.schema[name].kind for table in tables.values() if table.frame[name].notna().any()}


def _common_kinds(tables: Mapping[File, Table], names: list[str]) -> dict[str, Kind]:
    common = {}
    for name in names:
        kinds = _kinds(tables, name) or {tables["train"].schema[name].kind}
        whole_and_decimal = Kind.DECIMAL if all(kind.is_number for kind in kinds) else Kind.CATEGORICAL
        common[name] = kinds.pop() if len(kinds) == 1 else whole_and_decimal
    return common


def _with_kinds(options: DataOptions, kinds: Mapping[str, Kind]) -> DataOptions:
    changed = {
        name: options.columns.get(name, ColumnOptions()).model_copy(update={"kind": kind})
        for name, kind in kinds.items()
    }
    return options.model_copy(update={"columns": {**options.columns, **changed}})


def _extra_columns(tables: Mapping[File, Table], keys: Collection[str]) -> Iterator[str]:
    for name, table in tables.items():
        extra = [column for column in table.schema.names if column not in tables["train"].schema]
        if extra:
            yield sentence("audit.extra", file=name, names=tuple(extra))
        known = [c for c in tables["train"].schema.identifiers if c not in keys]
        identifiers = [c for c in known if c in table.schema and name == "synthetic"]
        if identifiers:
            yield sentence("audit.identifiers", names=tuple(identifiers))


def _kind_notes(kinds: Mapping[str, Kind]) -> Iterator[str]:
    for name, kind in kinds.items():
        yield sentence("audit.kind", column=name, kind=kind.value)


def _few_rows(tables: Mapping[File, Table]) -> Iterator[str]:
    few = [sentence("audit.file", file=name, n=len(one)) for name, one in tables.items() if len(one) < FEW_ROWS]
    if few:
        yield sentence("audit.few", files=tuple(few), n=FEW_ROWS)


def _overlap(train: Table, control: Table, paths: Mapping[File, Source]) -> Iterator[str]:
    mine, its = row_keys(ranks_of([train, control], train.schema.names))
    twice = np.bincount(mine)[mine] > 1
    overlap = float(np.isin(its, mine).mean() - twice.mean())
    if overlap > OVERLAP_REFUSED:
        raise DataError(
            f"{_called(paths['control'], 'control')}: {100 * np.isin(its, mine).mean():.0f} % of its rows are in "
            f"{_called(paths['train'], 'train')} too: "
            "control records must be people the generator never saw, or every leak looks like chance",
            hint="keep records apart before training and give them as --control, or leave --control out",
        )
    if overlap > OVERLAP_NOTED:
        yield sentence("audit.overlap", share=round(100 * overlap))
