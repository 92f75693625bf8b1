"""Searches of one lattice for many k and suppression limits.

They go from the largest k to the smallest, and for one k from the smallest limit to the largest. So every optimum is
feasible for the searches after it, and every bound for one k holds for all its limits. A node is grouped once for all k
that follow: where their losses are sums over suppressed rows, each k learns from each node how many records are
suppressed there at least, a bound of everything below it, and a bound of its own loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hybrid.anonymize.search.exhaustive import at_or_below
from hybrid.anonymize.search.group_cache import Grouping
from hybrid.anonymize.search.lattice import Lattice, Node
from hybrid.anonymize.search.losses import Bound, Loss, LossScore, RowCosts
from hybrid.anonymize.search.losses.protocol import Constant, Terms
from hybrid.anonymize.search.node_check import Checker, NodeGroups, NodeOutcome
from hybrid.anonymize.search.problem import Infeasible, Solution
from hybrid.base.arrays import Codes, Counts, Numbers
from hybrid.base.keys import group_sums


@dataclass(frozen=True)
class SuppressedCosts:
    """Terms of a loss that grows with each suppressed row."""

    costs: RowCosts
    """What a record of each leaf adds; not empty."""

    def terms(self, groups: NodeGroups, ks: Counts, most: int) -> tuple[Numbers, Numbers]:
        """Suppressed records and terms for each k.

        Parameters
        ----------
        ks : numpy.ndarray, shape (n_ks,), int64
            Ascending, 1 or more.
        most : int
            Terms are asked for up to so many suppressed records.

        Returns
        -------
        suppressed : numpy.ndarray, shape (n_ks,), float64
            Records in classes of fewer than each k.
        terms : numpy.ndarray, shape (n_asked, n_terms), float64
            Weighted terms of the first ks, whose suppressed records are at most ``most``.
        """
        base, kernels = groups.base, groups.bases.kernels
        if kernels is not None:
            costs = self._sums(base)
            suppressed, added = kernels.small_classes(groups.size_of_row, base.counts, costs, ks, most)
            return suppressed, np.maximum(self.costs.terms + added, 0)
        few = np.flatnonzero(groups.size_of_row < ks[-1])
        sizes = groups.size_of_row.take(few)
        per_size = group_sums(sizes.astype(np.int64), base.counts.take(few), ks[-1])
        suppressed = np.cumsum(per_size)[ks - 1]
        asked = ks[: np.searchsorted(suppressed, most, side="right")]
        terms = np.empty((len(asked), len(self.costs.terms)))
        added, smaller = self.costs.terms, 0
        for at, k in enumerate(asked):
            rows = few[(sizes >= smaller) & (sizes < k)]
            if len(rows):
                added = added + np.ones(len(rows)) @ self._sums(base).take(rows, axis=0)
            terms[at], smaller = added, k
        return suppressed, np.maximum(terms, 0, out=terms)

    def _sums(self, base: Grouping) -> Numbers:
        """Cost of suppressing each row of a base in each term, (len(base), n_terms); cached in the base."""
        if "sums" not in base.added:
            finer = None if base.parent is None else self._sums(base.parent)
            columns = [self._added(base, finer, column) for column in range(len(base.leaves))]
            base.added["sums"] = np.concatenate(columns, axis=1)
        return base.added["sums"]

    def _added(self, base: Grouping, finer: Numbers | None, column: int) -> Numbers:
        """Cost of suppressing each row in one column's terms, by the finer base where rows have several leaves."""
        if base.one_leaf(column):
            added: Numbers = self._more(column).take(base.leaves[column], axis=0)
            return np.multiply(added, base.counts[:, None], out=added)
        first, last = self.costs.starts[column], self.costs.starts[column + 1]
        assert finer is not None  # the distinct rows have one leaf each
        terms = np.ascontiguousarray(finer[:, first:last].T)
        return np.stack([group_sums(base.row_of, term, len(base)) for term in terms], axis=1)

    def _more(self, column: int) -> Numbers:
        """Cost of suppressing one record; shape (n_leaves, n_positions)."""
        width = self.costs.starts[column + 1] - self.costs.starts[column]
        ends = [*self.costs.more_starts[1:], len(self.costs.more)]
        return self.costs.more[self.costs.more_starts[column] : ends[column]].reshape(-1, width)


Setting = tuple[Checker, Loss]
"""What is checked and minimized for one k."""
Limit = tuple[int, int]
"""Records that may be suppressed, and persons where records share them."""

_FAR = 2
"""Times the limit from which a node is far above it."""
_CHUNK = 1 << 12
"""Nodes that are looked through at once for an open one."""
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
    terms: Numbers | None = None
    """Bound of every node at or below this one, as a term per position; None: not known."""
    least: float = np.inf
    """The node's loss is no smaller; scaled."""
    gone: int = 0
    """Persons all of whose records are suppressed."""
    above: float = -np.inf
    """Bound of every node at or above this one; scaled."""


@dataclass
class _Scale:
    """Scale of losses on which bounds are quick: a product of (1 + term) stays without its root."""

    loss: Loss
    lattice: Lattice
    root: float = field(init=False)
    starts: Codes = field(init=False)

    def __post_init__(self) -> None:
        initial = self.loss.initial()
        self.root = initial.root if isinstance(initial, Terms) else 0.0
        self.starts = np.cumsum([0, *self.lattice.shape])

    def scaled(self, loss: float) -> float:
        return float((1 + loss) ** (1 / self.root) - 1 if self.root else loss)

    def initial(self) -> Numbers:
        bound = self.loss.initial()
        return (replace(bound, root=1.0) if isinstance(bound, Terms) and self.root else bound).all(self.lattice.shape)

    def terms(self, bound: Bound) -> Numbers:
        """Terms per position of a bound; a constant is that of the first column."""
        if isinstance(bound, Terms):
            return bound.values
        assert isinstance(bound, Constant)
        terms = np.zeros(self.starts[-1])
        terms[: self.starts[1]] = bound.value
        return terms

    def bound(self, terms: Numbers) -> Terms:
        return Terms(terms, self.starts, 1.0 if self.root else 0.0)

    def joined(self, terms: Numbers) -> Numbers:
        """Scaled bounds from one term per column; shape (n_columns, n) to (n,)."""
        result: Numbers = (terms + 1).prod(axis=0) - 1 if self.root else terms.sum(axis=0)
        return result


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
        self.scale = _Scale(loss, checker.lattice)
        costs = loss.by_row()
        plain = not checker.rules and not checker.population_k and checker.records.rows_are_persons
        self.costs = SuppressedCosts(costs) if plain and costs is not None and len(costs.more) else None

    def learn(self, node: Node, groups: NodeGroups, at: int) -> _Known:
        """Draw conclusions from a node for one k and smaller ones; those for this k are returned."""
        if self.costs is not None:
            self._from_sizes(self.costs, node, groups, at)
        else:
            self._from_classes(node, groups, at)
        return self.known[at][-1]

    def _from_sizes(self, costs: SuppressedCosts, node: Node, groups: NodeGroups, at: int) -> None:
        """Learn from class sizes alone, for all k at once."""
        suppressed, terms = costs.terms(groups, self.ks[: at + 1], self.most)
        least = self.scale.joined(terms.T.take(self.scale.starts[:-1] + node, axis=0)).tolist()
        for one, n in enumerate(suppressed.astype(np.int64).tolist()):
            known = _Known(node, n, n, terms[one], least[one]) if one < len(least) else _Known(node, n, n)
            self.known[one].append(known)

    def _from_classes(self, node: Node, groups: NodeGroups, at: int) -> None:
        """Learn from classes that violate a model.

        For this k and the next smaller one. The others learn how many records are in classes of fewer than k.
        """
        small = np.flatnonzero(groups.size_of_row < self.ks[at])
        sizes = groups.size_of_row[small].astype(np.int64)
        per_size = group_sums(sizes, groups.base.counts[small], self.ks[at])
        suppressed = np.cumsum(per_size)[self.ks[: at + 1] - 1]
        for one, certain in enumerate(suppressed.astype(np.int64).tolist()):
            if one >= at - 1 and certain <= self.most:
                self.known[one].append(self._judged(one, node, self.checkers[one].judge(groups)))
            else:
                self.known[one].append(_Known(node, certain, -1))

    def _judged(self, at: int, node: Node, found: NodeOutcome) -> _Known:
        checker, loss = self.checkers[at], self.losses[at]
        certain = max(found.n_certain, int(found.n_suppressed > 0 and checker.convex))
        if certain > self.most:
            return _Known(node, certain, found.n_suppressed)
        least = self.scale.scaled(loss.score(node, found).value) if found.n_suppressed <= self.most else np.inf
        terms, above = self.scale.terms(loss.below(found)), loss.above(found)
        return _Known(node, certain, found.n_suppressed, terms, least, found.n_gone, above)


class _AtK:
    """Searches of one k for rising limits.

    Parameters
    ----------
    nodes : _Nodes
        What is known, and learns.
    """

    def __init__(self, nodes: _Nodes, at: int) -> None:
        self.nodes, self.at, self.scale = nodes, at, nodes.scale
        self.checker, self.loss = nodes.checkers[at], nodes.losses[at]
        self.known = nodes.known[at]
        self.bounds = replace(self.scale, loss=self.loss).initial()
        self.certain: Counts = np.zeros(self.checker.lattice.shape, dtype=np.min_scalar_type(-nodes.most - 2))
        self.strides = [step // self.bounds.itemsize for step in self.bounds.strides]
        self.most, self.place, self.checked, self.steps = 0, 0, 0, 0
        self.persons = np.inf
        self.best: tuple[Node, LossScore, NodeOutcome] | None = None
        self.reach = _NONE
        self.lifted = not self.known
        if self.known:
            self._close_known()

    def outcome_at(self, allowed: int, persons: float) -> Solution | Infeasible:
        """Outcome for limits no smaller than before: records, and persons where records share them."""
        self.most, self.persons = min(allowed, self.checker.records.n_records - 1), persons
        self.best, self.reach, self.place = None, _NONE, 0
        self.known.sort(key=lambda one: one.least)
        for one in self.known:
            if one.least > self.reach or one.least == np.inf:
                break
            if self._allows(one):
                self._propose(one.node, self.checker.check(one.node))
        if not self.lifted:
            self._lift_known()
        while (node := self._open()) is not None:
            self._visit(node)
        if self.best is None:
            return Infeasible(-1, (), True, self.checked)
        node, score, found = self.best
        return Solution(node, score, found, score.value, self.checked)

    def _allows(self, one: _Known) -> bool:
        return 0 <= one.suppressed <= self.most and one.gone <= self.persons

    def _propose(self, node: Node, found: NodeOutcome) -> None:
        score, order = self.loss.score(node, found), self.checker.lattice.order
        if self.best is None or (score.value, order(node)) < (self.best[1].value, order(self.best[0])):
            self.best = node, score, found
            self.reach = self.scale.scaled(score.value)

    def _open(self) -> Node | None:
        """The highest open node over the next open one; None if none is left."""
        bounds, certain = self.bounds.reshape(-1), self.certain.reshape(-1)
        while self.place < len(bounds):
            chunk = slice(self.place, self.place + _CHUNK)
            open_ = (bounds[chunk] <= self.reach) & (certain[chunk] <= self.most)
            first = int(open_.argmax())
            if open_[first]:
                self.place += first
                return self._climb(self.place)
            self.place += _CHUNK
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
        if one.least <= self.reach and self._allows(one):
            self._propose(node, self.checker.judge(groups))
        self._raise_above(one)
        below = at_or_below(node)
        if one.certain > self.nodes.most:
            self.bounds[below] = np.inf
        elif one.certain > self.most:
            np.maximum(self.certain[below], one.certain, out=self.certain[below])
        if one.terms is not None and 0 < one.certain <= self.nodes.most:
            self.scale.bound(one.terms).lift(self.bounds, node, np.inf)
        self.bounds[node] = np.inf
        if one.certain > _FAR * max(self.most, 1):
            self.steps += 1
        elif one.certain <= self.most:
            self.steps //= 2

    def _raise_above(self, one: _Known) -> None:
        """Bound the nodes above one that is known."""
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
            if one.suppressed == 0 or one.above > -np.inf:
                self._raise_above(one)
        self.bounds.reshape(-1)[places[[one.suppressed >= 0 for one in self.known]]] = np.inf

    def _lift_known(self) -> None:
        """Raise bounds below all nodes that are known.

        Of the bounds above a node that with the greatest loss at the bottom is applied.
        """
        self.lifted = True
        shape, flat = self.bounds.shape, self.bounds.reshape(-1)
        within = np.flatnonzero((flat <= self.reach) & (self.certain.reshape(-1) <= self.nodes.most))
        bounding = [one for one in self.known if one.terms is not None and 0 < one.certain <= self.nodes.most]
        if not bounding or not len(within):
            return
        terms = np.stack([one.terms for one in bounding if one.terms is not None])
        places = np.array([one.node for one in bounding]) @ self.strides
        weights, source = np.full(shape, -np.inf), np.zeros(shape, dtype=np.int32)
        weights.reshape(-1)[places] = self.scale.joined(terms.T[self.scale.starts[:-1]])
        source.reshape(-1)[places] = np.arange(len(bounding))
        _spread(weights, source)
        chosen = within[weights.reshape(-1)[within] > -np.inf]
        columns = self.scale.starts[:-1, None] + np.unravel_index(chosen, shape)
        lifted = self.scale.joined(terms[source.reshape(-1)[chosen], columns])
        flat[chosen] = np.maximum(flat[chosen], lifted)


def _spread(values: Numbers | Counts, source: Codes | None = None) -> None:
    """Raise each node's value to the greatest at or above it, in place; the source of a value goes with it."""
    for axis, n_positions in enumerate(values.shape):
        lines = np.moveaxis(values, axis, 0)
        sources = None if source is None else np.moveaxis(source, axis, 0)
        for position in range(n_positions - 1, 0, -1):
            below, here = slice(position - 1, position), slice(position, position + 1)
            greater = lines[here] > lines[below]
            np.copyto(lines[below], lines[here], where=greater)
            if sources is not None:
                np.copyto(sources[below], sources[here], where=greater)
