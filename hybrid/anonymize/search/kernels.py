"""Compiled loops over rows.

They do what :mod:`hybrid.anonymize.search.group_cache` does in numpy, in a third of the time.

Importing numba and loading the machine code costs about as much as twenty short searches, and 100 MB. So only what is
long imports this module.
"""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Codes, Counts, Leaves, Mask, Numbers, Rows
from hybrid.base.jit import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: multiplying spreads codes evenly over the high bits (Knuth, volume 3, section 6.4)."""


@compiled
def number(leaves: Leaves, positions: Codes, numbers: Codes, starts: Codes, sizes: Counts) -> tuple[Codes, int]:
    """Number the classes of rows equal at a node of the lattice, in the order of their first rows.

    ``numbers``, ``starts`` and ``sizes`` are those of :attr:`.group_cache.GroupCache.tables`; the product of the sizes
    fits one key (:func:`hybrid.base.keys.fits`). The keys are those of :func:`hybrid.base.keys.pack`.
    """
    keys = np.zeros(leaves.shape[1], np.int64)
    bound = 1
    for column in range(len(positions)):
        size = sizes[column, positions[column]]
        if size > 1:
            number_of = numbers[starts[column, positions[column]] :]
            leaf = leaves[column]
            for row in range(len(keys)):
                keys[row] = keys[row] * size + number_of[np.uint64(leaf[row])]
            bound *= size
    return _numbered(keys, bound)


@compiled
def _numbered(codes: Codes, bound: int) -> tuple[Codes, int]:
    """Number codes 0..bound-1 in the order of their first rows.

    Uses a hash table with linear probing.
    """
    bits = 4
    while (1 << bits) < 2 * len(codes):
        bits += 1
    shift, mask = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    direct = bound <= (1 << bits)
    keys = np.full(1 << bits, -1, np.int64)
    number_at, class_of = np.empty(1 << bits, np.int64), np.empty(len(codes), np.int64)
    n_classes = 0
    for row in range(len(codes)):
        code = codes[row]
        slot = np.uint64(code) if direct else (np.uint64(code) * _GOLDEN) >> shift
        while keys[slot] != code and keys[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        if keys[slot] < 0:
            keys[slot], number_at[slot] = code, n_classes
            n_classes += 1
        class_of[row] = number_at[slot]
    return class_of, n_classes


@compiled
def leaf_counts(leaves: Leaves, starts: Codes, weights: Numbers, base_of: Rows, chosen: Mask) -> Numbers:
    """Records of the chosen rows per leaf, all columns concatenated; ``base_of``: where in ``chosen`` each row is."""
    result = np.zeros(starts[-1], np.float64)
    for row in range(len(base_of)):
        if chosen[np.uint64(base_of[row])]:
            for column in range(len(leaves)):
                result[np.uint64(starts[column] + leaves[column, row])] += weights[row]
    return result


@compiled
def lacking(class_of: Codes, rows: Rows, values: Codes, n_classes: int, least: int) -> Mask:
    """Mask of classes with fewer than ``least`` distinct values.

    Given (row, value) pairs; shape (n_classes,), bool.
    """
    seen = np.empty((n_classes, least), np.int64)
    n_seen = np.zeros(n_classes, np.int64)
    for pair in range(len(rows)):
        at, value = np.uint64(class_of[np.uint64(rows[pair])]), values[pair]
        if n_seen[at] < least:
            known = False
            for other in range(n_seen[at]):
                known = known or seen[at, np.uint64(other)] == value
            if not known:
                seen[at, np.uint64(n_seen[at])] = value
                n_seen[at] += 1
    return n_seen < least
