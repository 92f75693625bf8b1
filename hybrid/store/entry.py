"""Metadata of a stored result."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class StoreEntry:
    """Metadata of one stored result."""

    stage: str
    key: str
    """The fingerprint; in an encrypted store its keyed hash."""
    created: str
    """UTC, ISO 8601."""
    seconds: float
    """Seconds of its own computation, without that of other stored results it requested."""
    n_bytes: int
    sha256: str
    """Of the stored file: the pickled result, encrypted where the store is."""


class _Nested(threading.local):
    def __init__(self) -> None:
        self.seconds = [0.0]


_nested = _Nested()


@contextmanager
def own_seconds() -> Iterator[Callable[[], float]]:
    """Measure a block.

    Gives a function for its wall-clock seconds, without those of blocks measured inside it.
    """
    start = time.perf_counter()
    _nested.seconds.append(0.0)
    own = 0.0
    try:
        yield lambda: own
    finally:
        whole = time.perf_counter() - start
        own = whole - _nested.seconds.pop()
        _nested.seconds[-1] += whole
