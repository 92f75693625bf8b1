"""Atomic creation and replacement of files and folders.

The old or the new content, never a part.

Content is written in a *workplace*, a hidden folder ``.hybrid-tmp-BOOT-TOKEN`` beside the target (mode 0700), written
through to the disk and renamed. BOOT names the running kernel, TOKEN is random. The writer holds a kernel lock on
``lock`` in the workplace, so that another process, thread or container recognises that it is in use. A folder that is
replaced is exchanged with the new one in a single step where the kernel can; elsewhere it moves into the workplace,
from where :func:`sweep` puts it back if the writer is killed before the new one is in place.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from hybrid.base.errors import OutputError
from hybrid.base.locks import locked_if_free

PREFIX = ".hybrid-tmp-"
LOCK = "lock"
_NEW, _OLD = "new", "old"
_NAME = re.compile(re.escape(PREFIX) + r"(?P<boot>[0-9a-f]{8})-[0-9a-f]{16}")
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)
"""What file systems answer that cannot write a folder's entries through."""
_ABANDONED_SECONDS = 86_400
"""Age at which the workplace of another kernel, whose locks need not be visible here, counts as abandoned."""
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
"""Of Linux's renameat2."""


@contextmanager
def atomic_file(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Yield an empty file that replaces ``path`` when the block ends without an error.

    ``private``: mode 0600 (folders 0700) instead of that of the file that is replaced, or what the umask allows.
    Missing folders are created. After an OutputError, as where the disk is full, ``path`` is as it was.
    """
    with _described(path):
        _make_parents(path, private)
        with workplace(path.parent) as hidden:
            temporary = hidden / _NEW / path.name
            temporary.parent.mkdir()
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666))
            if path.is_file() and not private:
                temporary.chmod(path.stat().st_mode & 0o777)
            yield temporary
            sync(temporary)
            temporary.replace(path)
            sync(path.parent)


@contextmanager
def atomic_folder(path: Path, *, private: bool = False, durable: bool = True) -> Iterator[Path]:
    """Yield an empty folder that replaces ``path`` as a whole when the block ends without an error.

    The caller decides whether a folder there may be replaced. Modes and errors as of :func:`atomic_file`. Unless it is
    ``durable``, written through to the disk, a power cut may leave files with missing content.
    """
    with _described(path):
        _make_parents(path, private)
        with workplace(path.parent) as hidden:
            temporary = hidden / _NEW / path.name
            temporary.mkdir(parents=True)
            yield temporary
            if private:
                _restrict(temporary)
            if durable:
                sync_folder(temporary)
            place(temporary, path, hidden)


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write a text file (UTF-8) atomically; errors as :func:`atomic_file`."""
    with atomic_file(path, private=private) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, content: Any, *, private: bool = False) -> None:
    """Write JSON atomically; numbers that are not finite are refused; errors as :func:`atomic_file`."""
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", private=private)


@contextmanager
def workplace(parent: Path) -> Iterator[Path]:
    """Yield a hidden private folder, locked during the block and removed at its end.

    What killed writers left beside it is removed first.
    """
    sweep(parent)
    with ExitStack() as locks:
        hidden = _new_name(parent)
        while not _made(hidden, locks):
            hidden = _new_name(parent)
        try:
            yield hidden
        finally:
            _clear(hidden)


def place(new: Path, target: Path, hidden: Path) -> None:
    """Rename a filled folder to its target; a folder that is there ends up, whole, in the workplace ``hidden``."""
    if not target.exists():
        new.rename(target)
    elif not _exchange(new, target):
        old = hidden / _OLD / target.name
        old.parent.mkdir()
        target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            old.rename(target)
            raise
    sync(target.parent)


def remove(folder: Path) -> None:
    """Remove a folder of ours: it vanishes in one step, then its files are deleted."""
    with workplace(folder.parent) as hidden:
        folder.rename(hidden / _NEW)
        sync(folder.parent)


def point(link: Path, name: str) -> None:
    """Let a symbolic link name a folder beside it, exchanged in one step, never absent or broken."""
    with workplace(link.parent) as hidden:
        temporary = hidden / link.name
        temporary.symlink_to(name, target_is_directory=True)
        temporary.replace(link)
        sync(link.parent)


def sweep(parent: Path) -> None:
    """Remove files of killed writers and restore what they moved aside.

    Only workplaces of this module are touched, and only where the lock is free: of this kernel at once, of another
    one (an earlier boot, or another host that shares the folder) when nothing changed there for a day.
    """
    for left in parent.glob(f"{PREFIX}*"):
        named = _NAME.fullmatch(left.name)
        # Of another user, on a file system without locks, or removed by its owner meanwhile: left alone.
        with suppress(OSError, OutputError):
            if named is None or not is_workplace(left):
                continue
            if named["boot"] == _boot() or time.time() - _changed(left) > _ABANDONED_SECONDS:
                _sweep_one(left)


def make_private(folder: Path) -> None:
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)


def sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    for path in folder.rglob("*"):
        if not path.is_symlink():
            sync(path)
    sync(folder)


def _new_name(parent: Path) -> Path:
    return parent / f"{PREFIX}{_boot()}-{secrets.token_hex(8)}"


def _made(hidden: Path, locks: ExitStack) -> bool:
    """Create and lock a workplace; False where a sweeper came between the two and removed it."""
    hidden.mkdir(mode=0o700)
    try:
        made = hidden.stat()
        return locks.enter_context(locked_if_free(hidden / LOCK)) and os.path.samestat(hidden.stat(), made)
    except (FileNotFoundError, OutputError):
        if hidden.exists():
            raise
        return False


def is_workplace(folder: Path) -> bool:
    """True if a hidden folder is ours.

    It is of this user, and locked or empty. An empty one is of a writer that was killed before the
    lock. Who can write beside it could make one whose link ``old`` leads to a private folder, and let a sweep move
    everything from there to here.
    """
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
        return False
    if (folder / _OLD).is_symlink():
        return False
    return (folder / LOCK).is_file() or not any(folder.iterdir())


def _sweep_one(left: Path) -> None:
    with locked_if_free(left / LOCK) as free:
        if not free:
            return
        for old in (left / _OLD).glob("*"):
            target = left.parent / old.name
            if not os.path.lexists(target):
                old.rename(target)
        _clear(left)


def _clear(hidden: Path) -> None:
    """Remove a workplace, its lock last: killed meanwhile, the rest is recognised by :func:`sweep`."""
    with suppress(OSError):
        for path in hidden.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != LOCK:
                path.unlink(missing_ok=True)
        (hidden / LOCK).unlink(missing_ok=True)
        hidden.rmdir()


@contextmanager
def _described(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path}: writing failed ({error.strerror or type(error).__name__}); nothing was changed",
            hint="free some space, or choose another --out",
        ) from None


def _make_parents(path: Path, private: bool) -> None:
    make_private(path.parent) if private else path.parent.mkdir(parents=True, exist_ok=True)


def _restrict(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o700 if path.is_dir() else 0o600)


def _changed(folder: Path) -> float:
    return max(path.lstat().st_mtime for path in (folder, *folder.rglob("*")))


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system or the file system cannot."""
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    return bool(renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)


@cache
def _boot() -> str:
    """Name of the running kernel since it booted, which containers of one host share."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except OSError:
        boot = str(round(psutil.boot_time()))
    return hashlib.sha256(boot.encode()).hexdigest()[:8]
