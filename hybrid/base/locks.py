"""Exclusive locks between processes and threads.

The kernel releases them when the holder dies.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from hybrid.base.errors import OutputError

logger = logging.getLogger(__name__)
_PRIVATE = 0o600


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the exclusive lock on a file during the block; wait for its holder.

    Parameters
    ----------
    path : Path
        The lock file. Created with mode 0600 where it is missing, and kept, empty: that it exists means
        nothing.
    """
    lock = _lock(path)
    if not _acquired(lock, path, wait=False):
        logger.info("waiting for another process that holds %s", path.stem)
        _acquired(lock, path, wait=True)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock as :func:`locked` does if it is free; otherwise yield False at once and hold nothing."""
    lock = _lock(path)
    held = _acquired(lock, path, wait=False)
    try:
        yield held
    finally:
        if held:
            lock.release()


def _lock(path: Path) -> FileLock:
    # A lock file whose mere existence locks would outlive a killed holder: without kernel locks there is no lock.
    return FileLock(path, mode=_PRIVATE, thread_local=False, fallback_to_soft=False)


def _acquired(lock: FileLock, path: Path, *, wait: bool) -> bool:
    try:
        path.parent.stat()  # filelock would create a missing folder
        lock.acquire(blocking=wait)
    except Timeout:
        return False
    except OSError as error:
        raise OutputError(f"{path}: the lock cannot be created ({error.strerror})", hint="check the folder") from None
    return True
