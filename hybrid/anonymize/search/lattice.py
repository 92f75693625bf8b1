"""The lattice of generalizations: one level per quasi-identifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybrid.anonymize.search.distinct_rows import DistinctRows
from hybrid.base.arrays import Levels

Node = tuple[int, ...]
"""Position on every axis of a lattice."""


@dataclass(frozen=True)
class Lattice:
    """All combinations of the levels that may be chosen.

    Parameters
    ----------
    axes : tuple of numpy.ndarray
        Allowed levels of each quasi-identifier, ascending.
    """

    axes: tuple[Levels, ...]

    @classmethod
    def of(cls, records: DistinctRows, fixed: Mapping[str, int]) -> Lattice:
        """All levels of each hierarchy, or the fixed one."""
        return cls(
            tuple(
                np.array([fixed[name]]) if name in fixed else np.arange(hierarchy.n_levels)
                for name, hierarchy in zip(records.names, records.hierarchies, strict=True)
            )
        )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of levels on each axis."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of nodes."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @cached_property
    def top(self) -> Node:
        """The node of the highest levels."""
        return tuple(n - 1 for n in self.shape)

    @property
    def bottom(self) -> Node:
        """The node of the lowest levels."""
        return (0,) * len(self.axes)

    def levels(self, node: Node) -> Node:
        """The level of each quasi-identifier at a node."""
        return tuple(int(axis[at]) for axis, at in zip(self.axes, node, strict=True))

    def order(self, node: Node) -> tuple[int, Node]:
        """Sort key among equally good nodes.

        The lower sum of levels, then the lexicographically smaller.
        """
        levels = self.levels(node)
        return sum(levels), levels
