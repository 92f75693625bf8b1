"""Versions of released tables in a warehouse, and views on the latest.

A release becomes a table of its own; once all its rows are there, a view of the name that readers use is switched to
it in one transaction, or on Spark by one statement. Every table and view made here says so in its comment. What has no
such comment is never changed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from time import monotonic, sleep
from typing import Any

import pyarrow as pa

from hybrid.base.errors import ConfigError, OutputError, Problem, refuse
from hybrid.table.arrow import plain_schema
from hybrid.table.spark import SparkWarehouse
from hybrid.table.warehouse import Warehouse, open_warehouse

logger = logging.getLogger(__name__)
KEY = "nightly.deliver.sql.versions"
PENDING = "_unverified"
"""End of the name of a version on Spark while its rows are written."""
MEMORY = 2.0**30
"""Bytes that DuckDB may take while rows are written."""
WAIT_SECONDS = 60
"""Longest wait for readers of a view or of an old version (PostgreSQL)."""
LOCK_SECONDS = 10
"""Longest wait for another delivery to the same view (PostgreSQL)."""
_LONGEST_NAME = 63
"""Bytes of a name that PostgreSQL keeps."""
_SUFFIX = len("_2026_01_31_0123abcd")
_MARK = "written by hybrid-release"
Rows = Callable[[], pa.RecordBatchReader]
"""Open the rows of a released table, from its first one on."""


@dataclass(frozen=True)
class Version:
    """Comment of a table or view that delivery made."""

    view: str
    """The view, as the configuration names it."""
    data_set: str
    release: str
    """Of the rows."""
    rows: int
    """Number of rows; -1 while they are written (Spark)."""
    at: str
    """When it was made; UTC, ISO 8601."""

    def to_comment(self) -> str:
        return json.dumps({_MARK: asdict(self)})

    @classmethod
    def from_comment(cls, text: str | None) -> Version | None:
        """Read what :meth:`to_comment` wrote; None for anything else."""
        try:
            return cls(**json.loads(text or "")[_MARK])
        except (ValueError, LookupError, TypeError):
            return None


def deliver_versions(
    tables: Mapping[str, Rows],
    url_env: str,
    data_set: str,
    release: str,
    keep: int | None,
    withdrawn: Collection[str] = (),
) -> None:
    """Write missing versions of a release, and let the views show them.

    A version is written in one transaction, and the views of all tables are switched in another: a reader finds the
    rows of one release, and all of them. Spark has no transactions: a version is written under another name first, and
    the one view is switched by one statement. Killed at any point, the next call does what is missing. Then withdrawn
    and surplus versions are dropped.

    ``tables`` has the rows of each released table, by the view that shows them: its name, with its schema if that is
    not the default one. Of the newest versions so many stay; all without ``keep``.

    A table or view of a name that is needed that was not made here, or is that of another data set, is refused: all
    such at once, before anything is written. So is a version to be dropped that holds other rows than those delivered.
    """
    with _opened(url_env, tables) as warehouse:
        _refuse_foreign(warehouse, tables, data_set, release)
        for view, rows in tables.items():
            if _key(warehouse, _name(view, release)) not in _versions(warehouse, view):
                _write(warehouse, view, rows, data_set, release)
        _switch(warehouse, {view: _name(view, release) for view in tables})
        _drop_old(warehouse, tables, keep, {*withdrawn} - {release})


def recall_versions(views: Sequence[str], url_env: str, data_set: str, withdrawn: Collection[str]) -> None:
    """Drop withdrawn versions; the views show the newest others.

    A view without any other version is dropped. Parameters and errors as of :func:`deliver_versions`.
    """
    with _opened(url_env, views) as warehouse:
        _refuse_foreign(warehouse, views, data_set)
        versions = {view: _versions(warehouse, view).values() for view in views}
        shown = (_objects(warehouse, view).get(_key(warehouse, view), ("", None))[1] for view in views)
        if any(made is not None and made.release in withdrawn for made in shown):
            # Linked tables are shown of one release, or not at all.
            common = set.intersection(*({made.release for made in of} for of in versions.values())) - {*withdrawn}
            others = (made for of in versions.values() for made in of if made.release in common)
            newest = max(others, key=lambda made: made.at, default=None)
            _switch(warehouse, {view: None if newest is None else _name(view, newest.release) for view in views})
        _drop_old(warehouse, views, None, withdrawn)


def check_versions(views: Sequence[str], url_env: str) -> None:
    """Refuse views that could not be delivered to, before the work.

    Parameters and errors as of :func:`deliver_versions`.
    """
    with _opened(url_env, views) as warehouse:
        _refuse_foreign(warehouse, views)


def plain_rows(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatchReader:
    """Rows with types that every engine has: no dictionaries, no columns of the type null."""
    plain = plain_schema(schema)

    def cast() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from pa.Table.from_batches([batch]).cast(plain).to_batches()

    return pa.RecordBatchReader.from_batches(plain, cast())


@contextmanager
def _opened(url_env: str, views: Collection[str]) -> Iterator[Warehouse]:
    with open_warehouse(url_env, MEMORY, KEY) as warehouse:
        if not warehouse.catalog:
            raise ConfigError(
                f"{KEY} needs views that last, and a folder of Parquet files has none",
                hint="deliver to a folder (nightly.deliver.folder), or to a Spark with a catalog: sc://HOST:15002",
            )
        if warehouse.engine == "spark" and len(views) > 1:
            raise ConfigError(
                f"{KEY}: Spark switches one view at a time, so that readers would see linked tables of two releases",
                hint="deliver linked tables to a folder, to DuckDB or to PostgreSQL",
            )
        if warehouse.engine == "postgres":
            warehouse.execute(f"SET lock_timeout = '{WAIT_SECONDS}s'")
            # Another process may write the same table; a DuckDB file has one process at a time.
            for view in sorted(views):
                _lock(warehouse, view)
        yield warehouse


def _lock(warehouse: Warehouse, view: str) -> None:
    key = warehouse.literal(f"hybrid-release {_schema(warehouse, view)}.{_plain(view)}")
    end = monotonic() + LOCK_SECONDS
    while not warehouse.execute(f"SELECT pg_try_advisory_lock(hashtextextended({key}, 0))")[0][0]:
        if monotonic() > end:
            raise OutputError(
                f"{view}: another delivery is writing there", hint="wait until it has ended, and deliver again"
            )
        sleep(0.1)


def _refuse_foreign(
    warehouse: Warehouse, views: Collection[str], data_set: str | None = None, release: str | None = None
) -> None:
    problems = []
    for view in views:
        objects, hint = _objects(warehouse, view), "choose another name for nightly.deliver.sql.table"
        if len(_plain(view).encode()) + _SUFFIX > _LONGEST_NAME:
            problems.append(Problem(f"{view}: the names of its versions would be too long", hint))
        for name in (view, *(() if release is None else (_name(view, release),))):
            kind, made = objects.get(_key(warehouse, name), ("", None))
            if kind and (made is None or made.view != view or (kind == "view") != (name == view)):
                problems.append(
                    Problem(f"{name}: this program did not make the {kind} of this name; it was left as it is", hint)
                )
            elif made is not None and data_set is not None and made.data_set != data_set:
                problems.append(Problem(f"{name}: the {kind} is of the data set {made.data_set}, not {data_set}", hint))
    refuse(problems, OutputError)


def _write(warehouse: Warehouse, view: str, rows: Rows, data_set: str, release: str) -> None:
    table = _name(view, release)
    made = Version(view, data_set, release, -1, datetime.now(UTC).isoformat(timespec="microseconds"))
    # Spark has no transactions: what is not whole yet has another name.
    place = table if warehouse.engine != "spark" else table + PENDING
    with warehouse.transaction(), rows() as reader:
        for left in _tables(warehouse, view):
            if left.endswith(PENDING):
                warehouse.execute(f"DROP TABLE {warehouse.quoted(_beside(view, left))}")
        warehouse.load(place, reader, made.to_comment())
        found = _count(warehouse, place)
        warehouse.comment(place, replace(made, rows=found).to_comment())
        if place != table:
            warehouse.rename(place, _plain(table))
    logger.info("%s: %s rows written", table, f"{found:,}")


def _switch(warehouse: Warehouse, shown: Mapping[str, str | None]) -> None:
    with warehouse.transaction():
        for view, table in shown.items():
            name, there = warehouse.quoted(view), _key(warehouse, view) in _objects(warehouse, view)
            if table is None:
                warehouse.execute(f"DROP VIEW IF EXISTS {name}")
                continue
            made = _versions(warehouse, view)[_key(warehouse, table)]
            if warehouse.engine == "spark":
                _show(warehouse, view, table, made, there)
                continue
            if there and warehouse.table(view).schema() != warehouse.table(table).schema():
                # PostgreSQL replaces a view by one with the same columns only.
                warehouse.execute(f"DROP VIEW {name}")
                logger.warning("%s: the columns have changed; grant the rights to read it again", view)
            warehouse.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {warehouse.quoted(table)}")
            warehouse.execute(f"COMMENT ON VIEW {name} IS {warehouse.literal(made.to_comment())}")


def _show(warehouse: Warehouse, view: str, table: str, made: Version, there: bool) -> None:
    """Let a view of Spark show a table, in one change of its catalog; CREATE OR REPLACE would drop it first."""
    name, comment = warehouse.quoted(view), warehouse.literal(made.to_comment())
    query = f"AS SELECT * FROM {warehouse.quoted(table)}"
    if not there:
        warehouse.execute(f"CREATE VIEW {name} COMMENT {comment} {query}")
        return
    warehouse.execute(f"ALTER VIEW {name} {query}")
    warehouse.execute(f"ALTER VIEW {name} SET TBLPROPERTIES ('comment' = {comment})")


def _drop_old(warehouse: Warehouse, views: Collection[str], keep: int | None, withdrawn: Collection[str]) -> None:
    """Drop withdrawn versions, and the oldest beyond ``keep``; a version that a view shows stays."""
    problems = []
    for view in views:
        versions = sorted(_versions(warehouse, view).items(), key=lambda found: found[1].at, reverse=True)
        _, shown = _objects(warehouse, view).get(_key(warehouse, view), ("", None))
        good = [name for name, made in versions if made.release not in withdrawn]
        stay = {*good[:keep], *(name for name, made in versions if shown is not None and made.release == shown.release)}
        for name, made in versions:
            if name in stay:
                continue
            table = _beside(view, name)
            with warehouse.transaction():
                if _count(warehouse, table) == made.rows:
                    warehouse.execute(f"DROP TABLE {warehouse.quoted(table)}")
                    logger.info("%s: dropped", table)
                    continue
            problems.append(
                Problem(
                    f"{table}: the rows are not those that were delivered; it was left as it is", "drop it yourself"
                )
            )
    refuse(problems, OutputError)


def _versions(warehouse: Warehouse, view: str) -> dict[str, Version]:
    return {name: made for name, made in _tables(warehouse, view).items() if not name.endswith(PENDING)}


def _tables(warehouse: Warehouse, view: str) -> dict[str, Version]:
    objects = _objects(warehouse, view).items()
    return {name: made for name, (kind, made) in objects if kind == "table" and made is not None and made.view == view}


def _objects(warehouse: Warehouse, view: str) -> dict[str, tuple[str, Version | None]]:
    schema = warehouse.literal(_schema(warehouse, view))
    found: Sequence[tuple[Any, ...]]
    if isinstance(warehouse, SparkWarehouse):
        found = warehouse.objects(_schema(warehouse, view), _plain(view))
    elif warehouse.engine == "postgres":
        found = warehouse.execute(
            "SELECT relname, CASE relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' ELSE 'object' END, "
            "obj_description(oid, 'pg_class') FROM pg_class "
            f"WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = {schema})"
        )
    else:
        here = f"database_name = current_database() AND schema_name = {schema}"
        found = warehouse.execute(
            f"SELECT table_name, 'table', comment FROM duckdb_tables() WHERE {here} UNION ALL "
            f"SELECT view_name, 'view', comment FROM duckdb_views() WHERE {here}"
        )
    return {_key(warehouse, name): (kind, Version.from_comment(comment)) for name, kind, comment in found}


def _schema(warehouse: Warehouse, view: str) -> str:
    schema = view.rpartition(".")[0]
    return schema or str(warehouse.execute("SELECT current_schema()")[0][0])


def _count(warehouse: Warehouse, table: str) -> int:
    return int(warehouse.execute(f"SELECT count(*) FROM {warehouse.quoted(table)}")[0][0])


def _name(view: str, release: str) -> str:
    return f"{view}_{release.replace('-', '_')}"


def _beside(view: str, plain: str) -> str:
    return view.removesuffix(_plain(view)) + plain


def _plain(name: str) -> str:
    return name.rpartition(".")[2]


def _key(warehouse: Warehouse, name: str) -> str:
    """Plain name for comparison, in lower case where letters of both cases are the same."""
    return _plain(name) if warehouse.engine == "postgres" else _plain(name).lower()
