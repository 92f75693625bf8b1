"""Inputs of a pipeline whose table stays in a warehouse.

A random sample comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

import pyarrow as pa

from hybrid.anonymize.warehouse.anonymize_rows import TableTask
from hybrid.anonymize.warehouse.draw_rows import KEY_BYTES, WholeTable, draw_rows, label_sample
from hybrid.base.errors import ConfigError, VerificationError
from hybrid.base.manifest import Recorder
from hybrid.base.progress import Progress
from hybrid.base.rng import rng_for
from hybrid.hierarchy import Hierarchy
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.inputs import Inputs
from hybrid.pipeline.refusals import PUSHED, SAMPLED, refused
from hybrid.pipeline.stages import READ
from hybrid.table import Column, ColumnFormat, Schema, Table
from hybrid.table.typed_table import typed_table
from hybrid.table.warehouse import ENGINE_SHARE, open_warehouse


class WarehouseInputs(Inputs):
    """Verified labels of all rows in a warehouse, and their sample.

    Parameters
    ----------
    config, recorder, progress
        As for :class:`hybrid.pipeline.inputs.Inputs`.
    seed : callable
        Gives the seed of the draw, once the fingerprint of the table is known.
    """

    def __init__(self, config: RunConfig, recorder: Recorder, progress: Progress, seed: Callable[[], int]) -> None:
        super().__init__(config, recorder, progress)
        self._seed, self._content = seed, ""

    @property
    def whole(self) -> WholeTable:
        """Verified labels of all rows."""
        return self._found[0]

    @cached_property
    def table(self) -> Table:
        """The drawn rows."""
        whole, rows = self._found
        data, kinds = self.config.data, {column.name: column for column in whole.schema}
        columns = {
            name: about.model_copy(update={"kind": kinds[name].kind}) if name in kinds else about
            for name, about in data.columns.items()
            if name in rows.column_names
        }
        found = typed_table(data.place.table, rows, data.model_copy(update={"columns": columns}), keep_types=True)
        as_there = (replace(column, format=_format(column, kinds.get(column.name))) for column in found.schema)
        table = self.config.prepared(replace(found, schema=Schema(tuple(as_there))))
        if len(label_sample(table.without_identifiers(), self.hierarchies, whole).suppressed):
            raise VerificationError(
                "drawn rows have labels that were not verified",
                hint="the table may have changed meanwhile: run again",
            )
        return table

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchy of every quasi-identifier, over the values of all rows."""
        return dict(self.whole.hierarchies)

    @property
    def fingerprint(self) -> str:
        """Content hash of all rows, hierarchies and listed domains."""
        if not self._content:
            _ = self._found
        return self._content

    @cached_property
    def _found(self) -> tuple[WholeTable, pa.Table]:
        config = self.config
        problems = list(refused(config, PUSHED, SAMPLED))
        if problems:
            raise ConfigError(problems)
        with self.recorder.stage(READ.name), opened_task(config, self.population) as task:
            return draw_rows(task, config.data.place.sample_size, self._key, Recorder(), self.progress)

    def _key(self, content: str) -> bytes:
        """Secret of the draw; the seed may depend on the content."""
        self._content = content
        return rng_for(self._seed(), "warehouse").bytes(KEY_BYTES)


@contextmanager
def opened_task(config: RunConfig, population: Table | None) -> Iterator[TableTask]:
    """Connect to the warehouse of a configuration for the block.

    Errors as of :func:`hybrid.table.warehouse.open_warehouse`.
    """
    assert config.anonymize is not None
    memory = config.anonymize.memory_bytes
    place = config.data.place
    with open_warehouse(place.url_env, memory * ENGINE_SHARE, minutes=place.timeout_minutes) as warehouse:
        yield TableTask(
            warehouse=warehouse,
            data=config.data,
            hierarchies=config.hierarchy_sources,
            options=config.anonymize,
            memory=memory * (1 - warehouse.held),
            population=population,
        )


def _format(column: Column, there: Column | None) -> ColumnFormat:
    """Format of a column, of quasi-identifiers by the values of all rows."""
    return column.format if there is None else replace(there.format, arrow_type=column.format.arrow_type)
