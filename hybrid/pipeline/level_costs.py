"""Words about the levels of quasi-identifiers, and the rules behind them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from hybrid.anonymize.search.tradeoff import RuleCosts, TradeoffPoint
from hybrid.base.sentence import Sentence, sentence
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
    if causes := tuple(costs.causes(column)):
        alone = words.at(costs.alone, column)
        return sentence("level.because", level=now, causes=causes, k=costs.alone.k, alone=alone)
    return sentence("level.because.k", level=now, k=costs.chosen.k) if now == LEFT_OUT else now


def rule_sentences(costs: RuleCosts, words: LevelWords, loss: str = "loss") -> Iterator[str]:
    """A sentence for each rule that costs clearly more than k alone.

    Of several rules, each is said to be the only one beside k.

    Of the loss called ``loss`` the numbers are shares of the information.
    """
    for one in costs.expensive(words.roots):
        if one.point.levels is None:
            yield sentence("rule.impossible", rule=one.rule, k=costs.alone.k)
            continue
        assert one.point.loss is not None
        assert costs.alone.loss is not None
        coarser = [
            sentence("rule.coarser", column=name, level=words.at(one.point, name), alone=words.at(costs.alone, name))
            for name in words.of
            if costs.alone.levels is not None and one.point.levels[name] > costs.alone.levels[name]
        ]
        cost = sentence("rule.loss", loss=amount(one.point.loss, loss), alone=amount(costs.alone.loss, loss))
        template = "rule.because.alone" if len(costs.rules) > 1 else "rule.because"
        yield sentence(template, rule=one.rule, parts=(*coarser, cost))


def amount(loss: float, name: str) -> Sentence:
    """A loss: of the one called ``loss`` a share of the information."""
    return sentence("amount", share=percent(loss)) if name == "loss" else sentence("amount.of", n=loss, name=name)


def percent(share: float) -> Sentence:
    return sentence("percent", n=round(100 * share)) if share >= 0.01 else sentence("percent.little")
