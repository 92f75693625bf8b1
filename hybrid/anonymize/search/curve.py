"""Searches of one lattice for many k and suppression limits.

They go from the largest k to the smallest, and for one k from the smallest limit to the largest. So every optimum is
feasible for the searches after it, and what is known of one k holds for all its limits. A node is grouped once for all
k that follow: each learns how many records are suppressed there, and so at every node below, at least. Where losses are
sums over suppressed rows, so many times the cheapest record bounds the loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hybrid.anonymize.search.exhaustive import at_or_below
from hybrid.anonymize.search.lattice import Node
from hybrid.anonymize.search.losses import Bound, Loss, LossScore
from hybrid.anonymize.search.losses.protocol import Terms
from hybrid.anonymize.search.node_check import Checker, NodeGroups, NodeOutcome
from hybrid.anonymize.search.problem import Infeasible, Solution
from hybrid.base.arrays import Codes, Counts, Numbers
from hybrid.base.keys import group_sums

Setting = tuple[Checker, Loss]
"""What is checked and minimized for one k."""
Limit = tuple[int, int]
"""Records that may be suppressed, and persons where records share them."""

_FAR = 2
"""Times the limit from which a node is far above it."""
_CHUNK = 1 << 10
"""Nodes that are looked through at once for an open one."""
_STEPS = 1 << 10
"""Bounds are computed beforehand for so many numbers of suppressed records."""
_SOME = 1 << 5
"""Open nodes whose bounds are raised at once."""
_NONE = float(np.finfo(np.float64).max)
"""Reach of a search without a solution; bounds of nodes that are done are infinite."""


def outcomes(settings: Sequence[Setting], limits: Sequence[Limit]) -> Iterator[list[Solution | Infeasible]]:
    """Outcomes at each limit, from the largest k to the smallest.

    Parameters
    ----------
    settings : sequence of Setting
        By k, ascending; of one table and one lattice.
    limits : sequence of Limit
        Ascending.
    """
    nodes = _Nodes(settings, max(records for records, _ in limits))
    for at in reversed(range(len(settings))):
        one = _AtK(nodes, at)
        yield [one.outcome_at(*limit) for limit in limits]


@dataclass(slots=True)
class _Known:
    node: Node
    certain: int
    """Records that are suppressed here and at every node below, at least."""
    suppressed: int
    """Records that are suppressed here; -1: not known."""
    gone: int = 0
    """Persons all of whose records are suppressed."""
    score: LossScore | None = None
    """The node's loss; None: not computed."""
    below: Bound | None = None
    """Bound of every node at or below this one; None: ``certain`` says it all."""
    above: float = -np.inf
    """Bound of every node at or above this one."""


class _Nodes:
    """Knowledge from the grouped nodes, for each k.

    Parameters
    ----------
    settings : sequence of Setting
        By k, ascending.
    most : int
        Records that the largest limit allows.
    """

    def __init__(self, settings: Sequence[Setting], most: int) -> None:
        self.checkers, self.losses = zip(*settings, strict=True)
        self.most = most
        self.ks = np.array([checker.k for checker in self.checkers], dtype=np.int64)
        self.known: list[list[_Known]] = [[] for _ in settings]
        checker, loss = settings[0]
        self.starts: Codes = np.cumsum([0, *checker.lattice.shape])
        costs = loss.by_row()
        self.costs = costs if costs is not None and len(costs.more) else None
        if self.costs is not None:
            self.step = most // _STEPS + 1
            added = self.costs.cheapest(checker.records.leaf_counts, np.arange(0, most + 2, self.step))
            self.terms = np.maximum(self.costs.terms + added, 0)
        self.by_size = (
            self.costs is not None
            and not checker.rules
            and not checker.population_k
            and checker.records.rows_are_persons
        )

    def learn(self, node: Node, groups: NodeGroups, at: int) -> _Known:
        """Draw conclusions from a node for one k and smaller ones; those for this k are returned.

        Where only sizes count, they hold for all k. Else classes are judged for this k and the next smaller one.
        """
        sizes = groups.size_of_row
        small = np.flatnonzero(sizes < self.ks[at])
        per_size = group_sums(sizes.take(small).astype(np.int64), groups.base.counts.take(small), self.ks[at])
        for one, n in enumerate(np.cumsum(per_size).take(self.ks[: at + 1] - 1).astype(np.int64).tolist()):
            if self.by_size:
                known = _Known(node, n, n)
            elif one >= at - 1 and n <= self.most:
                known = self._judged(one, node, self.checkers[one].judge(groups))
            else:
                known = _Known(node, n, -1)
            self.known[one].append(known)
        return self.known[at][-1]

    def _judged(self, at: int, node: Node, found: NodeOutcome) -> _Known:
        checker, loss = self.checkers[at], self.losses[at]
        certain = max(found.n_certain, int(found.n_suppressed > 0 and checker.convex))
        known = _Known(node, certain, found.n_suppressed, found.n_gone, above=loss.above(found))
        if found.n_suppressed <= self.most:
            known.score = loss.score(node, found)
        if self.costs is None and 0 < certain <= self.most:
            known.below = loss.below(found)
        return known


class _AtK:
    """Searches of one k for rising limits.

    Bounds by terms of columns stay without the root of their product.

    Parameters
    ----------
    nodes : _Nodes
        What is known, and learns.
    """

    def __init__(self, nodes: _Nodes, at: int) -> None:
        self.nodes, self.at, self.costs = nodes, at, nodes.costs
        self.checker, self.loss = nodes.checkers[at], nodes.losses[at]
        self.known, shape = nodes.known[at], self.checker.lattice.shape
        self.certain: Counts = np.zeros(shape, dtype=np.min_scalar_type(-nodes.most - 2))
        if self.costs is None:
            self.bounds = self.loss.initial().all(shape)
        else:
            self.bounds = Terms(nodes.terms[0], nodes.starts, float(self.costs.root > 0)).all(shape)
        self.strides = [step // self.bounds.itemsize for step in self.bounds.strides]
        self.most, self.place, self.checked, self.steps = 0, 0, 0, 0
        self.persons = np.inf
        self.best: tuple[Node, LossScore] | None = None
        self.reach = _NONE
        if self.known:
            self._close_known()

    def outcome_at(self, allowed: int, persons: float) -> Solution | Infeasible:
        """Outcome for limits no smaller than before: records, and persons where records share them."""
        self.most, self.persons = min(allowed, self.checker.records.n_records - 1), persons
        self.best, self.reach, self.place = None, _NONE, 0
        allows = [one for one in self.known if self._allows(one)]
        least = self._least(allows)
        for at in np.argsort(least, kind="stable"):
            if least[at] > self.reach:
                break
            self._propose(allows[at])
        while (node := self._open()) is not None:
            self._visit(node)
        if self.best is None:
            return Infeasible(-1, (), True, self.checked)
        node, score = self.best
        return Solution(node, score, self.checker.check(node), score.value, self.checked)

    def _allows(self, one: _Known) -> bool:
        return 0 <= one.suppressed <= self.most and one.gone <= self.persons

    def _least(self, known: Sequence[_Known]) -> Numbers:
        """Loss of known nodes, or a bound of it where it was not computed, on the scale of bounds."""
        least = np.zeros(len(known))
        if self.costs is not None and known:
            nodes = np.array([one.node for one in known]).T
            least = self._bounds(nodes, np.array([one.suppressed for one in known]))
        for at, one in enumerate(known):
            if one.score is not None:
                least[at] = self._scaled(one.score)
        return least

    def _scaled(self, score: LossScore) -> float:
        return score.value if self.costs is None else self.costs.joined(score.value) - (self.costs.root > 0)

    def _bounds(self, nodes: Codes, suppressed: Counts) -> Numbers:
        """Bounds of nodes, (n_columns, n), where at least so many records are suppressed."""
        assert self.costs is not None
        terms = self.nodes.terms[suppressed // self.nodes.step, self.nodes.starts[:-1, None] + nodes]
        bounds: Numbers = (terms + 1).prod(axis=0) - 1 if self.costs.root else terms.sum(axis=0)
        return bounds

    def _propose(self, one: _Known, groups: NodeGroups | None = None) -> None:
        if one.score is None:
            found = self.checker.judge(groups or self.checker.group(one.node))
            one.score = self.loss.score(one.node, found)
        order = self.checker.lattice.order
        if self.best is None or (one.score.value, order(one.node)) < (self.best[1].value, order(self.best[0])):
            self.best, self.reach = (one.node, one.score), self._scaled(one.score)

    def _open(self) -> Node | None:
        """The highest open node over the next open one; None if none is left."""
        bounds, certain = self.bounds.reshape(-1), self.certain.reshape(-1)
        while self.place < len(bounds):
            chunk = slice(self.place, self.place + _CHUNK)
            open_ = np.flatnonzero((bounds[chunk] <= self.reach) & (certain[chunk] <= self.most))[:_SOME] + self.place
            if not len(open_):
                self.place += _CHUNK
                continue
            self.place = int(open_[0])
            if self.costs is not None:
                raised = self._bounds(np.array(np.unravel_index(open_, self.bounds.shape)), certain[open_])
                bounds[open_] = raised
                open_ = open_[raised <= self.reach]
            if len(open_):
                return self._climb(int(open_[0]))
        return None

    def _climb(self, flat: int) -> Node:
        """Climb to the open neighbour of least bound, as long as one is open, and some steps further.

        What is far above the limit there is above it further up, too, and rules out more nodes at once.
        """
        node = [int(position) for position in np.unravel_index(flat, self.bounds.shape)]
        most, top, reach, steps = self.most, self.checker.lattice.top, self.reach, self.steps
        bound_of, certain_of = self.bounds.reshape(-1).item, self.certain.reshape(-1).item
        while True:
            best, chosen = np.inf, -1
            for axis, position in enumerate(node):
                if position < top[axis]:
                    above = flat + self.strides[axis]
                    bound = bound_of(above)
                    if bound < best and certain_of(above) <= most:
                        best, chosen = bound, axis
            if best > reach:
                steps -= 1
            if chosen < 0 or steps < 0:
                return tuple(node)
            node[chosen] += 1
            flat += self.strides[chosen]

    def _visit(self, node: Node) -> None:
        groups = self.checker.group(node)
        self.checked += 1
        one = self.nodes.learn(node, groups, self.at)
        if self._allows(one) and self._least([one])[0] <= self.reach:
            self._propose(one, groups)
        if one.certain:
            below = self.certain[at_or_below(node)]
            np.maximum(below, min(one.certain, self.nodes.most + 1), out=below)
        self._bound_by(one)
        self.bounds[node] = np.inf
        if one.certain > _FAR * max(self.most, 1):
            self.steps += 1
        elif one.certain <= self.most:
            self.steps //= 2

    def _bound_by(self, one: _Known) -> None:
        """Bound the nodes below and above one that is known."""
        if one.below is not None:
            one.below.lift(self.bounds, one.node, np.inf)
        at_or_above = tuple(slice(position, None) for position in one.node)
        if one.suppressed == 0:
            self.bounds[at_or_above] = np.inf
        elif one.above > -np.inf:
            np.maximum(self.bounds[at_or_above], one.above, out=self.bounds[at_or_above])

    def _close_known(self) -> None:
        """Close what other searches have grouped, and what follows from its records."""
        places = np.array([one.node for one in self.known]) @ self.strides
        certain = np.array([min(one.certain, self.nodes.most + 1) for one in self.known], dtype=self.certain.dtype)
        np.maximum.at(self.certain.reshape(-1), places, certain)
        _spread(self.certain)
        for one in self.known:
            if one.suppressed == 0 or self.costs is None:
                self._bound_by(one)
        self.bounds.reshape(-1)[places[[one.suppressed >= 0 for one in self.known]]] = np.inf


def _spread(values: Counts) -> None:
    """Raise each node's value to the greatest at or above it, in place."""
    for axis, n_positions in enumerate(values.shape):
        lines = np.moveaxis(values, axis, 0)
        for position in range(n_positions - 1, 0, -1):
            lines[position - 1] = np.maximum(lines[position - 1], lines[position])
