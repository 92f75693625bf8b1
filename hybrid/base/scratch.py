"""Private temporary folders, which no killed process leaves for long.

A process has one folder for all of them, mode 0700, and locks it as long as it lives. What a killed one leaves is
removed by the next process of the same user that needs one.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

from hybrid.base.errors import OutputError
from hybrid.base.locks import locked, locked_if_free

_PREFIX = "hybrid-process-"
_LOCK = "alive.lock"
_held: dict[int, tuple[Path, ExitStack]] = {}
"""Folder and lock by process: a forked process has its own."""


def scratch(what: str) -> tempfile.TemporaryDirectory[str]:
    """A new temporary folder below ``TMPDIR``, removed as usual, and at the latest with its process."""
    return tempfile.TemporaryDirectory(prefix=f"{what}-", dir=_folder(), ignore_cleanup_errors=True)


def sweep() -> list[Path]:
    """Remove, and list, folders of this user below ``TMPDIR`` that this module made for processes that are gone."""
    removed = []
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError, OutputError):
            about = folder.lstat()
            if folder.is_symlink() or about.st_uid != os.getuid() or not (folder / _LOCK).is_file():
                continue
            with locked_if_free(folder / _LOCK) as free:
                if free:
                    shutil.rmtree(folder)
                    removed.append(folder)
    return removed


def _folder() -> Path:
    found = _held.get(os.getpid())
    if found is not None and found[0].is_dir():
        return found[0]
    sweep()
    # Locked before it has the name that others look for.
    hidden = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
    held = ExitStack()
    held.enter_context(locked(hidden / _LOCK))
    folder = hidden.rename(hidden.with_name(hidden.name.removeprefix(".")))
    _held[os.getpid()] = folder, held
    atexit.register(_end, os.getpid())
    return folder


def _end(process: int) -> None:
    if process == os.getpid() and process in _held:
        shutil.rmtree(_held.pop(process)[0], ignore_errors=True)
