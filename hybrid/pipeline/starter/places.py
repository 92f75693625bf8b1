"""Tables of a folder or of a database."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.errors import ConfigError, DataError, Problem
from hybrid.pipeline.starter.reading import guess_reading, guess_sql_reading
from hybrid.pipeline.starter.references import Declared
from hybrid.table import Table
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ALL_ACCEPTED, ReadOptions
from hybrid.table.schema import PARQUET_SUFFIXES
from hybrid.table.sources.sql import SqlOptions, read_sql
from hybrid.table.sql_connection import connect, sqlalchemy

if TYPE_CHECKING:
    import sqlalchemy as sa

SUFFIXES = (".csv", ".tsv", ".asc", ".data", *PARQUET_SUFFIXES)
MOST_TABLES = 50
"""Tables of one place: every one of them is read into memory, and every two are compared."""


@dataclass(frozen=True)
class FoundTable:
    """A table, where it is, and how to read it. Private.

    Parameters
    ----------
    place : Path or SqlOptions
    options : ReadOptions
        Kinds that differ from what reading infers are under ``columns``.
    table : Table
        At least one row.
    """

    place: Path | SqlOptions
    options: ReadOptions
    table: Table


@dataclass(frozen=True)
class Place:
    """Tables of one place, by their names in a configuration."""

    name: str
    tables: Mapping[str, FoundTable]
    declared: Declared


def read_folder(folder: Path, only: Sequence[str] = ()) -> Place:
    """Read the CSV and Parquet files of a folder.

    Parameters
    ----------
    folder : Path
        Folders in it are not looked at.
    only : sequence of str
        File names without suffix; none: all files that end in :data:`SUFFIXES`.

    Raises
    ------
    ConfigError
        There are no two such files, more than :data:`MOST_TABLES`, or two of the same name.
    DataError
        Files cannot be read; all problems at once.
    """
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
    named = _named(str(folder), [path.stem for path in paths], only)
    tables: dict[str, FoundTable] = {}
    problems: list[Problem] = []
    for name, at in named.items():
        try:
            tables[name] = _from_file(paths[at])
        except DataError as error:
            problems.extend(error.problems)
    if problems:
        raise DataError(problems)
    return Place(folder.resolve().name, tables, Declared())


def read_database(url_env: str, schema: str | None = None, only: Sequence[str] = ()) -> Place:
    """Read the tables of a database, and its declared keys and references.

    Parameters
    ----------
    url_env : str
        The environment variable with its URL.
    schema : str or None
        None: the default schema.
    only : sequence of str
        Names of tables; none: all of the schema.

    Raises
    ------
    ConfigError
        There are no two tables, more than :data:`MOST_TABLES`, or the URL is missing.
    HybridError
        As :func:`~hybrid.table.sources.sql.read_sql`; all problems at once.
    """
    with connect(url_env, f"the database of {url_env}", read_only=True) as connection:
        inspector = sqlalchemy().inspect(connection)
        names = sorted(inspector.get_table_names(schema=schema))
        named = _named(f"the database of {url_env}", names, only)
        found = {name: names[at] for name, at in named.items()}
        declared = _declared(inspector, found, schema)
    tables: dict[str, FoundTable] = {}
    problems: list[Problem] = []
    for name, stored in found.items():
        source = SqlOptions(url_env=url_env, table=stored if schema is None else f"{schema}.{stored}")
        try:
            options = guess_sql_reading(read_sql(source, ReadOptions()))
            tables[name] = FoundTable(source, options, read_sql(source, options))
        except DataError as error:
            problems.extend(error.problems)
    if problems:
        raise DataError(problems)
    return Place(schema or "database", tables, declared)


def _from_file(path: Path) -> FoundTable:
    options = guess_reading(path)
    return FoundTable(path, options, read_table(path, options.model_copy(update={"accept": ALL_ACCEPTED})))


def _named(place: str, names: Sequence[str], only: Sequence[str]) -> dict[str, int]:
    """Chosen tables: name in the configuration, and position among ``names``."""
    wanted = [at for at, name in enumerate(names) if not only or name in only]
    unknown = [name for name in only if name not in names]
    if unknown:
        raise ConfigError(
            f"{place}: there is no table {', '.join(map(repr, unknown))}", hint=f"choose of: {', '.join(names)}"
        )
    if not 2 <= len(wanted) <= MOST_TABLES:
        raise ConfigError(
            f"{place}: {len(wanted)} tables; linked tables are 2 to {MOST_TABLES}",
            hint="name the tables that belong together with --table; for a single table: hybrid init FILE",
        )
    named: dict[str, int] = {}
    problems = []
    for at in wanted:
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", names[at]).strip("_-") or "table"
        if name in named:
            problems.append(Problem(f"{place}: two tables would be called {name!r}", "rename one, or use --table"))
        named[name] = at
    if problems:
        raise ConfigError(problems)
    return named


def _declared(inspector: sa.Inspector, found: Mapping[str, str], schema: str | None) -> Declared:
    """Primary keys of one column, and references of one column to them."""
    own = {stored: name for name, stored in found.items()}
    keys: dict[str, str] = {}
    references = set()
    for name, stored in found.items():
        key = inspector.get_pk_constraint(stored, schema=schema)["constrained_columns"]
        if len(key) == 1:
            keys[name] = key[0]
        for link in inspector.get_foreign_keys(stored, schema=schema):
            parent = own.get(link["referred_table"])
            if parent is not None and len(link["constrained_columns"]) == 1 and link["referred_columns"]:
                references.add((name, link["constrained_columns"][0], parent, link["referred_columns"][0]))
    return Declared(keys, frozenset(references))
