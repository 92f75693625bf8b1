"""Domain of one quasi-identifier: the values below each node, which can be drawn.

Cells
-----
While values are drawn, a column is one array of *cells*. For integers, booleans and categories a cell is a
hierarchy leaf (int32; the missing leaf is missing): what is restored is always a value of the domain. For
decimals, dates and datetimes, and for integers whose hierarchy is one of intervals, a cell is the value itself
(float64 or datetime64[us]; NaN or NaT is missing), because every value inside an interval belongs to it, whether a
record has it or not. :class:`Grid` has the values that such a column can write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Array
from hybrid.hierarchy import Hierarchy, LabelTable
from hybrid.table import Column, Kind, Table
from hybrid.table.codings import decimals_of, exact_numbers, step_of

MOST_DECIMALS = 9
"""Numbers that need more digits after the point are drawn without steps."""
_EXACT = 2**53


@dataclass(frozen=True)
class Grid:
    """Evenly spaced values inside the bounds of every node."""

    kind: Kind
    """Integer, decimal, date or datetime."""
    decimals: int | None
    """Digits after the point of a decimal column, 0 for integers; None for values without steps, and for dates."""
    unit: int
    """Microseconds from one date to the next; 1 for decimals."""
    low: Array
    high: Array
    """First and last step of each node (both inclusive), in units of ``10**-decimals`` or of ``unit``; shape
    (n_nodes,), float64 (no steps) or int64."""
    usable: Array
    """Whether a node is an interval that holds a step, and no value of another node lies between its bounds. Other
    nodes (a list of single values) are drawn from by leaf; shape (n_nodes,), bool."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Float64 for numbers (integers too), datetime64[us] for dates and datetimes."""
        return np.dtype("float64" if self.kind.is_number else self.kind.type.plain_dtype)

    @property
    def step(self) -> float:
        """Distance between neighbouring values on the domain's axis; 0 without steps."""
        if self.low.dtype == np.float64:
            return 0.0
        return float(self.unit) if self.decimals is None else 10.0**-self.decimals

    @property
    def n_values(self) -> Array:
        """Number of values inside each node; shape (n_nodes,), float64; inf without steps, 1 for a single point."""
        if self.low.dtype == np.float64:
            return np.where(self.high > self.low, np.inf, 1.0)
        return (self.high - self.low + 1).astype(np.float64)

    def uniform(self, nodes: Array, rng: np.random.Generator) -> Array:
        """A value inside each node, all steps equally likely; float64 or datetime64[us]."""
        low, high, part = self.low[nodes], self.high[nodes], rng.random(len(nodes))
        if self.low.dtype == np.float64:
            return np.asarray(np.clip(low + part * (high - low), low, high))
        return self._values(low + np.floor(part * (high - low + 1)).astype(np.int64))

    def nearest(self, nodes: Array, positions: Array) -> Array:
        """Value inside each node nearest to a position: a number, or microseconds since 1970."""
        low, high = self.low[nodes], self.high[nodes]
        if self.low.dtype == np.float64:
            return np.clip(positions, low, high)
        steps = positions * 10.0**self.decimals if self.decimals is not None else positions / self.unit
        return self._values(np.clip(np.floor(steps + 0.5), low, high).astype(np.int64))

    def _values(self, steps: Array) -> Array:
        if self.decimals is not None:
            return np.round(steps / 10.0**self.decimals, self.decimals)
        return (steps * self.unit).astype("datetime64[us]")


def has_grid(hierarchy: Hierarchy) -> bool:
    """True if values between the leaves can belong to a node.

    Of decimals, dates and times always; of integers where the hierarchy is one of intervals (not all integers are
    listed) and float64 holds them all.
    """
    if hierarchy.kind is Kind.INTEGER:
        edges = [hierarchy.low, hierarchy.high]
        small = all(edge.min(initial=0) > -_EXACT and edge.max(initial=0) < _EXACT for edge in edges)
        return hierarchy.intervals and small
    return hierarchy.kind.is_continuous


def grid_of(column: Column, hierarchy: Hierarchy, values: Array, n_values: Array) -> Grid:
    """Grid of a decimal or temporal column over its hierarchy's nodes.

    The column's format gives the step: 1 for integers, the last decimal, or the smallest unit of the date format (a day
    for dates). Without declared decimals, as many as the hierarchy's values need; no steps beyond
    :data:`MOST_DECIMALS`. ``values`` are the positions of the leaves, ``n_values`` their number below each node, both
    without the missing one.
    """
    ordered = np.sort(values)
    low: Array
    high: Array
    if not column.kind.is_number:
        unit = int(step_of(column))
        bounds = [exact_numbers(edge) for edge in (hierarchy.low, hierarchy.high)]
        low, high = -(-bounds[0] // unit), bounds[1] // unit
        decimals, edges = None, [edge.astype(np.float64) for edge in bounds]
    else:
        unit, edges = 1, [hierarchy.low.astype(np.float64), hierarchy.high.astype(np.float64)]
        decimals = _decimals(column, ordered, edges)
        low, high = edges if decimals is None else _steps(edges, decimals)
    inside = np.searchsorted(ordered, edges[1], side="right") - np.searchsorted(ordered, edges[0], side="left")
    usable = (n_values > 0) & (inside == n_values) & (high >= low)
    return Grid(column.kind, decimals, unit, low, high, usable)


def _decimals(column: Column, values: Array, edges: list[Array]) -> int | None:
    wanted = decimals_of(column)
    if wanted is None:
        fits = (d for d in range(MOST_DECIMALS + 1) if np.array_equal(np.round(values, d), values))
        wanted = next(fits, None)
    largest = max((float(np.abs(edge).max()) for edge in edges if len(edge)), default=0.0)
    exact = wanted is not None and wanted <= MOST_DECIMALS and largest * 10.0**wanted < _EXACT
    return wanted if exact else None


def _steps(edges: list[Array], decimals: int) -> list[Array]:
    low, high = (np.round(edge * 10.0**decimals) for edge in edges)
    low += np.round(low / 10.0**decimals, decimals) < edges[0]
    high -= np.round(high / 10.0**decimals, decimals) > edges[1]
    return [low.astype(np.int64), high.astype(np.int64)]


@dataclass(frozen=True)
class Domain:
    """Leaves of one hierarchy in *tree order*: those below a node are adjacent."""

    column: Column
    """Kind and format of the column."""
    hierarchy: Hierarchy
    """The column's hierarchy."""
    dtype: object
    """dtype of the original column, whose categories come first in the restored one."""
    order: Array
    """The leaf at each rank; siblings in the order of their least value, the missing leaf last; shape (n_leaves,),
    int64."""
    rank: Array
    """The rank of each leaf: the inverse of ``order``; shape (n_leaves,), int64."""
    first: Array
    n_leaves: Array
    n_values: Array
    """First rank below a node, number of leaves below it, and the same without the missing leaf; shape (n_nodes,),
    int64."""
    axis: Array
    """Position of each leaf on the line: numbers themselves, dates in microseconds since 1970; NaN for the missing
    leaf. Empty for categories and booleans; shape (n_leaves,), float64."""
    grid: Grid | None
    """For columns whose cells are values: those a node can take between its bounds."""

    @property
    def kind(self) -> Kind:
        return self.column.kind

    def cells(self, leaves: Array) -> Array:
        """Cells that hold the values of these leaves, in their shape and order."""
        if self.grid is None:
            return leaves.astype(np.int32, copy=False)
        values: Array = self.hierarchy.leaves[leaves].astype(self.grid.dtype, copy=False)
        if self.hierarchy.missing_leaf is not None:
            values[leaves == self.hierarchy.missing_leaf] = _missing_value(self.kind)
        return values

    def uniform_leaves(self, nodes: Array, rng: np.random.Generator) -> Array:
        """A leaf below each node, all equally likely; the missing leaf only where nothing else is below."""
        offset = rng.random(len(nodes)) * np.maximum(self.n_values, 1)[nodes]
        return np.asarray(self.order[self.first[nodes] + offset.astype(np.int64)])

    def uniform(self, nodes: Array, rng: np.random.Generator) -> Array:
        """Cell below each node, uniform over the values it could contain.

        Integers: over the integers below the node. Booleans and categories: over the leaves. Decimals: over the
        numbers with the column's decimals inside the node's bounds. Dates: over the days; datetimes: over the units
        of the column's format. A root label never gives missing, unless the domain holds nothing else.
        """
        if self.grid is None:
            return self.uniform_leaves(nodes, rng).astype(np.int32)
        on_grid = self.grid.usable[nodes]
        if on_grid.all():
            return self.grid.uniform(nodes, rng)
        cells = self.cells(self.uniform_leaves(nodes, rng))
        cells[on_grid] = self.grid.uniform(nodes[on_grid], rng)
        return cells

    def n_possible(self, nodes: Array) -> Array:
        """Number of values that :meth:`uniform` chooses from; float64, inf on a grid without steps."""
        by_leaf = np.maximum(self.n_values, 1)[nodes].astype(np.float64)
        if self.grid is None:
            return by_leaf
        return np.where(self.grid.usable[nodes], self.grid.n_values[nodes], by_leaf)

    def nearest(self, nodes: Array, positions: Array) -> Array:
        """Cell below each node nearest to a finite position on :attr:`axis`; of two, the greater.

        Nodes have a value below them; positions may lie outside of their bounds.
        """
        if self.grid is None:
            return self._nearest_leaves(nodes, positions).astype(np.int32)
        on_grid = self.grid.usable[nodes]
        if on_grid.all():
            return self.grid.nearest(nodes, positions)
        cells = np.empty(len(nodes), dtype=self.grid.dtype)
        cells[on_grid] = self.grid.nearest(nodes[on_grid], positions[on_grid])
        cells[~on_grid] = self.cells(self._nearest_leaves(nodes[~on_grid], positions[~on_grid]))
        return cells

    def _nearest_leaves(self, nodes: Array, positions: Array) -> Array:
        """One sorted search per distinct node, whose leaves need not be neighbours on the line."""
        leaves = np.empty(len(nodes), dtype=np.int64)
        by_node = np.argsort(nodes, kind="stable")
        distinct, starts = np.unique(nodes[by_node], return_index=True)
        for node, rows in zip(distinct, np.split(by_node, starts[1:]), strict=False):  # no rows: one empty part
            below = self.order[self.first[node] : self.first[node] + self.n_values[node]]
            below = below[np.argsort(self.axis[below], kind="stable")]
            between = (self.axis[below][1:] + self.axis[below][:-1]) / 2
            leaves[rows] = below[np.searchsorted(between, positions[rows], side="right")]
        return leaves

    def series(self, cells: Array) -> pd.Series:
        """The column of these cells, in the dtype of its kind."""
        if self.grid is not None:
            return pd.Series(cells).astype("Int64") if self.kind is Kind.INTEGER else pd.Series(cells)
        missing_leaf = self.hierarchy.missing_leaf
        missing = np.zeros(len(cells), dtype=bool) if missing_leaf is None else cells == missing_leaf
        if self.kind is Kind.INTEGER:
            return pd.Series(pd.arrays.IntegerArray(self.hierarchy.leaves[cells], missing))
        if self.kind is Kind.BOOLEAN:
            return pd.Series(pd.arrays.BooleanArray(self.hierarchy.leaves[cells], missing))
        return self._categories(cells)

    def _categories(self, cells: Array) -> pd.Series:
        """Categories of the original column, then additional drawn ones of the domain."""
        known = list(getattr(self.dtype, "categories", []))
        position = {value: code for code, value in enumerate(known)}
        drawn = np.bincount(cells, minlength=self.hierarchy.n_leaves) > 0
        code_of = np.full(self.hierarchy.n_leaves, -1, dtype=np.int32)
        for leaf, value in enumerate(self.hierarchy.leaves[: self.hierarchy.missing_leaf]):
            if value in position or drawn[leaf]:
                code_of[leaf] = position.setdefault(value, len(position))
        return pd.Series(pd.Categorical.from_codes(code_of[cells], categories=pd.Index(list(position), dtype=object)))


def domain_of(column: Column, hierarchy: Hierarchy, dtype: object) -> Domain:
    """Put a hierarchy's leaves into tree order."""
    n = hierarchy.n_leaves
    missing = np.zeros(n, dtype=bool)
    if hierarchy.missing_leaf is not None:
        missing[hierarchy.missing_leaf] = True
    axis = _axis(hierarchy, missing)
    by_value = np.argsort(axis, kind="stable") if len(axis) else np.arange(n)
    place = np.empty(n, dtype=np.int64)
    place[by_value] = np.arange(n)
    order = np.lexsort([place, *_least_place(hierarchy, place), missing])
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    first = np.full(hierarchy.n_nodes, n, dtype=np.int64)
    n_leaves = np.zeros(hierarchy.n_nodes, dtype=np.int64)
    n_values = np.zeros(hierarchy.n_nodes, dtype=np.int64)
    for at in range(hierarchy.n_levels):
        nodes = hierarchy.node_of[:, at]
        np.minimum.at(first, nodes, rank)
        present = np.unique(nodes)
        n_leaves[present] = np.bincount(nodes, minlength=hierarchy.n_nodes)[present]
        n_values[present] = np.bincount(nodes[~missing], minlength=hierarchy.n_nodes)[present]
    grid = grid_of(column, hierarchy, axis[~missing], n_values) if has_grid(hierarchy) else None
    return Domain(column, hierarchy, dtype, order, rank, first, n_leaves, n_values, axis, grid)


def domains_of(anonymized: AnonymizedTable) -> dict[str, Domain]:
    """The domain of every quasi-identifier, in their order."""
    frame = anonymized.originals.frame
    return {
        name: domain_of(anonymized.labels.schema[name], anonymized.hierarchies[name], frame[name].dtype)
        for name in anonymized.quasi_identifiers
    }


def assemble(labels: LabelTable, restored: dict[str, pd.Series]) -> Table:
    """The records with restored quasi-identifiers between their untouched other columns."""
    columns = {name: restored[name] if name in restored else labels.rest.frame[name] for name in labels.schema.names}
    return Table(pd.DataFrame(columns, index=pd.RangeIndex(len(labels))), labels.schema, labels.rest.named_persons)


def _missing_value(kind: Kind) -> object:
    return np.nan if kind.is_number else np.datetime64("NaT")


def _axis(hierarchy: Hierarchy, missing: Array) -> Array:
    if not hierarchy.kind.is_continuous:
        return np.empty(0)
    axis: Array = exact_numbers(hierarchy.leaves).astype(np.float64)
    axis[missing] = np.nan
    return axis


def _least_place(hierarchy: Hierarchy, place: Array) -> list[Array]:
    """Least place in value order of each leaf's node, for each level from the values up to the root."""
    keys = []
    for at in range(hierarchy.n_levels):
        nodes = hierarchy.node_of[:, at]
        least = np.full(hierarchy.n_nodes, len(place), dtype=np.int64)
        np.minimum.at(least, nodes, place)
        keys.append(least[nodes])
    return keys
