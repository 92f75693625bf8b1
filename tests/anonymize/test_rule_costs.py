"""What each rule beside k costs, and which rule takes a column away."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.search.tradeoff import RuleCost, RuleCosts, TradeoffPoint, rule_costs, tradeoff
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.load import load_hierarchies
from hybrid.hierarchy.spec import GroupsSpec, IntervalsSpec
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table

COLUMNS = (
    Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER),
    Column("sex", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
    Column("ill", Role.SENSITIVE, Kind.CATEGORICAL),
    Column("any", Role.SENSITIVE, Kind.CATEGORICAL),
)
ILL = {"model": "l_diversity", "l": 2, "attribute": "ill"}
ANY = {"model": "l_diversity", "l": 2, "attribute": "any"}
FOUR = {"model": "l_diversity", "l": 4, "attribute": "any"}


def _task(rows: int = 400) -> tuple[Table, dict[str, Hierarchy]]:
    """Nobody below 60 is ill; ``any`` has three values everywhere."""
    rng = np.random.default_rng(1)
    age = rng.integers(0, 80, rows)
    frame = pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], rows),
            "ill": np.where((age >= 60) & (rng.random(rows) < 0.5), "yes", "no"),
            "any": rng.choice(["a", "b", "c"], rows),
        }
    )
    schema = Schema(COLUMNS)
    table = Table(frame.astype({one.name: DTYPES[one.kind] for one in COLUMNS}), schema)
    known = {"age": IntervalsSpec(widths=(5, 20)), "sex": GroupsSpec(levels=({"f": ("f",), "m": ("m",)},))}
    return table, load_hierarchies(table, known)


def _costs(*models: dict[str, object], limit: float = 0.0) -> RuleCosts:
    return rule_costs(*_task(), AnonymizeOptions.model_validate({"models": models, "suppression_limit": limit}))


def test_the_rule_that_takes_a_column_away_is_named() -> None:
    costs = _costs(ANY, ILL)
    assert costs.chosen.levels is not None and costs.chosen.levels["age"] == 3
    assert costs.alone.levels is not None and costs.alone.levels["age"] < 3
    assert costs.causes("age") == ("l-diversity of ill",) and costs.causes("sex") == ()
    assert [one.rule for one in costs.expensive({"age": 3, "sex": 2})] == ["l-diversity of ill"]


def test_without_a_rule_k_is_the_cause_of_everything() -> None:
    costs = _costs()
    assert costs.chosen == costs.alone and not costs.rules and costs.causes("age") == ()
    assert not list(costs.expensive({"age": 3, "sex": 2}))


def test_each_point_is_that_of_the_search_with_these_rules_alone() -> None:
    table, hierarchies = _task()
    costs = _costs(ANY, ILL, limit=0.05)
    for models, found in (((ANY, ILL), costs.chosen), ((), costs.alone), ((ILL,), costs.rules[1].point)):
        options = AnonymizeOptions.model_validate({"models": models})
        assert tradeoff(table, hierarchies, options, [5], [0.05]) == [found]


def test_a_rule_that_nothing_holds_is_expensive() -> None:
    costs = _costs(FOUR)
    assert costs.chosen.loss is None and costs.alone.loss is not None
    assert [one.rule for one in costs.expensive({"age": 3, "sex": 2})] == ["l-diversity of any"]
    assert costs.causes("age") == ()


def test_rules_that_do_it_together_are_all_named() -> None:
    low = TradeoffPoint(5, 0.0, 0.1, {"age": 1}, 0, 9, 0.0)
    high = replace(low, loss=0.5, levels={"age": 3})
    costs = RuleCosts(high, low, (RuleCost("t-closeness of pay", low), RuleCost("l-diversity of ill", low)))
    assert costs.causes("age") == ("t-closeness of pay", "l-diversity of ill")


@pytest.mark.parametrize("gap", [0.0, math.inf])
def test_costs_come_back_from_json(gap: float) -> None:
    costs = _costs(ILL)
    costs = replace(costs, chosen=replace(costs.chosen, gap=gap))
    assert RuleCosts.from_json(costs.to_json()) == costs
