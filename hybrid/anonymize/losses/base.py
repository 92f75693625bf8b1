"""What every loss offers to a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hybrid.anonymize.checker import Found
from hybrid.anonymize.lattice import Node
from hybrid.arrays import Array


@dataclass(frozen=True)
class Bound:
    """A lower bound for every node at or below some node.

    Parameters
    ----------
    terms : list of numpy.ndarray
        For each axis a value per level; the bound of a node combines the values at its levels.
    combine : callable
        From one value (or broadcastable array) per axis to the bound; does not fall when a value rises.
    """

    terms: list[Array]
    combine: Callable[[Sequence[Array]], Array]

    @classmethod
    def constant(cls, value: float, n_axes: int) -> Bound:
        """The same bound for every node."""
        return cls([np.zeros(0)] * n_axes, lambda _: np.asarray(value))

    def below(self, node: Node) -> Array:
        """Bounds of all nodes at or below ``node``; shape ``node + 1``, or () if constant."""
        n = len(node)
        pieces = [
            term[: position + 1].reshape([-1 if axis == at else 1 for axis in range(n)])
            for at, (term, position) in enumerate(zip(self.terms, node, strict=True))
        ]
        return np.asarray(self.combine(pieces))

    def between(self, low: Node, high: Node) -> float:
        """The least bound of the nodes from ``low`` to ``high``."""
        pieces = [
            term[first : last + 1].min(initial=np.inf) for term, first, last in zip(self.terms, low, high, strict=True)
        ]
        return float(self.combine(pieces))


@dataclass(frozen=True)
class Score:
    """The loss of one node, and of each quasi-identifier (empty for losses that are about classes only)."""

    value: float
    per_attribute: tuple[float, ...] = ()


class Loss(Protocol):
    """A loss to minimize over a lattice.

    Every loss obeys: where nothing is suppressed, it does not fall when a level rises.
    """

    def initial(self) -> Bound:
        """Bound of every node before anything is known of the suppressed records."""

    def below(self, found: Found) -> Bound:
        """Bound of every node at or below the one where this was found."""

    def above(self, found: Found) -> float:
        """Bound of every node at or above the one where this was found; -inf if it says nothing."""

    def score(self, node: Node, found: Found) -> Score:
        """The loss of a node."""
