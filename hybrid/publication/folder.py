"""The folder of all releases: list them, add one, name the latest."""

from __future__ import annotations

import json
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

LATEST = "latest"
WITHDRAWN = "withdrawn.json"
"""Name of the file that marks a release as withdrawn."""
MARK_FORMAT = 1


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

    @property
    def withdrawn(self) -> Mapping[str, Any] | None:
        """Content of the mark of a withdrawn release, or None."""
        return read_mark(self.path)


@contextmanager
def opened(releases_dir: Path) -> Iterator[None]:
    """Lock the folder for changes.

    It is created if needed and cleared of what killed processes left.

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
    """All releases with a readable certificate, oldest first."""
    found = []
    for path in releases_dir.iterdir() if releases_dir.is_dir() else ():
        if path.name[0] != "." and path.is_dir() and not path.is_symlink():
            release = _read(path)
            found.extend([] if release is None else [release])
    return sorted(found, key=lambda release: (release.made, release.path.name))


def latest_in(releases_dir: Path) -> Release | None:
    """The release that ``latest`` names; None if it names none."""
    target = (releases_dir / LATEST).resolve()
    return _read(target) if target.is_dir() and target.parent == releases_dir.resolve() else None


@contextmanager
def incoming(releases_dir: Path) -> Iterator[Path]:
    """Yield a hidden folder to fill (mode 0700).

    Removed unless :func:`place` took it.
    """
    with atomic.workplace(releases_dir) as hidden:
        temporary = hidden / "release"
        temporary.mkdir()
        yield temporary


def place(temporary: Path, target: Path) -> None:
    """Rename a folder of :func:`incoming` to a release.

    Whole, read-only, and on the disk.

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
    """Let ``latest`` name this release."""
    atomic.point(release.with_name(LATEST), release.name)


def catch_up_latest(release: Path) -> bool:
    """Let ``latest`` name this release instead of an older one.

    It names an older one, or none, after a process was killed before it could name this one. False if ``latest`` is as
    it was.
    """
    found, latest = _read(release), latest_in(release.parent)
    if found is None or (latest is not None and latest.made >= found.made):
        return False
    point_latest(release)
    return True


def read_mark(release: Path) -> Mapping[str, Any] | None:
    """Content of the mark of a withdrawn release.

    Empty if damaged; None where there is no mark.
    """
    path = release / WITHDRAWN
    if not path.exists() and not path.is_symlink():
        return None
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        content = {}
    return content if isinstance(content, dict) else {}


def _read(path: Path) -> Release | None:
    try:
        release = Release(path, json.loads((path / CERTIFICATE).read_bytes()))
        _ = release.made
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return release
