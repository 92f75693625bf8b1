"""Replacement of rows that delivery wrote into a database.

Every table that this program fills is entered, with a digest of its rows, in the side table ``hybrid_deliveries``
beside it. A table is emptied only if it is entered there and still holds those very rows; an empty one is taken over.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from hybrid.base.errors import ConfigError, OutputError
from hybrid.table import Kind, Table
from hybrid.table.arrow import is_text, to_arrow
from hybrid.table.sources.sql import CHUNK, SqlOptions, code_of, fetch
from hybrid.table.sql_connection import connect, sqlalchemy, url_of

if TYPE_CHECKING:
    import sqlalchemy as sa

MARKS = "hybrid_deliveries"
"""Name of the side table."""
_CATALOGUES = {"information_schema", "pg_catalog", "mysql", "performance_schema", "sys"}
_LOOPBACK = {"", "127.0.0.1", "::1", "localhost"}


def replace_sql_tables(tables: Mapping[str, Table], url_env: str, release: str) -> None:
    """Replace the rows of tables that we filled, in one transaction.

    Tables that do not exist are made.

    Readers see the old rows until all new ones are complete; rights and views stay as they are. Killed at any point,
    the database keeps the old rows of all tables.

    A target is a table, with its schema if it is not the default one. One that holds rows which this program did not
    deliver, or has other columns, is refused, and all are as they were.
    """
    sqlalchemy()
    with connect(url_env, ", ".join(tables), read_only=False) as connection:
        if connection.dialect.name == "sqlite":
            # Its driver would begin the transaction with the first row that is written.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        for target, table in tables.items():
            rows = to_arrow(table)
            types = {
                column.name: _sql_type(column.kind, rows.schema.field(column.name).type) for column in table.schema
            }
            found = _prepared(connection, types, url_env, target)
            for batch in rows.to_batches(max_chunksize=CHUNK):
                connection.execute(found.insert(), batch.to_pylist())
            _enter(connection, url_env, target, release)
        connection.commit()


def check_sql_tables(targets: Sequence[str], url_env: str) -> None:
    """Refuse tables that could not be delivered to, before the work.

    Parameters and errors as of :func:`replace_sql_tables`. An SQLite file that is not there will be made.
    """
    dialect, *place = _place(url_of(url_env))
    if dialect == "sqlite" and not Path(place[0]).exists():
        return
    with connect(url_env, ", ".join(targets), read_only=True) as connection:
        for target in targets:
            _refuse_view(connection, target)


def refuse_source(source: SqlOptions | None, url_env: str, target: str) -> None:
    """Refuse a target that the source reads, also through views.

    The table of deliveries is refused, too.
    """
    name = _name(target)
    if name == MARKS:
        raise ConfigError(f"nightly.deliver.sql.table: {MARKS} holds what was delivered", hint="choose another table")
    if source is None or not _may_be_same(url_of(source.url_env), url_of(url_env)):
        return
    with connect(source.url_env, source.table or "the query of data.sql", read_only=True) as connection:
        if name in set(_read_by(connection, source)):
            raise ConfigError(
                f"nightly.deliver.sql.table: the source reads {target}, which delivery would replace",
                hint="deliver to a table of another name",
            )


def _prepared(connection: sa.Connection, types: Mapping[str, Any], url_env: str, target: str) -> sa.Table:
    """The target without rows, made with columns of these types if it is not there."""
    import sqlalchemy as sa

    schema, _, name = target.rpartition(".")
    inspector = _refuse_view(connection, target)
    if not inspector.has_table(name, schema=schema or None):
        columns = [sa.Column(column, of) for column, of in types.items()]
        made = sa.Table(name, sa.MetaData(), *columns, schema=schema or None)
        made.create(connection)
        return made
    found = sa.Table(name, sa.MetaData(), schema=schema or None, autoload_with=connection)
    if [column.name for column in found.columns] != list(types):
        raise OutputError(f"{target}: the table has other columns than the release", hint="drop or rename it")
    _lock(connection, found)
    if connection.execute(sa.select(found).limit(1)).first() is not None:
        _refuse_foreign(connection, url_env, target)
        connection.execute(found.delete())
    return found


def _refuse_view(connection: sa.Connection, target: str) -> sa.Inspector:
    import sqlalchemy as sa

    schema, _, name = target.rpartition(".")
    inspector = sa.inspect(connection)
    if name in _views_in(inspector, schema or None):
        raise OutputError(f"{target}: this is a view, not a table; it was left as it is", hint="choose another table")
    return inspector


def _lock(connection: sa.Connection, found: sa.Table) -> None:
    # Where one statement keeps other writers out until the end of the transaction.
    if connection.dialect.name == "postgresql":
        name = connection.dialect.identifier_preparer.format_table(found)
        connection.exec_driver_sql(f"LOCK TABLE {name} IN SHARE ROW EXCLUSIVE MODE")


def _refuse_foreign(connection: sa.Connection, url_env: str, target: str) -> None:
    import sqlalchemy as sa

    marks, (schema, name) = _marks(connection, target), _key(connection, target)
    entered = connection.execute(
        sa.select(marks.c.digest).where(marks.c.table_schema == schema, marks.c.table_name == name)
    ).scalar()
    if entered is None:
        raise OutputError(
            f"{target}: the table holds rows that this program did not deliver; it was left as it is",
            hint="deliver to a new table, or empty this one yourself if its rows may go",
        )
    if entered != _digest(connection, url_env, target):
        raise OutputError(
            f"{target}: the rows are not those that were delivered; the table was left as it is",
            hint="somebody else writes to it: deliver to a new table, or empty this one yourself if its rows may go",
        )


def _enter(connection: sa.Connection, url_env: str, target: str, release: str) -> None:
    marks, (schema, name) = _marks(connection, target), _key(connection, target)
    connection.execute(marks.delete().where(marks.c.table_schema == schema, marks.c.table_name == name))
    connection.execute(
        marks.insert().values(
            table_schema=schema,
            table_name=name,
            release_name=release,
            delivered_at=datetime.now(UTC).isoformat(timespec="seconds"),
            digest=_digest(connection, url_env, target),
        )
    )


def _marks(connection: sa.Connection, target: str) -> sa.Table:
    import sqlalchemy as sa

    names = ("table_schema", "table_name", "release_name", "delivered_at", "digest")
    columns = [sa.Column(name, sa.String(255), primary_key=name.startswith("table_"), nullable=False) for name in names]
    marks = sa.Table(MARKS, sa.MetaData(), *columns, schema=target.rpartition(".")[0] or None)
    marks.create(connection, checkfirst=True)
    return marks


def _digest(connection: sa.Connection, url_env: str, target: str) -> str:
    """Digest of a table's rows, whatever their order.

    SHA-256 over the sorted 64-bit hashes that pandas gives the rows, as the database returns them.
    """
    rows = fetch(connection, SqlOptions(url_env=url_env, table=target), target).to_pandas()
    hashes = np.sort(pd.util.hash_pandas_object(rows.astype(str), index=False).to_numpy())
    return hashlib.sha256(hashes.tobytes()).hexdigest()


def _key(connection: sa.Connection, target: str) -> tuple[str, str]:
    schema, _, name = target.rpartition(".")
    return schema or connection.dialect.default_schema_name or "", name


def _name(target: str) -> str:
    return target.rpartition(".")[2].lower()


def _may_be_same(one: sa.URL, other: sa.URL) -> bool:
    return _place(one) == _place(other)


def _place(url: sa.URL) -> tuple[Any, ...]:
    dialect = url.get_dialect().name
    if dialect == "sqlite":
        file = (url.database or "").removeprefix("file:").partition("?")[0]
        return dialect, str(Path(file).resolve())
    host = (url.host or "").lower()
    return dialect, "localhost" if host in _LOOPBACK else host, url.database


def _read_by(connection: sa.Connection, source: SqlOptions) -> Iterator[str]:
    """Lower-case names of the tables and views a source may read.

    Views are followed by the names in their text, so that a few more may be found.
    """
    import sqlalchemy as sa

    inspector = sa.inspect(connection)
    views: dict[str, list[tuple[str, str]]] = {}
    for schema in set(inspector.get_schema_names()) - _CATALOGUES:
        for name in _views_in(inspector, schema):
            views.setdefault(name.lower(), []).append((name, schema))
    waiting = [_name(source.table)] if source.table is not None else _words(str(source.query))
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name
        for view, schema in views.get(name, ()):
            waiting += _words(inspector.get_view_definition(view, schema=schema) or "")


def _views_in(inspector: sa.Inspector, schema: str | None) -> list[str]:
    try:
        kept = inspector.get_materialized_view_names(schema=schema)
    except NotImplementedError:
        kept = []
    return [*inspector.get_view_names(schema=schema), *kept]


def _words(query: str) -> list[str]:
    return re.findall(r"\w+", code_of(query).lower())


def _sql_type(kind: Kind, arrow_type: pa.DataType) -> Any:
    # Text where the source writes texts ("yes", "2026-01-31").
    import sqlalchemy as sa

    if is_text(arrow_type):
        return sa.Text()
    return getattr(sa, kind.type.sql)()
