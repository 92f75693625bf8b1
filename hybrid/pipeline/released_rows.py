"""Rows to release: in parts, in a file, and further ones of the same model."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.errors import ConfigError
from hybrid.pipeline.conditions import refuse_misfit, selection
from hybrid.pipeline.generation import Generated
from hybrid.pipeline.in_parts import DrawnInParts, draw_in_parts
from hybrid.publication.nature import made, nature
from hybrid.table import Table
from hybrid.table.surrogates import with_surrogates
from hybrid.table.write import write_table

if TYPE_CHECKING:
    from hybrid.pipeline.table_run import TableRun


def further_rows(run: TableRun, rows: int, number: int, where: str | None = None, before: int = 0) -> Table:
    """Rows of a further draw from the same model, which no evaluation is about.

    Parameters
    ----------
    run : TableRun
        The run that trained the model.
    rows : int
        Rows to draw, 1 or more; of persons with several rows, about so many.
    number : int
        Number of the draw, 1 or more: each has random numbers of its own.
    where : str, optional
        Condition that every row, or person, meets, beside that of the configuration.
    before : int
        Rows that were drawn before, whose surrogates are not used again.

    Raises
    ------
    ConfigError
        No generator runs, rows are filtered or drawn under a budget; the condition does not fit the columns, or would
        single out few persons.
    GeneratorError
        Too few draws meet the condition.
    """
    config, options, generation = run.config, run.config.synthesize, run.generation
    if options.is_off or options.filter is not None or config.privacy is not None:
        why = "no generator runs" if options.is_off else "rows are filtered, or each draw spends a privacy budget"
        raise ConfigError(f"no further rows can be drawn: {why}", hint="set synthesize.rows and run again")
    if where is not None:
        both = where if options.where is None else f"({options.where}) and ({where})"
        config = config.with_values({"synthesize.where": both})
        refuse_misfit(config, run.table.schema)
        chosen = selection(config, run.train, by_person=run.static is not None, decided=run.decided)
        generation = replace(generation, config=config, selection=chosen)
    again = generation.again(rows, number)
    drawn = again.from_originals() if run.anonymization is None else again.from_anonymized(run.anonymization)
    return with_identifiers(run, drawn.table, before, before)


def with_identifiers(run: TableRun, table: Table, rows: int = 0, persons: int = 0) -> Table:
    """Drawn records with surrogates, after others of so many rows and persons."""
    source, whole = run.table, run.inputs.whole
    if run.config.output.identifiers == "drop":
        return table
    elsewhere = None if whole is None else whole.identifiers
    whose = run.config.data.person_columns
    return with_surrogates(table, source.schema, source, whose, elsewhere, (rows, persons))


def drawn_in_parts(run: TableRun) -> DrawnInParts:
    """Sample of the rows of all parts; errors as of the generator."""
    before, options = run.anonymization, run.config.synthesize
    generation, rows, part_rows = run.generation, options.rows, options.part_rows
    assert rows != "same" and part_rows is not None

    def draw(rows: int, number: int) -> Generated:
        further = generation.again(rows, number)
        return further.from_originals() if before is None else further.from_anonymized(before)

    known = {"train": run.train, "control": run.control}
    return draw_in_parts(rows, part_rows, draw, partial(with_identifiers, run), known, run.progress, _said(run))


def write_released(run: TableRun, table: Table, target: Path) -> None:
    """Write the table to release, with its identifiers, into a file in the source's conventions."""
    data = run.config.data
    if isinstance(run.drawn, DrawnInParts):
        shutil.copyfile(run.drawn.file, target)
    else:
        drawn = not run.is_unsynthesized
        write_table(table, target, data.separator, data.encoding, run.layout, drawn, _said(run))


def _said(run: TableRun) -> str:
    """Nature of the released rows, and how they were made."""
    config, result = run.config.model_dump(mode="json"), run.anonymized
    return " ".join((nature(config), *made(config, None if result is None else result.result)))
