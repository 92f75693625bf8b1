"""Bring a release to where it is used.

A folder elsewhere, tables of a database.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Self

import pyarrow.fs as pafs
from pydantic import model_validator

from hybrid.base.atomic import atomic_file, make_private, write_text
from hybrid.base.errors import ConfigError, HybridError, OutputError, Problem
from hybrid.base.hashing import fingerprint
from hybrid.base.options import Options
from hybrid.base.ownership import CERTIFICATE, RELEASES_LOCK
from hybrid.operations.sql_table import refuse_source, replace_sql_tables
from hybrid.publication.folder import LATEST
from hybrid.publication.ledger import Ledger
from hybrid.publication.stated_tables import table_files
from hybrid.table.files import holds_credentials, is_url, storage, unreachable
from hybrid.table.options import DataOptions
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ALL_ACCEPTED
from hybrid.table.sources.sql import SqlOptions

logger = logging.getLogger(__name__)
STATE = "delivered"
SYNTHETIC = "synthetic"
"""Name of the file of a single released table, without its suffix."""
PLACEHOLDER = "{table}"
_NAME = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9a-f]+\n")
"""Content of the pointer of a folder: the name of a release."""
_LONGEST_NAME = 100


class SqlTarget(Options):
    """Tables of a database that hold the rows of the latest release."""

    url_env: str
    """The environment variable that holds the database's URL."""
    table: str
    """The table, with its schema if it is not the default one; made if it is not there. A table with rows is replaced
    only if this program delivered them. Of linked tables, the name of each takes the place of
    ``{table}``: synthetic_{table}."""


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


def deliver(
    release: Path, options: DeliverOptions, data: Mapping[str, DataOptions], folder: Path, private_dir: Path
) -> list[str]:
    """Bring a release to all targets that do not have it yet.

    Parameters
    ----------
    release : Path
        A published release.
    options : DeliverOptions
        The targets.
    data : mapping of str to DataOptions
        Source of every released table, by the name of its file without the suffix, and what its columns are.
    folder : Path
        What relative paths are relative to.
    private_dir : Path
        The private zone, where it is remembered who has which release.

    Returns
    -------
    list of str
        The targets that got it now.

    Raises
    ------
    ConfigError
        As :func:`check_targets`.
    OutputError
        Targets that could not be reached or refused; all others have the release, the next call tries again.
    """
    check_targets(options, data, folder, release.parent)
    problems: list[Problem] = []
    done = []
    for name, bring in _targets(release, options, data, folder):
        state = private_dir / STATE / fingerprint(name)[:16]
        if _read(state) == release.name:
            continue
        try:
            bring()
        except HybridError as error:
            problems += error.problems
            continue
        make_private(state.parent)
        write_text(state, release.name)
        Ledger(private_dir).deliver(release.name, name)
        logger.info("release %s delivered to %s", release.name, name)
        done.append(name)
    if problems:
        raise OutputError(
            Problem(f"release {release.name} is published and not delivered: {problem.message}", problem.hint)
            for problem in problems
        )
    return done


def check_targets(
    options: DeliverOptions, data: Mapping[str, DataOptions], folder: Path, releases_dir: Path | None = None
) -> None:
    """Refuse targets whose delivery would destroy the source or the releases.

    Parameters
    ----------
    options, data, folder
        As for :func:`deliver`.
    releases_dir : Path, optional
        The folder of all releases.

    Raises
    ------
    ConfigError
        A table is one that a source reads, also through views, or several tables would go into one; the folder is that
        of the releases or lies in it.
    HybridError
        A database cannot be reached.
    """
    if options.folder is not None and not is_url(options.folder):
        target = _local(options.folder, folder).resolve()
        above = (target, *target.parents)
        if any((place / RELEASES_LOCK).exists() for place in above) or (
            releases_dir and releases_dir.resolve() in above
        ):
            raise ConfigError(
                f"nightly.deliver.folder: {options.folder} lies in the folder of releases, which it would overwrite",
                hint="deliver to another folder",
            )
    if options.sql is not None:
        places = [about.place for about in data.values()]
        sources = [place if isinstance(place, SqlOptions) else None for place in places]
        for table in _sql_places(options.sql, data).values():
            for source in sources:
                refuse_source(source, options.sql.url_env, table)


def _sql_places(target: SqlTarget, names: Iterable[str]) -> dict[str, str]:
    """Table of the database for every released table.

    Raises
    ------
    ConfigError
        Two released tables have one place.
    """
    places = {name: target.table.replace(PLACEHOLDER, name) for name in names}
    if len({place.lower() for place in places.values()}) < len(places):
        raise ConfigError(
            f"nightly.deliver.sql.table: {len(places)} tables would be delivered into {target.table}",
            hint=f"write {PLACEHOLDER} where the name of each table belongs, such as synthetic_{PLACEHOLDER}",
        )
    return places


def _local(place: str, folder: Path) -> Path:
    return folder / Path(place).expanduser()


def _targets(
    release: Path, options: DeliverOptions, data: Mapping[str, DataOptions], folder: Path
) -> Iterator[tuple[str, Callable[[], None]]]:
    """The name of each target, and what brings the release there."""
    if options.folder is not None:
        place = options.folder
        yield place, lambda: _copy(release, place, folder)
    if options.sql is not None:
        target = options.sql
        yield f"{target.table} in {target.url_env}", lambda: _fill(release, target, data)


def _copy(release: Path, place: str, folder: Path) -> None:
    """All files, the certificate last, then the pointer.

    A reader who follows it finds a whole release.
    """
    if is_url(place):
        filesystem, root = storage(place)
    else:
        filesystem, root = pafs.LocalFileSystem(), str(_local(place, folder))
    if not is_url(place):
        _refuse_foreign_pointer(_local(place, folder))
    files = sorted(release.iterdir(), key=lambda path: path.name == CERTIFICATE)
    try:
        filesystem.create_dir(f"{root}/{release.name}", recursive=True)
        for path in files:
            _put(filesystem, f"{root}/{release.name}/{path.name}", path.read_bytes())
        _put(filesystem, f"{root}/{LATEST}", f"{release.name}\n".encode())
    except Exception as error:  # noqa: BLE001 - every storage has its own, and its text may hold credentials
        unreachable(place, error)


def _refuse_foreign_pointer(target: Path) -> None:
    """Refuse a folder whose ``latest`` is something that delivery did not write."""
    pointer = target / LATEST
    if not pointer.exists() and not pointer.is_symlink():
        return
    if pointer.is_file() and not pointer.is_symlink() and _NAME.fullmatch(pointer.read_bytes()[:_LONGEST_NAME]):
        return
    raise OutputError(f"{pointer}: this program did not write it; it was left as it is", hint="choose another folder")


def _put(filesystem: pafs.FileSystem, path: str, content: bytes) -> None:
    """Write a file that appears whole; object storages do so by themselves."""
    if not isinstance(filesystem, pafs.LocalFileSystem):
        with filesystem.open_output_stream(path) as stream:
            stream.write(content)
        return
    with atomic_file(Path(path)) as temporary:
        temporary.write_bytes(content)


def _fill(release: Path, target: SqlTarget, data: Mapping[str, DataOptions]) -> None:
    """Read all released tables and replace those of the database together."""
    certificate = json.loads((release / CERTIFICATE).read_text(encoding="utf-8"))
    files = {Path(file).stem: release / file for file in table_files(certificate)}
    tables = {
        place: read_table(files[name], data[name].model_copy(update={"accept": ALL_ACCEPTED}))
        for name, place in _sql_places(target, files).items()
    }
    replace_sql_tables(tables, target.url_env, release.name)


def _read(state: Path) -> str | None:
    try:
        return state.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
