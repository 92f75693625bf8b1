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
    the pattern (Myers 1999, doi 10.1145/316542.316550, in the form of Hyyro 2001). ``same``: bits of the pattern's
    digits that equal the text's. ``up`` and ``down``: bits of the differences that are 1, and -1; changed, like
    ``edits``, the distance of the pattern to the text so far. ``at`` is the place of the digit in the texts, ``last``
    that of the pattern's last digit.
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
def edits_to(number: Array, size: int, digits: Array, lengths: Array, room: Any, out: Array) -> None:
    """Edits of a number of ``size`` digits to a block of others, into ``out``; ``room``: :func:`workspace`."""
    places, same, up, down = room
    n = len(lengths)
    if size == 0:
        out[:n] = lengths
        return
    places[:] = 0
    for k in range(size):
        places[number[k]] |= np.int16(1 << k)
    up[:n], down[:n], out[:n] = -1, 0, size
    for k in range(lengths.max()):
        for j in range(n):
            same[j] = places[digits[k, j] & 15]
        step(same[:n], up[:n], down[:n], out[:n], lengths, k, size - 1)


@compiled
def workspace() -> tuple[Array, Array, Array, Array]:
    """Room for the bits of one number and of a block of others."""
    same, up, down = np.empty(BLOCK, np.int16), np.empty(BLOCK, np.int16), np.empty(BLOCK, np.int16)
    return np.empty(16, dtype=np.int16), same, up, down


@compiled
def nearest_digits(people: Any, others: Any, start: int, stop: int, out: Array) -> None:
    """Least sum of edits, over columns, to one of the others.

    For people start..stop-1. A column of few distinct numbers is compared number by number; one of many only in the
    records that may still be the nearest by the columns before.
    """
    q, m = others.codes.shape
    known = np.empty(others.starts[others.narrow], dtype=np.int16)
    room, edits, sums = workspace(), np.empty(BLOCK, dtype=np.int16), np.empty(BLOCK, dtype=np.int32)
    chosen, lengths = np.empty(BLOCK, dtype=np.int64), np.empty(BLOCK, dtype=np.int16)
    digits = np.empty((others.digits.shape[0], BLOCK), dtype=np.uint8)
    for i in range(start, stop):
        for c in range(others.narrow):
            number, size = people.digits[others.columns[c], :, i], people.lengths[others.columns[c], i]
            for first in range(others.starts[c], others.starts[c + 1], BLOCK):
                end = min(first + BLOCK, others.starts[c + 1])
                edits_to(number, size, others.digits[:, first:end], others.lengths[first:end], room, known[first:end])
        least = FAR
        for first in range(0, m, BLOCK):
            n = min(BLOCK, m - first)
            sums[:n] = 0
            for c in range(others.narrow):
                for j in range(n):
                    sums[j] += known[others.codes[c, first + j]]
            left = 0
            for j in range(n):
                if sums[j] < least:
                    chosen[left], sums[left] = first + j, sums[j]
                    left += 1
            for c in range(others.narrow, q):
                if left == 0:
                    break
                number, size = people.digits[others.columns[c], :, i], people.lengths[others.columns[c], i]
                for j in range(left):
                    at = others.codes[c, chosen[j]]
                    lengths[j] = others.lengths[at]
                    for k in range(lengths[j]):
                        digits[k, j] = others.digits[k, at]
                edits_to(number, size, digits[:, :left], lengths[:left], room, edits)
                nearer = 0
                for j in range(left):
                    if sums[j] + edits[j] < least:
                        chosen[nearer], sums[nearer] = chosen[j], sums[j] + edits[j]
                        nearer += 1
                left = nearer
            for j in range(left):
                least = min(least, sums[j])
        out[i] = least
