"""Trade-off curve: the least loss for many k and suppression limits.

All searches share the distinct rows and the tables that they are grouped from. For one k, the limits are taken from the
largest to the smallest, and a smaller one resumes where the larger one stopped. From one k to the next larger one, the
bounds are kept: what is certainly suppressed under the smaller k is so under the larger. And the class sizes of a node
say how many records every larger k suppresses there at least, which rules out everything below it for small limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.search import branch_and_bound, exhaustive
from hybrid.anonymize.search.lattice import Node
from hybrid.anonymize.search.losses import Loss
from hybrid.anonymize.search.node_check import Checker, NodeOutcome
from hybrid.anonymize.search.outcome import Infeasible, Solution
from hybrid.anonymize.search.problem import SearchProblem, prepare
from hybrid.base.arrays import Mask, Numbers
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
    checker = task.checker(task.lattice)
    at_limits = [replace(task, options=_at_limit(options, limit)) for limit in sorted(set(limits))]
    allowed = [(one.allowed, one.allowed_persons) for one in at_limits]
    points: list[TradeoffPoint] = []
    family: _Family | None = None
    known = None
    if task.lattice.size <= exhaustive.LARGEST:
        known = _Known(sorted(set(ks)), task.lattice.shape, convex=checker.convex)
    for done, k in enumerate(sorted(set(ks))):
        progress("trade-off", done, len(set(ks)))
        at_k = replace(checker, k=k)
        loss = replace(task, options=options.model_copy(update={"k": k})).loss(task.lattice)
        if known is None:
            seconds = options.time_limit
            found = [branch_and_bound.search(at_k, loss, n, seconds, persons=persons) for n, persons in allowed]
        else:
            family = _Family(at_k, loss, allowed[-1][0], known, family)
            found = list(family.outcomes(allowed[::-1]))[::-1]
        points += [_point(task, k, limit, one) for limit, one in zip(sorted(set(limits)), found, strict=True)]
    return points


def _at_limit(options: AnonymizeOptions, limit: float) -> AnonymizeOptions:
    """The same options with another suppression limit."""
    return options.model_copy(update={"suppression_limit": limit})


class _Known:
    """Lower bounds of the suppressed records per k.

    From the nodes grouped so far.
    """

    def __init__(self, ks: Sequence[int], shape: Node, *, convex: bool) -> None:
        self.convex = convex
        self.certain = {k: np.zeros(shape, dtype=np.int64) for k in ks}
        self.violated = np.zeros(shape, dtype=bool)

    def note(self, k: int, node: Node, found: NodeOutcome) -> None:
        """A node was grouped for one k.

        The next k is no smaller.
        """
        self.certain[k][node] = found.n_certain
        self.violated[node] |= found.n_suppressed > 0 and self.convex
        for larger in self.certain:
            if larger > k:
                self.certain[larger][node] = int(found.counts @ (found.size_of_row < larger))

    def hopeless(self, k: int, allowed: int) -> Mask:
        """Nodes at or below one that suppresses too much.

        Shape of the lattice, bool.
        """
        hopeless = self.certain[k] > allowed
        if allowed == 0:
            hopeless = hopeless | self.violated
        for axis in range(hopeless.ndim):
            hopeless = np.flip(np.logical_or.accumulate(np.flip(hopeless, axis), axis=axis), axis)
        return hopeless


class _Family(exhaustive.Search):
    """Searches of one k for falling suppression limits.

    Their conclusions also hold for every larger k.
    """

    def __init__(self, checker: Checker, loss: Loss, allowed: int, known: _Known, smaller: _Family | None) -> None:
        super().__init__(checker, loss, allowed)
        if smaller is not None:
            np.maximum(self.bounds, smaller.kept, out=self.bounds)
        self.known = known
        self.kept: Numbers = self.bounds.copy()
        self.most = allowed
        self.candidates: list[tuple[float, tuple[int, Node], int, int, Node]] = []

    @property
    def reach(self) -> float:
        """All bounds are raised: the best of a smaller limit is worse."""
        return np.inf

    def outcomes(self, falling: Sequence[tuple[int, int | None]]) -> Iterator[Solution | Infeasible]:
        """One outcome per limit, from the largest limit to the smallest.

        Limits are numbers of records, and of persons where records share them.
        """
        for allowed, persons in falling:
            self.allowed, self.persons, self.best = allowed, persons, None
            self.bounds[self.known.hopeless(self.checker.k, allowed)] = np.inf
            most = np.inf if persons is None else persons
            feasible = [one for one in self.candidates if one[2] <= allowed and one[3] <= most]
            if feasible:
                node = min(feasible)[4]
                found = self.checker.check(node)
                self.best = node, self.loss.score(node, found), found
            self.finish()
            yield self.outcome()

    def propose(self, node: Node, found: NodeOutcome) -> None:
        """Remember every feasible node.

        It may be the best of a smaller limit.
        """
        value = self.loss.score(node, found).value
        self.candidates.append((value, self.checker.lattice.order(node), found.n_suppressed, found.n_gone, node))
        super().propose(node, found)

    def conclude(self, node: Node, found: NodeOutcome) -> None:
        """Conclusions from a node, split into temporary and lasting ones.

        Lasting ones hold for every larger k and all limits.
        """
        super().conclude(node, found)
        self.known.note(self.checker.k, node, found)
        below = self.kept[tuple(slice(0, position + 1) for position in node)]
        if found.n_certain > self.most or found.n_certain == self.checker.records.n_records:
            below[...] = np.inf
        elif 0 < found.n_certain <= self.allowed:
            self.loss.below(found).lift(self.kept, node, np.inf)
        above = self.kept[tuple(slice(position, None) for position in node)]
        np.maximum(above, self.loss.above(found), out=above)


def _point(task: SearchProblem, k: int, limit: float, found: Solution | Infeasible) -> TradeoffPoint:
    if isinstance(found, Infeasible):
        return TradeoffPoint(k, limit, None, None, None, None, 0.0 if found.complete else np.inf)
    levels = dict(zip(task.records.names, task.lattice.levels(found.node), strict=True))
    value = found.score.value
    return TradeoffPoint(k, limit, value, levels, found.found.n_suppressed, found.found.n_kept, found.gap)
