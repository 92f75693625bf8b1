"""Sampling weights in metrics: by hand, and against rows that are written as often as they weigh."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import auc_interval, weighted_auc_interval
from hybrid.evaluation.measure import Measure, NotComputable
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.registry import REGISTRY
from hybrid.publication.gate import judge
from hybrid.publication.policy import load_policy, packaged_policies
from hybrid.table import Column, Kind, Role, Schema, Table

SCHEMA = Schema(
    (
        Column("sex", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        Column("region", Role.INSENSITIVE, Kind.CATEGORICAL),
        Column("age", Role.INSENSITIVE, Kind.INTEGER),
        Column("ill", Role.INSENSITIVE, Kind.BOOLEAN, target=True),
        Column("cost", Role.INSENSITIVE, Kind.DECIMAL, target=True),
        Column("w", Role.WEIGHT, Kind.DECIMAL),
    )
)


def survey(n: int, seed: int, women: float = 0.5) -> Table:
    rng = np.random.default_rng(seed)
    age, woman = rng.integers(18, 95, n), rng.random(n) < women
    frame = pd.DataFrame(
        {
            "sex": pd.Categorical(np.where(woman, "f", "m")),
            "region": pd.Categorical(rng.choice(list("NSW"), n)),
            "age": pd.array(age, dtype="Int64"),
            "ill": pd.array(rng.random(n) < 1 / (1 + np.exp(-(age - 60) / 8)), dtype="boolean"),
            "cost": np.round(age * 3 + rng.normal(0, 20, n), 1),
            "w": rng.integers(1, 4, n).astype(float),
        }
    )
    return Table(frame, SCHEMA)


def repeated(table: Table) -> Table:
    """Every row as often as it weighs, without the weights."""
    rows = np.repeat(np.arange(len(table)), table.frame["w"].to_numpy().astype(int))
    return table.take(rows).only([name for name in SCHEMA.names if name != "w"])


def measured(name: str, *tables: Table) -> Measure:
    context = Context(*tables, EvaluateOptions())
    metric = REGISTRY[name]
    outcome = metric.measure(context, metric.columns(context)[0]).outcome
    assert isinstance(outcome, Measure), outcome
    return outcome


def test_weighted_auc_is_that_of_repeated_scores() -> None:
    rng = np.random.default_rng(1)
    positive, negative = np.round(rng.normal(0.7, 1, 60), 1), np.round(rng.normal(0, 1, 90), 1)
    weights = rng.integers(1, 5, 60), rng.integers(1, 5, 90)
    value, low, high = weighted_auc_interval(positive, negative, *weights, 0.95)
    whole = auc_interval(np.repeat(positive, weights[0]), np.repeat(negative, weights[1]), 0.95)
    assert value == pytest.approx(whole[0])
    assert high - low > whole[2] - whole[1], "weights are no people"
    equal = weighted_auc_interval(positive, negative, np.ones(60), np.ones(90), 0.95)
    assert equal == pytest.approx(auc_interval(positive, negative, 0.95), abs=0.01)


def test_weighted_auc_of_groups_apart_is_exact() -> None:
    lower, higher = np.arange(20.0), np.arange(20.0, 50.0)
    weights = np.full(20, 0.25), np.full(30, 2.0)
    assert weighted_auc_interval(lower, higher, *weights, 0.95) == (0.0, 0.0, 0.0)
    assert weighted_auc_interval(higher, lower, *weights[::-1], 0.95) == (1.0, 1.0, 1.0)


def test_margins_by_hand() -> None:
    """Train: women 60 of 100 by weight; the table 45 of 100; control 58. Two equal regions each."""

    def people(of_women: float) -> Table:
        table = survey(100, 1)
        sex = pd.Categorical(np.repeat(["f", "m"], 50))
        weights = np.repeat([of_women / 50, (100 - of_women) / 50], 50)
        return Table(table.frame.assign(sex=sex, region=pd.Categorical(["N", "S"] * 50), w=weights), SCHEMA)

    found = measured("weighted_margins", people(60), people(58), people(45))
    assert found.value == pytest.approx(0.15) and found.reference == pytest.approx(0.02)
    assert found.details["columns"]["sex"] == pytest.approx(0.15)
    assert found.details["columns"]["region"] == pytest.approx(0)


@pytest.mark.parametrize("target", ["ill", "cost"])
def test_models_are_scored_with_the_weights_which_are_no_input(target: str) -> None:
    tables = survey(600, 1), survey(300, 2), survey(600, 3)
    options = EvaluateOptions(targets=(target,))
    found = REGISTRY["tstr"].measure(Context(*tables, options), target).outcome
    assert isinstance(found, Measure) and found.reference is not None and found.value > 0.6
    leaking = [
        Table(table.frame.assign(w=np.where(table.frame["ill"].astype(bool), 3.0, 1.0)), SCHEMA) for table in tables
    ]
    if target == "ill":
        again = REGISTRY["tstr"].measure(Context(*leaking, options), target).outcome
        assert isinstance(again, Measure) and again.value < 0.97, "a weight that names the target is not learned from"
    others = [table.only([name for name in SCHEMA.names if name != "w"]) for table in tables]
    rows = REGISTRY["tstr"].measure(Context(*others, options), target).outcome
    assert isinstance(rows, Measure) and rows.value != found.value
    assert rows.value == pytest.approx(found.value, abs=0.05)


def test_queries_sum_weights() -> None:
    """Of the same people, who weigh differently in the table: rows alone see no difference."""
    train, control = survey(400, 1), survey(300, 2)
    heavier = train.frame["w"].where(train.frame["sex"] == "m", train.frame["w"] * 4)
    table = Table(train.frame.assign(w=heavier), SCHEMA)
    assert measured("query_error", train, control, train).value == 0
    assert measured("query_error", train, control, table).value > 0.03


def test_the_rule_applies_where_there_are_weights() -> None:
    policy = load_policy(packaged_policies()["statistics_office"])
    rules = tuple(rule for rule in policy.rules if rule.metric == "weighted_margins")
    policy = policy.model_copy(update={"rules": rules, "anonymity": (), "history": (), "must_detect": {}})
    metric, train = REGISTRY["weighted_margins"], survey(400, 1)

    def judged(table: Table, of: Table = train) -> str:
        from hybrid.evaluation.measure import Evaluation

        result = metric.measure(Context(of, None, table, EvaluateOptions()))
        (check,) = judge(policy, Evaluation((result,)), None).checks
        return check.status if check.applies else "does not apply"

    assert judged(train) == "pass"
    assert judged(survey(400, 2, women=0.3)) == "review"
    assert judged(repeated(train), repeated(train)) == "does not apply"
    nothing = Table(train.frame.assign(w=0.0), SCHEMA)
    assert isinstance(metric.measure(Context(train, None, nothing, EvaluateOptions())).outcome, NotComputable)
    assert judged(nothing) == "not judged"
