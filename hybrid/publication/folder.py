"""The folder of all releases: list them, add one, name the latest."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hybrid.base import atomic
from hybrid.base.errors import OutputError
from hybrid.base.locks import locked
from hybrid.base.ownership import CERTIFICATE, RELEASES_LOCK
from hybrid.base.regular_file import read_json

LATEST = "latest"
TEXTS = (".html", ".json", ".jsonld", ".md")
"""Endings of the files of a release that hold texts; all others are tables."""
WITHDRAWN = "withdrawn.json"
"""Name of the file that marks a release as withdrawn."""
MARK_FORMAT = 1
_MARK_BYTES = 100_000
_MARK_ENTRIES = frozenset({"format", "release", "at", "by", "reason"})


@dataclass(frozen=True)
class Release:
    """Folder and certificate of one release."""

    path: Path
    certificate: dict[str, Any]

    @property
    def created(self) -> str:
        """Time that the certificate states; of a private table its day."""
        return str(self.certificate["created"])

    @property
    def made(self) -> str:
        """Time of making, UTC, ISO 8601: sorts by time.

        Of a private table, whose certificate states the day alone, the time at which that file was written here.
        """
        written = datetime.fromtimestamp((self.path / CERTIFICATE).stat().st_mtime, UTC)
        return self.created if "T" in self.created else written.isoformat(timespec="microseconds")


@contextmanager
def opened(releases_dir: Path) -> Iterator[None]:
    """Lock the folder for changes; it is created if needed and cleared of what killed processes left.

    Raises
    ------
    OutputError
        The folder cannot be written to, or the disk is full. Every release is as it was.
    """
    try:
        releases_dir.mkdir(parents=True, exist_ok=True)
        with locked(releases_dir / RELEASES_LOCK):
            atomic.sweep(releases_dir)
            yield
    except OSError as error:
        raise OutputError(
            f"{releases_dir}: writing failed ({error.strerror or type(error).__name__}); no release was changed",
            hint="free some space, or choose another folder",
        ) from None


def releases_in(releases_dir: Path) -> list[Release]:
    """All folders with a readable certificate, by their stated dates.

    Anybody who can write to the folder may have put them there: :mod:`hybrid.publication.own_release` knows which are
    ours.
    """
    found = []
    for path in releases_dir.iterdir() if releases_dir.is_dir() else ():
        if path.name[0] != "." and path.is_dir() and not path.is_symlink():
            release = read_release(path)
            found.extend([] if release is None else [release])
    return sorted(found, key=lambda release: (release.made, release.path.name))


def named_latest(releases_dir: Path) -> str | None:
    """Text of the link ``latest``; None if there is no such link."""
    try:
        return str((releases_dir / LATEST).readlink())
    except OSError:
        return None


@contextmanager
def incoming(releases_dir: Path) -> Iterator[Path]:
    """Yield a hidden folder to fill (mode 0700), which is removed unless :func:`place` took it."""
    with atomic.workplace(releases_dir) as hidden:
        temporary = hidden / "release"
        temporary.mkdir()
        yield temporary


def place(temporary: Path, target: Path) -> None:
    """Rename a folder of :func:`incoming` to a release: whole, read-only, and on the disk.

    Raises
    ------
    OutputError
        There is a release of this name; it is not touched.
    """
    for path in temporary.iterdir():
        path.chmod(0o444)
    temporary.chmod(0o755)
    atomic.sync_folder(temporary)
    if target.exists():
        raise OutputError(f"{target}: a release of this name is already there; it was not touched")
    atomic.place(temporary, target, temporary.parent)


def point_latest(release: Path) -> None:
    """Let ``latest`` name this release.

    A folder or a file in the place of the link, which this program never makes, moves aside, whole.
    """
    link = release.with_name(LATEST)
    if os.path.lexists(link) and not link.is_symlink():
        link.rename(link.with_name(f"{LATEST}-found-{secrets.token_hex(4)}"))
    atomic.point(link, release.name)


def read_mark(release: Path) -> Mapping[str, Any] | None:
    """Content of the mark of a withdrawn release; empty if damaged, None where there is no mark."""
    try:
        content = read_json(release / WITHDRAWN, _MARK_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        content = None
    return content if isinstance(content, dict) and content.keys() == _MARK_ENTRIES else {}


def read_release(path: Path) -> Release | None:
    """Folder with a readable certificate, unverified; None without one."""
    try:
        certificate = read_json(path / CERTIFICATE)
    except (OSError, ValueError):
        return None
    return Release(path, certificate) if isinstance(certificate, dict) and "created" in certificate else None
