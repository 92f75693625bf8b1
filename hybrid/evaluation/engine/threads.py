"""Work on all cores, and limits on the threads of libraries."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
CHUNK = 512
PARALLEL_ROWS = 400_000
"""Below this, models and matrix products run on one thread: on a busy machine more would wait for each other."""
_holds = threading.Lock()
_holders = 0
"""Blocks of :func:`one_thread_each` that run now."""


@contextmanager
def one_thread(rows: int, models: bool = False) -> Iterator[None]:
    """Keep small work on one thread.

    Parameters
    ----------
    rows : int
        Rows involved; from :data:`PARALLEL_ROWS` on, libraries decide for themselves.
    models : bool
        Whether scikit-learn's own threads are meant too (they can only be limited once it is imported).
    """
    if _holders:
        yield
        return
    with _limited(1 if rows < PARALLEL_ROWS else None, models):
        yield


@contextmanager
def one_thread_each(models: bool) -> Iterator[None]:
    """Keep libraries on one thread while threads of ours work.

    Whatever the number of rows. The limits are those of the whole process: threads that set and restore them on their
    own would leave each other's.
    """
    global _holders
    with _limited(1, models):
        with _holds:
            _holders += 1
        try:
            yield
        finally:
            with _holds:
                _holders -= 1


@contextmanager
def _limited(threads: int | None, models: bool) -> Iterator[None]:
    from threadpoolctl import threadpool_limits

    if models:
        import sklearn.ensemble  # noqa: F401
    with threadpool_limits(limits=threads, user_api=None if models else "blas"):
        yield


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def side_by_side(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Results of ``work(item)``, in the order of the items.

    As many are computed at once as there are cores.     An error of one is raised once all have ended.
    """
    if min(len(items), cores()) <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(len(items), cores())) as pool:
        return list(pool.map(work, items))


def in_chunks(work: Callable[[int, int], None], n: int) -> None:
    """Call ``work(start, stop)`` for all rows 0..n-1, on all cores."""
    starts = range(0, n, CHUNK)
    if len(starts) <= 1:
        work(0, n)
        return
    side_by_side(lambda start: work(start, min(start + CHUNK, n)), starts)
