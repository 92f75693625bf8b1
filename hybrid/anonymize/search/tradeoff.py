"""Trade-off curve, the least loss for many k and suppression limits, and the cost of each rule beside k.

All searches of a curve share the distinct rows and the tables that they are grouped from
(:mod:`hybrid.anonymize.search.curve`); beyond a million nodes each is a search of its own. A rule costs what the least
loss with k and that rule is more than that of k alone.
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
from hybrid.anonymize.search.problem import Infeasible, SearchProblem, Solution, prepare
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

    Returns
    -------
    list of TradeoffPoint
        By k, then by limit, both ascending. ``time_limit`` holds per point beyond a million combinations.
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
    return options.model_copy(update=fields)


def _one_by_one(
    settings: Sequence[Setting], allowed: Sequence[Limit], seconds: float
) -> Iterator[list[Solution | Infeasible]]:
    for checker, loss in settings[::-1]:
        yield [branch_and_bound.search(checker, loss, n, seconds, persons=persons) for n, persons in allowed]


def _point(task: SearchProblem, k: int, limit: float, found: Solution | Infeasible) -> TradeoffPoint:
    if isinstance(found, Infeasible):
        return TradeoffPoint(k, limit, None, None, None, None, 0.0 if found.complete else np.inf)
    levels = task.lattice.levels(found.node)
    value = task.published(found.score.value)
    return TradeoffPoint(k, limit, value, levels, found.found.n_suppressed, found.found.n_kept, found.gap)


CLEARLY = 0.1
"""Share of the loss of k alone, from which the further loss of a rule is a clear cost."""


@dataclass(frozen=True)
class RuleCost:
    """Least loss with k and one rule."""

    rule: str
    """The rule in words, such as "l-diversity of heart_disease"; holds no cell value."""
    point: TradeoffPoint
    """The optimum with k and this rule alone."""


@dataclass(frozen=True)
class RuleCosts:
    """Least loss with all rules, and with fewer of them."""

    chosen: TradeoffPoint
    """The optimum with k and all rules, as a run finds it."""
    alone: TradeoffPoint
    """The optimum with k alone; equal to ``chosen`` where there is no other rule."""
    rules: tuple[RuleCost, ...] = ()
    """In the order of the configuration."""

    def causes(self, column: str) -> tuple[str, ...]:
        """Rules that generalize a column further than k alone does: each that does so by itself.

        All of them where only several together do; empty where k alone takes the column as far, or where there is no
        solution.
        """
        if _level(self.chosen, column) <= _level(self.alone, column):
            return ()
        found = tuple(one.rule for one in self.rules if _level(one.point, column) > _level(self.alone, column))
        return found or tuple(one.rule for one in self.rules)

    def expensive(self, roots: Mapping[str, int]) -> Iterator[RuleCost]:
        """Rules that cost clearly more than k alone.

        Their loss is more than :data:`CLEARLY` above that of k alone, a column that k alone leaves something of goes to
        its root, or no generalization holds them.
        """
        if self.alone.loss is None:
            return
        for one in self.rules:
            loss = one.point.loss
            gone = any(_level(one.point, name) >= root > _level(self.alone, name) for name, root in roots.items())
            if loss is None or gone or loss > (1 + CLEARLY) * self.alone.loss:
                yield one

    def to_json(self) -> dict[str, Any]:
        return {
            "chosen": self.chosen.to_json(),
            "alone": self.alone.to_json(),
            "rules": [{"rule": one.rule, "point": one.point.to_json()} for one in self.rules],
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> RuleCosts:
        rules = tuple(RuleCost(one["rule"], TradeoffPoint.from_json(one["point"])) for one in content["rules"])
        return cls(TradeoffPoint.from_json(content["chosen"]), TradeoffPoint.from_json(content["alone"]), rules)


def rule_costs(
    train: Table,
    hierarchies: Mapping[str, Hierarchy],
    options: AnonymizeOptions,
    population: Table | None = None,
    chosen: TradeoffPoint | None = None,
) -> RuleCosts:
    """Search the least loss with all rules, with k alone, and with k and each rule by itself.

    Arguments as for :func:`tradeoff`; k and the suppression limit are the configured ones. ``chosen``, with all rules,
    may be known already.
    """

    def searched(*models: Any) -> TradeoffPoint:
        changed = options.model_copy(update={"models": models})
        return tradeoff(train, hierarchies, changed, (options.k,), (options.suppression_limit,), population=population)[
            0
        ]

    models = options.models
    found = searched(*models) if chosen is None else chosen
    if not models:
        return RuleCosts(found, found)
    each = tuple(RuleCost(words_of(model), found if len(models) == 1 else searched(model)) for model in models)
    return RuleCosts(found, searched(), each)


def words_of(model: Any) -> str:
    """A model of the configuration in a few words, without its numbers."""
    attribute = getattr(model, "attribute", None)
    name = str(model.model).replace("_", "-")
    return name if attribute is None else f"{name} of {attribute}"


def _level(point: TradeoffPoint, column: str) -> int:
    return -1 if point.levels is None else point.levels.get(column, -1)
