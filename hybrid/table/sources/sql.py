"""Tables of databases, through SQLAlchemy: read in chunks, replaced in one transaction."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

import pyarrow as pa
from pydantic import model_validator

from hybrid.base.errors import ConfigError, DataError, HybridError, MissingExtraError, UnreachableError
from hybrid.base.options import Options
from hybrid.table.arrow import to_arrow
from hybrid.table.read_file import typed_table
from hybrid.table.read_options import ReadOptions
from hybrid.table.schema import Kind, Table
from hybrid.table.sources.source import Source

if TYPE_CHECKING:
    import sqlalchemy as sa

CHUNK = 20_000
"""Rows that are fetched or written at a time."""
_CONNECT_SECONDS = 10
_NULLS: dict[type, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    Decimal: pa.decimal128(38, 9),
    str: pa.string(),
    date: pa.date32(),
    datetime: pa.timestamp("us"),
}
"""Types of columns that hold nothing but NULL, by what the database says their values would be."""


class SqlOptions(Options):
    """A table or a query of a database.

    Address and credentials come from the environment.
    """

    url_env: str
    """The environment variable that holds the database's URL, such as
    postgresql+psycopg://user:password@host/database."""
    table: str | None = None
    """The table or view, with its schema if it is not the default one: "clinic.admissions"."""
    query: str | None = None
    """A SELECT instead of a table."""

    @model_validator(mode="before")
    @classmethod
    def _no_url(cls, content: Any) -> Any:
        if isinstance(content, Mapping) and "url" in content:
            raise ValueError("a URL holds credentials, which no config may: set an environment variable, and url_env")
        return content

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.url_env) is None:
            raise ValueError("url_env is the name of an environment variable, not the URL itself")
        if (self.table is None) == (self.query is None):
            raise ValueError("set table or query, and not both")
        return self


class SqlSource(Source):
    """A table or a query of a database."""

    key = "sql"
    type = SqlOptions | None
    description = "A database instead of a file."

    def read(self, place: Any, options: ReadOptions, folder: Path) -> Table:  # noqa: ARG002 - no path
        """Read the table or query; as :func:`read_sql`."""
        return read_sql(place, options)


def read_sql(source: SqlOptions, options: ReadOptions) -> Table:
    """Read a table or query.

    Parameters
    ----------
    source : SqlOptions
        Which. The transaction is read-only where the database knows that (PostgreSQL).
    options : ReadOptions
        The columns' roles and kinds.

    Returns
    -------
    Table
        Numbers, booleans, dates and NULLs as the database types them. Rows of a database have no order; here they
        are sorted by their content, so that the same rows are the same table every night.

    Raises
    ------
    ConfigError, MissingExtraError
        The environment variable is not set or no URL; the driver is not installed.
    UnreachableError
        The database cannot be reached.
    DataError
        The table cannot be read (no text of the database is repeated: it may hold
        values or credentials), a column's type is not supported, or as :func:`hybrid.table.read_file.read_table`.
    """
    name = source.table or "the query of data.sql"
    with _connection(source.url_env, name, read_only=True) as connection:
        raw = _fetch(connection, source, name)
    return typed_table(name, raw, options, keep_types=True)


def replace_sql_table(table: Table, url_env: str, target: str) -> None:
    """Replace the rows of a table in one transaction.

    The table is made if it does not exist.

    Readers see the old rows until the new ones are complete; rights and views stay as they are. Killed at any
    point, the database keeps the old rows.

    Parameters
    ----------
    table : Table
        What the target holds afterwards.
    url_env : str
        The environment variable with the database's URL.
    target : str
        The table, with its schema if it is not the default one.

    Raises
    ------
    ConfigError, MissingExtraError, DataError
        As :func:`read_sql`; the target exists with other columns.
    """
    sa = _sqlalchemy()
    content = to_arrow(table)
    with _connection(url_env, target, read_only=False) as connection:
        schema, _, name = target.rpartition(".")
        if sa.inspect(connection).has_table(name, schema=schema or None):
            found = sa.Table(name, sa.MetaData(), schema=schema or None, autoload_with=connection)
            if [column.name for column in found.columns] != table.schema.names:
                raise DataError(f"{target}: the table has other columns than the release", hint="drop or rename it")
            connection.execute(found.delete())
        else:
            columns = [sa.Column(column.name, _sql_type(column.kind)) for column in table.schema]
            found = sa.Table(name, sa.MetaData(), *columns, schema=schema or None)
            found.create(connection)
        for batch in content.to_batches(max_chunksize=CHUNK):
            connection.execute(found.insert(), batch.to_pylist())
        connection.commit()


@contextmanager
def _connection(url_env: str, name: str, *, read_only: bool) -> Iterator[sa.Connection]:
    """A connection.

    What the database or its driver says of an error stays inside.
    """
    sa = _sqlalchemy()
    url = os.environ.get(url_env)
    if not url:
        raise ConfigError(
            f"the environment variable {url_env} is not set",
            hint="set it to the URL of the database: see docs/guides/nights.md",
        )
    try:
        # Bound parameters stay out of the texts of errors; the texts are not repeated anyway.
        engine = sa.create_engine(url, hide_parameters=True, poolclass=sa.NullPool, **_limits(url))
    except sa.exc.NoSuchModuleError:
        raise ConfigError(
            f"there is no driver for the URL in {url_env}", hint="for PostgreSQL: postgresql+psycopg://..."
        ) from None
    except sa.exc.ArgumentError:
        raise ConfigError(
            f"the environment variable {url_env} holds no URL of a database",
            hint="write it like postgresql+psycopg://user:password@host/database",
        ) from None
    except ImportError as error:
        raise MissingExtraError(
            f"the URL in {url_env} needs the package {error.name}",
            hint="for PostgreSQL: pip install 'hybrid-release[sql]'",
        ) from None
    try:
        with engine.connect() as connection:
            if read_only and connection.dialect.name == "postgresql":
                connection = connection.execution_options(postgresql_readonly=True)
            yield connection
    except HybridError:
        raise
    except Exception as error:  # noqa: BLE001 - drivers have their own; their texts may hold values and credentials
        raise _redacted(error, url_env, name) from None


def _sqlalchemy() -> Any:
    """Import SQLAlchemy.

    Raises
    ------
    MissingExtraError
        It is not installed.
    """
    try:
        return import_module("sqlalchemy")
    except ImportError:
        raise MissingExtraError(
            "a table of a database needs SQLAlchemy", hint="pip install 'hybrid-release[sql]'"
        ) from None


def _limits(url: str) -> dict[str, Any]:
    """Connection timeout of PostgreSQL."""
    return {"connect_args": {"connect_timeout": _CONNECT_SECONDS}} if url.startswith("postgresql") else {}


def _redacted(error: Exception, url_env: str, name: str) -> DataError:
    """Error of a database by class and SQLSTATE only."""
    import sqlalchemy as sa

    if isinstance(error, sa.exc.NoSuchTableError):
        return DataError(f"{name}: there is no such table in the database of {url_env}", hint="check the name")
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    code = f"{type(error).__name__}, SQLSTATE {state}" if state else type(error).__name__
    if isinstance(error, sa.exc.OperationalError) and state is None:
        return UnreachableError(
            f"{name}: the database of {url_env} cannot be reached, or the connection broke ({code})",
            hint="check that it runs, and the host, user and password of the URL",
        )
    return DataError(
        f"{name}: the database of {url_env} refused ({code})",
        hint="look the SQLSTATE up in the database's manual; check names and rights",
    )


def _fetch(connection: sa.Connection, source: SqlOptions, name: str) -> pa.Table:
    import sqlalchemy as sa

    connection = connection.execution_options(stream_results=True, yield_per=CHUNK)
    declared: dict[str, pa.DataType] = {}
    if source.table is not None:
        schema, _, table = source.table.rpartition(".")
        found = sa.Table(table, sa.MetaData(), schema=schema or None, autoload_with=connection)
        result = connection.execute(sa.select(found))
        declared = {column.name: _null_type(column.type) for column in found.columns}
    else:
        # The literal query: neither ":" nor "%" means a parameter.
        result = connection.execution_options(no_parameters=True).exec_driver_sql(str(source.query))
    names = list(result.keys())
    # Columns are put together under their positions: a query may give two the same name, which is reported later.
    chunks: list[pa.Table] = []
    for rows in result.partitions():
        fetched = zip(names, zip(*rows, strict=True), strict=True)
        columns = [_array(values, name, column) for column, values in fetched]
        chunks.append(pa.table(columns, names=[str(position) for position in range(len(names))]))
    if not chunks:
        return pa.table([pa.nulls(0)] * len(names), names=names)
    whole = pa.concat_tables(chunks, promote_options="permissive")
    whole = whole.sort_by([(name, "ascending") for name in whole.column_names]).rename_columns(names)
    types = [_settled(field.type, declared.get(field.name)) for field in whole.schema]
    return whole.cast(pa.schema(list(zip(names, types, strict=True))))


def _array(values: tuple[Any, ...], source: str, column: str) -> pa.Array:
    first = next((value for value in values if value is not None), None)
    if isinstance(first, UUID):
        values = tuple(None if value is None else str(value) for value in values)
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, OverflowError):
        raise DataError(
            f"{source}: the values of column {column!r} are of a type that is not supported, or of several",
            hint="cast the column in data.sql.query",
        ) from None


def _settled(found: pa.DataType, declared: pa.DataType | None) -> pa.DataType:
    """Arrow type of a column, widened to be independent of values."""
    if pa.types.is_null(found):
        return declared or found
    if pa.types.is_decimal128(found):
        return pa.decimal128(38, found.scale)
    return found


def _null_type(declared: Any) -> pa.DataType:
    try:
        return _NULLS.get(declared.python_type, pa.null())
    except NotImplementedError:
        return pa.null()


def _sql_type(kind: Kind) -> Any:
    import sqlalchemy as sa

    return {
        Kind.INTEGER: sa.BigInteger(),
        Kind.DECIMAL: sa.Double(),
        Kind.CATEGORICAL: sa.Text(),
        Kind.BOOLEAN: sa.Boolean(),
        Kind.DATE: sa.Date(),
        Kind.DATETIME: sa.DateTime(),
    }[kind]
