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
from hybrid.base.arrays import Codes, Counts, Mask, Numbers, Rows

Setting = tuple[Checker, Loss]
"""What is checked and minimized for one k."""
Limit = tuple[int, int]
"""Records that may be suppressed, and persons where records share them."""

_FAR = 2
"""Times the limit from which a node is far above it."""
_CHUNK = 1 << 12
"""Nodes that are looked through at once for open ones."""
_STEPS = 1 << 10
"""Bounds are computed beforehand for so many numbers of suppressed records."""
_SOME = 1 << 5
"""Open nodes whose bounds are raised at once."""
_NONE = float(np.finfo(np.float64).max)
"""Reach of a search without a solution; bounds of nodes that are done are infinite."""


def outcomes(settings: Sequence[Setting], limits: Sequence[Limit]) -> Iterator[list[Solution | Infeasible]]:
    """Outcomes at each limit, from the largest k to the smallest; settings, of one table, and limits ascend."""
    nodes = _Nodes(settings, max(records for records, _ in limits))
    for at in reversed(range(len(settings))):
        one = _AtK(nodes, at)
        yield [one.outcome_at(*limit) for limit in limits]


@dataclass(slots=True)
class _Known:
    place: int
    """Number of the node, one axis after the other."""
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
    """Knowledge from the grouped nodes, for each k of the settings; the largest limit allows ``most`` records."""

    def __init__(self, settings: Sequence[Setting], most: int) -> None:
        self.checkers, self.losses = zip(*settings, strict=True)
        self.most = most
        self.ks = np.array([checker.k for checker in self.checkers], dtype=np.int64)
        self.up_to = np.arange(self.ks[-1] + 1)
        self._lines: dict[Node, Rows] = {}
        self._columns: dict[Node, Mask] = {}
        self.known: list[list[_Known]] = [[] for _ in settings]
        self.beyond: list[list[int]] = [[] for _ in settings]
        checker, loss = settings[0]
        self.shape = checker.lattice.shape
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

    def below(self, node: Node) -> tuple[Rows, Mask]:
        """Nodes at or below a node, where the lattice is a matrix: the lines by the first axes, a mask of columns."""
        half = len(node) // 2
        first, last = node[:half], node[half:]
        if first not in self._lines:
            self._lines[first] = np.flatnonzero(_inside(first, self.shape[:half]))
        if last not in self._columns:
            self._columns[last] = _inside(last, self.shape[half:])
        return self._lines[first], self._columns[last]

    def learn(self, place: int, node: Node, groups: NodeGroups, at: int) -> _Known:
        """Draw conclusions from a node for one k and smaller ones; those for this k are returned.

        Where only sizes count, they hold for all k. Else classes are judged for this k and the next smaller one.
        """
        sizes = np.minimum(groups.sizes.compress(groups.sizes > 0), self.ks[-1]).astype(np.int64)
        records = np.bincount(sizes, minlength=len(self.up_to)) * self.up_to
        suppressed = records.cumsum().take(self.ks[: at + 1] - 1).tolist()
        for one, n in enumerate(suppressed):
            if n > self.most:
                self.beyond[one].append(place)
            elif self.by_size:
                self.known[one].append(_Known(place, node, n, n))
            elif one >= at - 1:
                self.known[one].append(self._judged(one, place, node, self.checkers[one].judge(groups)))
            else:
                self.known[one].append(_Known(place, node, n, -1))
        return self.known[at][-1] if suppressed[at] <= self.most else _Known(place, node, suppressed[at], -1)

    def _judged(self, at: int, place: int, node: Node, found: NodeOutcome) -> _Known:
        checker, loss = self.checkers[at], self.losses[at]
        certain = max(found.n_certain, int(found.n_suppressed > 0 and checker.convex))
        known = _Known(place, node, certain, found.n_suppressed, found.n_gone, above=loss.above(found))
        if found.n_suppressed <= self.most:
            known.score = loss.score(node, found)
        if self.costs is None and 0 < certain <= self.most:
            known.below = loss.below(found)
        return known


class _AtK:
    """Searches of one k for rising limits.

    Bounds by terms of columns stay without the root of their product.
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
        self.axes = list(zip(self.strides, nodes.starts.tolist(), strict=False))
        self.most, self.place, self.checked, self.steps = 0, 0, 0, 0
        self.waiting: list[int] = []
        self.persons = np.inf
        self.best: _Known | None = None
        self.found: NodeOutcome | None = None
        self.later = [one for one in self.known if one.suppressed >= 0]
        self.reach = _NONE
        self._close_known()

    def outcome_at(self, allowed: int, persons: float) -> Solution | Infeasible:
        """Outcome for limits no smaller than before: records, and persons where records share them."""
        self.most, self.persons = min(allowed, self.checker.records.n_records - 1), persons
        self.place, self.waiting = 0, []
        allows: list[_Known] = []
        later: list[_Known] = []
        for one in self.later:
            (allows if one.suppressed <= self.most and one.gone <= persons else later).append(one)
        self.later = later
        least = self._least(allows)
        for at in np.argsort(least, kind="stable"):
            if least[at] > self.reach:
                break
            self._propose(allows[at])
        while (place := self._open()) >= 0:
            self._visit(*self._climb(place))
        if self.best is None or self.best.score is None:
            return Infeasible(-1, (), True, self.checked)
        node, score = self.best.node, self.best.score
        if self.found is None:
            self.found = self.checker.check(node)
        return Solution(node, score, self.found, score.value, self.checked)

    def _allows(self, one: _Known) -> bool:
        return 0 <= one.suppressed <= self.most and one.gone <= self.persons

    def _least(self, known: Sequence[_Known]) -> Numbers:
        """Loss of known nodes, or a bound of it where it was not computed, on the scale of bounds."""
        least = np.zeros(len(known))
        if self.costs is not None and known:
            places, suppressed = np.array([(one.place, one.suppressed) for one in known]).T
            least = self._bounds(places, suppressed)
        for at, one in enumerate(known):
            if one.score is not None:
                least[at] = self._scaled(one.score)
        return least

    def _scaled(self, score: LossScore) -> float:
        return score.value if self.costs is None else self.costs.joined(score.value) - (self.costs.root > 0)

    def _bounds(self, places: Rows, suppressed: Counts) -> Numbers:
        """Bounds of nodes where at least so many records are suppressed."""
        assert self.costs is not None
        nodes = np.array(np.unravel_index(places, self.bounds.shape))
        terms = self.nodes.terms[suppressed // self.nodes.step, self.nodes.starts[:-1, None] + nodes]
        bounds: Numbers = (terms + 1).prod(axis=0) - 1 if self.costs.root else terms.sum(axis=0)
        return bounds

    def _bound(self, place: int, suppressed: int) -> float:
        """Bound of one node, as :meth:`_bounds`, without the price of arrays."""
        if self.costs is None:
            return -np.inf
        of_term = self.nodes.terms[suppressed // self.nodes.step].tolist()
        product, total = 1.0, 0.0
        for stride, start in self.axes:
            position, place = divmod(place, stride)
            product *= 1 + of_term[start + position]
            total += of_term[start + position]
        return product - 1 if self.costs.root else total

    def _propose(self, one: _Known, groups: NodeGroups | None = None) -> None:
        found = None
        if one.score is None:
            found = self.checker.judge(groups or self.checker.group(one.node))
            one.score = self.loss.score(one.node, found)
        if self.best is None or self._rank(one) < self._rank(self.best):
            self.best, self.found, self.reach = one, found, self._scaled(one.score)

    def _rank(self, one: _Known) -> tuple[float, tuple[int, tuple[int, ...]]]:
        assert one.score is not None
        return one.score.value, self.checker.lattice.order(one.node)

    def _open(self) -> int:
        """Place of the next open node; -1 if none is left."""
        while self.waiting or self._look_further():
            place = self.waiting[-1]
            certain = self.certain.item(place)
            if certain <= self.most and self.bounds.item(place) <= self.reach >= self._bound(place, certain):
                return place
            self.waiting.pop()
        return -1

    def _look_further(self) -> bool:
        """Let some more open nodes wait, their bounds raised by what is known by now; False if none is left."""
        bounds, certain = self.bounds.reshape(-1), self.certain.reshape(-1)
        while self.place < len(bounds) and not self.waiting:
            chunk = slice(self.place, self.place + _CHUNK)
            open_ = np.flatnonzero((bounds[chunk] <= self.reach) & (certain[chunk] <= self.most))[:_SOME] + self.place
            self.place = int(open_[-1]) + 1 if len(open_) == _SOME else self.place + _CHUNK
            if self.costs is not None and len(open_):
                raised = bounds[open_] = self._bounds(open_, certain[open_])
                open_ = open_[raised <= self.reach]
            self.waiting = open_[::-1].tolist()
        return bool(self.waiting)

    def _climb(self, place: int) -> tuple[int, Node]:
        """Climb to the open neighbour of least bound, as long as one is open, and some steps further.

        What is far above the limit there is above it further up, too, and rules out more nodes at once.
        """
        node, rest, strides = [], place, self.strides
        for stride in strides:
            position, rest = divmod(rest, stride)
            node.append(position)
        most, top, reach, steps = self.most, self.checker.lattice.top, self.reach, self.steps
        bound_of, certain_of = self.bounds.item, self.certain.item
        while True:
            best, chosen = np.inf, -1
            for axis, position in enumerate(node):
                if position < top[axis]:
                    above = place + strides[axis]
                    bound = bound_of(above)
                    if bound < best and certain_of(above) <= most:
                        best, chosen = bound, axis
            if best > reach:
                steps -= 1
            if chosen < 0 or steps < 0:
                return place, tuple(node)
            node[chosen] += 1
            place += strides[chosen]

    def _visit(self, place: int, node: Node) -> None:
        groups = self.checker.group(node)
        self.checked += 1
        one = self.nodes.learn(place, node, groups, self.at)
        if not self._allows(one):
            if one.suppressed >= 0:
                self.later.append(one)
        elif self._bound(place, one.suppressed) <= self.reach:
            self._propose(one, groups)
        if one.certain:
            self._suppress_below(node, min(one.certain, self.nodes.most + 1))
        self._bound_by(one)
        self.bounds[node] = np.inf
        if one.certain > _FAR * max(self.most, 1):
            self.steps += 1
        elif one.certain <= self.most:
            self.steps //= 2

    def _suppress_below(self, node: Node, n: int) -> None:
        """Let at least so many records be suppressed at the node, and at all below."""
        lines, columns = self.nodes.below(node)
        halves = self.certain.reshape(-1, len(columns))
        raised = halves.take(lines, axis=0)
        np.maximum(raised, columns * self.certain.dtype.type(n), out=raised)
        halves[lines] = raised

    def _bound_by(self, one: _Known) -> None:
        """Bound the nodes below and above one that is known."""
        if one.below is not None:
            one.below.lift(self.bounds, one.node, np.inf)
        above = np.inf if one.suppressed == 0 else one.above
        if above > -np.inf:
            region = self.bounds[tuple(slice(position, None) for position in one.node)]
            np.maximum(region, above, out=region)

    def _close_known(self) -> None:
        """Close what other searches have grouped, and what follows from its records."""
        certain = self.certain.reshape(-1)
        certain[self.nodes.beyond[self.at]] = self.nodes.most + 1
        for one in self.known:
            certain[one.place] = max(certain.item(one.place), min(one.certain, self.nodes.most + 1))
            if one.suppressed == 0 or self.costs is None:
                self._bound_by(one)
        _spread(self.certain)
        self.bounds.reshape(-1)[[one.place for one in self.known if one.suppressed >= 0]] = np.inf


def _inside(node: Node, shape: Node) -> Mask:
    """Mask of the nodes at or below a node, one axis after the other."""
    inside = np.zeros(shape, dtype=bool)
    inside[at_or_below(node)] = True
    return inside.reshape(-1)


def _spread(values: Counts) -> None:
    """Raise each node's value to the greatest at or above it, in place."""
    for axis, n_positions in enumerate(values.shape):
        lines = np.moveaxis(values, axis, 0)
        for position in range(n_positions - 1, 0, -1):
            lines[position - 1] = np.maximum(lines[position - 1], lines[position])
