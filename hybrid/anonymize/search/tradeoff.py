"""Trade-off curve: the least loss for many k and suppression limits.

All searches share the distinct rows and the tables that they are grouped from
(:mod:`hybrid.anonymize.search.curve`); beyond a million nodes each is a search of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.search import branch_and_bound, curve, exhaustive
from hybrid.anonymize.search.curve import Limit, Setting
from hybrid.anonymize.search.outcome import Infeasible, Solution
from hybrid.anonymize.search.problem import SearchProblem, prepare
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
        """As a dictionary of JSON types; an unknown gap is null."""
        return asdict(self) | {"gap": self.gap if math.isfinite(self.gap) else None}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> TradeoffPoint:
        """Read what :meth:`to_json` wrote."""
        return cls(**content | {"gap": math.inf if content["gap"] is None else content["gap"]})


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
        searched = curve.outcomes(settings, allowed)
    found = []
    for done in range(len(ks)):
        progress("trade-off", done, len(ks))
        found.append(next(searched))
    points = zip(itertools.product(ks, limits), itertools.chain.from_iterable(found[::-1]), strict=True)
    return [_point(task, k, limit, outcome) for (k, limit), outcome in points]


def _changed(options: AnonymizeOptions, **fields: float) -> AnonymizeOptions:
    """The same options with another k or suppression limit."""
    return options.model_copy(update=fields)


def _one_by_one(
    settings: Sequence[Setting], allowed: Sequence[Limit], seconds: float
) -> Iterator[list[Solution | Infeasible]]:
    """Outcomes at each limit, from the largest k to the smallest."""
    for checker, loss in settings[::-1]:
        yield [branch_and_bound.search(checker, loss, n, seconds, persons=persons) for n, persons in allowed]


def _point(task: SearchProblem, k: int, limit: float, found: Solution | Infeasible) -> TradeoffPoint:
    if isinstance(found, Infeasible):
        return TradeoffPoint(k, limit, None, None, None, None, 0.0 if found.complete else np.inf)
    levels = task.lattice.levels(found.node)
    value = task.published(found.score.value)
    return TradeoffPoint(k, limit, value, levels, found.found.n_suppressed, found.found.n_kept, found.gap)
