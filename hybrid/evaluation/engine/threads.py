"""Work on all cores, and limits on the threads of libraries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from hybrid.base.arrays import Array
from hybrid.base.progress import Progress, silent
from hybrid.base.resources import cores

T = TypeVar("T")
R = TypeVar("R")
CHUNK = 512
PARALLEL_ROWS = 400_000
"""Below this, models and matrix products run on one thread: on a busy machine more would wait for each other."""
one_model = threading.RLock()
"""Held while scikit-learn fits or asks a forest or a pipeline: these reset the warning filters of the whole process."""
_torch = threading.RLock()
"""Held while PyTorch trains: the number of its threads, and its random state, are those of the whole process."""
_holds = threading.Lock()
_holders = 0
"""Blocks of :func:`one_thread_each` that run now."""


@contextmanager
def one_thread(rows: int, models: bool = False) -> Iterator[None]:
    """Keep work on fewer than :data:`PARALLEL_ROWS` rows on one thread.

    ``models``: scikit-learn's own threads, too (they can only be limited once it is imported).
    """
    if _holders:
        yield
        return
    with _limited(1 if rows < PARALLEL_ROWS else None, models):
        yield


@contextmanager
def one_thread_each(models: bool) -> Iterator[None]:
    """Keep libraries on one thread while threads of ours work, which would leave each other's limits."""
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


def side_by_side(work: Callable[[T, Progress], R], items: Sequence[T], progress: Progress = silent) -> list[R]:
    """Results of ``work(item, progress)``, in the order of the items, each with OpenMP on one thread.

    An error of one, or an interrupt by the user, ends the others at their next report of progress, and is raised then.
    """
    if min(len(items), cores()) <= 1:
        return [work(item, progress) for item in items]
    stopped, failures = threading.Event(), list[BaseException]()

    def told(step: str, done: int, total: int | None = None, **values: float) -> None:
        if stopped.is_set():
            raise _Stopped
        progress(step, done, total, **values)

    def worked(item: T) -> R:
        try:
            return work(item, told)
        except BaseException as error:
            if not isinstance(error, _Stopped):
                failures.append(error)
            stopped.set()
            raise

    with ThreadPoolExecutor(min(len(items), cores()), initializer=_one_thread_here) as pool:
        futures = [pool.submit(worked, item) for item in items]
        try:
            return [future.result() for future in futures]
        except _Stopped:
            raise failures[0] from None
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


class _Stopped(BaseException):
    """Signal to end work whose result is no longer needed."""


def _one_thread_here() -> None:
    """Keep OpenMP to one thread in the calling thread: it inherits no limit, and many would wait in busy loops."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1, user_api="openmp")


def in_chunks(n: int, kernel: Callable[..., None], *inputs: Any, out: Sequence[Array]) -> None:
    """Call ``kernel(*inputs, start, stop, *out)`` for all rows 0..n-1, on all cores."""
    chunks = [(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]

    def work(start: int, stop: int) -> None:
        kernel(*inputs, start, stop, *out)

    if min(len(chunks), cores()) <= 1:
        for chunk in chunks:
            work(*chunk)
        return
    with ThreadPoolExecutor(min(len(chunks), cores())) as pool:
        list(pool.map(work, *zip(*chunks, strict=True)))


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Keep PyTorch on one thread, and one training at a time.

    More only wait for each other on small batches.
    """
    import torch

    with _torch:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
