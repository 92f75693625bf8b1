"""Cost of each rule beside k.

The least loss with k and that rule is compared with that of k alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.search.tradeoff import TradeoffPoint, tradeoff
from hybrid.hierarchy import Hierarchy
from hybrid.table import Table

CLEARLY = 0.1
"""Share of the loss of k alone, from which the further loss of a rule is a clear cost."""


@dataclass(frozen=True)
class RuleCost:
    """Least loss with k and one rule.

    Parameters
    ----------
    rule : str
        The rule in words, such as "l-diversity of heart_disease"; holds no cell value.
    point : TradeoffPoint
        The optimum with k and this rule alone.
    """

    rule: str
    point: TradeoffPoint


@dataclass(frozen=True)
class RuleCosts:
    """Least loss with all rules, and with fewer of them.

    Parameters
    ----------
    chosen : TradeoffPoint
        The optimum with k and all rules, as a run finds it.
    alone : TradeoffPoint
        The optimum with k alone; equal to ``chosen`` where there is no other rule.
    rules : tuple of RuleCost
        In the order of the configuration.
    """

    chosen: TradeoffPoint
    alone: TradeoffPoint
    rules: tuple[RuleCost, ...] = ()

    def causes(self, column: str) -> tuple[str, ...]:
        """Rules that generalize a column further than k alone does.

        Parameters
        ----------
        column : str
            A quasi-identifier.

        Returns
        -------
        tuple of str
            Each rule that does so by itself; all of them where only several together do; empty where k alone takes the
            column as far, or where there is no solution.
        """
        if _level(self.chosen, column) <= _level(self.alone, column):
            return ()
        found = tuple(one.rule for one in self.rules if _level(one.point, column) > _level(self.alone, column))
        return found or tuple(one.rule for one in self.rules)

    def expensive(self, roots: Mapping[str, int]) -> Iterator[RuleCost]:
        """Rules that cost clearly more than k alone.

        Their loss is more than :data:`CLEARLY` above that of k alone, a column that k alone leaves something of goes to
        its root, or no generalization holds them.

        Parameters
        ----------
        roots : mapping of str to int
            Last level of each quasi-identifier.
        """
        if self.alone.loss is None:
            return
        for one in self.rules:
            loss = one.point.loss
            gone = any(_level(one.point, name) >= root > _level(self.alone, name) for name, root in roots.items())
            if loss is None or gone or loss > (1 + CLEARLY) * self.alone.loss:
                yield one

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        return {
            "chosen": self.chosen.to_json(),
            "alone": self.alone.to_json(),
            "rules": [{"rule": one.rule, "point": one.point.to_json()} for one in self.rules],
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> RuleCosts:
        """Read what :meth:`to_json` wrote."""
        rules = tuple(RuleCost(one["rule"], TradeoffPoint.from_json(one["point"])) for one in content["rules"])
        return cls(TradeoffPoint.from_json(content["chosen"]), TradeoffPoint.from_json(content["alone"]), rules)


def rule_costs(
    train: Table,
    hierarchies: Mapping[str, Hierarchy],
    options: AnonymizeOptions,
    population: Table | None = None,
    chosen: TradeoffPoint | None = None,
) -> RuleCosts:
    """Search the least loss with all rules, and with fewer.

    With k alone, and with k and each rule by itself.

    Parameters
    ----------
    train, hierarchies, options, population
        As for :func:`~hybrid.anonymize.search.tradeoff.tradeoff`; k and the suppression limit are the configured ones.
    chosen : TradeoffPoint, optional
        The optimum with all rules, where it was searched already.

    Raises
    ------
    ConfigError, DataError, HierarchyError
        As :func:`~hybrid.anonymize.search.tradeoff.tradeoff`.
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
    """Level of a column; -1 where there is no solution."""
    return -1 if point.levels is None else point.levels.get(column, -1)
