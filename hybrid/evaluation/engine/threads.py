"""Limits on the threads of other libraries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

CHUNK = 512
PARALLEL_ROWS = 400_000
"""Below this, models and matrix products run on one thread: on a busy machine more would wait for each other."""


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
    from threadpoolctl import threadpool_limits

    if models:
        import sklearn.ensemble  # noqa: F401
    with threadpool_limits(limits=1 if rows < PARALLEL_ROWS else None, user_api=None if models else "blas"):
        yield


def in_chunks(work: Callable[[int, int], None], n: int) -> None:
    """Call ``work(start, stop)`` for all rows 0..n-1.

    It uses all cores this process may use.
    """
    starts = range(0, n, CHUNK)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(starts) <= 1 or cores == 1:
        work(0, n)
        return
    with ThreadPoolExecutor(min(cores, len(starts))) as pool:
        list(pool.map(lambda start: work(start, min(start + CHUNK, n)), starts))
