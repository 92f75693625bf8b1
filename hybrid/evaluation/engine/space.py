"""Distances between mixed records: layout, scales and costs of differing categories."""

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
    """Gower's distance over the columns (all by default), with ranges over the tables (by default all)."""
    numeric, other = _kinds(encoding, columns)
    values = np.concatenate([table.numbers[:, numeric] for table in tables or encoding.tables])
    low, span = extent(values)
    return Space(np.concatenate([numeric, other]), low, span, np.ones(len(other)), False)


def euclidean(encoding: Encoding, columns: Array | None = None) -> Space:
    """E1: standardized numbers and one-hot categories, L2.

    Numbers are standardized by the first table's (train's) mean and standard deviation (ddof 0).
    """
    numeric, other = _kinds(encoding, columns)
    center, scale = standard(encoding.tables[0].numbers[:, numeric])
    return Space(np.concatenate([numeric, other]), center, scale, np.full(len(other), 2.0), True)


def standard(values: Array) -> tuple[Array, Array]:
    """Mean and standard deviation (ddof 0) of every column's known values; 0 and 1 where there is none."""
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    center = np.where(known, values, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(known, values - center, 0.0) ** 2).sum(axis=0) / count)
    return center, np.where(spread > 0, spread, 1.0)


def extent(values: Array) -> tuple[Array, Array]:
    """Least value and range of every column's known values; 0 and 1 where there is none."""
    known = ~np.isnan(values)
    low = np.min(values, axis=0, initial=np.inf, where=known)
    span = np.max(values, axis=0, initial=-np.inf, where=known) - low
    flat = ~(np.isfinite(span) & (span > 0))
    return np.where(np.isfinite(low), low, 0.0), np.where(flat, 1.0, span)


def _kinds(encoding: Encoding, columns: Array | None) -> tuple[Array, Array]:
    chosen = np.arange(len(encoding.columns)) if columns is None else columns
    return chosen[encoding.continuous[chosen]], chosen[~encoding.continuous[chosen]]


def magnitude(*tables: Columns) -> float:
    """Largest absolute coordinate, at least 1, with which the rounding of the float32 screen scales."""
    return float(max([1.0, *(np.abs(table.numbers).max(initial=0.0) for table in tables)]))
