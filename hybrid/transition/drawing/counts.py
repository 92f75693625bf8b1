"""Noisy counts over a hierarchy's values, and draws from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.transition.drawing.domain import Domain


@dataclass(frozen=True)
class NoisyTable:
    """Non-negative weights of (group, unit) cells, flattened.

    Parameters
    ----------
    cumulative : numpy.ndarray, shape (n_groups * n_units + 1,), float64
        Sums of the weights before each cell, from 0.
    """

    cumulative: Array


@dataclass(frozen=True)
class Units:
    """Cells of a table of counts: values, or intervals of level 1.

    Parameters
    ----------
    domain : Domain
        Of the column.
    level : int
        The level of the hierarchy of the units.
    nodes : numpy.ndarray, shape (n_units,), int32
        The node of each unit, in tree order.
    starts : numpy.ndarray, shape (n_units,), int64
        The first rank of each unit.
    """

    domain: Domain
    level: int
    nodes: Array
    starts: Array

    def __len__(self) -> int:
        """Number of units."""
        return len(self.nodes)

    def codes(self, ranks: Array) -> Array:
        """The unit of each rank, 0..len-1; int64."""
        codes: Array = np.searchsorted(self.starts, ranks, side="right") - 1
        return codes

    def draw(self, table: NoisyTable, groups: Array, nodes: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Unit below each node, drawn by the weights of the row's group.

        Parameters
        ----------
        table : NoisyTable
            Weights.
        groups, nodes : numpy.ndarray, shape (n,)
            Group (-1: none) and label of each row.
        rng : numpy.random.Generator
            Draws the units.

        Returns
        -------
        targets : numpy.ndarray, shape (n,), int32
            The drawn unit's node; the label itself where it is finer than a unit, or where nothing has weight.
        served : numpy.ndarray, shape (n,), bool
            Where the table had any weight.
        """
        first = self.codes(self.domain.first[nodes])
        last = self.codes(self.domain.first[nodes] + self.domain.n_leaves[nodes] - 1)
        offset = np.maximum(groups, 0) * len(self)
        low, high = table.cumulative[offset + first], table.cumulative[offset + last + 1]
        served = (groups >= 0) & (high > low)
        at = np.searchsorted(table.cumulative, low + rng.random(len(nodes)) * (high - low), side="right") - 1
        unit = np.clip(at - offset, first, last)
        drawn = self.nodes[unit]
        whole = served & (self.domain.hierarchy.level_of()[nodes] >= self.level)
        return np.where(whole, drawn, nodes).astype(np.int32), served


def units_of(domain: Domain) -> Units:
    """The units of a column.

    Its leaves, or the lowest intervals of decimals and dates.
    """
    level = 0 if domain.grid is None else min(1, domain.hierarchy.n_levels - 1)
    by_rank = domain.hierarchy.node_of[domain.order, level]
    starts = np.flatnonzero(np.append(True, by_rank[1:] != by_rank[:-1])) if len(by_rank) else np.empty(0, np.int64)
    return Units(domain, level, by_rank[starts], starts)
