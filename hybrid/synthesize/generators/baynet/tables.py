"""Conditional tables of a Bayesian network, and rows drawn from them.

PrivBayes (Zhang et al., ACM TODS 42(4), 2017), Algorithm 1: one noisy joint table per column with all its parents; the
first columns share the table of the first column that has as many parents as there may be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hybrid.base.arrays import Array
from hybrid.synthesize.generators.baynet.structure import Codes, Node


def learn_tables(
    codes: Codes, nodes: Sequence[Node], rng: np.random.Generator, epsilon: float = math.inf
) -> tuple[Array, ...]:
    """Cumulative conditional probabilities of every node, shape (parent states, child states).

    Parameters
    ----------
    epsilon : float
        For all tables together; each measured table gets an equal part, as discrete Laplace noise for one replaced
        record. Counts below 0 become 0; a parent state without a count is uniform.
    """
    shared = _shared(nodes)
    measured = max(len(nodes) - shared, 1)
    first = _noisy(codes.counts(_columns(nodes[shared])), measured, epsilon, rng)
    found = []
    for at, node in enumerate(nodes):
        if at <= shared:
            counts = _summed(codes, first, nodes[shared], node)
        else:
            counts = _noisy(codes.counts(_columns(node)), measured, epsilon, rng)
        found.append(_cumulative(counts.reshape(-1, codes.sizes[node.child])))
    return tuple(found)


def draw_rows(
    sizes: Sequence[int], nodes: Sequence[Node], tables: Sequence[Array], n_rows: int, rng: np.random.Generator
) -> list[Array]:
    """Codes of new rows: one array (n_rows,), int32, per column."""
    drawn: dict[int, Array] = {}
    for node, table in zip(nodes, tables, strict=True):
        state = np.zeros(n_rows, dtype=np.int64)
        for parent in node.parents:
            state = state * sizes[parent] + drawn[parent]
        # One search for all rows: the table's rows one after the other, each a step higher.
        heights = (table + np.arange(len(table))[:, None]).reshape(-1)
        found = np.searchsorted(heights, state + rng.random(n_rows), side="right")
        drawn[node.child] = (found - state * table.shape[1]).clip(0, table.shape[1] - 1).astype(np.int32)
    return [drawn[at] for at in range(len(sizes))]


def _columns(node: Node) -> tuple[int, ...]:
    return (*node.parents, node.child)


def _shared(nodes: Sequence[Node]) -> int:
    """Position of the last node whose parents are all columns before it.

    Its table has those of the nodes before.
    """
    last = 0
    for at, node in enumerate(nodes):
        if len(node.parents) != at:
            break
        last = at
    return last


def _summed(codes: Codes, counts: Array, whole: Node, part: Node) -> Array:
    """Counts of a part of the columns of a joint table."""
    columns = _columns(whole)
    cells = counts.reshape([codes.sizes[at] for at in columns])
    kept = _columns(part)
    others = tuple(axis for axis, at in enumerate(columns) if at not in kept)
    left = [at for at in columns if at in kept]
    summed: Array = cells.sum(axis=others).transpose([left.index(at) for at in kept])
    return summed.reshape(-1)


def _noisy(counts: Array, measured: int, epsilon: float, rng: np.random.Generator) -> Array:
    """Counts with discrete Laplace noise, cut at 0.

    Its scale is 2 * measured / epsilon.
    """
    if math.isinf(epsilon):
        return counts
    stop = -math.expm1(-epsilon / (2 * measured))
    noise = rng.geometric(stop, len(counts)) - rng.geometric(stop, len(counts))
    noisy: Array = np.maximum(counts + noise, 0)
    return noisy


def _cumulative(counts: Array) -> Array:
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.full(counts.shape, 1 / counts.shape[1]), where=totals > 0)
    sums: Array = np.cumsum(shares, axis=1)
    sums[:, -1] = 1.0
    return sums
