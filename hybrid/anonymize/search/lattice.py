"""The lattice of generalizations: one level per quasi-identifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybrid.anonymize.search.distinct_rows import DistinctRows
from hybrid.base.arrays import Levels, Nodes

Node = tuple[int, ...]
"""Position on every axis of a lattice, which is no level number: an axis leaves levels out."""
LevelOf = dict[str, int]
"""Level number of each quasi-identifier in its hierarchy; :class:`Lattice` alone translates it to a node and back."""


@dataclass(frozen=True)
class Lattice:
    """All combinations of the levels that may be chosen."""

    names: tuple[str, ...]
    axes: tuple[Levels, ...]
    """Allowed levels of each quasi-identifier, ascending."""

    @classmethod
    def of(cls, records: DistinctRows, fixed: Mapping[str, int]) -> Lattice:
        """Levels of each hierarchy, or the fixed one.

        Without levels that join no values of the table that the level before keeps apart: their classes are the same,
        and no loss falls when a level rises.
        """
        columns = zip(records.names, records.hierarchies, records.occurring, strict=True)
        return cls(
            tuple(records.names),
            tuple(
                np.array([fixed[name]]) if name in fixed else _joining(hierarchy.node_of[occurring])
                for name, hierarchy, occurring in columns
            ),
        )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @property
    def size(self) -> int:
        size = 1
        for n in self.shape:
            size *= n
        return size

    @cached_property
    def top(self) -> Node:
        return tuple(n - 1 for n in self.shape)

    @property
    def bottom(self) -> Node:
        return (0,) * len(self.axes)

    def levels(self, node: Node) -> LevelOf:
        return {name: int(axis[at]) for name, axis, at in zip(self.names, self.axes, node, strict=True)}

    def node(self, levels: Mapping[str, int]) -> Node:
        """The node of these levels, the inverse of :meth:`levels`; a LookupError for a level that is left out."""
        found = [np.flatnonzero(axis == levels[name]) for name, axis in zip(self.names, self.axes, strict=True)]
        return tuple(int(positions[0]) for positions in found)

    def order(self, node: Node) -> tuple[int, tuple[int, ...]]:
        """Sort key among equally good nodes: the lower sum of levels, then the lexicographically smaller."""
        levels = tuple(self.levels(node).values())
        return sum(levels), levels


def _joining(node_of: Nodes) -> Levels:
    """Lowest level, and those with fewer nodes than before; ``node_of`` has shape (n_leaves, n_levels)."""
    if not len(node_of):
        return np.arange(1)
    ordered = np.sort(node_of, axis=0)
    n_nodes = 1 + np.count_nonzero(ordered[1:] != ordered[:-1], axis=0)
    return np.flatnonzero(np.append(True, n_nodes[1:] < n_nodes[:-1]))
