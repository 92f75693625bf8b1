"""Records sorted so that searches skip whole blocks that are too far."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.space import Columns

LEAF = 32
"""Records of a leaf, which are compared at once."""
NODE = 64
"""Leaves of a node, whose boxes are compared at once."""
MASK = 31
"""Categories of a leaf are kept as bits of their codes, modulo one more than this."""


# It stays in this module: compiled loops on disk name its module, and those of earlier versions would fail to load.
class Blocks(NamedTuple):
    """Sorted records in leaves, and the boxes around leaves and nodes.

    ``order`` (n,) int64: the row at each place. ``values`` (leaves, p + q, LEAF) float32: numbers, NaN where missing,
    then codes. Of leaves, shape (nodes, p or q, NODE), and with ``top_`` of nodes, shape (p or q, nodes): ``low`` and
    ``high``, the extent of the numbers; ``cap``, 1 where one is missing (what is missing is no farther) and inf
    elsewhere; ``seen`` uint32, categories as bits.
    """

    order: Array
    values: Array
    low: Array
    high: Array
    cap: Array
    seen: Array
    top_low: Array
    top_high: Array
    top_cap: Array
    top_seen: Array


def sorted_order(records: Columns, squared: bool) -> Array:
    """Rows in an order that keeps near records together, shape (n,), int64.

    That of the leaves of a k-d tree (Bentley 1975) with categories: every part is cut at the median of the column in
    which two of its records lie farthest apart on average. O(n log n) time.
    """
    from hybrid.evaluation.engine import block_kernels

    order = np.arange(records.codes.shape[1], dtype=np.int64)
    block_kernels.sort(records, squared, order)
    return order


def blocks(records: Columns, order: Array) -> tuple[Columns, Blocks]:
    from hybrid.evaluation.engine import block_kernels

    n, p, q = len(order), len(records.numbers), len(records.codes)
    leaves = -(-n // LEAF)
    nodes = -(-leaves // NODE)
    placed = records.take(order)

    def box(value: float, count: int) -> tuple[Array, Array]:
        return np.full((nodes, count, NODE), value, np.float32), np.full((count, nodes), value, np.float32)

    (low, top_low), (high, top_high), (cap, top_cap) = (box(value, p) for value in (np.inf, -np.inf, np.inf))
    values = np.zeros((leaves, p + q, LEAF), dtype=np.float32)
    seen, top_seen = np.zeros((nodes, q, NODE), dtype=np.uint32), np.zeros((q, nodes), dtype=np.uint32)
    found = Blocks(order, values, low, high, cap, seen, top_low, top_high, top_cap, top_seen)
    block_kernels.fill(placed, found)
    return placed, found
