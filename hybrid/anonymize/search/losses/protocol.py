"""Protocol of information losses: scores and lower bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hybrid.anonymize.search.lattice import Node
from hybrid.anonymize.search.node_check import Checker, NodeOutcome
from hybrid.base.arrays import Codes, Counts, Numbers


class Bound(Protocol):
    """A lower bound for every node at or below some node."""

    def all(self, shape: Node) -> Numbers:
        """Bounds of all nodes of a lattice below a top node; shape ``shape``, float64."""

    def lift(self, bounds: Numbers, node: Node, most: float) -> None:
        """Raise the bounds at or below ``node`` that are at most ``most``, in place.

        ``bounds`` has one axis per column and is contiguous.
        """

    def between(self, low: Node, high: Node) -> float:
        """The least bound of the nodes from ``low`` to ``high``."""


@dataclass(frozen=True)
class Constant:
    """The same bound for every node."""

    value: float

    def all(self, shape: Node) -> Numbers:
        return np.full(shape, self.value)

    def lift(self, bounds: Numbers, node: Node, most: float) -> None:  # noqa: ARG002
        region = bounds[tuple(slice(0, position + 1) for position in node)]
        np.maximum(region, self.value, out=region)

    def between(self, low: Node, high: Node) -> float:  # noqa: ARG002
        return self.value


@dataclass(frozen=True)
class Terms:
    """A bound that joins one term per column."""

    values: Numbers
    """A term per position of each axis, one axis after the other."""
    starts: Codes
    """Where each axis starts in ``values``; shape (n_axes + 1,), int64."""
    root: float
    """0: the terms are added up. Else: (product of (1 + term)) ^ root - 1."""

    def all(self, shape: Node) -> Numbers:
        return self._rooted(self._joined([n - 1 for n in shape]))

    def lift(self, bounds: Numbers, node: Node, most: float) -> None:
        region = bounds[tuple(slice(0, position + 1) for position in node)]
        if most == np.inf:
            np.maximum(region, self._rooted(self._joined(node)), out=region)
            return
        chosen = region <= most
        region[chosen] = np.maximum(region[chosen], self._rooted(self._joined(node)[chosen]))

    def _joined(self, node: Sequence[int]) -> Numbers:
        """Products of (1 + term), or sums of terms, of all nodes at or below a node."""
        halves = []
        for axes in np.array_split(np.arange(len(node)), 2):
            joined: Numbers = np.ones(1) if self.root else np.zeros(1)
            for axis in axes:
                terms = self.values[self.starts[axis] : self.starts[axis] + node[axis] + 1]
                joined = np.multiply.outer(joined, 1 + terms) if self.root else np.add.outer(joined, terms)
                joined = joined.reshape(-1)
            halves.append(joined)
        whole: Numbers = np.multiply.outer(*halves) if self.root else np.add.outer(*halves)
        return whole.reshape([last + 1 for last in node])

    def _rooted(self, joined: Numbers) -> Numbers:
        rooted: Numbers = joined**self.root - 1 if self.root else joined
        return rooted

    def between(self, low: Node, high: Node) -> float:
        first, last = self.starts[:-1] + low, self.starts[:-1] + high
        least = np.minimum.reduceat(np.append(self.values, np.inf), np.stack([first, last + 1], axis=1).reshape(-1))[
            ::2
        ]
        return float(np.prod(least + 1) ** self.root - 1 if self.root else least.sum())


@dataclass(frozen=True)
class RowCosts:
    """Lower bound of a loss that grows with each suppressed row.

    The bound of a node joins the terms of its positions, each raised by the suppressed rows, as :class:`Terms` does.
    """

    terms: Numbers
    """A term per position of each axis, one axis after the other, when nothing is suppressed; below 0 counts as 0 once
    the suppressed rows are added."""
    starts: Codes
    """Where each axis starts in ``terms``; shape (n_axes + 1,), int64."""
    root: float
    """As of :class:`Terms`."""
    more: Numbers
    """What one suppressed record adds, per leaf and position of each axis, one leaf after the other; 0 or more. Empty
    where the bound does not grow."""
    more_starts: Codes
    """Where each axis starts in ``more``; shape (n_axes,), int64."""

    @classmethod
    def of(cls, terms: Numbers, starts: Codes, root: float, more: Sequence[Numbers]) -> RowCosts:
        """Costs from what one record adds per axis, (n_leaves, n_positions) each; none where nothing is added."""
        if not more:
            return cls(terms, starts, root, np.zeros(0), np.zeros(len(starts) - 1, dtype=np.int64))
        more_starts = np.cumsum([0, *(axis.size for axis in more)])[:-1]
        return cls(terms, starts, root, np.concatenate([axis.reshape(-1) for axis in more]), more_starts)

    def cheapest(self, leaf_counts: Sequence[Numbers], suppressed: Counts) -> Numbers:
        """Least increase of each term by so many suppressed records; shape (n, n_terms).

        ``leaf_counts`` are the records of each leaf, per axis; ``suppressed`` has shape (n,).
        """
        added = []
        for counts, more, width in zip(
            leaf_counts, np.split(self.more, self.more_starts[1:]), np.diff(self.starts), strict=True
        ):
            for of_leaf in more.reshape(-1, width).T:
                order = np.argsort(of_leaf)
                records, costs = (np.append(0, np.cumsum(x[order])) for x in (counts, of_leaf * counts))
                added.append(np.interp(suppressed, records, costs))
        return np.stack(added, axis=1)

    def loss(self, joined: float) -> float:
        """Loss of a product of (1 + term), or of a sum."""
        return float(joined**self.root - 1 if self.root else joined)

    def joined(self, loss: float) -> float:
        """Joined terms of a loss."""
        return float((1 + loss) ** (1 / self.root) if self.root else loss)


@dataclass(frozen=True)
class LossScore:
    """Loss of one node, and of each quasi-identifier: none for losses that are about classes only."""

    value: float
    per_attribute: tuple[float, ...] = ()


class Loss(Protocol):
    """A loss to minimize over a lattice.

    Every loss obeys: where nothing is suppressed, it does not fall when a level rises.
    """

    def initial(self) -> Bound:
        """Bound of every node before anything is known of the suppressed records."""

    def grouped(self, checker: Checker) -> Numbers | None:
        """Tighter bounds of all nodes from a few hundred groupings, in the lattice's shape; None if there are none."""

    def below(self, found: NodeOutcome) -> Bound:
        """Bound of every node at or below the measured one."""

    def by_row(self) -> RowCosts | None:
        """Bound by suppressed rows alone; None if the loss is no sum or product over columns."""

    def above(self, found: NodeOutcome) -> float:
        """Bound of every node at or above the measured one; -inf if nothing is known."""

    def score(self, node: Node, found: NodeOutcome) -> LossScore:
        """The loss of a node."""
