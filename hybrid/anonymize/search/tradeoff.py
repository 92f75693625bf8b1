"""Trade-off curve: the least loss for many k and suppression limits.

All searches share the distinct rows and the tables that they are grouped from. They go from the strictest to the
loosest: from the largest k to the smallest, and for one k from the smallest limit to the largest. So every optimum is
feasible for the searches after it, and every bound for one k holds for all limits. A node is grouped for all that
follow: its class sizes say how many records each k suppresses there at least, which rules out everything below it where
these are too many; and where they are not, it is scored and bounds are drawn for its k and for the next smaller one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.search import branch_and_bound, exhaustive
from hybrid.anonymize.search.exhaustive import at_or_below
from hybrid.anonymize.search.group_cache import Grouping
from hybrid.anonymize.search.lattice import Node
from hybrid.anonymize.search.losses import Loss
from hybrid.anonymize.search.node_check import Checker, Groups, NodeOutcome
from hybrid.anonymize.search.outcome import Infeasible, Solution
from hybrid.anonymize.search.problem import SearchProblem, prepare
from hybrid.base.arrays import Counts, Mask
from hybrid.base.keys import group_sums
from hybrid.base.progress import Progress, silent
from hybrid.hierarchy import Hierarchy
from hybrid.table import Table


@dataclass(frozen=True)
class TradeoffPoint:
    """The optimum of one k and one suppression limit."""

    k: int
    suppression_limit: float
    loss: float | None
    """Least loss; None if no generalization is feasible."""
    levels: dict[str, int] | None
    suppressed: int | None
    classes: int | None
    gap: float
    """Proven bound on how much smaller a loss could be; 0 when optimal."""

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        return asdict(self)


def tradeoff(
    train: Table,
    hierarchies: Mapping[str, Hierarchy],
    options: AnonymizeOptions,
    ks: Sequence[int] = (2, 3, 5, 10, 20, 50),
    limits: Sequence[float] = (0.0, 0.01, 0.02, 0.05, 0.1),
    progress: Progress = silent,
    population: Table | None = None,
) -> list[TradeoffPoint]:
    """Least loss of global recoding per k and suppression limit.

    Parameters
    ----------
    train, hierarchies, options, population
        As for :func:`~hybrid.anonymize.anonymize`; ``options.k`` and ``options.suppression_limit`` are replaced.
    ks : sequence of int
        Class sizes, 1 or more.
    limits : sequence of float
        Shares of records that may be left out, 0..1.
    progress : Progress
        Receives the number of finished ks.

    Returns
    -------
    list of TradeoffPoint
        By k, then by limit, both ascending. ``time_limit`` holds per point beyond a million combinations.

    Raises
    ------
    ConfigError, DataError, HierarchyError
        As :func:`~hybrid.anonymize.anonymize`.
    """
    task = prepare(train, hierarchies, options, population)
    checker, limits, ks = task.checker(task.lattice), sorted(set(limits)), sorted(set(ks))
    at_limits = [replace(task, options=_changed(options, suppression_limit=limit)) for limit in limits]
    allowed = [(one.allowed, one.allowed_persons) for one in at_limits]
    at_ks = [replace(task, options=_changed(options, k=k)) for k in ks]
    settings = [(replace(checker, k=one.options.k), one.loss(task.lattice)) for one in at_ks]
    if task.lattice.size > exhaustive.LARGEST:
        searched = _one_by_one(settings, allowed, options.time_limit)
    else:
        searched = _together(settings, allowed)
    found = []
    for done in range(len(ks)):
        progress("trade-off", done, len(ks))
        found.append(next(searched))
    points = zip(itertools.product(ks, limits), itertools.chain.from_iterable(found[::-1]), strict=True)
    return [_point(task, k, limit, outcome) for (k, limit), outcome in points]


def _changed(options: AnonymizeOptions, **fields: float) -> AnonymizeOptions:
    """The same options with another k or suppression limit."""
    return options.model_copy(update=fields)


_Setting = tuple[Checker, Loss]
"""What is checked and minimized for one k."""
_Limit = tuple[int, int | None]
"""Records that may be suppressed, and persons where records share them."""
_Outcomes = list[Solution | Infeasible]


def _one_by_one(settings: Sequence[_Setting], allowed: Sequence[_Limit], seconds: float) -> Iterator[_Outcomes]:
    """Outcomes at each limit, from the largest k to the smallest."""
    for checker, loss in settings[::-1]:
        yield [branch_and_bound.search(checker, loss, n, seconds, persons=persons) for n, persons in allowed]


def _together(settings: Sequence[_Setting], allowed: Sequence[_Limit]) -> Iterator[_Outcomes]:
    """Outcomes at each limit, from the largest k to the smallest."""
    known = _Known([checker.k for checker, _ in settings], settings[0][0].lattice.shape)
    smaller = [_AtK(*setting, known) for setting in settings]
    while smaller:
        one = smaller.pop()
        one.following = smaller[-1] if smaller else None
        yield [one.outcome_at(*limit) for limit in allowed]


class _Known:
    """Least number of suppressed records per k and node.

    From the classes of the nodes grouped so far.
    """

    def __init__(self, ks: Sequence[int], shape: Node) -> None:
        self.ks = np.array(ks)
        self.certain = np.zeros((len(ks), *shape), dtype=np.int64)

    def at(self, k: int) -> Counts:
        """Records that one k suppresses at least at a node and below.

        Shape of the lattice, int64; 0 for nodes that were not grouped.
        """
        certain: Counts = self.certain[np.searchsorted(self.ks, k)]
        return certain

    def note(self, k: int, node: Node, groups: Groups) -> None:
        """Count what is suppressed for this k and smaller ones.

        Classes that are too small are so below the node, too.
        """
        ks = self.ks[self.ks <= k]
        small = np.flatnonzero(groups.size_of_row < k)
        per_size = group_sums(groups.size_of_row[small].astype(np.int64), groups.base.counts[small], k)
        suppressed = np.cumsum(per_size).astype(np.int64)[ks - 1]
        self.certain[(slice(len(ks)), *node)] = suppressed


def _at_or_below_any(chosen: Mask) -> Mask:
    """Mask of the nodes at or below a chosen one.

    Shape of the lattice, bool.
    """
    result = chosen.copy()
    for axis, n_positions in enumerate(chosen.shape):
        positions = np.moveaxis(result, axis, 0)
        for position in range(n_positions - 2, -1, -1):
            positions[position] |= positions[position + 1]
    return result


class _AtK(exhaustive.Search):
    """Searches of one k for rising suppression limits."""

    following: _AtK | None = None
    """The search of the next smaller k, which learns from the same nodes."""

    def __init__(self, checker: Checker, loss: Loss, known: _Known) -> None:
        super().__init__(checker, loss, 0)
        self.known, self.certain = known, known.at(checker.k)
        self.lasting = self.bounds
        self.worst = np.inf
        self.candidates: list[tuple[float, tuple[int, Node], int, int, Node]] = []

    @property
    def most(self) -> int:
        """Records that may be suppressed, and not all."""
        return min(self.allowed, self.checker.records.n_records - 1)

    def outcome_at(self, allowed: int, persons: int | None) -> Solution | Infeasible:
        """Outcome for a limit no smaller than the one before.

        Limits are numbers of records, and of persons where records share them.
        """
        self.allowed, self.persons, self.best = allowed, persons, None
        self.bounds = np.where(_at_or_below_any(self.certain > self.most), np.inf, self.lasting)
        most = np.inf if persons is None else persons
        feasible = [one for one in self.candidates if one[2] <= allowed and one[3] <= most]
        if feasible:
            node = min(feasible)[4]
            found = self.checker.check(node)
            self.best = node, self.loss.score(node, found), found
        self.finish()
        if self.following is not None:
            self.following.worst = min(self.following.worst, self.worst, self.value)
        return self.outcome()

    @property
    def reach(self) -> float:
        """No optimum of this k and limit has a greater loss."""
        return min(self.value, self.worst)

    def visit(self, node: Node, base: Grouping | None = None) -> None:
        """Group the records at a node.

        For this k and the smaller ones.
        """
        groups = self.checker.group(node, base)
        self.checked += 1
        self.known.note(self.checker.k, node, groups)
        if self.following is not None:
            self.following.judge(node, groups, self.most)
        found = self.judge(node, groups, self.most)
        if found is not None and found.within(self.allowed, self.persons):
            self.propose(node, found)
        if found is None or self.hopeless(found):
            self.bounds[at_or_below(node)] = np.inf
        else:
            np.maximum(self.bounds, self.lasting, out=self.bounds)

    def judge(self, node: Node, groups: Groups, most: int) -> NodeOutcome | None:
        """Score a node and learn from it, once.

        None if it was known, or suppresses too many records.
        """
        if self.certain[node] > most or self.lasting[node] == np.inf:
            return None
        found = self.checker.judge(groups)
        self.certain[node] = found.n_certain
        if found.n_certain > most:
            return None
        if found.n_suppressed <= self.checker.records.n_records - 1:
            value, order = self.loss.score(node, found).value, self.checker.lattice.order(node)
            self.candidates.append((value, order, found.n_suppressed, found.n_gone, node))
        self.learn(self.lasting, node, found)
        return found


def _point(task: SearchProblem, k: int, limit: float, found: Solution | Infeasible) -> TradeoffPoint:
    if isinstance(found, Infeasible):
        return TradeoffPoint(k, limit, None, None, None, None, 0.0 if found.complete else np.inf)
    levels = dict(zip(task.records.names, task.lattice.levels(found.node), strict=True))
    value = found.score.value
    return TradeoffPoint(k, limit, value, levels, found.found.n_suppressed, found.found.n_kept, found.gap)
