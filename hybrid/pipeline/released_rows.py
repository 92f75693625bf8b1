"""Rows to release: with identifiers, in parts, in a file."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.pipeline.generation import Generated
from hybrid.pipeline.in_parts import DrawnInParts, draw_in_parts
from hybrid.publication.nature import made, nature
from hybrid.table import Table
from hybrid.table.surrogates import with_surrogates
from hybrid.table.write import write_table

if TYPE_CHECKING:
    from hybrid.pipeline.table_run import TableRun


def with_identifiers(run: TableRun, table: Table, rows: int = 0, persons: int = 0) -> Table:
    """Drawn records with surrogates, after others of so many rows and persons."""
    source, whole = run.table, run.inputs.whole
    if run.config.output.identifiers == "drop":
        return table
    elsewhere = None if whole is None else whole.identifiers
    whose = run.config.data.person_columns
    return with_surrogates(table, source.schema, source, whose, elsewhere, (rows, persons))


def drawn_in_parts(run: TableRun) -> DrawnInParts:
    """Sample of the rows of all parts."""
    rows, part_rows = run.config.synthesize.rows, run.config.synthesize.part_rows
    assert not isinstance(rows, str) and part_rows is not None

    def draw(rows: int, number: int) -> Generated:
        return run.generation.again(rows, number).drawn()

    known = {"train": run.train, "control": run.control}
    return draw_in_parts(rows, part_rows, draw, partial(with_identifiers, run), known, run.progress, said(run))


def write_released(run: TableRun, table: Table, target: Path) -> None:
    """Write the table to release, with its identifiers, into a file in the source's conventions."""
    data = run.config.data
    if isinstance(run.drawn, DrawnInParts):
        shutil.copyfile(run.drawn.file, target)
    else:
        drawn = not run.is_unsynthesized
        write_table(table, target, data.separator, data.encoding, run.layout, drawn, said(run))


def said(run: TableRun) -> str:
    """Nature of the released rows, and how they were made."""
    config, result = run.config.model_dump(mode="json"), run.anonymized
    return " ".join((nature(config), *made(config, None if result is None else result.result)))
