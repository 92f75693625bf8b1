"""Grid of the values that a column can write inside an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.hierarchy import Hierarchy
from hybrid.table import Column, Kind

MOST_DECIMALS = 9
"""Numbers that need more digits after the point are drawn without steps."""
_MICROSECONDS = {"%f": 1, "%S": 10**6, "%T": 10**6, "%s": 10**6, "%M": 60 * 10**6, "%H": 3600 * 10**6}
_DAY = 24 * 3600 * 10**6
_EXACT = 2**53


@dataclass(frozen=True)
class Grid:
    """Evenly spaced values inside the bounds of every node.

    Parameters
    ----------
    kind : Kind
        Integer, decimal, date or datetime.
    decimals : int or None
        Digits after the point of a decimal column, 0 for integers; None for values without steps, and for dates.
    unit : int
        Microseconds from one date to the next; 1 for decimals.
    low, high : numpy.ndarray, shape (n_nodes,), float64 (no steps) or int64
        First and last step of each node (both inclusive), in units of ``10**-decimals`` or of ``unit``.
    usable : numpy.ndarray, shape (n_nodes,), bool
        Whether a node is an interval that holds a step, and no value of another node lies between its bounds.
        Other nodes (a list of single values) are drawn from by leaf.
    """

    kind: Kind
    decimals: int | None
    unit: int
    low: Array
    high: Array
    usable: Array

    @property
    def dtype(self) -> np.dtype[Any]:
        """Float64 for numbers (integers too), datetime64[us] for dates and datetimes."""
        return np.dtype("datetime64[us]" if self.kind.is_temporal else "float64")

    @property
    def step(self) -> float:
        """Distance between neighbouring values on the domain's axis; 0 without steps."""
        if self.low.dtype == np.float64:
            return 0.0
        return float(self.unit) if self.decimals is None else 10.0**-self.decimals

    @property
    def n_values(self) -> Array:
        """Number of values inside each node; shape (n_nodes,), float64.

        inf without steps, 1 for a single point.
        """
        if self.low.dtype == np.float64:
            inside: Array = np.where(self.high > self.low, np.inf, 1.0)
            return inside
        counts: Array = (self.high - self.low + 1).astype(np.float64)
        return counts

    def uniform(self, nodes: Array, rng: np.random.Generator) -> Array:
        """A value inside each node, all steps equally likely; float64 or datetime64[us]."""
        low, high, part = self.low[nodes], self.high[nodes], rng.random(len(nodes))
        if self.low.dtype == np.float64:
            inside: Array = np.clip(low + part * (high - low), low, high)
            return inside
        return self._values(low + np.floor(part * (high - low + 1)).astype(np.int64))

    def nearest(self, nodes: Array, positions: Array) -> Array:
        """Value inside each node nearest to a position.

        Positions are numbers, or microseconds since 1970.
        """
        low, high = self.low[nodes], self.high[nodes]
        if self.low.dtype == np.float64:
            inside: Array = np.clip(positions, low, high)
            return inside
        steps = positions * 10.0**self.decimals if self.decimals is not None else positions / self.unit
        return self._values(np.clip(np.floor(steps + 0.5), low, high).astype(np.int64))

    def _values(self, steps: Array) -> Array:
        if self.decimals is not None:
            return np.round(steps / 10.0**self.decimals, self.decimals)
        dates: Array = (steps * self.unit).astype("datetime64[us]")
        return dates


def has_grid(hierarchy: Hierarchy) -> bool:
    """True if values between the leaves can belong to a node.

    Of decimals and dates always; of integers where the hierarchy is one of intervals (not all integers are listed)
    and float64 holds them all.
    """
    if hierarchy.kind is Kind.INTEGER:
        edges = [hierarchy.low, hierarchy.high]
        small = all(edge.min(initial=0) > -_EXACT and edge.max(initial=0) < _EXACT for edge in edges)
        return hierarchy.intervals and small
    return hierarchy.kind is Kind.DECIMAL or hierarchy.kind.is_temporal


def grid_of(column: Column, hierarchy: Hierarchy, values: Array, n_values: Array) -> Grid:
    """Grid of a decimal or temporal column over its hierarchy's nodes.

    Parameters
    ----------
    column : Column
        Its format gives the step: 1 for integers, the last decimal, or the smallest unit of the date format (a day
        for dates). Without declared decimals, as many as the hierarchy's values need; no steps beyond
        :data:`MOST_DECIMALS`.
    hierarchy : Hierarchy
        Bounds of the nodes.
    values : numpy.ndarray, shape (n,), float64
        Positions of the leaves without the missing one.
    n_values : numpy.ndarray, shape (n_nodes,), int64
        Number of non-missing leaves below each node.
    """
    ordered = np.sort(values)
    low: Array
    high: Array
    if column.kind.is_temporal:
        unit = _unit(column)
        # Whole microseconds stay exact in int64; float64 carries them exactly only until the year 2255.
        bounds = [edge.astype("datetime64[us]").astype(np.int64) for edge in (hierarchy.low, hierarchy.high)]
        low, high = -(-bounds[0] // unit), bounds[1] // unit
        decimals, edges = None, [edge.astype(np.float64) for edge in bounds]
    else:
        unit, edges = 1, [hierarchy.low.astype(np.float64), hierarchy.high.astype(np.float64)]
        decimals = _decimals(column, ordered, edges)
        low, high = edges if decimals is None else _steps(edges, decimals)
    inside = np.searchsorted(ordered, edges[1], side="right") - np.searchsorted(ordered, edges[0], side="left")
    usable = (n_values > 0) & (inside == n_values) & (high >= low)
    return Grid(column.kind, decimals, unit, low, high, usable)


def _unit(column: Column) -> int:
    if column.kind is Kind.DATE:
        return _DAY
    units = [unit for code, unit in _MICROSECONDS.items() if code in column.format.date_format]
    return min(units, default=_DAY)


def _decimals(column: Column, values: Array, edges: list[Array]) -> int | None:
    wanted = 0 if column.kind is Kind.INTEGER else column.format.decimals
    if wanted is None:
        fits = (d for d in range(MOST_DECIMALS + 1) if np.array_equal(np.round(values, d), values))
        wanted = next(fits, None)
    largest = max((float(np.abs(edge).max()) for edge in edges if len(edge)), default=0.0)
    exact = wanted is not None and wanted <= MOST_DECIMALS and largest * 10.0**wanted < _EXACT
    return wanted if exact else None


def _steps(edges: list[Array], decimals: int) -> list[Array]:
    """First and last step inside the bounds, exact to the last bit."""
    low, high = (np.round(edge * 10.0**decimals) for edge in edges)
    low += np.round(low / 10.0**decimals, decimals) < edges[0]
    high -= np.round(high / 10.0**decimals, decimals) > edges[1]
    return [low.astype(np.int64), high.astype(np.int64)]
