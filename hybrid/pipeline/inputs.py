"""Inputs of a pipeline: the table and other files that a config names, each read once; or a sample of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from hybrid.anonymize.decide import AnonymizationRequest
from hybrid.anonymize.warehouse.anonymize_files import FileTask, opened
from hybrid.anonymize.warehouse.anonymize_rows import RowsTask, refuse_repeated, table_task
from hybrid.anonymize.warehouse.draw_rows import KEY_BYTES, WholeTable, draw_rows, label_sample
from hybrid.base.arrays import Array, Rows
from hybrid.base.errors import VerificationError, refuse
from hybrid.base.hashing import fingerprint
from hybrid.base.manifest import Recorder
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.base.scratch import scratch
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.load import listed_values, load_hierarchies
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.refusals import SAMPLED, STAYING, refused
from hybrid.pipeline.side_tables import Beside
from hybrid.pipeline.stages import READ
from hybrid.protect.group_values import possible_names
from hybrid.table import Column, ColumnFormat, Kind, Schema, Table
from hybrid.table.files import unchanged
from hybrid.table.parquet_files import files_of, is_parquet, persons_beside, rows_of
from hybrid.table.persons import with_row_limit
from hybrid.table.split import Parts, SplitOptions, folds, split
from hybrid.table.typed_table import typed_table
from hybrid.table.warehouse import ENGINE_SHARE, open_warehouse
from hybrid.table.write import Layout, layout_of


@dataclass(frozen=True)
class Sources:
    """Tables that were read, and how their rows belong together."""

    tables: Mapping[str, Table]
    """Every table about people, with the person of each row, without undecided columns and orphans."""
    owners: Mapping[str, Rows]
    """Row of the parent table that each row belongs to; not for a table without parent; shape (n_rows,), int64."""
    public: Mapping[str, Table]
    orphans: Mapping[str, int]
    """Rows that were left out, for each table with ``orphans: drop``."""


class Inputs:
    """Everything that a configuration names, read when it is first used.

    ``recorder`` gets the seconds and the memory of reading; ``read`` is the table, where it was read already.
    """

    def __init__(self, config: RunConfig, recorder: Recorder, progress: Progress, read: Table | None = None) -> None:
        self.config, self.recorder, self.progress, self._read = config, recorder, progress, read

    @property
    def whole(self) -> WholeTable | None:
        """Verified labels of a table in its source, whose sample is the table here; None where all rows are here."""
        return None

    @cached_property
    def table(self) -> Table:
        if self._read is not None:
            return self._read
        self.progress(READ.name, 0, 1)
        with self.recorder.stage(READ.name):
            table = self.config.load_table()
            _ = self.layout
            return table

    @cached_property
    def layout(self) -> Layout:
        """Layout of the input file, taken while the table is read: the file may be gone at the end."""
        file, data = self.config.data_file, self.config.data
        if file is None or not file.info().is_file:
            return Layout()
        return layout_of(file, data.separator, data.encoding, data.sheet)

    @cached_property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchy of every quasi-identifier; none without anonymization."""
        if self.config.anonymize is None:
            return {}
        return load_hierarchies(self.table, self.config.hierarchy_sources, self.config.unlabelled)

    @cached_property
    def domains(self) -> dict[str, Array]:
        """Values that hierarchy files list, as domains of generators, with the groups that rare ones are written as.

        For generators that must not take them from the records; else none.
        """
        options = self.config.synthesize
        if options.is_off or not options.engine.encoding(options.resolve()).listed_domains:
            return {}
        listed = listed_values(self.table.schema.without_identifiers(), self.config.hierarchy_sources)
        if self.config.protection is not None:
            for name, tree in self.hierarchies.items():
                if name in listed and tree.kind is Kind.CATEGORICAL:
                    listed[name] = np.append(listed[name], sorted(possible_names(tree).difference(listed[name])))
        return listed

    @cached_property
    def beside(self) -> Beside:
        """Tables that the configuration names beside this one."""
        return Beside(self.config, lambda: self.table.schema)

    @cached_property
    def fingerprint(self) -> str:
        """Content hash of the table, its hierarchies and listed domains."""
        return fingerprint(self.table, self.hierarchies, *([self.domains] if self.domains else []))

    def split(self, seed: int) -> Parts:
        """Training, control and fresh records, with identifiers.

        Of each person no more rows than ``data.max_rows``.
        """
        whose = self.config.data.person_columns, self.config.data.household_columns
        return self._limited(split(self.table, self._split, rng_for(seed, "split"), *whose), seed)

    @property
    def _split(self) -> SplitOptions:
        return self.config.split

    def folds(self, seed: int) -> tuple[Parts, ...]:
        """Training and control records of every fold of ``split.control: cross``."""
        whose = self.config.data.person_columns, self.config.data.household_columns
        found = folds(self.table, self.config.split, rng_for(seed, "split"), *whose)
        return tuple(self._limited(parts, seed) for parts in found)

    def _limited(self, parts: Parts, seed: int) -> Parts:
        most = self.config.data.max_rows
        if most is None:
            return parts
        rng = rng_for(seed, "max_rows")
        train, *others = (None if part is None else with_row_limit(part, most, rng) for part in parts)
        assert train is not None
        return Parts(train, *others)

    def with_training(self, table: Table) -> Inputs:
        """Inputs with other training records, no control records, and the same other inputs."""
        return _GivenParts(self, table, Parts(table, None, None))

    def of_fold(self, parts: Parts) -> Inputs:
        """Inputs of the same table, parted in another way."""
        return _GivenParts(self, self.table, parts)


class _GivenParts(Inputs):
    def __init__(self, source: Inputs, table: Table, parts: Parts) -> None:
        super().__init__(source.config, Recorder(), source.progress, table)
        self._source, self._parts = source, parts

    @property
    def whole(self) -> WholeTable | None:
        return self._source.whole

    @cached_property
    def hierarchies(self) -> dict[str, Hierarchy]:
        return self._source.hierarchies

    @cached_property
    def beside(self) -> Beside:
        return self._source.beside

    @cached_property
    def fingerprint(self) -> str:
        parts = self._parts
        return super().fingerprint if parts.control is None else fingerprint(super().fingerprint, *parts[:2])

    def split(self, seed: int) -> Parts:  # noqa: ARG002
        return self._parts


class SampledInputs(Inputs):
    """Verified labels of all rows of a table that stays in its source, and their sample.

    ``seed`` gives the seed of the draw, once the fingerprint of the table is known.
    """

    def __init__(self, config: RunConfig, recorder: Recorder, progress: Progress, seed: Callable[[], int]) -> None:
        super().__init__(config, recorder, progress)
        self._seed, self._content = seed, ""

    @property
    def whole(self) -> WholeTable:
        return self._found[0]

    @cached_property
    def table(self) -> Table:
        whole, rows = self._found
        data, kinds = self.config.data, {column.name: column for column in whole.schema}
        columns = {
            name: about.model_copy(update={"kind": kinds[name].kind}) if name in kinds else about
            for name, about in data.columns.items()
            if name in rows.column_names
        }
        file, options = self.config.data_file, data.model_copy(update={"columns": columns})
        source = data.place.table if file is None else str(file)
        found = typed_table(source, rows, options, keep_types=file is None or is_parquet(file))
        as_there = (replace(column, format=_format(column, kinds.get(column.name))) for column in found.schema)
        table = self.config.prepared(replace(found, schema=Schema(tuple(as_there))))
        if len(label_sample(table.without_identifiers(), self.hierarchies, whole).suppressed):
            raise VerificationError(
                "drawn rows have labels that were not verified",
                hint="the table may have changed meanwhile: run again",
            )
        return table

    @property
    def _split(self) -> SplitOptions:
        return self.config.split.model_copy(update={"rows": None})  # so many were drawn, persons with all of their rows

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        return dict(self.whole.hierarchies)

    @property
    def fingerprint(self) -> str:
        if not self._content:
            _ = self._found
        return self._content

    @cached_property
    def _found(self) -> tuple[WholeTable, pa.Table]:
        config = self.config
        refuse(refused(config, STAYING, SAMPLED))
        with self.recorder.stage(READ.name), opened_task(config, self.beside.population) as task:
            _ = self.layout
            return draw_rows(task, config.sample_size, self._key, Recorder(), self.progress)

    def _key(self, content: str) -> bytes:
        """Secret of the draw; the seed may depend on the content."""
        self._content = content
        return rng_for(self._seed(), "warehouse").bytes(KEY_BYTES)


@contextmanager
def opened_task(config: RunConfig, population: Table | None) -> Iterator[RowsTask]:
    """Connect to the warehouse of a configuration for the block, or start DuckDB on its files."""
    assert config.anonymize is not None
    memory, place = config.anonymize.memory_bytes, config.data.place
    known = config.data, config.hierarchy_sources, config.anonymize, population
    if config.data_file is None:
        with open_warehouse(place.url_env, memory * ENGINE_SHARE, minutes=place.timeout_minutes) as warehouse:
            asked = AnonymizationRequest(place.table, (), *known)
            yield table_task(warehouse, asked, memory * (1 - warehouse.held))
        return
    with scratch("rows") as folder, unchanged(*files_of(config.data_file)):
        work = Path(folder)
        rows = rows_of(config.data_file, config.data, work)
        asked = AnonymizationRequest(rows.source, tuple(rows.schema.names), *known)
        with opened(FileTask(rows, asked, work, memory, persons_beside(rows, config.data))) as (_, task):
            refuse_repeated(task)
            yield task


def _format(column: Column, there: Column | None) -> ColumnFormat:
    return column.format if there is None else replace(there.format, arrow_type=column.format.arrow_type)
