"""The price of privacy: the least loss for many k and suppression limits at little more than the cost of one.

All searches share the distinct rows and the groups of columns. For one k, the limits are taken from the largest to the
smallest, and a smaller one goes on where the larger one stopped. From one k to the next larger one, the bounds are
kept: what is certainly suppressed under the smaller k is so under the larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hybrid.anonymize import bestfirst, dense
from hybrid.anonymize.checker import Checker, Found
from hybrid.anonymize.lattice import Node
from hybrid.anonymize.losses import Loss
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.solution import Nothing, Solution
from hybrid.anonymize.task import Task, prepare
from hybrid.arrays import Array
from hybrid.hierarchy import Hierarchy
from hybrid.progress import Progress, silent
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
    """The least loss of global recoding for each k and each suppression limit.

    Parameters
    ----------
    train, hierarchies, options, population
        As for :func:`~hybrid.anonymize.anonymize`; ``options.k`` and ``options.suppression_limit`` are replaced.
    ks : sequence of int
        Class sizes, 1 or more.
    limits : sequence of float
        Shares of records that may be left out, 0..1.
    progress : Progress
        Told how many of the ks are done.

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
    allowed = {limit: _at_limit(options, limit).allowed(len(train)) for limit in sorted(set(limits))}
    points: list[TradeoffPoint] = []
    family: _Family | None = None
    for done, k in enumerate(sorted(set(ks))):
        progress("trade-off", done, len(set(ks)))
        at_k = replace(checker, k=k)
        loss = replace(task, options=options.model_copy(update={"k": k})).loss(task.lattice)
        if task.lattice.size > dense.LARGEST:
            found = [bestfirst.search(at_k, loss, n, options.time_limit) for n in allowed.values()]
        else:
            family = _Family(at_k, loss, max(allowed.values()), family)
            found = list(family.outcomes(sorted(allowed.values(), reverse=True)))[::-1]
        points += [_point(task, k, limit, one) for limit, one in zip(allowed, found, strict=True)]
    return points


def _at_limit(options: AnonymizeOptions, limit: float) -> AnonymizeOptions:
    """The same options with another suppression limit."""
    return options.model_copy(update={"suppression_limit": limit})


@dataclass(frozen=True)
class _Visit:
    """What grouping one node showed: how many records are suppressed at it, and surely at all nodes below."""

    node: Node
    n_suppressed: int
    n_certain: int

    def rules_out_below(self, allowed: int) -> bool:
        """Whether no node at or below is feasible."""
        return self.n_certain > allowed or (allowed == 0 and self.n_suppressed > 0)


class _Family(dense.Search):
    """Searches of one k for falling suppression limits, with conclusions that hold for every larger k too."""

    def __init__(self, checker: Checker, loss: Loss, allowed: int, smaller: _Family | None) -> None:
        super().__init__(checker, loss, allowed)
        self.visits: list[_Visit] = []
        if smaller is not None:
            np.maximum(self.bounds, smaller.kept, out=self.bounds)
            self.visits = list(smaller.visits)
        self.kept: Array = self.bounds.copy()
        self.most = allowed
        self.candidates: list[tuple[float, tuple[int, Node], int, Node]] = []

    def outcomes(self, falling: Sequence[int]) -> Iterator[Solution | Nothing]:
        """One outcome per limit, given from the largest to the smallest number of records."""
        for allowed in falling:
            self.allowed, self.best = allowed, None
            for visit in self.visits:
                if visit.rules_out_below(allowed):
                    self.bounds[tuple(slice(0, position + 1) for position in visit.node)] = np.inf
            feasible = [candidate for candidate in self.candidates if candidate[2] <= allowed]
            if feasible:
                node = min(feasible)[3]
                found = self.checker.check(node)
                self.best = node, self.loss.score(node, found), found
            self.finish()
            yield self.outcome()

    def propose(self, node: Node, found: Found) -> None:
        """Remember every feasible node: it may be the best of a smaller limit."""
        value = self.loss.score(node, found).value
        self.candidates.append((value, self.checker.lattice.order(node), found.n_suppressed, node))
        super().propose(node, found)

    def conclude(self, node: Node, found: Found) -> None:
        """What a node says about the others, and what of it stays true for every larger k and all limits."""
        super().conclude(node, found)
        self.visits.append(_Visit(node, found.n_suppressed, found.n_certain))
        below = self.kept[tuple(slice(0, position + 1) for position in node)]
        if found.n_certain > self.most or found.n_certain == self.checker.records.n_records:
            below[...] = np.inf
        elif 0 < found.n_certain <= self.allowed:
            self.loss.below(found).lift(self.kept, node, np.inf)
        above = self.kept[tuple(slice(position, None) for position in node)]
        np.maximum(above, self.loss.above(found), out=above)


def _point(task: Task, k: int, limit: float, found: Solution | Nothing) -> TradeoffPoint:
    if isinstance(found, Nothing):
        return TradeoffPoint(k, limit, None, None, None, None, 0.0 if found.complete else np.inf)
    levels = dict(zip(task.records.names, task.lattice.levels(found.node), strict=True))
    value = found.score.value
    return TradeoffPoint(k, limit, value, levels, found.found.n_suppressed, found.found.n_kept, found.gap)
