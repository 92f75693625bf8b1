"""Sessions with a warehouse through ibis, which count their transfers; with DuckDB also on files of this machine.

The tables stay there. What an engine or its driver says of an error is not repeated: it may hold values or
credentials.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal
from urllib.parse import SplitResult, unquote, urlsplit

import pyarrow as pa
import pyarrow.csv as pacsv

from hybrid.base.errors import ConfigError, DataError, OutputError, UnreachableError, needs_extra
from hybrid.table.arrow import plain_type
from hybrid.table.sql_connection import too_slow

ENGINE_SHARE = 0.5
"""Share of the memory limit that an engine on this machine (DuckDB, Spark) may take."""
CONNECT_SECONDS = 10
SQL = "data.sql"
INCOMING = "hybrid_incoming"
"""Name of the rows that DuckDB reads from here."""
_CHUNK = 1 << 18
_SCHEMES = {
    "duckdb": "duckdb",
    "postgres": "postgres",
    "postgresql": "postgres",
    "spark": "spark",
    "sc": "spark",
}
_ERRORS = {
    "duckdb": (("duckdb", "Error"),),
    "postgres": (("psycopg", "Error"),),
    "spark": (("pyspark.errors", "PySparkException"), ("py4j.protocol", "Py4JError")),
}
"""What the driver of an engine raises."""
STOPPED = ("57014", "InterruptException")
"""SQLSTATE of PostgreSQL, and class of DuckDB, of a statement that was stopped."""
_UNREACHABLE = {
    "duckdb": "check that no other program has the file open",
    "spark": "Spark needs Java 17 or 21 on this machine: apt-get install default-jre-headless",
    "sc": "check that the Spark Connect server runs, the URL and the token",
}


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
    """A session with a warehouse, through a connected ibis backend."""

    held: float = 0.0
    """Share of the memory limit that the engine keeps here while :meth:`resting`."""
    catalog: bool = True
    """Whether tables and views outlast the session, with their comments."""
    sort_bytes: float = math.inf
    """What one sort may take in memory and on disk together; infinity: the engine has limits of its own."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.transfers: list[Transfer] = []
        self._temporary = 0

    @property
    def engine(self) -> str:
        """Name of the engine."""
        return str(self._backend.name)

    @contextmanager
    def limited(self, minutes: float) -> Iterator[None]:
        """Stop statements of the block that take longer.

        Where the engine can (PostgreSQL). What it raises then is in :data:`STOPPED`.
        """
        if self.engine == "postgres":
            self.execute(f"SET statement_timeout = {math.ceil(60_000 * minutes)}")
        yield

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Leave memory to others for the block, in which nothing is asked of the engine."""
        yield

    def table(self, name: str) -> Any:
        """Table or view by its name, with or without schema."""
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
        parts, schema = list(self._batches(expression)), expression.schema().to_pyarrow()
        # Engines widen sums, each in its own way.
        found = (pa.Table.from_batches(parts) if parts else schema.empty_table()).cast(schema)
        self.transfers.append(Transfer(operation, "fetched", found.num_rows, found.nbytes))
        return found

    def send(self, operation: str, content: pa.Table) -> Any:
        """Make a temporary table of rows from here."""
        self.transfers.append(Transfer(operation, "sent", content.num_rows, content.nbytes))
        return self.keep(content)

    def keep(self, expression: Any) -> Any:
        """Make a temporary table of the rows of an expression, or of rows from here, with dictionaries as texts."""
        return self._backend.create_table(self._temporary_name(), plain(expression), temp=True)

    def write(self, name: str, expression: Any) -> Any:
        """Make a table of the rows of an expression, in their order."""
        plain, schema = _place(name)
        return self._backend.create_table(plain, expression, database=schema)

    def extend(self, name: str, expression: Any) -> None:
        """Add the rows of an expression to a table, in their order; not on Spark."""
        self.execute(f"INSERT INTO {self.quoted(name)} {self._backend.compile(expression)}")

    def drop(self, name: str) -> None:
        """Drop a table that this session made."""
        plain, schema = _place(name)
        self._backend.drop_table(plain, database=schema)

    def rename(self, name: str, plain: str) -> None:
        """Rename a table within its schema, in one statement."""
        with self._backend._safe_raw_sql(f"ALTER TABLE {self.quoted(name)} RENAME TO {self._quoted(plain)}"):
            pass

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the changes of the block together, or none; Spark cannot."""
        connection = self._backend.con
        if self.engine == "postgres":
            with connection.transaction():
                yield
            return
        connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement without parameters."""
        cursor = self._backend.con.execute(statement)
        return [] if cursor.description is None else list(cursor.fetchall())

    def load(self, name: str, rows: pa.RecordBatchReader, comment: str = "") -> None:
        """Make a table of batches of rows from here, with a comment."""
        self._load(name, rows)
        if comment:
            self.comment(name, comment)

    def comment(self, name: str, text: str) -> None:
        """Replace the comment of a table."""
        self.execute(f"COMMENT ON TABLE {self.quoted(name)} IS {self.literal(text)}")

    def _load(self, name: str, rows: pa.RecordBatchReader) -> None:
        connection, target = self._backend.con, self.quoted(name)
        if self.engine == "duckdb":
            connection.register(INCOMING, rows)
            connection.execute(f"CREATE TABLE {target} AS SELECT * FROM {INCOMING}")
            connection.unregister(INCOMING)
            return
        plain, schema = _place(name)
        columns = import_module("ibis").schema(rows.schema)
        self._backend.create_table(plain, schema=columns, database=schema)
        with connection.cursor() as cursor, cursor.copy(f"COPY {target} FROM STDIN (FORMAT csv)") as copy:
            for batch in rows:
                copy.write(_as_csv(batch))

    def quoted(self, name: str) -> str:
        """Name of a table, with or without schema, for a statement."""
        return ".".join(self._quoted(part) for part in name.split("."))

    def literal(self, text: str) -> str:
        """Text as a constant of a statement."""
        import sqlglot

        return str(sqlglot.exp.Literal.string(text).sql(dialect=self._backend.dialect))

    def close(self) -> None:
        """End the session."""
        with suppress(Exception):
            self._backend.disconnect()

    def _batches(self, expression: Any) -> Iterator[pa.RecordBatch]:
        with self._backend.to_pyarrow_batches(expression, chunk_size=_CHUNK) as batches:
            yield from batches

    def _temporary_name(self) -> str:
        self._temporary += 1
        return f"hybrid_temporary_{self._temporary}"

    def _quoted(self, name: str) -> str:
        import sqlglot

        return str(sqlglot.to_identifier(name, quoted=True).sql(dialect=self._backend.dialect))


@contextmanager
def unverified(warehouse: Warehouse, target: str) -> Iterator[str]:
    """Name a table that becomes ``target`` after a block without error; otherwise it is dropped, and there is no table.

    OutputError where there is a table or view of one of the two names; it is left as it is.
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


def _as_csv(batch: pa.RecordBatch) -> bytes:
    """Rows as CSV without header: NULL is empty, texts are quoted."""
    content = io.BytesIO()
    pacsv.write_csv(batch, content, pacsv.WriteOptions(include_header=False))
    return content.getvalue()


def plain(content: Any) -> Any:
    """Rows from here with dictionaries as texts; an expression as it is."""
    if not isinstance(content, pa.Table):
        return content
    return content.cast(pa.schema([(field.name, plain_type(field.type)) for field in content.schema]))


def _place(name: str) -> tuple[str, str | None]:
    schema, _, plain = name.rpartition(".")
    return plain, schema or None


@contextmanager
def open_warehouse(
    url_env: str, memory: float | None = None, asked: str = SQL, minutes: float | None = None
) -> Iterator[Warehouse]:
    """Connect to the warehouse of an environment variable for the block.

    Its URL is ``duckdb:///FILE``, ``postgresql://USER:PASSWORD@HOST/DATABASE``, ``spark:///FOLDER`` or
    ``sc://HOST:PORT/;token=TOKEN``. ``memory``: bytes that an engine on this machine (DuckDB, Spark) may take;
    ``asked``: the key that asks for a warehouse, for messages; ``minutes``: as for :meth:`Warehouse.limited`. What the
    engine says of an error is named by its class only.
    """
    url = _url(url_env, asked)
    engine = _SCHEMES[url.scheme.partition("+")[0]]
    extra = "spark" if engine == "spark" else "warehouse"
    with needs_extra(extra, f"{asked} needs ibis and the driver of the warehouse"):
        ibis = import_module("ibis")
        errors = tuple(getattr(import_module(module), name) for module, name in _ERRORS[engine])
        module = getattr(ibis, {"spark": "pyspark"}.get(engine, engine))
    try:
        warehouse = _connected(module, engine, url, memory)
    except (*errors, OSError) as error:
        raise UnreachableError(
            f"the warehouse of {url_env} cannot be reached ({type(error).__name__})",
            hint=_UNREACHABLE.get(url.scheme, "check that it runs, and the URL"),
        ) from None
    try:
        with nullcontext() if minutes is None else warehouse.limited(minutes):
            yield warehouse
    except (*errors, ibis.common.exceptions.IbisError) as error:
        code = getattr(error, "sqlstate", None) or getattr(error, "getSqlState", str)()
        if minutes is not None and (code in STOPPED or type(error).__name__ in STOPPED):
            raise too_slow(f"the warehouse of {url_env}", minutes) from None
        said = type(error).__name__ + (f", SQLSTATE {code}" if code else "")
        raise DataError(
            f"the warehouse of {url_env} refused ({said})",
            hint="check rights, space and the types of the columns; its own log says more",
        ) from None
    finally:
        warehouse.close()


def _connected(module: Any, engine: str, url: SplitResult, memory: float | None) -> Warehouse:
    if engine == "spark":
        return import_module("hybrid.table.spark").connect(module, url, memory)  # type: ignore[no-any-return]
    if engine == "postgres":
        backend = module.connect(
            host=url.hostname,
            port=url.port or 5432,
            user=unquote(url.username or "") or None,
            password=unquote(url.password or "") or None,
            database=unquote(url.path.removeprefix("/")) or None,
            connect_timeout=CONNECT_SECONDS,
        )
        return Warehouse(backend)
    place = unquote(url.path.removeprefix("/"))
    return _connect_duckdb(module, place, memory)


def warehouse_of(url_env: str) -> str | None:
    """Warehouse that the URL in an environment variable is of; None for another database, and without a URL."""
    return _SCHEMES.get(os.environ.get(url_env, "").partition(":")[0].partition("+")[0])


def _url(url_env: str, asked: str) -> SplitResult:
    text = os.environ.get(url_env)
    if not text:
        raise ConfigError(
            f"the environment variable {url_env} is not set",
            hint="set it to the URL of the warehouse: see hybrid help warehouse",
        )
    url = urlsplit(text)
    engine = _SCHEMES.get(url.scheme.partition("+")[0])
    if engine is None:
        raise ConfigError(
            f"{asked}: the URL in {url_env} is of no warehouse that is supported",
            hint=f"it starts with one of: {', '.join(f'{scheme}://' for scheme in _SCHEMES)}",
        )
    path = Path(unquote(url.path.removeprefix("/")))
    if engine == "duckdb" and not path.is_file():
        raise DataError(f"the DuckDB file of {url_env} does not exist", hint="write duckdb:///FILE, or duckdb:////ROOT")
    if url.scheme == "spark" and (url.netloc or not path.is_dir()):
        raise DataError(
            f"the folder of Parquet files of {url_env} does not exist",
            hint="write spark:///FOLDER, or spark:////ROOT; a cluster is reached through Spark Connect: sc://HOST:15002",
        )
    return url


RESTING = 0.2
"""Share of its memory that DuckDB keeps while it rests."""
SPILLED = 3
"""Memories of DuckDB that a sort may take on disk, beside the one that it has."""
MOST_TEXTS = 10_000
"""Texts of an enumeration; beyond it a dictionary is kept as texts."""

LEAST = 1 << 27
"""Bytes that DuckDB needs for any work on files."""
_AGAIN = 0.1
"""Seconds until what runs is stopped again, once it is time."""


class DuckdbWarehouse(Warehouse):
    """A session with DuckDB.

    Dictionaries that are sent become enumerations: rows that get a label from one are joined, sorted and written as
    small numbers, at a third of the cost of texts.
    """

    held = ENGINE_SHARE * RESTING

    def __init__(self, backend: Any, memory: float | None = None) -> None:
        super().__init__(backend)
        self._memory = memory
        if memory is not None:
            self.sort_bytes = (1 + SPILLED) * memory

    @contextmanager
    def limited(self, minutes: float) -> Iterator[None]:
        ended = Event()

        def watch() -> None:
            ended.wait(60 * minutes)
            while not ended.wait(_AGAIN):
                self._backend.con.interrupt()

        watcher = Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()

    @contextmanager
    def resting(self) -> Iterator[None]:
        self._limit(RESTING)
        yield
        self._limit(1)

    def keep(self, expression: Any) -> Any:
        made = super().keep(expression)
        table = self.quoted(made.get_name())
        if isinstance(expression, pa.Table):
            for name, column in zip(expression.column_names, expression.columns, strict=True):
                if pa.types.is_dictionary(column.type) and 0 < len(texts := _texts(column)) <= MOST_TEXTS:
                    kind = ", ".join(self.literal(text) for text in texts)
                    self.execute(f"ALTER TABLE {table} ALTER {self._quoted(name)} TYPE ENUM ({kind})")
        return made

    def write(self, name: str, expression: Any) -> Any:
        if isinstance(expression, pa.Table):
            return super().write(name, expression)
        self.execute(f"CREATE TABLE {self.quoted(name)} AS {self._backend.compile(expression)}")
        return self.table(name)

    def read(self, files: Sequence[Path]) -> Any:
        """Rows of Parquet files, one after the other, as a table."""
        name, paths = self._temporary_name(), ", ".join(self.literal(str(path)) for path in files)
        self.execute(
            f"CREATE TEMP VIEW {self._quoted(name)} AS SELECT * FROM read_parquet([{paths}], hive_partitioning = false)"
        )
        return self._backend.table(name)

    def batches(self, expression: Any) -> Iterator[pa.RecordBatch]:
        """Rows of an expression in their order, some at a time."""
        return self._batches(expression)

    def _limit(self, share: float) -> None:
        if self._memory is not None:
            self.execute(f"SET memory_limit = '{_mebibytes(self._memory * share)}'")


def _mebibytes(n_bytes: float) -> str:
    return f"{int(n_bytes / 2**20)}MiB"


def _texts(column: pa.ChunkedArray) -> list[str]:
    """All texts of a dictionary, also those that no row has: tables of one dictionary have one type."""
    found = {text for chunk in column.chunks for text in chunk.dictionary.to_pylist()}
    return sorted(found, key=str.encode)


def _connect_duckdb(module: Any, place: str, memory: float | None, work: Path | None = None) -> DuckdbWarehouse:
    """Open a database; nothing is loaded from the network, and no file is made.

    What does not fit into ``memory`` bytes is in the folder ``work``, or beside the file, until the session ends.
    """
    memory = None if memory is None else max(memory, LEAST)
    limit = {} if memory is None else {"memory_limit": _mebibytes(memory)}
    aside = {} if work is None else {"temp_directory": str(work)}
    off = dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions"), "false")
    backend = module.connect(place, **off, **limit, **aside)
    backend.con.execute("SET enable_progress_bar = false")  # it would write to standard output in a notebook
    return DuckdbWarehouse(backend, memory)


@contextmanager
def open_files(source: str, work: Path, memory: float) -> Iterator[DuckdbWarehouse]:
    """Start a session for files of this machine for the block.

    ``work`` is a private folder for what does not fit into memory, of which DuckDB may take ``memory`` bytes,
    :data:`LEAST` at least. What it says of an error is named by its class only: its texts may hold values.
    """
    with needs_extra(
        "warehouse",
        f"{source}: the table is larger than the memory limit, and DuckDB, which counts such tables, is missing",
    ):
        ibis, duckdb = import_module("ibis"), import_module("duckdb")
        module = ibis.duckdb
    try:
        session = _connect_duckdb(module, ":memory:", memory, work)
        try:
            yield session
        finally:
            session.close()
    except (duckdb.Error, ibis.common.exceptions.IbisError) as error:
        raise DataError(
            f"{source}: DuckDB could not go on ({type(error).__name__})",
            hint="check the space on the disk of the result, which holds the copies; raise anonymize.memory_limit",
        ) from None
