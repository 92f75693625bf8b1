"""Anytime branch and bound over large lattices, with a proven optimality gap.

Branch and bound over boxes of nodes, from a lowest to a highest one. What is certainly suppressed at the highest node
is suppressed in the whole box, which bounds the loss of the box from below together with the lowest levels. The box of
least bound is cut in two along the column that raises the bound of the upper half most. A greedy descent from the top
gives a good solution to begin with. Among equal losses any may win.
"""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass

import numpy as np

from hybrid.anonymize.search.lattice import Node
from hybrid.anonymize.search.losses import Bound, Loss, Score
from hybrid.anonymize.search.node_check import Checker, NodeOutcome
from hybrid.anonymize.search.outcome import Infeasible, Solution
from hybrid.base.progress import Progress, silent


def search(
    checker: Checker,
    loss: Loss,
    allowed: int,
    seconds: float,
    progress: Progress = silent,
    persons: int | None = None,
) -> Solution | Infeasible:
    """Best node found in the time given, and a lower bound.

    The bound holds for all nodes.

    Parameters
    ----------
    checker : Checker
        Table, lattice and privacy models.
    loss : Loss
        What to minimize.
    allowed : int
        Records that may be suppressed; a node that suppresses all is no solution.
    seconds : float
        Time to search. With enough of it the search is complete, and the gap 0.
    progress : Progress
        Receives the loss and the gap at intervals.
    persons : int or None
        Persons that may lose all their records; None: as many as the records allow.

    Returns
    -------
    Solution or Infeasible
    """
    state = _State(checker, loss, allowed, time.monotonic() + seconds, persons)
    lattice = checker.lattice
    state.descend()
    state.push(lattice.bottom, lattice.top, state.bound(lattice.top))
    while state.open and state.least < state.value and time.monotonic() < state.deadline:
        state.expand()
        if state.expanded % 64 == 0:
            progress("search", state.checked, None, loss=state.value, gap=state.value - state.least)
    return state.outcome()


@dataclass(frozen=True, order=True)
class _Box:
    """Nodes from ``low`` to ``high``; none has a smaller loss than ``least``."""

    least: float
    number: int
    low: Node
    high: Node
    bound: Bound


class _State:
    def __init__(self, checker: Checker, loss: Loss, allowed: int, deadline: float, persons: int | None = None) -> None:
        self.persons = persons
        self.checker, self.loss, self.allowed, self.deadline = checker, loss, allowed, deadline
        self.initial = loss.initial()
        self.open: list[_Box] = []
        self.numbers = itertools.count()
        self.best: tuple[Node, Score, NodeOutcome] | None = None
        self.checked = self.expanded = 0
        self.fewest, self.fewest_at = checker.records.n_records, checker.lattice.top

    @property
    def value(self) -> float:
        """Loss of the best node so far."""
        return np.inf if self.best is None else self.best[1].value

    @property
    def least(self) -> float:
        """No open box holds a smaller loss."""
        return self.open[0].least

    def bound(self, node: Node) -> Bound | None:
        """Group the records at a node.

        The bound of everything at or below it, None if all that is infeasible.
        """
        found = self.checker.check(node)
        self.checked += 1
        n_records = self.checker.records.n_records
        if found.n_suppressed < self.fewest:
            self.fewest, self.fewest_at = found.n_suppressed, node
        if found.n_suppressed < n_records and found.within(self.allowed, self.persons):
            score = self.loss.score(node, found)
            if score.value < self.value:
                self.best = node, score, found
        hopeless = found.n_certain > self.allowed or found.n_certain == n_records
        if hopeless or (self.allowed == 0 and found.n_suppressed > 0 and self.checker.convex):
            return None
        return self.loss.below(found)

    def push(self, low: Node, high: Node, bound: Bound | None) -> None:
        """Keep a box if it may hold something better."""
        if bound is None:
            return
        least = max(bound.between(low, high), self.initial.between(low, high))
        if least < self.value and low != high:
            heapq.heappush(self.open, _Box(least, next(self.numbers), low, high, bound))

    def expand(self) -> None:
        """Cut the box of least bound in two."""
        box = heapq.heappop(self.open)
        self.expanded += 1
        halves = []
        for axis, (first, last) in enumerate(zip(box.low, box.high, strict=True)):
            if first < last:
                middle = (first + last) // 2
                raised = (*box.low[:axis], middle + 1, *box.low[axis + 1 :])
                halves.append((box.bound.between(raised, box.high), -axis, middle, raised))
        _, axis, middle, raised = max(halves)
        self.push(raised, box.high, box.bound)
        lowered = tuple(middle if at == -axis else position for at, position in enumerate(box.high))
        self.push(box.low, lowered, self.bound(lowered))

    def descend(self) -> None:
        """Descend greedily from the top while the loss falls.

        Each step lowers one column by one level, to the least loss.
        """
        node, before = self.checker.lattice.top, np.inf
        self.bound(node)
        while self.best is not None and self.value < before and time.monotonic() < self.deadline:
            before, node = self.value, self.best[0]
            for axis, position in enumerate(node):
                if position > 0:
                    self.bound((*node[:axis], position - 1, *node[axis + 1 :]))

    def outcome(self) -> Solution | Infeasible:
        """The best node, with what is proven."""
        if self.best is None:
            return Infeasible(self.fewest, self.fewest_at, not self.open, self.checked)
        node, score, found = self.best
        lower = min(score.value, self.least) if self.open else score.value
        return Solution(node, score, found, lower, self.checked)
