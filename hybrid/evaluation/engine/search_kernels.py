"""Compiled searches of sorted records.

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
from hybrid.evaluation.engine.blocks import LEAF, MASK, NODE
from hybrid.evaluation.engine.kernels import agrees, distance, slack
from hybrid.evaluation.engine.space import TIE


@compiled
def load(q: Any, i: int, r: Any, x: Array, lacks: Array, bits: Array, costs: Array) -> None:
    """Write what searches compare of query ``i``: values, gaps, categories as bits, and costs of other categories."""
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
    """Lower bounds of a query's float32 distances to boxes, into ``out``."""
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
    """Float32 distances of a query to a leaf's records, into ``out``."""
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
    bounds(query, s.top_low, s.top_high, s.top_cap, s.top_seen, squared, out)


@compiled
def leaf_bounds(query: Any, s: Any, node: int, squared: bool, out: Array) -> None:
    bounds(query, s.low[node], s.high[node], s.cap[node], s.seen[node], squared, out)


@compiled
def enter(distances: Array, rows: Array, d: float, row: int) -> bool:
    """Insert a reference into a query's nearest, sorted by distance and row; False if it is farther."""
    at = len(distances) - 1
    if d > distances[at] or (d == distances[at] and row > rows[at]):
        return False
    while at > 0 and (distances[at - 1] > d or (distances[at - 1] == d and rows[at - 1] > row)):
        distances[at], rows[at] = distances[at - 1], rows[at - 1]
        at -= 1
    distances[at], rows[at] = d, row
    return True


@compiled
def nearest(
    q: Any, r: Any, s: Any, squared: bool, own: Array, pieces: Array, scale: float, start: int, stop: int,
    best: Array, index: Array
) -> None:  # fmt: skip
    """Find the nearest references of some queries, piece by piece.

    Written into ``best`` and ``index``, shape (1 + number of pieces, n, k), all references first; ``own[i]`` is left
    out. The references ``r`` are sorted; ``index`` gives their rows, the lowest of those at the same distance.
    ``pieces`` has the piece of every row from 1 on, 0 for none, and is not looked at where there are no pieces.
    """
    n, lists, k = r.codes.shape[1], best.shape[0], best.shape[2]
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
                    entered = enter(best[0, i], index[0, i], d, row)
                    if lists > 1 and pieces[row] > 0:
                        entered |= enter(best[pieces[row], i], index[pieces[row], i], d, row)
                    if entered:
                        limit = np.float32(slack(best[:, i, k - 1].max(), columns, scale))


@compiled
def linked(
    qa: Any, ra: Any, sa: Any, reach_a: Array, qb: Any, rb: Any, sb: Any, reach_b: Array, scale: float,
    start: int, stop: int, out: Array
) -> None:  # fmt: skip
    """Find queries with a reference within ``reach_a`` in one Gower space and within ``reach_b`` in the other."""
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
def within(
    q: Any, r: Any, s: Any, squared: bool, own: Array, reach: Array, scale: float, start: int, stop: int, out: Array
) -> None:  # fmt: skip
    """Count the sorted references ``r`` within ``reach`` (squared if ``squared``) of some queries, but ``own[i]``."""
    n, nodes = r.codes.shape[1], s.low.shape[0]
    columns = q.numbers.shape[0] + q.codes.shape[0]
    of_node, of_leaf = np.empty(nodes, dtype=np.float32), np.empty(NODE, dtype=np.float32)
    rough = np.empty(LEAF, dtype=np.float32)
    query = workspace(r)
    for i in range(start, stop):
        limit = np.float32(slack(reach[i], columns, scale))
        load(q, i, r, *query)
        top_bounds(query, s, squared, of_node)
        for node in range(nodes):
            if of_node[node] > limit:
                continue
            leaf_bounds(query, s, node, squared, of_leaf)
            for place in range(NODE):
                leaf = node * NODE + place
                first = leaf * LEAF
                if of_leaf[place] > limit or first >= n:
                    continue
                screen(query, s.values[leaf], r.has_missing, squared, rough)
                for b in range(min(LEAF, n - first)):
                    if rough[b] > limit or s.order[first + b] == own[i]:
                        continue
                    if distance(q, i, r, first + b, squared, -1) <= reach[i]:
                        out[i] += 1


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
    """Number of right guesses of secret ``s`` of query ``i`` among start..stop-1, which are sorted by rank."""
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
    squared: bool, scale: float, start: int, stop: int, ties: Array, hits: Array, first_hit: Array
) -> None:  # fmt: skip
    """Count the nearest groups of equal references, and those of them with each secret.

    Group g has the guesses ``members[g]``..``members[g + 1] - 1`` of ``sorted_guess``, and the record ``firsts[g]`` of
    ``guess`` first, of which ``first_hit`` says if it is right. ``reach`` (n, 1): distance of the nearest group.
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
        top_bounds(query, s, squared, of_node)
        for node in range(nodes):
            if of_node[node] > limit:
                continue
            leaf_bounds(query, s, node, squared, of_leaf)
            for place in range(NODE):
                leaf = node * NODE + place
                first = leaf * LEAF
                if of_leaf[place] > limit or first >= n:
                    continue
                screen(query, s.values[leaf], r.has_missing, squared, rough)
                for b in range(min(LEAF, n - first)):
                    if rough[b] > limit or distance(q, i, r, first + b, squared, -1) > near:
                        continue
                    group = s.order[first + b]
                    ties[i] += members[group + 1] - members[group]
                    for m in range(hits.shape[1]):
                        hits[i, m] += count_right(truth, i, sorted_guess, m, members[group], members[group + 1])
                    if lowest < 0 or firsts[group] < lowest:
                        lowest = firsts[group]
        for m in range(hits.shape[1]):
            first_hit[i, m] = lowest >= 0 and agrees(truth, i, guess, lowest, m)
