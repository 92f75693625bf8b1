"""Compiled loops over pairs of records.

Imported only inside the functions that use it: numba is slow to import.

Every search screens blocks of :data:`BLOCK` reference rows in float32 (vectorized by the compiler) and decides
in float64; the screen is widened by a bound on its rounding error, so results are those of float64 alone.
Memory is a block per thread. Arrays are column-major: ``numbers[c, i]``, ``codes[c, i]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.jit import compiled
from hybrid.evaluation.engine.neighbours import TIE

BLOCK = 1024


@compiled
def column_distance(x: float, x_missing: bool, y: float, y_missing: bool, squared: bool) -> float:
    """Distance of two numbers: missing to missing 0, to a number 1."""
    if x_missing or y_missing:
        return 0.0 if x_missing and y_missing else 1.0
    d = abs(x - y)
    return d * d if squared else d


@compiled
def distance(q: Any, i: int, r: Any, j: int, squared: bool, skip: int) -> float:
    """Float64 distance of query ``i`` and reference ``j``.

    Column ``skip`` (numbers first) is left out, -1 for none.
    """
    total = 0.0
    p = q.numbers.shape[0]
    for c in range(p):
        if c != skip:
            total += column_distance(q.numbers[c, i], q.missing[c, i], r.numbers[c, j], r.missing[c, j], squared)
    for c in range(q.codes.shape[0]):
        if c + p != skip and q.codes[c, i] != r.codes[c, j]:
            total += r.weights[c]
    return total


@compiled
def add_column(q: Any, i: int, r: Any, c: int, start: int, stop: int, squared: bool, out: Array) -> None:
    """Add the float32 distances of one column to ``out``.

    They are those between query ``i`` and references start..stop-1.
    """
    p = q.numbers.shape[0]
    size = stop - start
    if c >= p:
        code = q.codes[c - p, i]
        codes = r.codes[c - p, start:stop]
        weight = np.float32(r.weights[c - p])
        for b in range(size):
            out[b] += weight if codes[b] != code else np.float32(0)
        return
    missing = r.missing[c, start:stop]
    if q.missing[c, i]:
        for b in range(size):
            out[b] += np.float32(0) if missing[b] else np.float32(1)
        return
    x = np.float32(q.numbers[c, i])
    y = r.screen[c, start:stop]
    if r.has_missing[c]:
        for b in range(size):
            d = abs(x - y[b])
            d = d * d if squared else d
            out[b] += np.float32(1) if missing[b] else d
    elif squared:
        for b in range(size):
            d = x - y[b]
            out[b] += d * d
    else:
        for b in range(size):
            out[b] += abs(x - y[b])


@compiled
def within(values: Array, limit: Any) -> int:
    """Number of float32 values that are at most ``limit``."""
    count = 0
    for b in range(values.shape[0]):
        count += 1 if values[b] <= limit else 0
    return count


@compiled
def screen(q: Any, i: int, r: Any, start: int, stop: int, squared: bool, out: Array) -> None:
    """Float32 distances of query ``i`` to references start..stop-1 into ``out``."""
    out[:] = np.float32(0)
    for c in range(q.numbers.shape[0] + q.codes.shape[0]):
        add_column(q, i, r, c, start, stop, squared, out)


@compiled
def slack(bound: float, columns: int, scale: float) -> float:
    """``bound`` widened by the rounding error of float32 sums.

    The sums have ``columns`` terms of numbers up to ``scale``.
    """
    unit = 1.2e-7
    step = scale * unit
    return float(bound + columns * (2 * bound**0.5 * step + 2 * step + step * step + 2 * unit * (bound + 1)))


@compiled
def nearest(
    q: Any, r: Any, squared: bool, own: Array, scale: float, start: int, stop: int, best: Array, index: Array
) -> None:
    """Find the k nearest references of queries start..stop-1.

    Written into ``best`` and ``index``, shape (n, k); ``own[i]`` is left out.
    """
    k = best.shape[1]
    columns = q.numbers.shape[0] + q.codes.shape[0]
    n = r.codes.shape[1]
    buffer = np.empty(BLOCK, dtype=np.float32)
    for i in range(start, stop):
        worst = best[i, k - 1]
        limit = slack(worst, columns, scale)
        for first in range(0, n, BLOCK):
            last = min(first + BLOCK, n)
            rough = buffer[: last - first]
            screen(q, i, r, first, last, squared, rough)
            if within(rough, np.float32(limit)) == 0:
                continue
            for b in range(last - first):
                if rough[b] > limit or first + b == own[i]:
                    continue
                d = distance(q, i, r, first + b, squared, -1)
                if d < worst:
                    at = k - 1
                    while at > 0 and best[i, at - 1] > d:
                        best[i, at] = best[i, at - 1]
                        index[i, at] = index[i, at - 1]
                        at -= 1
                    best[i, at] = d
                    index[i, at] = first + b
                    worst = best[i, k - 1]
                    limit = slack(worst, columns, scale)


@compiled
def linked(
    qa: Any, ra: Any, qb: Any, rb: Any, reach_a: Array, reach_b: Array, scale: float, start: int, stop: int, out: Array
) -> None:
    """Find queries with a common near reference in two Gower spaces.

    The reference is within ``reach_a`` of the query in one space and within ``reach_b`` in the other.
    """
    columns = qa.numbers.shape[0] + qa.codes.shape[0]
    n = ra.codes.shape[1]
    buffer = np.empty(BLOCK, dtype=np.float32)
    for i in range(start, stop):
        near = reach_a[i] + TIE * (1 + reach_a[i])
        also = reach_b[i] + TIE * (1 + reach_b[i])
        limit = slack(near, columns, scale)
        for first in range(0, n, BLOCK):
            last = min(first + BLOCK, n)
            rough = buffer[: last - first]
            screen(qa, i, ra, first, last, False, rough)
            if out[i] or within(rough, np.float32(limit)) == 0:
                continue
            for b in range(last - first):
                if rough[b] > limit or distance(qa, i, ra, first + b, False, -1) > near:
                    continue
                if distance(qb, i, rb, first + b, False, -1) <= also:
                    out[i] = True
                    break


@compiled
def agrees(truth: Any, i: int, guess: Any, j: int, s: int) -> bool:
    """True if reference ``j`` has secret ``s`` of query ``i``.

    The secret is the same value, or a number within tolerance.
    """
    if truth.ranks[s, i] == guess.ranks[s, j]:
        return True
    x, y = truth.numbers[s, i], guess.numbers[s, j]
    if np.isnan(x) or np.isnan(y):
        return False
    size = max(abs(x), abs(y)) if truth.symmetric else abs(y)
    allowed = max(truth.relative[s] * size, truth.absolute[s])
    return bool(abs(x - y) <= allowed + 1e-12)


@compiled
def infer(
    q: Any, r: Any, times: Array, skip: Array, truth: Any, guess: Any, scale: float, start: int, stop: int, best: Array,
    ties: Array, hits: Array, first_hit: Array
) -> None:  # fmt: skip
    """Nearest references of every query with column ``skip[s]`` unknown.

    For all secrets s in one pass. ``times`` (n_references,): how often each occurs. ``best`` (n, m): Gower distance
    without the secret; ``ties`` and ``hits`` (n, m): references at that distance, and those of them that have the
    secret; ``first_hit`` (n, m): whether the first of them does.
    """
    columns = q.numbers.shape[0] + q.codes.shape[0]
    n, m = r.codes.shape[1], skip.shape[0]
    part = np.empty((columns, BLOCK), dtype=np.float32)
    total = np.empty(BLOCK, dtype=np.float32)
    rest = np.empty(BLOCK, dtype=np.float32)
    limits = np.empty(m, dtype=np.float64)
    for i in range(start, stop):
        limits[:] = np.inf
        for first in range(0, n, BLOCK):
            size = min(BLOCK, n - first)
            total[:size] = np.float32(0)
            for c in range(columns):
                mine = part[c, :size]
                mine[:] = np.float32(0)
                add_column(q, i, r, c, first, first + size, False, mine)
                for b in range(size):
                    total[b] += mine[b]
            for s in range(m):
                for b in range(size):
                    rest[b] = total[b]
                if skip[s] >= 0:
                    known = part[skip[s]]
                    for b in range(size):
                        rest[b] -= known[b]
                if within(rest[:size], np.float32(limits[s])) == 0:
                    continue
                for b in range(size):
                    if rest[b] > limits[s]:
                        continue
                    d = distance(q, i, r, first + b, False, skip[s])
                    edge = TIE * (1 + d)
                    if d > best[i, s] + edge:
                        continue
                    right = agrees(truth, i, guess, first + b, s)
                    if d < best[i, s] - edge:
                        best[i, s], ties[i, s], hits[i, s], first_hit[i, s] = d, 0, 0, right
                        limits[s] = slack(d + edge, columns + 2, scale)
                    ties[i, s] += times[first + b]
                    hits[i, s] += right * times[first + b]


@compiled
def inside(
    low: Array, high: Array, ranks: Array, begin: Array, end: Array, worth: Array, start: int, stop: int, found: Array
) -> None:
    """Add up the worth of references in all windows.

    They are references begin[i]..end[i]-1 with ``low[c, i] <= ranks[c, at] < high[c, i]`` for all c.
    """
    for i in range(start, stop):
        for at in range(begin[i], end[i]):
            holds = True
            for c in range(ranks.shape[0]):
                if not low[c, i] <= ranks[c, at] < high[c, i]:
                    holds = False
                    break
            if holds:
                found[i] += worth[at]


@compiled
def up_to(tree: Array, rank: int) -> float:
    """Sum of the ranks 0..rank-1 in a binary indexed tree (Fenwick 1994)."""
    total = 0.0
    while rank > 0:
        total += tree[rank]
        rank -= rank & -rank
    return total


@compiled
def sweep(
    low: Array, high: Array, ranks: Array, begin: Array, end: Array, events: Array, worth: Array, found: Array
) -> None:
    """As :func:`inside` with one column, in O((n + m) log m).

    Ranks are entered one by one in a tree of sums. ``events`` sorts the concatenated ``begin`` and ``end``: at a begin
    what has been entered is subtracted, at an end it is added.
    """
    n, entered = len(begin), 0
    tree = np.zeros(len(ranks) + 1)
    for event in events:
        i = event % n
        until = begin[i] if event < n else end[i]
        while entered < until:
            at = ranks[entered] + 1
            while at < len(tree):
                tree[at] += worth[entered]
                at += at & -at
            entered += 1
        between = up_to(tree, high[i]) - up_to(tree, low[i])
        found[i] += between if event >= n else -between


@compiled
def occurrences(
    low: Array,
    high: Array,
    columns: Array,
    order: Array,
    starts: Array,
    ranks: Array,
    begin: int,
    end: int,
    most: int,
    out: Array,
    first: Array,
) -> None:
    """Count the rows that fulfil each predicate, and name the first.

    Counted up to ``most`` (``out``, shape (m,), int8). Predicate i asks ``low[i, c] <= rank in columns[i, c] <= high[i,
    c]`` for all c; a column of -1 asks nothing. ``order[column]`` lists the rows by rank, ``starts[column][rank + 1]``
    where a rank begins in it. Only rows that fulfil the rarest condition are looked at.
    """
    for i in range(begin, end):
        rarest, fewest = -1, order.shape[1] + 1
        for c in range(columns.shape[1]):
            column = columns[i, c]
            if column >= 0:
                count = starts[column, high[i, c] + 2] - starts[column, low[i, c] + 1]
                if count < fewest:
                    rarest, fewest = c, count
        if rarest < 0:
            continue
        column = columns[i, rarest]
        for at in range(starts[column, low[i, rarest] + 1], starts[column, high[i, rarest] + 2]):
            row = order[column, at]
            holds = True
            for c in range(columns.shape[1]):
                other = columns[i, c]
                if other >= 0 and not low[i, c] <= ranks[other, row] <= high[i, c]:
                    holds = False
                    break
            if holds:
                out[i] += 1
                if out[i] == 1:
                    first[i] = row
                if out[i] == most:
                    break
