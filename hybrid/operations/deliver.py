"""Bring a release to where it is used.

A folder elsewhere, tables of a database.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from pydantic import Field, model_validator

from hybrid.base.atomic import atomic_file, make_private, write_text
from hybrid.base.errors import ConfigError, HybridError, OutputError, Problem, refuse
from hybrid.base.hashing import fingerprint
from hybrid.base.options import Options
from hybrid.base.ownership import CERTIFICATE, RELEASES_LOCK
from hybrid.base.regular_file import open_regular, read_json, read_regular
from hybrid.operations.sql_table import check_sql_tables, refuse_source, replace_sql_tables
from hybrid.operations.sql_versions import check_versions, deliver_versions, plain_rows, recall_versions
from hybrid.publication.folder import LATEST
from hybrid.publication.ledger import Ledger
from hybrid.publication.table_facts import table_files
from hybrid.table import Table
from hybrid.table.arrow import to_arrow
from hybrid.table.data_options import DataOptions
from hybrid.table.file_formats import PARQUET_SUFFIXES
from hybrid.table.files import holds_credentials, is_url, storage, unreachable
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ALL_ACCEPTED
from hybrid.table.sources.sql import CHUNK, SqlOptions

logger = logging.getLogger(__name__)
STATE = "delivered"
SYNTHETIC = "synthetic"
"""Name of the file of a single released table, without its suffix."""
PLACEHOLDER = "{table}"
_NAME = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9a-f]+\n")
"""Content of the pointer of a folder: the name of a release."""
_LONGEST_NAME = 100


class NotDelivered(OutputError):
    """A release is published, and not every target has it."""

    page = "guides/nights.md"


class SqlTarget(Options):
    """Tables of a database that hold the rows of the latest release."""

    url_env: str
    """The environment variable that holds the database's URL."""
    table: str
    """The table, with its schema if it is not the default one; made if it is not there. A table with rows is replaced
    only if this program delivered them. Of linked tables, the name of each takes the place of
    ``{table}``: synthetic_{table}."""
    versions: Literal["all"] | Annotated[int, Field(ge=1)] | None = None
    """In DuckDB, PostgreSQL or Spark: each release becomes a table of its own, and ``table`` a view on the latest.
    all: every version stays; a number: so many of the newest. null: one table, whose rows are replaced."""

    @model_validator(mode="after")
    def _schema_and_name(self) -> Self:
        if self.versions is not None and (self.table.count(".") > 1 or not all(self.table.split("."))):
            raise ValueError("with versions, table is a name, or a schema and a name with a dot between them")
        return self

    @property
    def keep(self) -> int | None:
        """Newest versions that stay; None: all."""
        return self.versions if isinstance(self.versions, int) else None


class DeliverOptions(Options):
    """Options of delivery.

    Places of releases besides the folder of all releases.
    """

    folder: str | None = None
    """A folder for copies: a path relative to the config file, or a URL (s3://...). Its file ``latest`` holds the
    name of the latest release and is written last."""
    sql: SqlTarget | None = None
    """A table of a database."""

    @model_validator(mode="after")
    def _no_credentials(self) -> Self:
        if holds_credentials(self.folder or ""):
            raise ValueError("folder holds a user name or a password: leave them out, and set them in the environment")
        return self


@contextmanager
def _of_release(name: str) -> Iterator[None]:
    try:
        yield
    except HybridError as error:
        raise NotDelivered(
            Problem(f"release {name} is published and not delivered: {one.message}", one.hint, one.values)
            for one in error.problems
        ) from None


@dataclass(frozen=True)
class _Target:
    name: str
    state: str
    """What is remembered of a target that has the release."""
    bring: Callable[[], None]


@dataclass(frozen=True)
class Deliveries:
    """The releases of one data set, brought to all targets."""

    options: DeliverOptions
    sources: Mapping[str, DataOptions]
    """Source of every released table by its name, and what its columns are; a single table has the empty name."""
    folder: Path
    """Where relative paths start."""

    @property
    def data(self) -> dict[str, DataOptions]:
        """Source of every released table by the name of its file, without the suffix."""
        return {name or SYNTHETIC: source for name, source in self.sources.items()}

    def deliver(self, release: Path, private_dir: Path) -> list[str]:
        """Bring a release to all targets that do not have it yet.

        The private zone remembers who has which release. Gives the targets that got it now.

        NotDelivered says that the release is published: targets could not be reached or refused, while all others have
        it, and the next call tries again; or :meth:`check` refuses, and no target has it.
        """
        done = []
        with _of_release(release.name):
            self.check(release.parent)
            ledger = Ledger(private_dir)
            gone = {given.release for given in ledger.withdrawals()}
            problems: list[Problem] = []
            for target in self._targets(release, gone):
                state = _state(private_dir, target.name)
                if _read(state) == target.state:
                    continue
                try:
                    target.bring()
                except HybridError as error:
                    problems += error.problems
                    continue
                _remember(state, target.state)
                ledger.deliver(release.name, target.name)
                logger.info("release %s delivered to %s", release.name, target.name)
                done.append(target.name)
            refuse(problems, OutputError)
        return done

    def recall(self, data_set: str, private_dir: Path) -> None:
        """Take withdrawn releases out of a warehouse that holds versions.

        If the warehouse cannot be reached or refuses, the next call tries again.
        """
        target, gone = self.options.sql, {given.release for given in Ledger(private_dir).withdrawals()}
        if target is None or target.versions is None or not gone:
            return
        state = _state(private_dir, _name_of(target))
        release, _, told = (_read(state) or "").partition("\n")
        if told != _digest(gone):
            recall_versions(list(_sql_places(target, self.data).values()), target.url_env, data_set, gone)
            _remember(state, f"{release if release not in gone else ''}\n{_digest(gone)}")

    def check(self, releases_dir: Path | None = None) -> None:
        """Refuse targets whose delivery would destroy the source or the releases.

        A table must be none that a source reads, also through views, no view, and that of one released table alone; the
        folder must not be that of the releases or lie in it.
        """
        place, sql = self.options.folder, self.options.sql
        if place is not None and not is_url(place):
            target = self._local(place).resolve()
            above = (target, *target.parents)
            if any((one / RELEASES_LOCK).exists() for one in above) or (
                releases_dir and releases_dir.resolve() in above
            ):
                raise ConfigError(
                    f"nightly.deliver.folder: {place} lies in the folder of releases, which it would overwrite",
                    hint="deliver to another folder",
                )
        if sql is None:
            return
        tables = list(_sql_places(sql, self.data).values())
        if sql.versions is not None:
            check_versions(tables, sql.url_env)
            return
        check_sql_tables(tables, sql.url_env)
        places = [about.place for about in self.sources.values()]
        for table in tables:
            for source in places:
                refuse_source(source if isinstance(source, SqlOptions) else None, sql.url_env, table)

    def _local(self, place: str) -> Path:
        return self.folder / Path(place).expanduser()

    def _targets(self, release: Path, gone: Collection[str]) -> Iterator[_Target]:
        place, sql = self.options.folder, self.options.sql
        if place is not None:
            yield _Target(place, release.name, lambda: self._copy(release, place))
        if sql is not None and sql.versions is None:
            yield _Target(_name_of(sql), release.name, lambda: self._fill(release, sql))
        elif sql is not None:
            state = f"{release.name}\n{_digest(gone)}"
            yield _Target(_name_of(sql), state, lambda: self._add_version(release, sql, gone))

    def _copy(self, release: Path, place: str) -> None:
        if is_url(place):
            filesystem, root = storage(place)
        else:
            filesystem, root = pafs.LocalFileSystem(), str(self._local(place))
            _refuse_foreign_pointer(self._local(place))
        files = sorted(release.iterdir(), key=lambda path: path.name == CERTIFICATE)
        try:
            filesystem.create_dir(f"{root}/{release.name}", recursive=True)
            for path in files:
                with open_regular(path) as stream:
                    _put(filesystem, f"{root}/{release.name}/{path.name}", stream.read())
            _put(filesystem, f"{root}/{LATEST}", f"{release.name}\n".encode())
        except Exception as error:  # noqa: BLE001 - every storage has its own, and its text may hold credentials
            unreachable(place, error)

    def _fill(self, release: Path, target: SqlTarget) -> None:
        files = _files(release, _certificate(release))
        tables = {place: _table(files[name], self.data[name]) for name, place in _sql_places(target, files).items()}
        replace_sql_tables(tables, target.url_env, release.name)

    def _add_version(self, release: Path, target: SqlTarget, gone: Collection[str]) -> None:
        certificate = _certificate(release)
        files = _files(release, certificate)
        places = _sql_places(target, files).items()
        tables = {place: partial(_rows, files[name], self.data[name]) for name, place in places}
        deliver_versions(tables, target.url_env, certificate["name"], release.name, target.keep, gone)


def _sql_places(target: SqlTarget, names: Iterable[str]) -> dict[str, str]:
    """Table of the database for every released table."""
    places = {name: target.table.replace(PLACEHOLDER, name) for name in names}
    if len({place.lower() for place in places.values()}) < len(places):
        raise ConfigError(
            f"nightly.deliver.sql.table: {len(places)} tables would be delivered into {target.table}",
            hint=f"write {PLACEHOLDER} where the name of each table belongs, such as synthetic_{PLACEHOLDER}",
        )
    return places


def _name_of(target: SqlTarget) -> str:
    return f"{'' if target.versions is None else 'versions of '}{target.table} in {target.url_env}"


def _digest(gone: Collection[str]) -> str:
    return fingerprint(sorted(gone))[:16] if gone else ""


def _state(private_dir: Path, name: str) -> Path:
    return private_dir / STATE / fingerprint(name)[:16]


def _remember(state: Path, text: str) -> None:
    make_private(state.parent)
    write_text(state, text)


def _refuse_foreign_pointer(target: Path) -> None:
    pointer = target / LATEST
    if not pointer.exists() and not pointer.is_symlink():
        return
    with suppress(OSError):
        if _NAME.fullmatch(read_regular(pointer, _LONGEST_NAME)):
            return
    raise OutputError(f"{pointer}: this program did not write it; it was left as it is", hint="choose another folder")


def _put(filesystem: pafs.FileSystem, path: str, content: bytes) -> None:
    if not isinstance(filesystem, pafs.LocalFileSystem):
        with filesystem.open_output_stream(path) as stream:
            stream.write(content)
        return
    with atomic_file(Path(path)) as temporary:
        temporary.write_bytes(content)


def _certificate(release: Path) -> dict[str, Any]:
    content: dict[str, Any] = read_json(release / CERTIFICATE)
    return content


def _files(release: Path, certificate: Mapping[str, Any]) -> dict[str, Path]:
    return {Path(file).stem: release / file for file in table_files(certificate)}


def _table(file: Path, data: DataOptions) -> Table:
    return read_table(file, data.model_copy(update={"accept": ALL_ACCEPTED, "sheet": None}))


def _rows(file: Path, data: DataOptions) -> pa.RecordBatchReader:
    if file.suffix not in PARQUET_SUFFIXES:
        table = to_arrow(_table(file, data))
        return plain_rows(table.schema, table.to_batches(CHUNK))
    parquet = pq.ParquetFile(file)
    return plain_rows(parquet.schema_arrow, parquet.iter_batches(CHUNK))


def _read(state: Path) -> str | None:
    try:
        return state.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
