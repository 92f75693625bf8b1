"""Sessions with DuckDB: on a database file of this machine, or on Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa

from hybrid.base.errors import DataError, MissingExtraError
from hybrid.table.warehouse import ENGINE_SHARE, Warehouse

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


def connect(module: Any, place: str, memory: float | None, work: Path | None = None) -> DuckdbWarehouse:
    """Open a database; nothing is loaded from the network, and no file is made.

    Parameters
    ----------
    memory : float, optional
        Bytes that DuckDB may take, and :data:`LEAST` at least; what does not fit is in a folder beside the file until
        the session ends.
    work : Path, optional
        Folder for what does not fit, in place of that one.
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

    Parameters
    ----------
    work : Path
        A private folder for what does not fit into memory.
    memory : float
        Bytes that DuckDB may take.

    Raises
    ------
    MissingExtraError
        The extra is not installed.
    DataError
        DuckDB refused. By class only: its texts may hold values.
    """
    try:
        ibis, duckdb = import_module("ibis"), import_module("duckdb")
        module = ibis.duckdb
    except ImportError:
        raise MissingExtraError(
            f"{source}: the table is larger than the memory limit, and DuckDB, which counts such tables, is missing",
            hint="pip install 'hybrid-release[warehouse]'",
        ) from None
    try:
        session = connect(module, ":memory:", memory, work)
        try:
            yield session
        finally:
            session.close()
    except (duckdb.Error, ibis.common.exceptions.IbisError) as error:
        raise DataError(
            f"{source}: DuckDB could not go on ({type(error).__name__})",
            hint="check the space on the disk of the result, which holds the copies; raise anonymize.memory_limit",
        ) from None
