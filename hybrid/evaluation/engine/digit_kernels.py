"""Compiled edit distances of numbers as they are written.

Imported only inside the functions that use it: numba is slow to import. One number is compared with a block of others
at once, in 16 bits each, so that the compiler vectorizes the loops over the block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.jit import compiled

BLOCK = 512
"""Numbers that one is compared with at once: they fit into the nearest cache."""
FAR = 1 << 30


@compiled
def step(same: Array, up: Array, down: Array, edits: Array, lengths: Array, at: int, last: int) -> None:
    """One more digit of every text, for texts that have one.

    A column of the table of distances is kept as the signs of the differences of its cells, one bit for each digit of
    the pattern (Myers 1999, doi 10.1145/316542.316550, in the form of Hyyro 2001).

    Parameters
    ----------
    same : numpy.ndarray, shape (n,), int16
        Bits of the pattern's digits that equal the text's.
    up, down : numpy.ndarray, shape (n,), int16
        Bits of the differences that are 1, and -1; changed.
    edits : numpy.ndarray, shape (n,), int16
        Distance of the pattern to the text so far; changed.
    lengths : numpy.ndarray, shape (n,), int16
        Digits of each text.
    at, last : int
        Position of the digit in the texts, and of the pattern's last digit.
    """
    for j in range(len(same)):
        equal, rises, falls = same[j], up[j], down[j]
        vertical = equal | falls
        across = (((equal & rises) + rises) ^ rises) | equal
        more, less = falls | ~(across | rises), rises & across
        change = ((more >> last) & 1) - ((less >> last) & 1)
        more, less = (more << 1) | 1, less << 1
        goes_on = at < lengths[j]
        up[j] = less | ~(vertical | more) if goes_on else rises
        down[j] = more & vertical if goes_on else falls
        edits[j] += change if goes_on else 0


@compiled
def nearest_digits(people: Any, others: Any, start: int, stop: int, out: Array) -> None:
    """Least sum of edits, over columns, to one of the others.

    For people start..stop-1. Both have ``digits`` (q, 15, n) uint8 and ``lengths`` (q, n) int16.
    """
    q, m = others.lengths.shape
    widest = np.array([others.lengths[c].max() for c in range(q)])
    places = np.empty(16, dtype=np.int16)
    same, up = np.empty(BLOCK, dtype=np.int16), np.empty(BLOCK, dtype=np.int16)
    down, edits = np.empty(BLOCK, dtype=np.int16), np.empty(BLOCK, dtype=np.int16)
    sums = np.empty(BLOCK, dtype=np.int32)
    for i in range(start, stop):
        least = FAR
        for first in range(0, m, BLOCK):
            n = min(BLOCK, m - first)
            sums[:n] = 0
            for c in range(q):
                digits, lengths = others.digits[c, :, first : first + n], others.lengths[c, first : first + n]
                size = people.lengths[c, i]
                if size == 0:
                    sums[:n] += lengths
                    continue
                places[:] = 0
                for k in range(size):
                    places[people.digits[c, k, i]] |= np.int16(1 << k)
                up[:n], down[:n], edits[:n] = -1, 0, size
                for k in range(widest[c]):
                    for j in range(n):
                        same[j] = places[digits[k, j] & 15]
                    step(same[:n], up[:n], down[:n], edits[:n], lengths, k, size - 1)
                sums[:n] += edits[:n]
            least = min(least, sums[:n].min())
        out[i] = least
