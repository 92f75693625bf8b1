"""Sessions with a warehouse through ibis, which count their transfers.

The tables stay there. What an engine or its driver says of an error is not repeated: it may hold values or
credentials.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal
from urllib.parse import SplitResult, unquote, urlsplit

import pyarrow as pa

from hybrid.base.errors import ConfigError, DataError, MissingExtraError, OutputError, UnreachableError

ENGINE_SHARE = 0.5
"""Share of the memory limit that an engine in this process (DuckDB) may take."""
_CONNECT_SECONDS = 10
_CHUNK = 1 << 18
_SCHEMES = {"duckdb": "duckdb", "postgres": "postgres", "postgresql": "postgres"}


@dataclass(frozen=True)
class Transfer:
    """Rows and bytes that one operation sent or fetched."""

    operation: str
    direction: Literal["sent", "fetched"]
    rows: int
    bytes: int
    """In Arrow's memory format."""

    @property
    def words(self) -> str:
        """One line, counts alone."""
        return f"{self.direction} {self.rows:,} rows, {self.bytes:,} bytes ({self.operation})"


class Warehouse:
    """A session with a warehouse.

    Parameters
    ----------
    backend : ibis backend
        Connected.
    transfers : list of Transfer
        Filled as the session goes on.
    """

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.transfers: list[Transfer] = []
        self._temporary = 0

    @property
    def engine(self) -> str:
        """Name of the engine."""
        return str(self._backend.name)

    def table(self, name: str) -> Any:
        """Table or view by its name, with or without schema.

        Raises
        ------
        DataError
            There is none of this name.
        """
        plain, schema = _place(name)
        if not self.exists(name):
            raise DataError(f"{name}: there is no such table in the warehouse", hint="check data.sql.table")
        return self._backend.table(plain, database=schema)

    def exists(self, name: str) -> bool:
        """True if there is a table or view of this name."""
        plain, schema = _place(name)
        return plain in self._backend.list_tables(database=schema)

    def fetch(self, operation: str, expression: Any) -> pa.Table:
        """Fetch the rows of an expression."""
        with self._backend.to_pyarrow_batches(expression, chunk_size=_CHUNK) as batches:
            parts = list(batches)
        # Engines widen sums, each in its own way.
        found = (pa.Table.from_batches(parts) if parts else batches.schema.empty_table()).cast(batches.schema)
        self.transfers.append(Transfer(operation, "fetched", found.num_rows, found.nbytes))
        return found

    def send(self, operation: str, content: pa.Table) -> Any:
        """Make a temporary table of rows from here."""
        self.transfers.append(Transfer(operation, "sent", content.num_rows, content.nbytes))
        return self.keep(content)

    def keep(self, expression: Any) -> Any:
        """Make a temporary table of the rows of an expression."""
        self._temporary += 1
        return self._backend.create_table(f"hybrid_temporary_{self._temporary}", expression, temp=True)

    def write(self, name: str, expression: Any) -> Any:
        """Make a table of the rows of an expression, in their order."""
        plain, schema = _place(name)
        return self._backend.create_table(plain, expression, database=schema)

    def drop(self, name: str) -> None:
        """Drop a table that this session made."""
        plain, schema = _place(name)
        self._backend.drop_table(plain, database=schema)

    def rename(self, name: str, plain: str) -> None:
        """Rename a table within its schema, in one statement."""
        parts = [self._quoted(part) for part in name.split(".")]
        with self._backend._safe_raw_sql(f"ALTER TABLE {'.'.join(parts)} RENAME TO {self._quoted(plain)}"):
            pass

    def _quoted(self, name: str) -> str:
        import sqlglot

        return str(sqlglot.to_identifier(name, quoted=True).sql(dialect=self._backend.dialect))


@contextmanager
def unverified(warehouse: Warehouse, target: str) -> Iterator[str]:
    """Name a table that becomes ``target`` after a block without error.

    Otherwise it is dropped, and there is no table.

    Raises
    ------
    OutputError
        There is a table or view of one of the two names; it is left as it is.
    """
    name = f"{target}_unverified"
    for each in (target, name):
        if warehouse.exists(each):
            raise OutputError(
                f"{each}: the warehouse has such a table or view already; it was left as it is",
                hint="set data.sql.labels to another name, or drop it yourself if it may go",
            )
    try:
        yield name
        warehouse.rename(name, _place(target)[0])
    except BaseException:
        with suppress(Exception):
            warehouse.drop(name)
        raise


def _place(name: str) -> tuple[str, str | None]:
    """Plain name of a table, and its schema; None: the default one."""
    schema, _, plain = name.rpartition(".")
    return plain, schema or None


@contextmanager
def opened(url_env: str, memory: float | None = None) -> Iterator[Warehouse]:
    """Connect to a warehouse for the block.

    Parameters
    ----------
    url_env : str
        The environment variable with its URL: ``duckdb:///FILE`` or ``postgresql://USER:PASSWORD@HOST/DATABASE``.
    memory : float, optional
        Bytes that an engine in this process (DuckDB) may take.

    Raises
    ------
    ConfigError, MissingExtraError
        The environment variable is not set or no URL of a supported warehouse; the extra is not installed.
    UnreachableError
        The warehouse cannot be reached.
    DataError
        It refused. By class only.
    """
    url = _url(url_env)
    engine = _SCHEMES[url.scheme.partition("+")[0]]
    try:
        ibis = import_module("ibis")
        driver = import_module({"postgres": "psycopg"}.get(engine, engine))
    except ImportError:
        raise MissingExtraError(
            "data.sql.push_down needs ibis and the driver of the warehouse",
            hint="pip install 'hybrid-release[warehouse]'",
        ) from None
    try:
        backend = _connected(getattr(ibis, engine), engine, url, memory)
    except driver.Error as error:
        raise UnreachableError(
            f"the warehouse of {url_env} cannot be reached ({type(error).__name__})",
            hint="check that it runs, that no other program has the file open, and the URL",
        ) from None
    try:
        yield Warehouse(backend)
    except (driver.Error, ibis.common.exceptions.IbisError) as error:
        code = getattr(error, "sqlstate", None)
        said = type(error).__name__ + (f", SQLSTATE {code}" if code else "")
        raise DataError(
            f"the warehouse of {url_env} refused ({said})",
            hint="check rights, space and the types of the columns; its own log says more",
        ) from None
    finally:
        with suppress(Exception):
            backend.disconnect()


def _connected(module: Any, engine: str, url: SplitResult, memory: float | None) -> Any:
    """Connect; nothing is loaded from the network, and no file is made."""
    if engine == "postgres":
        return module.connect(
            host=url.hostname,
            port=url.port or 5432,
            user=unquote(url.username or "") or None,
            password=unquote(url.password or "") or None,
            database=unquote(url.path.removeprefix("/")) or None,
            connect_timeout=_CONNECT_SECONDS,
        )
    limit = {} if memory is None else {"memory_limit": f"{int(memory / 2**20)}MiB"}
    off = dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions"), "false")
    backend = module.connect(unquote(url.path.removeprefix("/")), **off, **limit)
    backend.con.execute("SET enable_progress_bar = false")  # it would write to standard output in a notebook
    return backend


def _url(url_env: str) -> SplitResult:
    text = os.environ.get(url_env)
    if not text:
        raise ConfigError(
            f"the environment variable {url_env} is not set",
            hint="set it to the URL of the warehouse: see docs/guides/warehouse.md",
        )
    url = urlsplit(text)
    engine = _SCHEMES.get(url.scheme.partition("+")[0])
    if engine is None:
        raise ConfigError(
            f"data.sql.push_down: the URL in {url_env} is of no warehouse that is supported",
            hint=f"it starts with one of: {', '.join(f'{scheme}://' for scheme in _SCHEMES)}",
        )
    if engine == "duckdb" and not Path(unquote(url.path.removeprefix("/"))).is_file():
        raise DataError(f"the DuckDB file of {url_env} does not exist", hint="write duckdb:///FILE, or duckdb:////ROOT")
    return url
