"""Limits on the threads of other libraries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
