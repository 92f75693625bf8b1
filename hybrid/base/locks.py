"""A lock between processes that the kernel lets go of when its holder dies."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hybrid.base.errors import OutputError

logger = logging.getLogger(__name__)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on ``path`` for the length of the block; wait for whoever holds it.

    The file is made if it is not there (mode 0600) and stays behind, empty: its existence means nothing.

    Raises
    ------
    OutputError
        The lock file cannot be made.
    """
    handle = _acquire(path, wait=True)
    assert handle is not None
    try:
        yield
    finally:
        _release(handle)


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """As :func:`locked` without waiting: gives False, and holds nothing, where somebody else holds the lock."""
    handle = _acquire(path, wait=False)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            _release(handle)


def _acquire(path: Path, *, wait: bool) -> int | None:
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise OutputError(f"{path}: the lock cannot be made ({error.strerror})", hint="check the folder") from None
        try:
            held = _flock(handle, path, wait=wait)
        except BaseException:
            os.close(handle)
            raise
        if held and _is_at(handle, path):
            return handle
        os.close(handle)
        if not held:
            return None


def _flock(handle: int, path: Path, *, wait: bool) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if not wait:
            return False
        logger.info("waiting for another process that works on %s", path.stem)
        fcntl.flock(handle, fcntl.LOCK_EX)
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Whether the locked file still is the one at ``path`` (it may have been removed while we waited)."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _release(handle: int) -> None:
    # Closing alone would leave the lock with a forked child that inherited the descriptor.
    fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)
