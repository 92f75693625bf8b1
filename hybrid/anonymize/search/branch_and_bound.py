"""Anytime branch and bound over large lattices, with a proven optimality gap.

Branch and bound over boxes of nodes, from a lowest to a highest one (Land and Doig 1960, doi 10.2307/1910129). What is
certainly suppressed at the highest node is suppressed in the whole box, which bounds its loss from below together with
the lowest levels; and a lowest level is raised as long as nothing below is feasible. The boxes of least bound are
searched depth first by compiled loops, one per core, and what is left of them is put back. Greedy descents give good
solutions to begin with. Where the search is complete, of equal losses above 0 the lowest sum of levels wins, then the
lexicographically smaller levels.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from hybrid.anonymize.search.box_search import Box, BoxSearch
from hybrid.anonymize.search.lattice import Node
from hybrid.anonymize.search.losses import Bound, Loss, Score
from hybrid.anonymize.search.merged_tables import MergedTables, grouped_at
from hybrid.anonymize.search.node_check import Checker, NodeOutcome
from hybrid.anonymize.search.outcome import Infeasible, Solution
from hybrid.base.progress import Progress, silent
from hybrid.base.resources import cores

_SMALL = 1 << 12
"""Tables of fewer distinct rows are searched by one thread: another would cost more than it gains."""
_PATIENCE = 64
"""Rounds after which a search is a long one: then its best solution is improved."""
_IMPROVING = 0.1
"""Share of the time that improving may take."""
_ROUNDS = 16
"""Rounds between two reports of progress."""


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
    deadline = time.monotonic() + seconds
    state = _State(checker, loss, allowed, persons)
    state.begin()
    state.descend(checker.lattice.top, deadline)
    threads = 1 if state.tables.whole.records.n_distinct < _SMALL else cores()
    with nullcontext() if threads == 1 else ThreadPoolExecutor(threads) as pool:
        for number in itertools.count(1):
            if not state.open or state.least >= state.value or time.monotonic() >= deadline:
                break
            state.advance(threads, pool)
            if number == _PATIENCE:
                state.improve(min(deadline, time.monotonic() + _IMPROVING * seconds))
            if number % _ROUNDS == 0:
                progress("search", state.checked, None, loss=state.value, gap=state.value - state.least)
    return state.outcome()


@dataclass(frozen=True)
class _Open:
    """Box that is left to search."""

    box: Box
    bound: Bound | None
    """Of everything at or below its highest node; None if that was not checked yet."""


class _State:
    def __init__(self, checker: Checker, loss: Loss, allowed: int, persons: int | None) -> None:
        self.checker, self.tables = checker, MergedTables(checker)
        self.loss, self.allowed, self.persons = loss, allowed, persons
        self.initial, self.boxes = loss.initial(), BoxSearch.of(self.tables, loss, allowed)
        self.floor = checker.lattice.bottom
        self.open: list[tuple[float, int, _Open]] = []
        self.numbers = itertools.count()
        self.forbidden: list[Node] = []
        self.losses: dict[Node, float] = {}
        self.best: tuple[Node, Score] | None = None
        self.checked = 0
        self.fewest, self.fewest_at = checker.records.n_records, checker.lattice.top

    @property
    def value(self) -> float:
        """Loss of the best node so far."""
        return np.inf if self.best is None else self.best[1].value

    @property
    def least(self) -> float:
        """No open box holds a smaller loss."""
        return self.open[0][0] if self.open else np.inf

    def check(self, node: Node, low: Node) -> Bound | None:
        """Group the records at a node.

        The bound of everything from a lowest node up to it, None if all below it is infeasible.
        """
        found = self.tables.at(low).check(node)
        self.checked += 1
        self.losses[node] = np.inf
        if found.n_suppressed < self.fewest:
            self.fewest, self.fewest_at = found.n_suppressed, node
        if found.n_suppressed < self.checker.records.n_records and found.within(self.allowed, self.persons):
            score, order = self.loss.score(node, found), self.checker.lattice.order
            self.losses[node] = score.value
            if self.best is None or (score.value, order(node)) < (self.value, order(self.best[0])):
                self.best = node, score
        return None if self.hopeless(found) else self.loss.below(found)

    def hopeless(self, found: NodeOutcome) -> bool:
        """True if no node at or below a checked one is feasible."""
        too_many = found.n_certain > self.allowed or found.n_certain == self.checker.records.n_records
        return too_many or (self.allowed == 0 and found.n_suppressed > 0 and self.checker.convex)

    def begin(self) -> None:
        """Cut the whole lattice once.

        The rows are grouped at the lowest node that is left.
        """
        lattice = self.checker.lattice
        bound = self.check(lattice.top, lattice.bottom)
        if bound is None or lattice.bottom == lattice.top:
            return
        whole = Box(lattice.bottom, lattice.top, self.initial.between(lattice.bottom, lattice.top))
        self.keep(_Open(whole, bound), *replace(self.boxes, work=0).explore(whole, np.inf, ()))
        if self.open:
            lows = [item.box.low for _, _, item in self.open]
            self.floor = tuple(min(positions) for positions in zip(*lows, strict=True))
            self.tables = MergedTables(grouped_at(self.floor, self.checker))
            self.boxes = replace(self.boxes, tables=self.tables)

    def descend(self, node: Node, until: float) -> None:
        """Lower columns level by level, as long as the loss falls.

        Each step lowers one column, to the least loss.
        """
        before, now = np.inf, self.losses.get(node, np.inf)
        while now < before or now == np.inf:
            before, start = now, node
            for axis, position in enumerate(start):
                lower = (*start[:axis], position - 1, *start[axis + 1 :])
                if position == self.floor[axis] or time.monotonic() >= until:
                    continue
                if lower not in self.losses:
                    self.check(lower, lower)
                if self.losses[lower] < now:
                    node, now = lower, self.losses[lower]
            if node == start:
                return

    def improve(self, until: float) -> None:
        """Descend from nodes above the best one, as long as that helps.

        Those are one level higher in one column.
        """
        before = np.inf
        while self.best is not None and self.value < before:
            before, node = self.value, self.best[0]
            for axis, position in enumerate(node):
                if position < self.checker.lattice.top[axis]:
                    self.descend((*node[:axis], position + 1, *node[axis + 1 :]), until)

    def advance(self, threads: int, pool: ThreadPoolExecutor | None) -> None:
        """Search the boxes of least bound, one per thread."""
        items: list[_Open] = []
        while len(items) < threads and self.least < self.value:
            least, _, item = heapq.heappop(self.open)
            box = item.box
            bound = self.check(box.high, box.low) if item.bound is None else item.bound
            if bound is None:
                self.forbid(box.high)
                continue
            least = max(least, bound.between(box.low, box.high))
            if box.low != box.high and least < self.value:
                items.append(_Open(replace(box, least=least), bound))
        value, forbidden = self.value, tuple(self.forbidden)
        found = (map if pool is None else pool.map)(lambda item: self.boxes.explore(item.box, value, forbidden), items)
        for item, (left, grouped) in zip(items, list(found), strict=True):
            self.keep(item, left, grouped)

    def keep(self, item: _Open, left: Sequence[Box], grouped: int) -> None:
        """Put back what is left of a box."""
        self.checked += grouped
        for box in left:
            bound = item.bound if box.high == item.box.high else None
            least = max(box.least, self.initial.between(box.low, box.high))
            if bound is not None:
                least = max(least, bound.between(box.low, box.high))
            if least < self.value:
                heapq.heappush(self.open, (least, next(self.numbers), _Open(box, bound)))

    def forbid(self, node: Node) -> None:
        """Remember a highest node at or below which nothing is feasible.

        It is found by climbing from a lower one.
        """
        for axis, top in enumerate(self.checker.lattice.top):
            while node[axis] < top:
                raised = (*node[:axis], node[axis] + 1, *node[axis + 1 :])
                self.checked += 1
                if not self.hopeless(self.tables.at(raised).check(raised)):
                    break
                node = raised
        self.forbidden.append(node)

    def outcome(self) -> Solution | Infeasible:
        """The best node, with what is proven."""
        if self.best is None:
            return Infeasible(self.fewest, self.fewest_at, not self.open, self.checked)
        node, score = self.best
        return Solution(node, score, self.checker.check(node), min(score.value, self.least), self.checked)
