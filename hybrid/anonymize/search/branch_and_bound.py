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
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from hybrid.anonymize.search.distinct_rows import merged_rows
from hybrid.anonymize.search.group_cache import GroupCache
from hybrid.anonymize.search.lattice import Node
from hybrid.anonymize.search.losses import Bound, Loss, LossScore, RowCosts
from hybrid.anonymize.search.node_check import Checker, NodeOutcome
from hybrid.anonymize.search.problem import Infeasible, Solution
from hybrid.base.keys import group_rows, group_sums
from hybrid.base.progress import Progress, silent
from hybrid.base.resources import cores

if TYPE_CHECKING:
    from hybrid.anonymize.search.box_kernels import Table


_LARGE = 1 << 19
"""Tables of fewer rows are not merged further."""
_STEPS = 2
"""Levels below a node at which its table is merged, so that neighbours use it, too."""
_WORTH = 0.7
"""A table is kept if it has at most this part of the rows of the one that it was made from."""


@dataclass
class MergedTables:
    """Checkers of one table, merged at several nodes; threads may share them."""

    whole: Checker
    """Of the whole table."""
    _kept: dict[Node, Checker] = field(default_factory=dict)
    _tried: set[Node] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def at(self, node: Node) -> Checker:
        """Checker of the nodes at or above one, with few rows; what it says of suppressed leaves holds there only."""
        with self._lock:
            found = self._fewest(node)
            low = tuple(max(position - _STEPS, 0) for position in node)
            if found.records.n_distinct <= _LARGE or low in self._tried or not found.records.rows_are_persons:
                return found
            self._tried.add(low)
            made = grouped_at(low, found)
            if made.records.n_distinct > _WORTH * found.records.n_distinct:
                return found
            self._kept[low] = made
            while sum(one.records.n_distinct for one in self._kept.values()) > self.whole.records.n_distinct:
                dropped = next(iter(self._kept))
                del self._kept[dropped]
                self._tried.discard(dropped)
            return made

    def _fewest(self, node: Node) -> Checker:
        fitting = [low for low in self._kept if all(a <= b for a, b in zip(low, node, strict=True))]
        if not fitting:
            return self.whole
        best = min(fitting, key=lambda low: self._kept[low].records.n_distinct)
        self._kept[best] = self._kept.pop(best)
        return self._kept[best]


def grouped_at(low: Node, checker: Checker) -> Checker:
    """Checker of a table merged at a node, for the nodes at or above it."""
    if not checker.records.rows_are_persons or checker.bases.keeps_apart(low):
        return checker
    bases = checker.bases
    records = merged_rows(checker.records, *group_rows(*bases.classes(bases.whole, low)))
    return replace(checker, bases=GroupCache(records, checker.lattice))


_WORK = 1 << 24
"""Rows to read in one box before what is left is given back: some ten milliseconds."""
_READS = 64
"""Times that the rows of a box may be read at least, so that merging them pays."""
_MEMORY = 1 << 28
"""Bytes for the rows of all boxes on a path."""
_LEFT = 1 << 12
"""Boxes that one search gives back at most, beside those on its path."""
_DEEPER = 0.25
"""Part of the gap by which a box's bound may rise before it is given back, for others of less bound."""


@dataclass(frozen=True)
class Box:
    """Nodes from ``low`` to ``high``; none has a smaller loss than ``least``."""

    low: Node
    high: Node
    least: float


@dataclass(frozen=True)
class BoxSearch:
    """Search of the boxes of one lattice."""

    tables: MergedTables
    """Table, lattice and k. Its other models are not looked at: what they suppress comes on top."""
    costs: RowCosts
    """Bound of the loss by suppressed rows."""
    work: int
    """Rows to read per box, at least; 0: it is cut once."""
    allowed: int
    """Records that may be suppressed."""
    reads: int = _READS
    """Times that the rows of a box may be read at least, where ``work`` is not 0."""

    @classmethod
    def of(cls, tables: MergedTables, loss: Loss, allowed: int) -> BoxSearch:
        """Search for a loss; one that is no sum over columns is bounded by its nodes alone, after each cut."""
        costs = loss.by_row()
        if costs is not None:
            return cls(tables, costs, _WORK, allowed)
        starts = np.cumsum([0, *tables.whole.lattice.shape])
        return cls(tables, RowCosts.of(np.zeros(starts[-1]), starts, 0.0, []), 0, allowed)

    def explore(self, box: Box, value: float, forbidden: Sequence[Node]) -> tuple[list[Box], int]:
        """Cut a box until little is left: boxes that hold each feasible node of a loss below ``value``.

        No node at or below one of ``forbidden`` is feasible.
        """
        from hybrid.anonymize.search import box_kernels

        table, n_columns = self._table(box.low), len(box.low)
        depth = max(1, min(sum(box.high) - sum(box.low), _MEMORY // (8 * len(table.weights))))
        stack = box_kernels.make_stack(
            len(table.weights), n_columns, len(self.costs.terms), int(table.sizes.max()), depth
        )
        ends = np.empty((2, _LEFT + depth, n_columns), np.int64)
        left = box_kernels.Boxes(ends[0], ends[1], np.empty(_LEFT + depth))
        deeper = box.least + _DEEPER * (value - box.least)
        limits = box_kernels.Limits(
            k=float(self.tables.whole.k),
            allowed=float(self.allowed),
            value=self.costs.joined(value),
            deeper=self.costs.joined(deeper),
            work=float(max(self.work, self.reads * len(table.weights)) if self.work else 0),
        )
        costs = box_kernels.Costs(
            self.costs.terms, self.costs.starts, self.costs.more, self.costs.more_starts, self.costs.root > 0
        )
        never = np.array(forbidden, dtype=np.int64).reshape(-1, n_columns)
        never = never[(never >= box.low).all(axis=1)]
        n, n_grouped = box_kernels.explore(
            table, costs, limits, never, np.array(box.low), np.array(box.high), stack, left
        )
        found = zip(left.low[:n].tolist(), left.high[:n].tolist(), left.least[:n].tolist(), strict=True)
        boxes = [Box(tuple(low), tuple(high), max(box.least, self.costs.loss(one))) for low, high, one in found]
        return boxes, n_grouped

    def _table(self, low: Node) -> Table:
        from hybrid.anonymize.search.box_kernels import Table

        bases = self.tables.at(low).bases
        whole = bases.whole
        if bases.keeps_apart(low):
            return Table(whole.leaves, whole.counts, *bases.tables)
        row_of, first = group_rows(*bases.classes(whole, low))
        weights = group_sums(row_of, whole.counts, len(first))
        return Table(np.ascontiguousarray(whole.leaves[:, first]), weights, *bases.tables)


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
    persons: float = np.inf,
) -> Solution | Infeasible:
    """Best node found in the time given, and a lower bound of all nodes; with enough time the gap is 0.

    At most ``allowed`` records may be suppressed, not all, and ``persons`` may lose all their records.
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
    box: Box
    bound: Bound | None
    """Of everything at or below its highest node; None if that was not checked yet."""


class _State:
    def __init__(self, checker: Checker, loss: Loss, allowed: int, persons: float) -> None:
        self.checker, self.tables = checker, MergedTables(checker)
        self.loss, self.allowed, self.persons = loss, allowed, persons
        self.initial, self.boxes = loss.initial(), BoxSearch.of(self.tables, loss, allowed)
        plain = not checker.rules and not checker.population_k and checker.records.rows_are_persons
        self.counts_all = plain and len(self.boxes.costs.more) > 0
        self.floor = checker.lattice.bottom
        self.open: list[tuple[float, int, _Open]] = []
        self.numbers = itertools.count()
        self.forbidden: list[Node] = []
        self.losses: dict[Node, float] = {}
        self.best: tuple[Node, LossScore] | None = None
        self.checked = 0
        self.fewest, self.fewest_at = checker.records.n_records, checker.lattice.top

    @property
    def value(self) -> float:
        return np.inf if self.best is None else self.best[1].value

    @property
    def least(self) -> float:
        """No open box holds a smaller loss."""
        return self.open[0][0] if self.open else np.inf

    def check(self, node: Node, low: Node) -> Bound | None:
        """Bound of everything from a lowest node up to this one, None if all below it is infeasible."""
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
        """Cut the whole lattice once; the rows are grouped at the lowest node that is left."""
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
        """Lower one column after the other, each to the least loss, as long as the loss falls."""
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
        """Descend from nodes one level above the best one in one column, as long as that helps."""
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
            box, bound = item.box, item.bound
            if bound is None and not self.is_known(box):
                bound = self.check(box.high, box.low)
                if bound is None:
                    self.forbid(box.high)
                    continue
            if bound is not None:
                least = max(least, bound.between(box.low, box.high))
            if box.low != box.high and least < self.value:
                items.append(_Open(replace(box, least=least), bound))
        value, forbidden = self.value, tuple(self.forbidden)
        found = (map if pool is None else pool.map)(lambda item: self.boxes.explore(item.box, value, forbidden), items)
        for item, (left, grouped) in zip(items, list(found), strict=True):
            self.keep(item, left, grouped)

    def is_known(self, box: Box) -> bool:
        """True if a box's highest node need not be checked.

        Its search has counted what k suppresses there and all that this costs, and the node is worse than the best.
        """
        return self.counts_all and self.initial.between(box.high, box.high) > self.value

    def keep(self, item: _Open, left: Sequence[Box], grouped: int) -> None:
        self.checked += grouped
        for box in left:
            bound = item.bound if box.high == item.box.high else None
            least = max(box.least, self.initial.between(box.low, box.high))
            if bound is not None:
                least = max(least, bound.between(box.low, box.high))
            if least < self.value:
                heapq.heappush(self.open, (least, next(self.numbers), _Open(box, bound)))

    def forbid(self, node: Node) -> None:
        """Remember a highest node at or below which nothing is feasible, found by climbing from a lower one."""
        for axis, top in enumerate(self.checker.lattice.top):
            while node[axis] < top:
                raised = (*node[:axis], node[axis] + 1, *node[axis + 1 :])
                self.checked += 1
                if not self.hopeless(self.tables.at(raised).check(raised)):
                    break
                node = raised
        self.forbidden.append(node)

    def outcome(self) -> Solution | Infeasible:
        if self.best is None:
            return Infeasible(self.fewest, self.fewest_at, not self.open, self.checked)
        node, score = self.best
        return Solution(node, score, self.checker.check(node), min(score.value, self.least), self.checked)
