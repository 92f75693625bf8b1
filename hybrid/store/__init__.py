"""Stores of stage results, keyed by inputs, options and code."""

from hybrid.base.hashing import code_version, fingerprint, library_versions
from hybrid.store.local import Store, StoreEntry, keep_private, own_seconds, took
from hybrid.store.place import MEMORY, StorePlace, memory_store

__all__ = [
    "MEMORY",
    "Store",
    "StoreEntry",
    "StorePlace",
    "code_version",
    "fingerprint",
    "keep_private",
    "library_versions",
    "memory_store",
    "own_seconds",
    "took",
]
