"""Exact search over a lattice whose bounds fit into one array.

The loss without suppression bounds every node from below, in one vectorized pass before any grouping. Each node
that is grouped raises the bounds of all finer nodes, because its certainly suppressed records are suppressed there
too, and rules them out when these alone exceed the limit. The node of least bound is approached from above: from it
the search climbs inside the region that is still open, and groups the highest node first.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np

from hybrid.anonymize.search.group_cache import Grouping
from hybrid.anonymize.search.lattice import Node
from hybrid.anonymize.search.losses import Loss, LossScore
from hybrid.anonymize.search.node_check import Checker, NodeOutcome
from hybrid.anonymize.search.problem import Infeasible, Solution
from hybrid.base.arrays import Numbers
from hybrid.base.progress import Progress, silent

LARGEST = 1 << 20
"""Lattices of more nodes than this are searched by :mod:`hybrid.anonymize.search.branch_and_bound`."""


def search(
    checker: Checker, loss: Loss, allowed: int, progress: Progress = silent, persons: float = np.inf
) -> Solution | Infeasible:
    """Node of least loss at which at most ``allowed`` records are suppressed, and not all.

    At most ``persons`` may lose all their records. Among equal losses the lowest sum of levels wins, then the
    lexicographically smaller levels.
    """
    run = ExhaustiveSearch(checker, loss, allowed, persons)
    if allowed == 0:
        run.probe_pairs()
    elif (better := loss.grouped(checker)) is not None:
        np.maximum(run.bounds, better, out=run.bounds)
    run.finish(progress)
    return run.outcome()


def at_or_below(node: Node) -> tuple[slice, ...]:
    """Index of the nodes at or below a node."""
    return tuple(slice(0, position + 1) for position in node)


@dataclass
class ExhaustiveSearch:
    """Bounds of all nodes, infinite where one is done or ruled out, and the best node so far."""

    checker: Checker
    loss: Loss
    allowed: int
    persons: float = np.inf
    bounds: Numbers = field(init=False)
    strides: list[int] = field(init=False)
    best: tuple[Node, LossScore, NodeOutcome] | None = None
    checked: int = 0
    fewest: int = -1
    fewest_at: Node = ()

    def __post_init__(self) -> None:
        lattice = self.checker.lattice
        self.bounds = self.loss.initial().all(lattice.shape)
        self.strides = [step // self.bounds.itemsize for step in self.bounds.strides]

    @property
    def value(self) -> float:
        return np.inf if self.best is None else self.best[1].value

    @property
    def reach(self) -> float:
        """Bounds above this need not be raised."""
        return self.value

    def finish(self, progress: Progress = silent) -> None:
        """Look at nodes until none can be better than the best."""
        size = self.checker.lattice.size
        while (node := self.next()) is not None:
            self.visit(node)
            if self.checked % 64 == 0:
                ruled_out = int(np.count_nonzero(~(self.bounds <= self.value)))
                progress("search", ruled_out, size, checked=self.checked)

    def next(self) -> Node | None:
        """The node to look at: the highest open one over the one of least bound."""
        flat = int(self.bounds.argmin())
        bound = self.bounds.flat[flat]
        if bound > self.value or bound == np.inf:
            return None
        return self._climb(flat)

    def _climb(self, flat: int) -> Node:
        """Climb to the open neighbour of least bound, as long as one is open."""
        node = [int(position) for position in np.unravel_index(flat, self.bounds.shape)]
        value, top, bound_of = self.value, self.checker.lattice.top, self.bounds.reshape(-1).item
        while True:
            best, chosen = np.inf, -1
            for axis, position in enumerate(node):
                if position < top[axis]:
                    bound = bound_of(flat + self.strides[axis])
                    if bound <= value and bound < best:
                        best, chosen = bound, axis
            if chosen < 0:
                return tuple(node)
            node[chosen] += 1
            flat += self.strides[chosen]

    def visit(self, node: Node, base: Grouping | None = None) -> None:
        """Group the records at a node, from a base at or below it, and draw all conclusions."""
        found = self.checker.check(node, base)
        self.checked += 1
        n_records = self.checker.records.n_records
        if self.fewest < 0 or found.n_suppressed < self.fewest:
            self.fewest, self.fewest_at = found.n_suppressed, node
        if found.n_suppressed < n_records and found.within(self.allowed, self.persons):
            self.propose(node, found)
        self.conclude(node, found)

    def propose(self, node: Node, found: NodeOutcome) -> None:
        score = self.loss.score(node, found)
        order = self.checker.lattice.order
        if score.value < self.value or (
            self.best is not None and score.value == self.value and order(node) < order(self.best[0])
        ):
            self.best = node, score, found

    def conclude(self, node: Node, found: NodeOutcome) -> None:
        if self.hopeless(found):
            self.bounds[at_or_below(node)] = np.inf
        else:
            self.learn(self.bounds, node, found)

    def hopeless(self, found: NodeOutcome) -> bool:
        """True if no node at or below a checked one is feasible."""
        if found.n_certain > self.allowed or found.n_certain == self.checker.records.n_records:
            return True
        return self.allowed == 0 and found.n_suppressed > 0 and self.checker.convex

    def learn(self, bounds: Numbers, node: Node, found: NodeOutcome) -> None:
        """Raise bounds, in place, by what holds under every suppression limit."""
        at_or_above = tuple(slice(position, None) for position in node)
        if found.n_suppressed == 0:
            bounds[at_or_above] = np.inf
        above = self.loss.above(found)
        if found.n_certain > 0 or above > -np.inf:
            self.loss.below(found).lift(bounds, node, self.reach)
            np.maximum(bounds[at_or_above], above, out=bounds[at_or_above])
        bounds[node] = np.inf

    def probe_pairs(self) -> None:
        """Rule out all nodes below violating generalizations of one or two columns, the others at their top."""
        top = self.checker.lattice.top
        for pair in itertools.combinations(range(len(top)), 2):
            low = tuple(0 if at in pair else position for at, position in enumerate(top))
            choices = itertools.product(*[range(low[at], top[at] + 1) for at in range(len(top))])
            for node in sorted(choices, key=sum, reverse=True):
                if self.bounds[node] < np.inf:
                    self.visit(node, self.checker.bases.at(low))

    def outcome(self) -> Solution | Infeasible:
        if self.best is None:
            return Infeasible(self.fewest, self.fewest_at, True, self.checked)
        node, score, found = self.best
        return Solution(node, score, found, score.value, self.checked)
