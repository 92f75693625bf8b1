"""Words about the levels of quasi-identifiers, and the rules behind them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from hybrid.anonymize.search.tradeoff import RuleCosts, TradeoffPoint
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.labels import LEFT_OUT, level_words


@dataclass(frozen=True)
class LevelWords:
    """Levels of quasi-identifiers in words."""

    of: Mapping[str, tuple[str, ...]]
    """By column, one for each level; the last is :data:`~hybrid.hierarchy.labels.LEFT_OUT`. No cell value."""

    @classmethod
    def named(cls, hierarchies: Mapping[str, Hierarchy], ages: Collection[str] = ()) -> LevelWords:
        """Words for the levels of hierarchies; ``ages`` are columns in years."""
        return cls(
            {
                name: tuple(level_words(tree, level, "year" if name in ages else "") for level in range(tree.n_levels))
                for name, tree in hierarchies.items()
            }
        )

    @property
    def roots(self) -> dict[str, int]:
        """Last level of each column."""
        return {name: len(words) - 1 for name, words in self.of.items()}

    def at(self, point: TradeoffPoint, column: str) -> str:
        """A column at a point of the trade-off, such as "10-year groups"."""
        return "not possible" if point.levels is None else self.of[column][point.levels[column]]


def column_words(costs: RuleCosts, words: LevelWords, column: str) -> str:
    """Level of a column in words, with its cause.

    Such as "10-year groups", "left out, because of k = 5", or "left out, because of l-diversity of heart_disease (with
    k = 5 alone: 10-year groups)".
    """
    now = words.at(costs.chosen, column)
    causes = costs.causes(column)
    if causes:
        alone = f"with k = {costs.alone.k} alone: {words.at(costs.alone, column)}"
        return f"{now}, because of {' and '.join(causes)} ({alone})"
    return f"{now}, because of k = {costs.chosen.k}" if now == LEFT_OUT else now


def rule_sentences(costs: RuleCosts, words: LevelWords, loss: str = "loss") -> Iterator[str]:
    """A sentence for each rule that costs clearly more than k alone.

    Of several rules, each is said to be the only one beside k.

    Of the loss called ``loss`` the numbers are shares of the information.
    """
    for one in costs.expensive(words.roots):
        if one.point.levels is None:
            yield f"no generalization holds {one.rule}; k = {costs.alone.k} alone can be held"
            continue
        coarser = [
            f"{name} would be {words.at(one.point, name)} (without this rule: {words.at(costs.alone, name)})"
            for name in words.of
            if costs.alone.levels is not None and one.point.levels[name] > costs.alone.levels[name]
        ]
        cost = f"{_amount(one.point, loss)} instead of {_amount(costs.alone, loss)}"
        only = " alone" if len(costs.rules) > 1 else ""
        yield f"because of {one.rule}{only}, {'; '.join([*coarser, f'the loss would be {cost}'])}"


def _amount(point: TradeoffPoint, loss: str) -> str:
    if point.loss is None:
        return "-"
    return f"{100 * point.loss:.0f} % of the information" if loss == "loss" else f"{point.loss:.4g} ({loss})"
