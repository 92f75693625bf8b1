"""Linked tables larger than memory: some people, read with all of their rows.

First the keys of all tables are read, then the rows of the chosen people, a part of each file at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from hybrid.base.arrays import Mask, Rows
from hybrid.base.errors import ConfigError, Problem, refuse
from hybrid.base.resources import available_bytes
from hybrid.base.rng import rng_for
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.inputs import Sources
from hybrid.pipeline.links import collected, key_columns
from hybrid.pipeline.sources import (
    key_problems,
    link_sources,
    lost_rows,
    pairs_of,
    parent_problems,
    places_of,
    places_of_parents,
)
from hybrid.table import Role, Table
from hybrid.table.read_file import column_parts, memory_need, read_part, reads_parts
from hybrid.table.split import drawn_rows

_FREE_SHARE = 0.75
"""Share of the free memory that the tables may take where nothing is anonymized."""


def reading_memory(config: RunConfig) -> tuple[float, float]:
    """Estimated bytes that the files of linked tables take while they are read, and bytes that they may take."""
    need = 0.0
    for name in (*config.views, *config.public):
        file, options = config.config_of(name).data_file, config.source(name)
        if file is None or not reads_parts(file) or not file.info().is_file or "more_than_memory" in options.accept:
            continue
        need += memory_need(file, options, len(options.having(Role.QUASI_IDENTIFIER)))
    most = _FREE_SHARE * available_bytes() if config.anonymize is None else config.anonymize.memory_bytes
    return need, most


def refuse_too_large(config: RunConfig) -> bool:
    """True if only some people are to be read, since memory does not hold the rows of all.

    Of linked tables alone. Refused if nothing says how many people are wanted.
    """
    if not config.is_linked:
        return False
    need, most = reading_memory(config)
    if need <= most:
        return False
    if config.split.rows is None:
        raise ConfigError(
            f"tables: reading them takes about {need / 2**30:.1f} GiB of memory, and {most / 2**30:.1f} GiB "
            "may be used",
            hint="set split.rows to the number of people who are read, with all of their rows, and split.control to a "
            f"share: the rows of about {100 * most / need:.0f} of 100 people fit; or raise anonymize.memory_limit",
        )
    return True


def read_people(config: RunConfig, seed: int) -> tuple[Sources, dict[str, int]]:
    """Read the rows of ``split.rows`` people who are drawn at random.

    Gives the tables with the rows of these people alone, and the rows of each table about people in its source. Keys
    and parents are checked in all rows, other values in those that are read.
    """
    problems: list[Problem] = []
    keys: dict[str, Table] = {}
    inner = _inner(config)
    for name in config.views:
        if name in inner:
            with collected(problems, name):
                pairs = pairs_of(config.links, name) is not None
                keys[name] = _read(config, name, columns=None if pairs else key_columns(config.links.tables[name]))
    if not problems:
        problems += key_problems(config, keys)
    refuse(problems)
    wanted, orphans = _chosen(config, keys, seed)
    read: dict[str, Table] = {}
    for name in (*config.views, *config.public):
        with collected(problems, name):
            read[name] = _read(config, name, rows=wanted.get(name))
    refuse(problems)
    return replace(link_sources(config, read), orphans=orphans), {name: len(rows) for name, rows in wanted.items()}


def _chosen(config: RunConfig, keys: Mapping[str, Table], seed: int) -> tuple[dict[str, Mask], dict[str, int]]:
    first, *others = config.views
    people, used = len(keys[first]), config.split.rows
    assert used is not None
    wanted = {first: np.zeros(people, dtype=bool)}
    wanted[first][drawn_rows(people, used, rng_for(seed, "people"))] = True
    problems: list[Problem] = []
    orphans: dict[str, int] = {}
    for name in others:
        with collected(problems, name):
            found = places_of_parents(config.links, name, keys) if name in keys else _places(config, name, keys)
        if problems:
            continue
        lost, problem = lost_rows(config, name, found)
        problems += problem
        orphans |= lost
        parent = config.links.tables[name].parent
        assert parent is not None
        wanted[name] = (found >= 0) & wanted[parent.table][found]
    refuse(problems)
    return wanted, orphans


def _inner(config: RunConfig) -> frozenset[str]:
    """Tables with keys that others refer to, and tables of pairs; of all others only parents of rows are looked up."""
    tables = config.links.tables
    parents = {table.parent.table for table in tables.values() if table.parent is not None}
    return frozenset(name for name in tables if name in parents or pairs_of(config.links, name) is not None)


def _places(config: RunConfig, name: str, keys: Mapping[str, Table]) -> Rows:
    """Row of the parent of each row, of which a part is in memory at a time; shape (n_rows,), int64."""
    parent, file = config.links.tables[name].parent, config.config_of(name).data_file
    assert parent is not None
    key = keys[parent.table].frame[config.links.tables[parent.table].key]
    in_parts = file is not None and reads_parts(file)
    options = config.source(name)
    parts = column_parts(file, options, parent.column) if file and in_parts else [_read(config, name, [parent.column])]
    found = [np.empty(0, dtype=np.int64)]
    for part in parts:
        if problems := parent_problems(config, name, part):
            raise ConfigError(problems)
        found.append(places_of(key, part.frame[parent.column]))
    return np.concatenate(found)


def _read(config: RunConfig, name: str, columns: Collection[str] | None = None, rows: Mask | None = None) -> Table:
    """Some columns or rows of a table; one that is not in a CSV or Parquet file is read whole before."""
    file = config.config_of(name).data_file
    if file is not None and reads_parts(file):
        return read_part(file, config.source(name), columns, rows)
    found = config.load_source(name)
    found = found if columns is None else found.only([one for one in found.schema.names if one in columns])
    return found if rows is None else found.take(rows)
