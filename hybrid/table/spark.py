"""Sessions with Spark: on this machine over Parquet, or on a cluster through Spark Connect."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import SplitResult, unquote

import pyarrow as pa

from hybrid.base.errors import ConfigError
from hybrid.base.scratch import scratch
from hybrid.table.warehouse import CONNECT_SECONDS, ENGINE_SHARE, Warehouse, plain

REMOTE = "sc"
"""Scheme of Spark Connect's addresses; Spark's own."""
_PORT = 15002
_LEAST_HEAP_MIB = 512
"""Spark refuses to start with less."""
_PARTITIONS_PER_CORE = 8
_PARQUET = ".parquet"
_ROWS_AT_ONCE = 1 << 17
"""Rows that are sent to Spark together."""
_SHOWN = re.compile(r"SELECT \* FROM (.+)", re.DOTALL)
"""Text of a view that shows one table."""


class SparkWarehouse(Warehouse):
    """A session with Spark.

    ``folder``: of a session on this machine, whose Parquet files and folders are the tables; None: the catalog of the
    cluster. ``aside`` has what the session writes aside, and goes with it.
    """

    def __init__(self, backend: Any, folder: Path | None = None, aside: TemporaryDirectory[str] | None = None) -> None:
        super().__init__(backend)
        self.held = 0.0 if folder is None else ENGINE_SHARE
        self.catalog = folder is None
        self._session = backend._session
        self._folder, self._aside = folder, aside
        self._kept: list[Any] = []
        """Their content is dropped with the last reference."""

    @property
    def engine(self) -> str:
        return "spark"

    def table(self, name: str) -> Any:
        if (path := self._file(name)) and not super().exists(name):
            self._session.read.parquet(str(path)).createOrReplaceTempView(name)
        return super().table(name)

    def exists(self, name: str) -> bool:
        return self._file(name) is not None or super().exists(name)

    def keep(self, expression: Any) -> Any:
        """As for all engines, in the memory and on the disks of the workers."""
        name = self._temporary_name()
        if isinstance(expression, pa.Table):
            rows = self._rows(plain(expression))
        else:
            rows = self._query(expression).localCheckpoint(eager=True)
        self._kept.append(rows)
        rows.createOrReplaceTempView(name)
        return self._backend.table(name)

    def drop(self, name: str) -> None:
        """Drop a table with what an error left of its files."""
        try:
            super().drop(name)
        finally:
            if (left := self._file(name)) is not None:
                shutil.rmtree(left, ignore_errors=True)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Spark has none: each statement of the block takes effect by itself."""
        yield

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._session.sql(statement).collect()]

    def load(self, name: str, rows: pa.RecordBatchReader, comment: str = "") -> None:
        """Make a table some rows at a time; it is there with its comment from the first ones on."""
        first, kept = self._temporary_name(), self.literal(comment)
        self._rows(rows.schema.empty_table()).createOrReplaceTempView(first)
        self.execute(f"CREATE TABLE {self.quoted(name)} USING parquet COMMENT {kept} AS SELECT * FROM {first}")
        self._session.catalog.dropTempView(first)
        for part in _parts(rows):
            self._rows(part).write.mode("append").saveAsTable(self.quoted(name))

    def objects(self, schema: str, prefix: str) -> list[tuple[str, str, str | None]]:
        """Tables and views whose names begin so: name, table or view, comment.

        The comment of a view that has one is that of the table that it shows: Spark changes both in two steps.
        """
        found = []
        for _, name, temporary in self.execute(f"SHOW TABLES IN {self._quoted(schema)}"):
            if temporary or not name.startswith(prefix.lower()):
                continue
            facts = self._described(f"{self._quoted(schema)}.{self._quoted(name)}")
            kind, comment = "view" if facts["type"] == "VIEW" else "table", facts.get("comment")
            if kind == "view" and comment is not None:
                shown = _SHOWN.fullmatch(facts["view_text"])
                comment = comment if shown is None else self._described(shown[1]).get("comment", comment)
            found.append((name, kind, comment))
        return found

    def _rows(self, content: pa.Table) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        if content.num_rows:
            return self._session.createDataFrame(content)
        return self._session.createDataFrame([], from_arrow_schema(content.schema))

    def _described(self, quoted: str) -> dict[str, Any]:
        """Entry of the catalog for a table or view; its type is empty where there is none."""
        from pyspark.errors import AnalysisException

        try:
            content: dict[str, Any] = json.loads(self.execute(f"DESCRIBE TABLE EXTENDED {quoted} AS JSON")[0][0])
        except AnalysisException:
            return {"type": ""}
        return content

    def close(self) -> None:
        super().close()
        if self._aside is not None:
            self._aside.cleanup()

    def _batches(self, expression: Any) -> Iterator[pa.RecordBatch]:
        # ibis would fetch them through pandas, where whole numbers with gaps become floats.
        yield from self._query(expression).toArrow().to_batches()

    def _query(self, expression: Any) -> Any:
        return self._session.sql(self._backend.compile(expression.as_table()))

    def _file(self, name: str) -> Path | None:
        if self._folder is None or Path(name).name != name:
            return None
        places = (self._folder / name, self._folder / f"{name}{_PARQUET}")
        return next((path for path in places if path.exists()), None)


def _parts(rows: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Batches put together to some :data:`_ROWS_AT_ONCE` rows: each part becomes a file."""
    waiting: list[pa.RecordBatch] = []
    for batch in rows:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _ROWS_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def connect(module: Any, url: SplitResult, memory: float | None) -> SparkWarehouse:
    """Connect to the Spark of an address; ``memory``: bytes of the heap of a session on this machine.

    OSError where nothing answers at the address.
    """
    from pyspark.sql import SparkSession

    _silence()
    if SparkSession.getActiveSession() is not None:
        raise ConfigError("this process has a Spark session already", hint="stop it, or use another process")
    if url.scheme == REMOTE:
        # Spark's client would try for ten minutes.
        socket.create_connection((url.hostname, url.port or _PORT), CONNECT_SECONDS).close()
        return SparkWarehouse(module.connect(SparkSession.builder.remote(url.geturl()).create()))
    folder = Path(unquote(url.path.removeprefix("/"))).resolve()
    aside = scratch("spark")
    try:
        return SparkWarehouse(module.connect(_local_session(folder, Path(aside.name), memory)), folder, aside)
    except BaseException:
        aside.cleanup()
        raise


def _local_session(folder: Path, aside: Path, memory: float | None) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    settings = {
        "spark.app.name": "hybrid",
        "spark.master": "local[*]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.maxResultSize": "0",
        "spark.local.dir": str(aside),
        "spark.sql.caseSensitive": "true",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": str(_PARTITIONS_PER_CORE * (os.cpu_count() or 1)),
        "spark.sql.warehouse.dir": str(folder),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if memory is not None:
        settings["spark.driver.memory"] = f"{max(int(memory / 2**20), _LEAST_HEAP_MIB)}m"
    conf = SparkConf().setAll(list(settings.items()))
    # The JVM's output may hold values of persons.
    gateway = SparkContext._gateway or launch_gateway(
        conf, {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    )
    return SparkSession(SparkContext(conf=conf, gateway=gateway))


def _silence() -> None:
    """Keep pyspark from printing errors of queries, which may hold values of persons."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
