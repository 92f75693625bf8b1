"""The folder of all releases: which are there, which is the latest, and how one comes in or goes."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid.base.errors import OutputError
from hybrid.base.locks import locked

CERTIFICATE = "certificate.json"
LATEST = "latest"
LOCK = ".publish.lock"
TEMPORARY = ".tmp-"


@dataclass(frozen=True)
class Release:
    """A folder in place, and what its certificate says."""

    path: Path
    certificate: dict[str, Any]

    @property
    def created(self) -> str:
        """UTC, ISO 8601: sorts by time."""
        return str(self.certificate["created"])


@contextmanager
def opened(releases_dir: Path) -> Iterator[None]:
    """Be the only one who changes the folder, which is made if needed and cleared of what a killed process left.

    Raises
    ------
    OutputError
        The folder cannot be written to, or the disk is full. Every release is as it was.
    """
    try:
        releases_dir.mkdir(parents=True, exist_ok=True)
        with locked(releases_dir / LOCK):
            for left in releases_dir.glob(f"{TEMPORARY}*"):
                _remove(left)
            yield
    except OSError as error:
        raise OutputError(
            f"{releases_dir}: writing failed ({error.strerror or type(error).__name__}); no release was changed",
            hint="free some space, or choose another folder",
        ) from None


def releases_in(releases_dir: Path) -> list[Release]:
    """All releases with a readable certificate, oldest first; whatever else lies in the folder is left out."""
    found = []
    for path in releases_dir.iterdir() if releases_dir.is_dir() else ():
        if path.name[0] != "." and path.is_dir() and not path.is_symlink():
            release = _read(path)
            found.extend([] if release is None else [release])
    return sorted(found, key=lambda release: (release.created, release.path.name))


def latest_in(releases_dir: Path) -> Release | None:
    """The release that ``latest`` points to; None if it points to none."""
    target = (releases_dir / LATEST).resolve()
    return _read(target) if target.is_dir() and target.parent == releases_dir.resolve() else None


@contextmanager
def incoming(releases_dir: Path) -> Iterator[Path]:
    """A folder to fill, invisible to readers (mode 0700); removed unless :func:`place` took it."""
    temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=releases_dir))
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def place(temporary: Path, target: Path) -> None:
    """Let a filled folder appear under its name, whole, read-only, and kept through a power cut."""
    for path in temporary.iterdir():
        path.chmod(0o444)
        sync(path)
    temporary.chmod(0o755)
    sync(temporary)
    if target.exists():
        raise OutputError(f"{target}: a release of this name is already there; it was not touched")
    temporary.rename(target)
    sync(target.parent)


def point_latest(release: Path) -> None:
    """Let ``latest`` name this release: the link is exchanged in one step and never absent or broken."""
    temporary = release.with_name(f"{TEMPORARY}{LATEST}")
    temporary.symlink_to(release.name, target_is_directory=True)
    temporary.replace(release.with_name(LATEST))
    sync(release.parent)


def take_away(release: Path) -> None:
    """Let a release disappear in one step, then remove its files."""
    gone = release.with_name(f"{TEMPORARY}{release.name}")
    release.rename(gone)
    sync(release.parent)
    _remove(gone)


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's entries, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read(path: Path) -> Release | None:
    try:
        release = Release(path, json.loads((path / CERTIFICATE).read_bytes()))
        _ = release.created
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return release


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
