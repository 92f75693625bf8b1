"""Tables of databases, through SQLAlchemy, read in chunks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

import pyarrow as pa
from pydantic import Field, model_validator

from hybrid.base.errors import ConfigError, DataError
from hybrid.base.options import Options
from hybrid.base.resources import available_bytes
from hybrid.table.read_file import table_memory
from hybrid.table.read_options import ReadOptions
from hybrid.table.schema import Table
from hybrid.table.sources.source import Source
from hybrid.table.sql_connection import connect, too_slow
from hybrid.table.typed_table import typed_table
from hybrid.table.warehouse import Warehouse, open_warehouse, warehouse_of

if TYPE_CHECKING:
    import sqlalchemy as sa

CHUNK = 20_000
"""Rows that are fetched at a time at most."""
_FIRST = 100
_CHUNK_BYTES = 1 << 26
"""Bytes that are fetched at a time, where rows are so long that :data:`CHUNK` of them are more."""
_COPIES = 3
"""Times that rows lie in memory while they are put together and sorted."""
_LOOKED_AT = 1000
"""Rows whose texts are measured before a table of a warehouse is read."""
_BY_IBIS = ("duckdb", "spark")
"""Warehouses that SQLAlchemy has no driver for."""
_NOT_CODE = re.compile(
    r"""'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/|"(?P<name>[^"]*)"|`(?P<quoted>[^`]*)`""", re.DOTALL
)
"""Literals, comments and quoted names of a query."""
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
    postgresql://user:password@host/database."""
    table: str | None = None
    """The table or view, with its schema if it is not the default one: "clinic.admissions"."""
    query: str | None = None
    """A SELECT instead of a table."""
    timeout_minutes: float = Field(default=60.0, gt=0)
    """Longest time that a statement (PostgreSQL), or all of the reading (SQLite, DuckDB), may take before it is
    stopped."""
    push_down: bool | None = None
    """Of older configurations: whether the rows stay in the warehouse, in the place of `anonymize.memory_limit`. With
    true, the table of labels is TABLE_labels unless `labels` says otherwise."""
    sample_rows: int | None = Field(default=None, ge=1)
    """As `split.rows`, where the rows stay in the warehouse: those of the random sample that `hybrid run` takes out. A
    number lets the rows of a smaller table stay there, too."""
    labels: str | None = Field(default=None, min_length=1)
    """Where the rows stay in the warehouse: the new table into which `hybrid anonymize` writes labels, with its schema
    if it is not the default one. A name lets the rows of a smaller table stay there, too. null: none is written."""

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
        if self.query is not None and not _only_reads(self.query):
            raise ValueError("query is one statement, a SELECT (or WITH, VALUES, TABLE): a source is read, not changed")
        asking = [key for key in ("push_down", "labels", "sample_rows") if getattr(self, key)]
        if asking and self.query is not None:
            raise ValueError(
                f"{asking[0]} is for a table or view whose rows stay in the warehouse: make a view of the query, and "
                "set table to its name"
            )
        if asking and self.push_down is False:
            raise ValueError(
                f"{asking[0]} is for rows that stay in the warehouse, and push_down: false reads them: leave one out"
            )
        return self

    @property
    def stays(self) -> bool | None:
        """True if the rows stay in the warehouse, false if they are read; None where their size decides."""
        if self.labels is not None or self.sample_rows is not None:
            return True
        return False if self.query is not None else self.push_down

    @property
    def labels_table(self) -> str | None:
        """The new table of labels; None where none is asked for."""
        return self.labels or (f"{self.table}_labels" if self.push_down else None)


class SqlSource(Source):
    """A table or a query of a database."""

    key = "sql"
    type = SqlOptions | None
    description = "A database instead of a file."

    def read(self, place: Any, options: ReadOptions, folder: Path) -> Table:  # noqa: ARG002 - no path
        if place.stays:
            raise ConfigError(
                "data.sql: the rows stay in the warehouse, and this command needs them here",
                hint="set data.sql.table to a sample that fits into memory, without labels and sample_rows; hybrid "
                "anonymize, check, run, release and nightly work with a single table there",
            )
        return read_sql(place, options)


def read_sql(source: SqlOptions, options: ReadOptions) -> Table:
    """Read a table or query in a read-only session; a query is refused where the database has no such mode.

    Numbers, booleans, dates and NULLs are as the database types them. Rows of a database have no order; here they are
    sorted by their content, so that the same rows are the same table every night.
    """
    name = source.table or "the query of data.sql"
    is_query, minutes = source.query is not None, source.timeout_minutes
    if source.table is not None and warehouse_of(source.url_env) in _BY_IBIS:
        with open_warehouse(source.url_env, minutes=minutes) as warehouse:
            need, free = memory_there(warehouse, source.table), available_bytes()
            if need > free:
                raise _too_large(name, need, free)
            raw = warehouse.fetch(name, warehouse.table(source.table))
            raw = _in_content_order(raw, [None] * raw.num_columns)
        return typed_table(name, raw, options, keep_types=True)
    with connect(source.url_env, name, read_only=True, query=is_query, minutes=minutes) as connection:
        raw = fetch(connection, source, name)
    return typed_table(name, raw, options, keep_types=True)


def fetch(connection: sa.Connection, source: SqlOptions, name: str) -> pa.Table:
    """Fetch all rows, sorted by their content; ``name`` is for messages."""
    import sqlalchemy as sa

    streamed = {"stream_results": True}
    declared: dict[str, pa.DataType] = {}
    if source.table is not None:
        schema, _, table = source.table.rpartition(".")
        found = sa.Table(table, sa.MetaData(), schema=schema or None, autoload_with=connection)
        result = connection.execute(sa.select(found), execution_options=streamed)
        declared = {column.name: _null_type(column.type) for column in found.columns}
    else:
        # The literal query: neither ":" nor "%" means a parameter.
        literal = connection.execution_options(no_parameters=True, **streamed)
        result = literal.exec_driver_sql(str(source.query))
    names = list(result.keys())
    # Columns are put together under their positions: a query may give two the same name, which is reported later.
    chunks: list[pa.Table] = []
    end, free, taken, most = monotonic() + 60 * source.timeout_minutes, available_bytes(), 0, _FIRST
    while rows := result.fetchmany(most):
        fetched = zip(names, zip(*rows, strict=True), strict=True)
        columns = [_array(values, name, column) for column, values in fetched]
        chunks.append(pa.table(columns, names=[str(position) for position in range(len(names))]))
        taken += chunks[-1].nbytes
        most = min(max(_CHUNK_BYTES * len(rows) // max(chunks[-1].nbytes, 1), 1), CHUNK)
        if _COPIES * taken > free:
            raise _too_large(name, _COPIES * taken, free)
        if monotonic() > end:
            raise too_slow(name, source.timeout_minutes)
    if not chunks:
        return pa.table([pa.nulls(0)] * len(names), names=names)
    try:
        whole = pa.concat_tables(chunks, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        hint = "cast the columns in data.sql.query"
        raise DataError(f"{name}: the values of a column are of several types", hint=hint) from None
    return _in_content_order(whole, [declared.get(name) for name in names]).rename_columns(names)


def _in_content_order(rows: pa.Table, declared: Sequence[pa.DataType | None]) -> pa.Table:
    """Rows sorted by their content, in types that are independent of values; ``declared``: of columns of NULL alone."""
    kinds = [_settled(field.type, kind) for field, kind in zip(rows.schema, declared, strict=True)]
    ordered = rows.sort_by([(name, "ascending") for name in rows.column_names])
    return ordered.cast(pa.schema(list(zip(rows.column_names, kinds, strict=True))))


def memory_there(warehouse: Warehouse, table: str, n_quasi: int = 0) -> float:
    """Estimated bytes that a table of a warehouse takes while it is read and anonymized in memory."""
    rows = warehouse.table(table)
    some = rows.limit(_LOOKED_AT)
    lengths = [some[name].length().sum().name(name) for name, kind in rows.schema().items() if kind.is_string()]
    n_rows = warehouse.fetch("number of rows", rows.count().name("n").as_table())["n"][0].as_py()
    found = warehouse.fetch("lengths of texts", some.aggregate(lengths)).columns if lengths else []
    of_each = sum(column[0].as_py() or 0 for column in found) / max(min(n_rows, _LOOKED_AT), 1)
    return table_memory(n_rows, len(rows.columns), n_quasi, _COPIES * n_rows * of_each)


def code_of(query: str) -> str:
    """The query without literals, comments and quotes around names."""
    return _NOT_CODE.sub(lambda found: f" {found['name'] or found['quoted'] or ''} ", query)


def _only_reads(query: str) -> bool:
    """True for one statement that begins as a reading one does."""
    code = code_of(query).strip().rstrip("; \n\t")
    return ";" not in code and re.match(r"[\s(]*(select|with|values|table)\b", code, re.IGNORECASE) is not None


def _too_large(name: str, need: float, free: float) -> DataError:
    return DataError(
        f"{name}: the rows take more than {need / 2**30:.2f} GiB of memory, and {free / 2**30:.2f} GiB are free",
        hint="read fewer rows or columns; with a section anonymize, and hybrid-release[warehouse], the rows of a table "
        "stay in DuckDB, PostgreSQL or Spark: see hybrid help warehouse",
    )


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
