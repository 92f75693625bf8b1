"""Distances between mixed records: layout, scales, costs of differing categories, and blocks that searches skip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.encoding import Encoded, Encoding

TIE = 1e-9
"""Distances closer than this share of (1 + distance) are one distance: units must not break ties."""


class Columns(NamedTuple):
    """Records in the layout of the compiled loops.

    One contiguous row per column. ``numbers`` (p, n) float64, scaled, 0 where missing; ``screen`` the same in float32;
    ``missing`` (p, n) bool; ``has_missing`` (p,) bool; ``codes`` (q, n) int32, -1 where missing; ``weights`` (q,)
    float64, costs of a mismatch.
    """

    numbers: Array
    screen: Array
    missing: Array
    has_missing: Array
    codes: Array
    weights: Array

    def take(self, rows: Array) -> Columns:
        chosen = (np.ascontiguousarray(part[:, rows]) for part in (self.numbers, self.screen, self.missing, self.codes))
        numbers, screen, missing, codes = chosen
        return Columns(numbers, screen, missing, self.has_missing, codes, self.weights)

    def without(self, column: int) -> Columns:
        """All columns but one (numbers first); -1 for none."""
        p, q = len(self.numbers), len(self.codes)
        kept, others = np.arange(p) != column, np.arange(q) + p != column
        numbers, screen, missing = self.numbers[kept], self.screen[kept], self.missing[kept]
        return Columns(numbers, screen, missing, self.has_missing[kept], self.codes[others], self.weights[others])


class Space(NamedTuple):
    """Distance: its columns, scales of numbers, and costs of differing categories.

    Gower: sum of |x - y| / range and of mismatches (not divided by p; ranks are the same).
    E1: squared L2 of standardized numbers and one-hot categories, in which a mismatch costs 2.
    Missing to missing is 0, missing to a value is 1 for numbers and a mismatch for categories.
    """

    columns: Array
    """Positions in the encoding: continuous ones first."""
    center: Array
    scale: Array
    weights: Array
    """Of the categorical columns."""
    squared: bool

    def place(self, table: Encoded) -> Columns:
        p = len(self.center)
        raw = table.numbers[:, self.columns[:p]]
        missing = np.isnan(raw)
        numbers = np.where(missing, 0.0, (raw - self.center) / self.scale).T
        numbers = np.ascontiguousarray(numbers)
        missing = np.ascontiguousarray(missing.T)
        codes = np.ascontiguousarray(table.ranks[:, self.columns[p:]].T)
        return Columns(numbers, numbers.astype(np.float32), missing, missing.any(axis=1), codes, self.weights)


def gower(encoding: Encoding, columns: Array | None = None, tables: Sequence[Encoded] | None = None) -> Space:
    """Gower's distance over the columns, all by default.

    Ranges are over the tables (by default all of the encoding).
    """
    numeric, other = _kinds(encoding, columns)
    values = np.concatenate([table.numbers[:, numeric] for table in tables or encoding.tables])
    low, span = extent(values)
    return Space(np.concatenate([numeric, other]), low, span, np.ones(len(other)), False)


def euclidean(encoding: Encoding, columns: Array | None = None) -> Space:
    """E1: standardized numbers and one-hot categories, L2.

    Numbers are standardized by the first table's (train's) mean and standard deviation (ddof 0).
    """
    numeric, other = _kinds(encoding, columns)
    values = encoding.tables[0].numbers[:, numeric]
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    center = np.where(known, values, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(known, values - center, 0.0) ** 2).sum(axis=0) / count)
    return Space(
        np.concatenate([numeric, other]), center, np.where(spread > 0, spread, 1.0), np.full(len(other), 2.0), True
    )


def extent(values: Array) -> tuple[Array, Array]:
    """Least value and range of every column.

    Missing values are left out; 0 and 1 where there is none.
    """
    known = ~np.isnan(values)
    low = np.min(values, axis=0, initial=np.inf, where=known)
    span = np.max(values, axis=0, initial=-np.inf, where=known) - low
    flat = ~(np.isfinite(span) & (span > 0))
    return np.where(np.isfinite(low), low, 0.0), np.where(flat, 1.0, span)


def _kinds(encoding: Encoding, columns: Array | None) -> tuple[Array, Array]:
    chosen = np.arange(len(encoding.columns)) if columns is None else columns
    return chosen[encoding.continuous[chosen]], chosen[~encoding.continuous[chosen]]


def magnitude(*tables: Columns) -> float:
    """Largest absolute coordinate, at least 1.

    The rounding of the float32 screen scales with it.
    """
    return float(max([1.0, *(np.abs(table.numbers).max(initial=0.0) for table in tables)]))


LEAF = 32
"""Records of a leaf, which are compared at once."""
NODE = 64
"""Leaves of a node, whose boxes are compared at once."""
MASK = 31
"""Categories of a leaf are kept as bits of their codes, modulo one more than this."""


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
    """The records in this order, and their blocks."""
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
