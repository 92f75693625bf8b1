"""Linked tables as their sources have them, with every reference checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Mask, Rows
from hybrid.base.errors import ConfigError, DataError, Problem, refuse
from hybrid.constraints.hold import DrawCondition
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.inputs import Sources
from hybrid.pipeline.links import LinkOptions, ParentOptions, TableOptions, ThroughOptions, collected
from hybrid.table import Kind, Table
from hybrid.table.persons import with_households, with_order

KEY_KINDS = (Kind.INTEGER, Kind.CATEGORICAL)
"""Kinds of columns that surrogates can take the place of."""


def read_sources(config: RunConfig) -> Sources:
    """Read all tables; find every row's parent and person.

    All problems are named at once, without cell values: a table cannot be read; a key is missing, repeats or has no
    order that surrogates could follow; rows have no parent; a reference to a public table is broken.
    """
    if not config.is_linked:
        return Sources({config.links.person: config.load_table()}, {}, {}, {})
    problems: list[Problem] = []
    read: dict[str, Table] = {}
    for name in (*config.views, *config.public):
        with collected(problems, name):
            read[name] = config.load_source(name)
    if problems:
        raise ConfigError([*problems, *_all_columns(config, read)])
    return link_sources(config, read)


def all_columns(config: RunConfig, name: str | None) -> Table:
    """All columns of one table.

    ``name`` is that of a linked table; None: the only table.
    """
    return config.load_all_columns() if name in (None, config.links.person) else config.load_source(name)


def link_sources(config: RunConfig, read: Mapping[str, Table], *, made: bool = False) -> Sources:
    """Find the parent and the person of every row.

    Where rows were ``made``, broken references are no errors, and orphans are left out and counted.
    """
    problems = _all_columns(config, read)
    refuse(problems)
    for name, table in read.items():
        problems += _key(name, config.links.tables[name].key, table)
    found = _linked(config, read, problems, made)
    for name in () if made else config.views:
        problems += _references(config, name, found)
    refuse(problems, DataError)
    return found


def key_problems(config: RunConfig, keys: Mapping[str, Table]) -> list[Problem]:
    """Problems of the columns that link tables; ``keys`` may lack all other columns."""
    tables = config.links.tables
    problems: list[Problem] = []
    for name, table in keys.items():
        links = tables[name].model_copy(update={"order": None, "references": {}})
        problems += [*_columns(name, links, table), *_pair_columns(name, links, keys)]
    return problems or [one for name, table in keys.items() for one in _key(name, tables[name].key, table)]


def parent_problems(config: RunConfig, name: str, table: Table) -> list[Problem]:
    """Problems of the column with the parent's key; ``table`` may lack all other columns."""
    links = config.links.tables[name].model_copy(update={"key": None, "order": None, "references": {}})
    return _columns(name, links, table)


def places_of_parents(links: LinkOptions, name: str, tables: Mapping[str, Table]) -> Rows:
    """Row of the parent of each row of a table, -1 where there is none; shape (n,), int64."""
    parent = links.tables[name].parent
    assert parent is not None
    key = tables[parent.table].frame[links.tables[parent.table].key]
    return places_of(key, parent_keys(parent, tables[name], tables))


def lost_rows(
    config: RunConfig, name: str, places: Rows, *, drop: bool = False
) -> tuple[dict[str, int], list[Problem]]:
    """Number of rows without a parent where these are left out (always with ``drop``), and else the problem."""
    options = config.links.tables[name]
    assert options.parent is not None
    lost = int((places < 0).sum())
    if drop or options.parent.orphans == "drop":
        return {name: lost}, []
    return {}, [_orphans(name, options, lost, len(places))] if lost else []


def _all_columns(config: RunConfig, read: Mapping[str, Table]) -> list[Problem]:
    tables = config.links.tables
    return [
        problem
        for name, table in read.items()
        for problem in [*_columns(name, tables[name], table), *_pair_columns(name, tables[name], read)]
    ]


def _pair_columns(name: str, options: TableOptions, read: Mapping[str, Table]) -> list[Problem]:
    through = None if options.parent is None else options.parent.through
    if through is None or through.table not in read:
        return []
    at, schema = f"tables.{name}.parent.through", read[through.table].schema
    named = {"column": through.column, "owner": through.owner}
    problems = [
        Problem(f"{at}.{key}: {through.table} has no column {column!r}", f"use one of: {', '.join(schema.names)}")
        for key, column in named.items()
        if column not in schema
    ]
    if through.prefer is None:
        return problems
    condition = DrawCondition(through.prefer)
    found = [*condition.malformed()] or [*condition.problems(schema)]
    return [*problems, *(Problem(f"{at}.prefer: {one.message}", one.hint) for one in found)]


def _columns(name: str, options: TableOptions, table: Table) -> list[Problem]:
    at, problems = f"tables.{name}", []
    parent = None if options.parent is None else options.parent.column
    keys = {"key": options.key, "parent.column": parent, "order": options.order}
    wanted = [(key, column) for key, column in keys.items() if column is not None]
    for key, column in [*wanted, *((f"references.{column}", column) for column in options.references)]:
        if column not in table.schema:
            hint = f"use one of: {', '.join(table.schema.names)}"
            problems.append(Problem(f"{at}.{key}: {name} has no column {column!r}", hint))
        elif key in ("key", "parent.column") and table.schema[column].kind not in KEY_KINDS:
            kind = table.schema[column].kind
            hint = f"set tables.{name}.columns.{column}.kind: categorical"
            problems.append(Problem(f"{at}.{key}: {column!r} is a {kind} column, which cannot be a key", hint))
    return problems


def _key(name: str, key: str | None, table: Table) -> list[Problem]:
    if key is None:
        return []
    values, problems = table.frame[key], []
    missing, repeated = int(values.isna().sum()), int(values.dropna().duplicated(keep=False).sum())
    if missing:
        problems.append(
            Problem(f"tables.{name}.key: {missing:,} rows of {name} have no {key}", "fill it in, or leave them out")
        )
    if repeated:
        problems.append(
            Problem(
                f"tables.{name}.key: {repeated:,} rows of {name} share their {key} with another row",
                "name a column with a different value in every row, or remove the rows that are there twice",
            )
        )
    return problems


def _linked(config: RunConfig, read: Mapping[str, Table], problems: list[Problem], made: bool) -> Sources:
    tables: dict[str, Table] = {}
    owners: dict[str, Rows] = {}
    orphans: dict[str, int] = {}
    for name, view in config.views.items():
        options, table = config.links.tables[name], read[name].without_left_out()
        if options.parent is None:
            tables[name] = replace(table, named_persons=np.arange(len(table)))
            with collected(problems, name):
                tables[name] = with_households(tables[name], view.data.household_columns)
            continue
        parent = tables[options.parent.table]
        through = pairs_of(config.links, name)
        table = table if through is None else table.take(preferred_first(table, through))
        with collected(problems, name):
            table = with_order(table, view.data.order)
        key = parent.frame[config.links.tables[options.parent.table].key]
        found = places_of(key, parent_keys(options.parent, table, read))
        lost, problem = lost_rows(config, name, found, drop=made)
        problems += problem
        orphans |= lost
        owners[name] = found[found >= 0]
        homes = parent.named_households
        tables[name] = replace(
            table.take(found >= 0),
            named_persons=parent.persons[owners[name]],
            named_households=None if homes is None else homes[owners[name]],
        )
        if not len(owners[name]):
            problems.append(
                Problem(f"tables.{name}: no row of {name} belongs to a row of its parent", "check the keys")
            )
    return Sources(tables, owners, {name: read[name] for name in config.public}, orphans)


def _orphans(name: str, options: TableOptions, lost: int, rows: int) -> Problem:
    parent = options.parent
    assert parent is not None
    return Problem(
        f"tables.{name}.parent: {lost:,} of {rows:,} rows of {name} have no {parent.column}, or one that "
        f"{parent.table} does not have",
        f"add the missing rows to {parent.table}, or leave these out with tables.{name}.parent.orphans: drop",
    )


def _references(config: RunConfig, name: str, found: Sources) -> list[Problem]:
    problems = []
    for column, other in config.links.tables[name].references.items():
        lost = int(_broken(config, name, found, column).sum())
        if lost:
            key, rows = config.links.tables[other].key, len(found.tables[name])
            problems.append(
                Problem(
                    f"tables.{name}.references.{column}: {lost:,} of {rows:,} rows have a value that is no {key} "
                    f"of {other}",
                    f"add the missing rows to {other}, correct the values, or leave the reference out",
                )
            )
    return problems


def broken_references(config: RunConfig, name: str, found: Sources) -> Mask:
    """Rows with a broken reference to a public table; shape (n_rows,)."""
    broken = np.zeros(len(found.tables[name]), dtype=bool)
    for column in config.links.tables[name].references:
        broken |= _broken(config, name, found, column)
    return broken


def _broken(config: RunConfig, name: str, found: Sources, column: str) -> Mask:
    table, other = found.tables[name], config.links.tables[name].references[column]
    key = config.links.tables[other].key
    if key is None or column not in table.schema:
        return np.zeros(len(table), dtype=bool)
    values = table.frame[column]
    mask: Mask = (places_of(found.public[other].frame[key], values) < 0) & values.notna().to_numpy()
    return mask


def pairs_of(links: LinkOptions, name: str) -> ThroughOptions | None:
    """The option ``through`` that names a table; None for tables that hold no pairs."""
    parents = (table.parent for table in links.tables.values() if table.parent is not None)
    return next((one.through for one in parents if one.through is not None and one.through.table == name), None)


def preferred_first(pairs: Table, through: ThroughOptions) -> Rows:
    """Order of the pairs: those that meet ``prefer`` first, else as they are."""
    if through.prefer is None:
        return np.arange(len(pairs))
    return np.argsort(~DrawCondition(through.prefer).rows(pairs), kind="stable")


def parent_keys(parent: ParentOptions, table: Table, tables: Mapping[str, Table]) -> pd.Series:
    """Key of the parent of each row, missing where there is none; shape (n,)."""
    own = table.frame[parent.column]
    if parent.through is None:
        return own
    through, pairs = parent.through, tables[parent.through.table]
    ordered = pairs.frame[[through.column, through.owner]].iloc[preferred_first(pairs, through)].astype("string")
    first = ordered.dropna(subset=through.column).drop_duplicates(through.column).set_index(through.column)
    return own.astype("string").map(first[through.owner]).astype("string")


def places_of(key: pd.Series, values: pd.Series) -> Rows:
    """Position in ``key`` of each value, -1 where it is missing or not there; shape (n,), int64.

    Of a key that repeats, positions are those among its different values.
    """
    known = pd.Index(key.dropna().astype("string").drop_duplicates())
    found: Rows = known.get_indexer(pd.Index(values.astype("string"))).astype(np.int64)
    found[values.isna().to_numpy()] = -1
    return found


def rows_of(parents: Rows, owners: Rows) -> tuple[Rows, Rows]:
    """Rows of some parents, each parent's together and in their order; and the position of each row's parent.

    A parent may come again. ``owners`` has the number of the parent of each row.
    """
    order, counts = np.argsort(owners, kind="stable"), np.bincount(owners, minlength=int(parents.max(initial=-1)) + 1)
    first, each = (np.cumsum(counts) - counts)[parents], counts[parents]
    places: Rows = np.repeat(np.arange(len(parents)), each)
    within = np.arange(len(places)) - (np.cumsum(each) - each)[places]
    rows: Rows = order[first[places] + within]
    return rows, places
