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
from hybrid.evaluation.engine.space import TIE

NEGLIGIBLE = 24.0
"""Terms whose logarithm is smaller than the largest one's by this: 20,000 of them change a logarithm by 1e-6."""
BLOCK = 512
"""Points whose distances are kept at once: they fit into the nearest cache."""


@compiled
def column_distance(x: float, x_missing: bool, y: float, y_missing: bool, squared: bool) -> float:
    """Distance of two numbers: missing to missing 0, to a number 1."""
    if x_missing or y_missing:
        return 0.0 if x_missing and y_missing else 1.0
    d = abs(x - y)
    return d * d if squared else d


@compiled
def distance(q: Any, i: int, r: Any, j: int, squared: bool, skip: int) -> float:
    """Float64 distance of query ``i`` and reference ``j`` without column ``skip`` (numbers first), -1 for none."""
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
def slack(bound: float, columns: int, scale: float) -> float:
    """``bound`` widened by the rounding error of float32 sums of ``columns`` numbers up to ``scale``."""
    unit = 1.2e-7
    step = scale * unit
    return float(bound + columns * (2 * bound**0.5 * step + 2 * step + step * step + 2 * unit * (bound + 1)))


@compiled
def agrees(truth: Any, i: int, guess: Any, j: int, s: int) -> bool:
    """True if reference ``j`` has secret ``s`` of query ``i``: the same value, or a number within tolerance."""
    if truth.ranks[s, i] == guess.ranks[s, j]:
        return True
    x, y = truth.numbers[s, i], guess.numbers[s, j]
    if np.isnan(x) or np.isnan(y):
        return False
    size = max(abs(x), abs(y)) if truth.symmetric else abs(y)
    allowed = max(truth.relative[s] * size, truth.absolute[s])
    return bool(abs(x - y) <= allowed + 1e-12)


@compiled
def inside(
    low: Array, high: Array, ranks: Array, begin: Array, end: Array, worth: Array, start: int, stop: int, found: Array
) -> None:
    """Add up ``worth[at]``, begin[i] <= at < end[i], where ``low[c, i] <= ranks[c, at] < high[c, i]`` for all c."""
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
def log_sum_exp(q: Array, x: Array, start: int, stop: int, out: Array) -> None:
    """Write log sum exp(-|q - x|^2 / 2) of queries (p, n) over points (p, m) to ``out``, without negligible terms."""
    p, m = x.shape
    squares = np.empty(BLOCK)
    for i in range(start, stop):
        nearest, total = np.inf, 0.0
        for first in range(0, m, BLOCK):
            part = squares[: min(BLOCK, m - first)]
            part[:] = 0.0
            for c in range(p):
                mine, its = q[c, i], x[c, first : first + len(part)]
                for j in range(len(part)):
                    d = mine - its[j]
                    part[j] += d * d
            least = part.min()
            if least < nearest:
                total *= np.exp((least - nearest) / 2)
                nearest = least
            for j in range(len(part)):
                if part[j] <= nearest + 2 * NEGLIGIBLE:
                    total += np.exp((nearest - part[j]) / 2)
        out[i] = np.log(total) - nearest / 2


@compiled
def occurrences(
    low: Array, high: Array, columns: Array, order: Array, starts: Array, ranks: Array, owners: Array, most: int,
    begin: int, end: int, out: Array, first: Array
) -> None:  # fmt: skip
    """Count the persons with a row that fulfils each predicate, and name the first row.

    Counted up to ``most`` (``out``, shape (m,), int8). ``owners``: person of each row; empty where each is another
    person. Predicate i asks ``low[i, c] <= rank in columns[i, c] <= high[i,
    c]`` for all c; a column of -1 asks nothing. ``order[column]`` lists the rows by rank, ``starts[column][rank + 1]``
    where a rank begins in it. Only rows that fulfil the rarest condition are looked at.
    """
    seen = np.empty(most, dtype=np.int64)
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
            if holds and len(owners):
                for known in range(out[i]):
                    if seen[known] == owners[row]:
                        holds = False
                        break
                seen[out[i]] = owners[row]
            if holds:
                out[i] += 1
                if out[i] == 1:
                    first[i] = row
                if out[i] == most:
                    break


@compiled
def nearest_by_power(q: Any, r: Any, own: Array, power: float, start: int, stop: int, best: Array) -> None:
    """Smallest distances of each query, ascending, into ``best``.

    Sums of the differences to this power; of an infinite one their maximum, of 0 the number of differences.
    """
    p, k = q.numbers.shape[0], best.shape[1]
    for i in range(start, stop):
        for j in range(r.codes.shape[1]):
            if j == own[i]:
                continue
            total, worst = 0.0, best[i, k - 1]
            for c in range(p + q.codes.shape[0]):
                if c >= p:
                    gap = 0.0 if q.codes[c - p, i] == r.codes[c - p, j] else 1.0
                elif q.missing[c, i] or r.missing[c, j]:
                    gap = 0.0 if q.missing[c, i] and r.missing[c, j] else 1.0
                else:
                    gap = abs(q.numbers[c, i] - r.numbers[c, j])
                if gap == 0.0:
                    continue
                if np.isinf(power):
                    total = max(total, gap)
                elif power == 0.0 or gap == 1.0:
                    total += 1.0
                elif power == 1.0:
                    total += gap
                else:
                    total += gap**power
                if total >= worst:
                    break
            if total < worst:
                place = k - 1
                while place > 0 and best[i, place - 1] > total:
                    best[i, place] = best[i, place - 1]
                    place -= 1
                best[i, place] = total


@compiled
def most_shared(codes: Array, weights: Array, references: Array, start: int, stop: int, out: Array) -> None:
    """Largest weight of the codes that each query shares with one reference, or what ``out`` holds if that is larger.

    For queries start..stop-1. ``codes`` (q, n) int32, ``weights`` (q, n) float32, ``references`` (q, m) int32. The
    heaviest codes come first: most references share too few of them to get there with all others. What is left is
    added up in the order of the columns, so that a weight does not depend on the search.
    """
    q, m = references.shape
    sums = np.empty(BLOCK, dtype=np.float32)
    nothing = np.float32(0)
    for i in range(start, stop):
        most, order = out[i], np.argsort(-weights[:, i])
        rest = np.float32(weights[:, i].sum())
        rounded = np.float32(q * 1e-6) * rest  # More than sums of q terms in another order differ by.
        for first in range(0, m, BLOCK):
            part = sums[: min(BLOCK, m - first)]
            part[:] = nothing
            left, alive = rest, np.int32(len(part))
            for c in order:
                mine, worth, its = codes[c, i], weights[c, i], references[c, first : first + len(part)]
                if worth <= nothing:
                    break
                for j in range(len(part)):
                    part[j] += worth if its[j] == mine else nothing
                left -= worth
                enough = most - left - rounded
                if enough > nothing:
                    alive = np.int32(0)
                    for j in range(len(part)):
                        alive += np.int32(1) if part[j] >= enough else np.int32(0)
                    if alive == 0:
                        break
            if alive == 0:
                continue
            for j in range(len(part)):
                if part[j] >= most - rounded:
                    exact = nothing
                    for c in range(q):
                        exact += weights[c, i] if references[c, first + j] == codes[c, i] else nothing
                    most = max(most, exact)
        out[i] = most


@compiled
def agreements(
    rows: Array, own: Array, is_category: Array, near: np.float32, agrees: Array, n_agreeing: Array, apart: Array
) -> None:
    """Columns in which each row agrees with a person (up to ``near``), and the sum of its distances over columns.

    Categories are at 0 or 1, numbers at most at 1; missing is at 0 from missing and at 1 from any value. ``rows`` and
    ``agrees`` have a line per column; what a row has is added to the last two.
    """
    zero, one = np.float32(0), np.float32(1)
    for c in range(len(rows)):
        mine, its, gaps = own[c], rows[c], agrees[c]
        if np.isnan(mine):
            for j in range(len(its)):
                gaps[j] = zero if np.isnan(its[j]) else one
        elif is_category[c]:
            for j in range(len(its)):
                gaps[j] = zero if its[j] == mine else one
        else:
            for j in range(len(its)):
                gap = abs(its[j] - mine)
                gaps[j] = gap if gap < one else one
        for j in range(len(its)):
            apart[j] += gaps[j]
            gaps[j] = one if gaps[j] <= near else zero
            n_agreeing[j] += gaps[j]


@compiled
def nearest_history(people: Any, starts: Array, others: Any, weights: Array, start: int, stop: int, out: Array) -> None:
    """Smallest mean distance of each person's rows to those of one owner.

    For persons start..stop-1, whose rows are ``starts[i]..starts[i + 1] - 1`` of ``people``. Both have ``points`` (p,
    n) float32 and ``places`` (n,); ``owners`` (m,) of the others are numbered from 0. Each row counts with the nearest
    of the owner's rows whose place is at most one away: the sum over columns of weight min(|x - y|, 1) without its
    largest term. Where there is no such row, as if all columns differed.
    """
    p, m = others.points.shape
    far = weights.sum() - weights.max() if p else np.float32(0)
    sums, near = np.empty(others.owners.max() + 1), np.empty(others.owners.max() + 1, dtype=np.float32)
    total, largest = np.empty(BLOCK, dtype=np.float32), np.empty(BLOCK, dtype=np.float32)
    one = np.float32(1)
    for i in range(start, stop):
        sums[:] = 0.0
        for row in range(starts[i], starts[i + 1]):
            near[:] = far
            for first in range(0, m, BLOCK):
                n = min(BLOCK, m - first)
                total[:n], largest[:n] = np.float32(0), np.float32(0)
                for c in range(p):
                    mine, weight, its = people.points[c, row], weights[c], others.points[c, first : first + n]
                    for j in range(n):
                        gap = weight * min(abs(mine - its[j]), one)
                        total[j] += gap
                        largest[j] = max(largest[j], gap)
                for j in range(n):
                    if abs(others.places[first + j] - people.places[row]) <= 1:
                        owner = others.owners[first + j]
                        near[owner] = min(near[owner], total[j] - largest[j])
            sums += near
        out[i] = sums.min() / (starts[i + 1] - starts[i])


@compiled
def add_column(q: Any, i: int, r: Any, column: int, times: float, out: Array) -> None:
    """Add ``times`` the Gower distance in one column (numbers first) of query ``i`` to each reference, to ``out``."""
    p, n = r.numbers.shape[0], out.shape[0]
    if column >= p:
        codes, code, cost = r.codes[column - p], q.codes[column - p, i], times * r.weights[column - p]
        for j in range(n):
            out[j] += cost if codes[j] != code else 0.0
        return
    values, lacks, x = r.numbers[column], r.missing[column], q.numbers[column, i]
    if q.missing[column, i]:
        for j in range(n):
            out[j] += 0.0 if lacks[j] else times
    elif r.has_missing[column]:
        for j in range(n):
            out[j] += times if lacks[j] else times * abs(x - values[j])
    else:
        for j in range(n):
            out[j] += times * abs(x - values[j])


@compiled
def infer_left_out(
    q: Any, r: Any, secrets: Array, truth: Any, guess: Any, start: int, stop: int, ties: Array, hits: Array,
    first: Array
) -> None:  # fmt: skip
    """Guess the secrets of some queries, each from all other columns.

    All distances are those in all columns less that in one: they are added up once for each query, where a search for
    each secret would add up nearly all columns again.

    ``secrets`` (m,): positions of the secrets' columns. ``ties``, ``hits`` and ``first`` (n, m) as
    :class:`~hybrid.evaluation.engine.neighbours.Guesses`; they are 0 before.
    """
    columns, n = r.numbers.shape[0] + r.codes.shape[0], r.codes.shape[1]
    whole, rest = np.empty(n), np.empty(n)
    for i in range(start, stop):
        whole[:] = 0.0
        for column in range(columns):
            add_column(q, i, r, column, 1.0, whole)
        for s in range(len(secrets)):
            rest[:] = whole
            add_column(q, i, r, secrets[s], -1.0, rest)
            least = rest.min()
            limit = least + TIE * (1 + least)
            for j in range(n):
                if rest[j] <= limit:
                    right = agrees(truth, i, guess, j, s)
                    if ties[i, s] == 0:
                        first[i, s] = right
                    ties[i, s] += 1
                    hits[i, s] += right
