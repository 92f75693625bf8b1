"""Write a guessed configuration of linked tables and their hierarchies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hybrid.base.atomic import write_text
from hybrid.base.yaml_document import flow
from hybrid.pipeline.starter.columns import hierarchy_paths, write_hierarchies
from hybrid.pipeline.starter.config_text import (
    column_lines,
    constraint_lines,
    head_lines,
    publish_lines,
    reading_lines,
    refuse_existing,
    roles_lines,
    split_lines,
)
from hybrid.pipeline.starter.linked import GuessedLinks, GuessedTable, reference_words
from hybrid.pipeline.starter.places import FoundTable
from hybrid.table import Role
from hybrid.table.schema import PARQUET_SUFFIXES


def write_links(guessed: GuessedLinks, config: Path, force: bool = False) -> tuple[Path, ...]:
    """Write the configuration, and a folder ``hierarchies`` beside it.

    Parameters
    ----------
    guessed : GuessedLinks
    config : Path
        Where the configuration goes.
    force : bool
        Replace files that exist.

    Returns
    -------
    tuple of Path
        What was written; the configuration last.

    Raises
    ------
    ConfigError
        A file exists and ``force`` is not set; nothing was written.
    OutputError
        The folder is not writable or the disk is full.
    """
    paths = {one.name: _paths(one, config.parent) for one in guessed.tables}
    targets = [path for files in paths.values() for path in files.values()]
    refuse_existing((*targets, config), force)
    for one in guessed.tables:
        write_hierarchies(one.found.table, one.columns, paths[one.name])
    write_text(config, "\n".join(_lines(guessed, config.parent)) + "\n")
    return (*targets, config)


def _paths(one: GuessedTable, folder: Path) -> dict[str, Path]:
    return hierarchy_paths(one.columns, folder / "hierarchies" / one.name)


def _lines(guessed: GuessedLinks, folder: Path) -> Iterator[str]:
    yield from head_lines(guessed.place.name)
    yield "# review: each row of this table is one person; k, control and attacks count them"
    yield f"person: {guessed.tree.person}"
    yield ""
    yield "tables:"
    for one in guessed.tables:
        yield f"  {one.name}:"
        yield from (f"    {line}" for line in _table_lines(one, folder))
    for name in guessed.tree.public:
        yield f"  {name}:"
        yield from (f"    {line}" for line in _public_lines(guessed, name, folder))
    for name in guessed.tree.left_out:
        yield f"  # review: {name} is left out, since no references lead from its rows to {guessed.tree.person}"
    yield ""
    yield from roles_lines()
    yield from split_lines("persons", len(guessed.tables[0].found.table))
    if any(one.named(Role.QUASI_IDENTIFIER) for one in guessed.tables):
        yield ""
        yield "anonymize:"
        yield "  k: 5                      # every combination of labels is shared by at least so many people"
        yield "  suppression_limit: 0.05   # review: share of records that may be left out to get there"
        yield ""
        yield "transition: {method: tree, order: pre}"
    yield ""
    yield "synthesize: {generator: cart, rows: same}"
    yield ""
    yield "policy: default             # review: `hybrid policies` lists the others"
    yield ""
    yield from publish_lines()


def _table_lines(one: GuessedTable, folder: Path) -> Iterator[str]:
    yield from _source_lines(one.found, folder)
    if one.key is not None:
        yield f"key: {flow(one.key)}   # review: different in every row, never missing"
    if one.parent is not None:
        yield f"# review: {reference_words(one.parent)}"
        if not one.parent.whole:
            yield "# Rows without a parent are refused; orphans: drop leaves them out."
        parent: dict[str, Any] = {"table": one.parent.parent, "column": one.parent.column}
        if (pairs := one.parent.through) is not None:
            through = {"table": pairs.table, "column": pairs.column, "owner": pairs.owner}
            parent["through"] = through | ({} if pairs.prefer is None else {"prefer": pairs.prefer})
        yield f"parent: {flow(parent)}"
    if one.order is not None:
        yield f"order: {flow(one.order)}   # review: the rows of one parent are ordered by it"
    if one.lookups:
        yield f"references: {flow(one.lookups)}   # review: columns with keys of public tables"
    yield "unlisted: error   # a new column must be given a role before anything runs"
    if one.columns:
        yield "columns:"
        written = {name: path.relative_to(folder).as_posix() for name, path in _paths(one, folder).items()}
        yield from (f"  {line}" for line in column_lines(one.columns, written))
    yield from constraint_lines(one.constraints)


def _public_lines(guessed: GuessedLinks, name: str, folder: Path) -> Iterator[str]:
    found = guessed.place.tables[name]
    yield f"# review: {len(found.table):,} rows that others refer to, no column of persons: it is released as it is."
    yield "# If it is not public, remove it here and under references."
    yield from _source_lines(found, folder)
    yield f"key: {flow(guessed.keys[name])}"
    yield "public: true"


def _source_lines(found: FoundTable, folder: Path) -> Iterator[str]:
    if isinstance(found.place, Path):
        yield f"path: {flow(os.path.relpath(found.place, folder))}"
        yield from reading_lines(found.options, is_csv=found.place.suffix.lower() not in PARQUET_SUFFIXES)
    else:
        yield f"sql: {flow(found.place.model_dump(exclude_none=True))}"
        yield from reading_lines(found.options, is_csv=False)
