"""Connections to databases through SQLAlchemy.

A connection that reads is read-only in the way of its database. What a database or its driver says of an error is
not repeated: it may hold values or credentials.
"""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hybrid.base.errors import ConfigError, DataError, HybridError, MissingExtraError, UnreachableError, needs_extra

if TYPE_CHECKING:
    import sqlalchemy as sa

_CONNECT_SECONDS = 10
LARGEST_CELL = 100_000_000
"""Bytes of a cell at most, where the database can be told (SQLite)."""
_SQLITE_STEPS = 100_000
"""Steps of SQLite's machine between two looks at the clock."""
_DRIVERS = dict.fromkeys(("postgres", "postgresql"), "postgresql+psycopg")
"""Driver of an address that names none: the one of warehouses, which the extras install."""
_SQLITE_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_SQLITE_PRAGMAS = {"database_list", "foreign_key_list", "index_info", "index_list", "table_info", "table_xinfo"}
"""Pragmas that describe a table and change nothing."""


# No session setting: behind a pooler of transactions it would be left to other programs.
def _postgresql(connection: sa.Connection) -> sa.Connection:
    return connection.execution_options(postgresql_readonly=True)


def _mysql(connection: sa.Connection) -> sa.Connection:
    connection.exec_driver_sql("SET SESSION TRANSACTION READ ONLY")
    connection.commit()
    return connection


def _sqlite(connection: sa.Connection) -> sa.Connection:
    driver: Any = connection.connection.dbapi_connection
    driver.set_authorizer(_allow_reading)
    return connection


READ_ONLY: dict[str, Callable[[sa.Connection], sa.Connection]] = {
    "postgresql": _postgresql,
    "mysql": _mysql,
    "mariadb": _mysql,
    "sqlite": _sqlite,
}
"""Dialects with a read-only mode, and how a connection enters it."""


def _limited_postgresql(connection: sa.Connection, seconds: float) -> None:
    # Of this transaction alone, as READ ONLY is.
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {math.ceil(seconds * 1000)}")


def _limited_sqlite(connection: sa.Connection, seconds: float) -> None:
    driver: Any = connection.connection.dbapi_connection
    end = monotonic() + seconds
    driver.set_progress_handler(lambda: monotonic() > end, _SQLITE_STEPS)
    driver.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_CELL)


LIMITED: dict[str, Callable[[sa.Connection, float], None]] = {
    "postgresql": _limited_postgresql,
    "sqlite": _limited_sqlite,
}
"""Dialects that stop a statement which takes too long, and how they are told."""


@contextmanager
def connect(
    url_env: str, name: str, *, read_only: bool, query: bool = False, minutes: float | None = None
) -> Iterator[sa.Connection]:
    """Connect to a database for the block; errors are named by class and SQLSTATE only.

    ``read_only`` enters the read-only mode of the database, where it is in :data:`READ_ONLY`. ``query``: a query of the
    user will run, so that a database without a read-only mode is refused. ``minutes``: longest time of a statement,
    where the database is in :data:`LIMITED`.
    """
    sa, url = sqlalchemy(), url_of(url_env)
    dialect = url.get_dialect().name
    if query and dialect not in READ_ONLY:
        raise ConfigError(
            f"data.sql.query: no read-only mode of {dialect} is known, so that a query could change the database",
            hint="make a view of the query in the database, and set data.sql.table to its name",
        )
    try:
        # Bound parameters stay out of the texts of errors; the texts are not repeated anyway.
        place = _opened_read_only(url) if read_only else url
        engine = sa.create_engine(place, hide_parameters=True, poolclass=sa.NullPool, **_limits(dialect))
    except ImportError as error:
        raise MissingExtraError(
            f"the URL in {url_env} needs the package {error.name}",
            hint="for PostgreSQL: pip install 'hybrid-release[sql]'",
        ) from None
    try:
        with engine.connect() as connection:
            enter = READ_ONLY.get(dialect) if read_only else None
            entered = connection if enter is None else enter(connection)
            if minutes is not None and dialect in LIMITED:
                LIMITED[dialect](entered, 60 * minutes)
            yield entered
    except HybridError:
        raise
    except Exception as error:  # noqa: BLE001 - drivers have their own; their texts may hold values and credentials
        code, state = _codes(error)
        if minutes is not None and (code == sqlite3.SQLITE_INTERRUPT or state == "57014"):
            raise too_slow(name, minutes) from None
        raise _redacted(error, url_env, name) from None


def too_slow(name: str, minutes: float) -> DataError:
    """Error of a database that did not answer in time."""
    return DataError(
        f"{name}: the database did not answer within {minutes:g} minutes, and was stopped",
        hint="see what it does there; if it needs the time, set data.sql.timeout_minutes to more",
    )


def is_superuser(url_env: str) -> bool:
    """True if the role is a superuser of a PostgreSQL database; errors as of :func:`connect`."""
    # A warehouse may have a URL that SQLAlchemy does not know.
    if not os.environ.get(url_env, "").startswith("postgres"):
        return False
    with connect(url_env, "the rights of the role", read_only=True) as connection:
        return bool(connection.exec_driver_sql("SELECT current_setting('is_superuser')").scalar() == "on")


def url_of(url_env: str) -> sa.URL:
    """URL of a database in an environment variable."""
    library = sqlalchemy()
    text = os.environ.get(url_env)
    if not text:
        raise ConfigError(
            f"the environment variable {url_env} is not set",
            hint="set it to the URL of the database: see hybrid help nights",
        )
    try:
        url: sa.URL = library.make_url(text)
        url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
        url.get_dialect()
    except library.exc.NoSuchModuleError:
        raise ConfigError(
            f"there is no driver for the URL in {url_env}", hint="for PostgreSQL: postgresql://..."
        ) from None
    except library.exc.ArgumentError:
        raise ConfigError(
            f"the environment variable {url_env} holds no URL of a database",
            hint="write it like postgresql://user:password@host/database",
        ) from None
    return url


def sqlalchemy() -> Any:
    """Import SQLAlchemy."""
    with needs_extra("sql", "a table of a database needs SQLAlchemy"):
        return import_module("sqlalchemy")


def _allow_reading(action: int, subject: str | None, *_: str | None) -> int:
    reads = action in _SQLITE_READS or action == sqlite3.SQLITE_TRANSACTION
    describes = action == sqlite3.SQLITE_PRAGMA and (subject or "").lower() in _SQLITE_PRAGMAS
    return sqlite3.SQLITE_OK if reads or describes else sqlite3.SQLITE_DENY


def _opened_read_only(url: sa.URL) -> sa.URL:
    """URL that opens an SQLite file read-only and never creates it; other URLs stay as they are."""
    file = url.database or ":memory:"
    if url.get_dialect().name != "sqlite" or file == ":memory:" or file.startswith("file:"):
        return url
    query = {**url.query, "mode": "ro", "uri": "true"}
    return url.set(database=f"file:{quote(str(Path(file).absolute()))}", query=query)


def _limits(dialect: str) -> dict[str, Any]:
    return {"connect_args": {"connect_timeout": _CONNECT_SECONDS}} if dialect == "postgresql" else {}


def _codes(error: Exception) -> tuple[int | None, str | None]:
    """Error code of SQLite, and SQLSTATE, of what a driver says."""
    origin = getattr(error, "orig", None)
    return getattr(origin, "sqlite_errorcode", None), getattr(origin, "sqlstate", None)


def _redacted(error: Exception, url_env: str, name: str) -> DataError:
    import sqlalchemy as sa

    if isinstance(error, sa.exc.NoSuchTableError):
        return DataError(f"{name}: there is no such table in the database of {url_env}", hint="check the name")
    code, state = _codes(error)
    if code in (sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY) or state == "25006":
        return DataError(f"{name}: the query would change the database", hint="it may only read: SELECT")
    if code == sqlite3.SQLITE_TOOBIG:
        return DataError(
            f"{name}: a cell holds more than {LARGEST_CELL // 10**6:,} million bytes",
            hint="leave the column out, or cut it to what somebody will use",
        )
    said = f"{type(error).__name__}, SQLSTATE {state}" if state else type(error).__name__
    if isinstance(error, sa.exc.OperationalError) and state is None:
        return UnreachableError(
            f"{name}: the database of {url_env} cannot be reached, or the connection broke ({said})",
            hint="check that it runs, and the host, user and password of the URL",
        )
    return DataError(
        f"{name}: the database of {url_env} refused ({said})",
        hint="look the SQLSTATE up in the database's manual; check names and rights",
    )
