"""Compiled loops that sort records and fill their blocks.

Imported only inside the functions that use it: numba is slow to import.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.jit import compiled
from hybrid.evaluation.engine.blocks import LEAF, MASK, NODE

SAMPLE = 96
"""Records of a part that its cut is chosen from."""


@compiled
def key(r: Any, c: int, j: int) -> float:
    """Value of column ``c`` that records are split by; missing first."""
    p = r.numbers.shape[0]
    if c >= p:
        return float(r.codes[c - p, j])
    return -np.inf if r.missing[c, j] else r.numbers[c, j]


@compiled
def spread(values: Array, weight: float, squared: bool) -> float:
    """Mean distance of two of the sorted ``values``, categories if ``weight`` is not 0."""
    n = len(values)
    if weight > 0:
        same, run = 0.0, 1
        for at in range(1, n + 1):
            if at < n and values[at] == values[at - 1]:
                run += 1
            else:
                same += float(run) * run
                run = 1
        return weight * (1 - same / (float(n) * n))
    lacking = 0
    while lacking < n and values[lacking] == -np.inf:
        lacking += 1
    m = n - lacking
    apart, total, squares = 0.0, 0.0, 0.0
    for at in range(m):
        x = values[lacking + at]
        apart += (2 * at - m + 1) * x
        total += x
        squares += x * x
    if m > 0:
        mean = total / m
        apart = 2 * max(squares / m - mean * mean, 0.0) if squared else 2 * apart / (float(m) * m)
    return (2.0 * lacking * m + float(m) * m * apart) / (float(n) * n)


@compiled
def split(r: Any, squared: bool, order: Array, start: int, stop: int) -> tuple[int, float]:
    """Column and cut of a part of the records.

    The column with the largest spread is cut next to its median. Records up to the cut go first; column -1 if all
    records of the sample are equal.
    """
    p = r.numbers.shape[0]
    size = min(stop - start, SAMPLE)
    values = np.empty(size)
    chosen, cut, most = -1, 0.0, 0.0
    for c in range(p + r.codes.shape[0]):
        for at in range(size):
            values[at] = key(r, c, order[start + at * (stop - start) // size])
        values.sort()
        if values[0] == values[size - 1]:
            continue
        found = spread(values, r.weights[c - p] if c >= p else 0.0, squared)
        if chosen >= 0 and found <= most:
            continue
        at = size // 2
        while at > 0 and values[at] == values[size - 1]:
            at -= 1
        chosen, cut, most = c, values[at], found
    return chosen, cut


@compiled
def sort(r: Any, squared: bool, order: Array) -> None:
    """Sort ``order`` so that records near each other have near places."""
    other = np.empty(len(order), dtype=np.int64)
    waiting = [(0, len(order))]
    while len(waiting) > 0:
        start, stop = waiting.pop()
        if stop - start <= LEAF:
            continue
        column, cut = split(r, squared, order, start, stop)
        if column < 0:
            continue
        first, second = start, 0
        for at in range(start, stop):
            row = order[at]
            if key(r, column, row) <= cut:
                order[first] = row
                first += 1
            else:
                other[second] = row
                second += 1
        order[first:stop] = other[:second]
        waiting.append((first, stop))
        waiting.append((start, first))


@compiled
def fill(r: Any, s: Any) -> None:
    p, q = r.numbers.shape[0], r.codes.shape[0]
    for at in range(r.codes.shape[1]):
        leaf, node = at // LEAF, at // (LEAF * NODE)
        b, place = at % LEAF, leaf % NODE
        for c in range(p):
            x = r.screen[c, at]
            if r.missing[c, at]:
                s.values[leaf, c, b] = np.nan
                s.cap[node, c, place] = s.top_cap[c, node] = 1.0
                continue
            s.values[leaf, c, b] = x
            s.low[node, c, place] = min(s.low[node, c, place], x)
            s.high[node, c, place] = max(s.high[node, c, place], x)
            s.top_low[c, node] = min(s.top_low[c, node], x)
            s.top_high[c, node] = max(s.top_high[c, node], x)
        for c in range(q):
            s.values[leaf, p + c, b] = r.codes[c, at]
            bit = np.uint32(1 << ((r.codes[c, at] + 1) & MASK))
            s.seen[node, c, place] |= bit
            s.top_seen[c, node] |= bit
