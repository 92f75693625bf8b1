"""Compiled loops over sorted records: sorting, boxes and searches.

Imported only inside the functions that use it: numba is slow to import.

A box bounds the float32 distance of all its records from below: it adds up the same terms in the same order, none of
them larger, and rounding keeps that order. What a box rules out, comparing all pairs in float32 would; what it does not
is decided in float64 (:func:`~hybrid.evaluation.engine.kernels.slack`). Results are those of comparing all pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.jit import compiled
from hybrid.evaluation.engine.kernels import agrees, distance, slack
from hybrid.evaluation.engine.space import TIE
from hybrid.evaluation.engine.tree import LEAF, NODE

SAMPLE = 96
"""Records of a node that its split is chosen from."""
MASK = 31
"""Categories of a leaf are kept as bits of their codes, modulo one more than this."""


@compiled
def key(r: Any, c: int, j: int) -> float:
    """Value of column ``c`` (numbers first) that records are split by; missing first."""
    p = r.numbers.shape[0]
    if c >= p:
        return float(r.codes[c - p, j])
    return -np.inf if r.missing[c, j] else r.numbers[c, j]


@compiled
def spread(values: Array, weight: float, squared: bool) -> float:
    """Mean distance of two of the sorted ``values``; of categories if ``weight`` is not 0."""
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
    """Column and cut of a node: of the column with the largest spread, next to its median.

    Records up to the cut go into the first child; column -1 if all records of the sample are equal.
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
    """Sort ``order`` so that records near each other have near places: cut after cut, down to a leaf."""
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
    """Write the values and boxes of sorted records into ``s``."""
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


@compiled
def load(q: Any, i: int, r: Any, x: Array, lacks: Array, bits: Array, costs: Array) -> None:
    """Write what searches compare of query ``i``: values, which are missing, categories as bits, their costs."""
    p = q.numbers.shape[0]
    for c in range(p):
        x[c], lacks[c] = np.float32(q.numbers[c, i]), q.missing[c, i]
    for c in range(q.codes.shape[0]):
        x[p + c], costs[c] = np.float32(q.codes[c, i]), np.float32(r.weights[c])
        bits[c] = np.uint32(1 << ((q.codes[c, i] + 1) & MASK))


@compiled
def workspace(r: Any) -> tuple[Array, Array, Array, Array]:
    """Room for one query's values, see :func:`load`."""
    p, q = r.numbers.shape[0], r.codes.shape[0]
    x, lacks = np.empty(p + q, dtype=np.float32), np.empty(p, dtype=np.bool_)
    return x, lacks, np.empty(q, dtype=np.uint32), np.empty(q, dtype=np.float32)


@compiled
def bounds(query: Any, low: Array, high: Array, cap: Array, seen: Array, squared: bool, out: Array) -> None:
    """Lower bounds of a query's float32 distances to the records of boxes, into ``out``."""
    x, lacks, bits, costs = query
    width = out.shape[0]
    for b in range(width):
        out[b] = np.float32(0)
    for c in range(lacks.shape[0]):
        if lacks[c]:
            for b in range(width):
                out[b] += np.float32(0) if cap[c, b] <= np.float32(1) else np.float32(1)
            continue
        mine = x[c]
        for b in range(width):
            under, over = low[c, b] - mine, mine - high[c, b]
            d = under if under > over else over
            d = d if d > np.float32(0) else np.float32(0)
            d = d * d if squared else d
            out[b] += d if d < cap[c, b] else cap[c, b]
    for c in range(bits.shape[0]):
        bit, cost = bits[c], costs[c]
        for b in range(width):
            out[b] += np.float32(0) if (seen[c, b] & bit) != np.uint32(0) else cost


@compiled
def screen(query: Any, values: Array, has_missing: Array, squared: bool, out: Array) -> None:
    """Float32 distances of a query to the records of a leaf, into ``out``."""
    x, lacks, bits, costs = query
    p, width = lacks.shape[0], out.shape[0]
    for b in range(width):
        out[b] = np.float32(0)
    for c in range(p):
        mine = x[c]
        if lacks[c]:
            for b in range(width):
                out[b] += np.float32(0) if values[c, b] != values[c, b] else np.float32(1)
        elif has_missing[c]:
            for b in range(width):
                d = abs(mine - values[c, b])
                d = d * d if squared else d
                out[b] += np.float32(1) if d != d else d
        elif squared:
            for b in range(width):
                d = mine - values[c, b]
                out[b] += d * d
        else:
            for b in range(width):
                out[b] += abs(mine - values[c, b])
    for c in range(bits.shape[0]):
        code, cost = x[p + c], costs[c]
        for b in range(width):
            out[b] += cost if values[p + c, b] != code else np.float32(0)


@compiled
def top_bounds(query: Any, s: Any, squared: bool, out: Array) -> None:
    """Lower bounds of a query for every node, into ``out``."""
    bounds(query, s.top_low, s.top_high, s.top_cap, s.top_seen, squared, out)


@compiled
def leaf_bounds(query: Any, s: Any, node: int, squared: bool, out: Array) -> None:
    """Lower bounds of a query for the leaves of a node, into ``out``."""
    bounds(query, s.low[node], s.high[node], s.cap[node], s.seen[node], squared, out)


@compiled
def nearest(
    q: Any, r: Any, s: Any, squared: bool, own: Array, scale: float, start: int, stop: int, best: Array, index: Array
) -> None:
    """Find the k nearest references of queries start..stop-1.

    Written into ``best`` and ``index``, shape (n, k); ``own[i]`` is left out. The references ``r`` are sorted;
    ``index`` gives their rows, the lowest of those at the same distance.
    """
    n, k = r.codes.shape[1], best.shape[1]
    columns, nodes = q.numbers.shape[0] + q.codes.shape[0], s.low.shape[0]
    of_node, of_leaf = np.empty(nodes, dtype=np.float32), np.empty(NODE, dtype=np.float32)
    rough = np.empty(LEAF, dtype=np.float32)
    query = workspace(r)
    for i in range(start, stop):
        load(q, i, r, *query)
        top_bounds(query, s, squared, of_node)
        limit = np.float32(np.inf)
        for node in np.argsort(of_node):
            if of_node[node] > limit:
                break
            leaf_bounds(query, s, node, squared, of_leaf)
            nearest_leaf = np.argmin(of_leaf)
            for turn in range(-1, NODE):
                place = nearest_leaf if turn < 0 else turn
                leaf = node * NODE + place
                first = leaf * LEAF
                if of_leaf[place] > limit or turn == nearest_leaf or first >= n:
                    continue
                screen(query, s.values[leaf], r.has_missing, squared, rough)
                for b in range(min(LEAF, n - first)):
                    row = s.order[first + b]
                    if rough[b] > limit or row == own[i]:
                        continue
                    d = distance(q, i, r, first + b, squared, -1)
                    if d > best[i, k - 1] or (d == best[i, k - 1] and row > index[i, k - 1]):
                        continue
                    at = k - 1
                    while at > 0 and (best[i, at - 1] > d or (best[i, at - 1] == d and index[i, at - 1] > row)):
                        best[i, at], index[i, at] = best[i, at - 1], index[i, at - 1]
                        at -= 1
                    best[i, at], index[i, at] = d, row
                    limit = np.float32(slack(best[i, k - 1], columns, scale))


@compiled
def linked(
    qa: Any, ra: Any, sa: Any, reach_a: Array, qb: Any, rb: Any, sb: Any, reach_b: Array, scale: float,
    start: int, stop: int, out: Array
) -> None:  # fmt: skip
    """Find queries with a common near reference in two Gower spaces.

    The reference is within ``reach_a`` of the query in one space and within ``reach_b`` in the other. Both spaces have
    the references in the same order.
    """
    n, nodes = ra.codes.shape[1], sa.low.shape[0]
    columns = max(qa.numbers.shape[0] + qa.codes.shape[0], qb.numbers.shape[0] + qb.codes.shape[0])
    of_node_a, of_node_b = np.empty(nodes, dtype=np.float32), np.empty(nodes, dtype=np.float32)
    of_leaf_a, of_leaf_b = np.empty(NODE, dtype=np.float32), np.empty(NODE, dtype=np.float32)
    rough = np.empty(LEAF, dtype=np.float32)
    one, other = workspace(ra), workspace(rb)
    for i in range(start, stop):
        near, also = reach_a[i] + TIE * (1 + reach_a[i]), reach_b[i] + TIE * (1 + reach_b[i])
        limit_a, limit_b = np.float32(slack(near, columns, scale)), np.float32(slack(also, columns, scale))
        load(qa, i, ra, *one)
        load(qb, i, rb, *other)
        top_bounds(one, sa, False, of_node_a)
        top_bounds(other, sb, False, of_node_b)
        for node in range(nodes):
            if out[i] or of_node_a[node] > limit_a or of_node_b[node] > limit_b:
                continue
            leaf_bounds(one, sa, node, False, of_leaf_a)
            leaf_bounds(other, sb, node, False, of_leaf_b)
            for place in range(NODE):
                leaf = node * NODE + place
                first = leaf * LEAF
                if out[i] or first >= n or of_leaf_a[place] > limit_a or of_leaf_b[place] > limit_b:
                    continue
                screen(one, sa.values[leaf], ra.has_missing, False, rough)
                for b in range(min(LEAF, n - first)):
                    if rough[b] > limit_a or distance(qb, i, rb, first + b, False, -1) > also:
                        continue
                    if distance(qa, i, ra, first + b, False, -1) <= near:
                        out[i] = True
                        break


@compiled
def first_from(ranks: Array, rank: int, start: int, stop: int) -> int:
    """First place in start..stop of the ascending ``ranks`` with at least ``rank``."""
    while start < stop:
        middle = (start + stop) // 2
        if ranks[middle] < rank:
            start = middle + 1
        else:
            stop = middle
    return start


@compiled
def count_right(truth: Any, i: int, guess: Any, s: int, start: int, stop: int) -> int:
    """Number of guesses start..stop-1 that are right about secret ``s`` of query ``i``.

    Guesses are sorted by rank: those within tolerance of a number lie together around it.
    """
    rank = truth.ranks[s, i]
    low, high = first_from(guess.ranks[s], rank, start, stop), first_from(guess.ranks[s], rank + 1, start, stop)
    if rank < 0 or np.isnan(truth.numbers[s, i]):
        return high - low
    least, most = first_from(guess.ranks[s], 0, start, stop), stop
    while least < low:
        middle = (least + low) // 2
        if agrees(truth, i, guess, middle, s):
            low = middle
        else:
            least = middle + 1
    while high < most:
        middle = (high + most) // 2
        if agrees(truth, i, guess, middle, s):
            high = middle + 1
        else:
            most = middle
    return high - low


@compiled
def infer(
    q: Any, r: Any, s: Any, reach: Array, members: Array, firsts: Array, truth: Any, sorted_guess: Any, guess: Any,
    scale: float, start: int, stop: int, ties: Array, hits: Array, first_hit: Array
) -> None:  # fmt: skip
    """Count the nearest references, and those of them with each secret.

    References are groups of equal records: group g has the guesses ``members[g]``..``members[g + 1] - 1`` of
    ``sorted_guess``, and the record ``firsts[g]`` of ``guess`` first. ``reach`` (n, 1): distance of the nearest group.
    ``ties`` (n,), ``hits`` (n, m); ``first_hit`` (n, m): whether the first record at that distance has the secret.
    """
    n, nodes = r.codes.shape[1], s.low.shape[0]
    columns = q.numbers.shape[0] + q.codes.shape[0]
    of_node, of_leaf = np.empty(nodes, dtype=np.float32), np.empty(NODE, dtype=np.float32)
    rough = np.empty(LEAF, dtype=np.float32)
    query = workspace(r)
    for i in range(start, stop):
        near = reach[i, 0] + TIE * (1 + reach[i, 0])
        limit, lowest = np.float32(slack(near, columns, scale)), -1
        load(q, i, r, *query)
        top_bounds(query, s, False, of_node)
        for node in range(nodes):
            if of_node[node] > limit:
                continue
            leaf_bounds(query, s, node, False, of_leaf)
            for place in range(NODE):
                leaf = node * NODE + place
                first = leaf * LEAF
                if of_leaf[place] > limit or first >= n:
                    continue
                screen(query, s.values[leaf], r.has_missing, False, rough)
                for b in range(min(LEAF, n - first)):
                    if rough[b] > limit or distance(q, i, r, first + b, False, -1) > near:
                        continue
                    group = s.order[first + b]
                    ties[i] += members[group + 1] - members[group]
                    for m in range(hits.shape[1]):
                        hits[i, m] += count_right(truth, i, sorted_guess, m, members[group], members[group + 1])
                    if lowest < 0 or firsts[group] < lowest:
                        lowest = firsts[group]
        for m in range(hits.shape[1]):
            first_hit[i, m] = lowest >= 0 and agrees(truth, i, guess, lowest, m)
