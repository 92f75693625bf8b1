"""Stores of stage results, keyed by inputs, options and code."""

from hybrid.store.local import Store, keep_private, own_seconds, took
from hybrid.store.place import MEMORY, StorePlace, memory_store

__all__ = [
    "MEMORY",
    "Store",
    "StorePlace",
    "keep_private",
    "memory_store",
    "own_seconds",
    "took",
]
