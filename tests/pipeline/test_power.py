"""A planted leak of the stated size is noticed, and a table too small for it is not called a pass."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid.base.rng import rng_for
from hybrid.evaluation import evaluate
from hybrid.evaluation.measure import Evaluation
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.planted_leaks import LEAKS
from hybrid.pipeline.power import LEAST_TRIALS, SMALL, judged_table, measure_power, trials_for
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy
from hybrid.publication.power import Power, PowerOptions
from hybrid.table import Column, Kind, Role, Schema, Table

OPTIONS = EvaluateOptions(metrics=("identical_match", "hitting_rate"))
SCHEMA = Schema(
    (
        *(Column(f"number {i}", Role.INSENSITIVE, Kind.DECIMAL) for i in range(3)),
        *(Column(f"code {i}", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL) for i in range(3)),
    )
)


def people(n: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    numbers = {f"number {i}": rng.normal(100, 20, n) for i in range(3)}
    codes = {f"code {i}": pd.Categorical(rng.choice(list("abcdefgh"), n)) for i in range(3)}
    return Table(pd.DataFrame(numbers | codes), SCHEMA)


def policy(**must_detect: float) -> Policy:
    rules = [
        {"name": name, "metric": name, "direction": "lower", "compare": "excess", "review": 0.005, "reason": "People."}
        for name in ("identical_match", "hitting_rate")
    ]
    head = {"name": "own", "version": "1", "owner": "the tests", "power": {"trials": 4}}
    return Policy.model_validate(head | {"rules": rules, "must_detect": must_detect})


def measured(n: int, control: int, demanded: Policy, seed: int = 3) -> tuple[Power, Evaluation]:
    train, others, table = people(n, seed), people(control, seed + 1), people(n, seed + 2)
    found = evaluate(train, others, {"synthetic": table}, OPTIONS, rng_for(7, "evaluate"))
    return measure_power([judged_table(train, others, table, OPTIONS, 7)], found, demanded, 7), found


def test_a_leak_of_the_stated_size_is_noticed_in_fresh_trials() -> None:
    demanded = policy(copy=0.05)
    power, found = measured(1000, 1000, demanded)
    assert judge(demanded, found, None, power=power).status == "pass"
    (leak,) = power.leaks
    assert (leak.made, leak.noticed) == (4, 4)
    for fresh in range(10, 15):
        train, control, table = people(1000, fresh), people(1000, fresh + 50), people(1000, fresh + 90)
        rng = np.random.default_rng(fresh)
        leaked = table.frame.copy()
        leaked.iloc[rng.choice(1000, 50, replace=False)] = train.frame.iloc[rng.choice(1000, 50, replace=False)]
        rows = pd.DataFrame({name: leaked[name].astype(table.frame[name].dtype) for name in leaked})
        again = evaluate(train, control, {"synthetic": Table(rows, SCHEMA)}, OPTIONS, rng_for(fresh, "evaluate"))
        assert judge(demanded.without_detection(), again, None).status == "review"


def test_too_small_a_control_is_a_review() -> None:
    demanded = policy(copy=0.01, near=0.01)
    power, found = measured(300, 20, demanded)
    assert judge(demanded.without_detection(), found, None).status == "pass"
    verdict = judge(demanded, found, None, power=power)
    assert verdict.status == "review"
    assert "with 20 control records" in verdict.open_checks[0].message
    assert [leak.made - leak.noticed for leak in power.leaks] == [1, 1], "trials end once too many were missed"


def test_the_same_seed_gives_the_same_trials() -> None:
    demanded = policy(copy=0.02, near=0.1)
    assert measured(300, 100, demanded)[0] == measured(300, 100, demanded)[0]


def test_without_control_nothing_is_noticed() -> None:
    train, table, demanded = people(100, 1), people(100, 2), policy(copy=1.0)
    found = evaluate(train, None, {"synthetic": table}, OPTIONS, rng_for(7, "evaluate"))
    power = measure_power([judged_table(train, None, table, OPTIONS, 7)], found, demanded, 7)
    assert power.control == 0 and power.leaks[0].made == 0
    assert "no rule" in power.leaks[0].reason
    assert judge(demanded, found, None, power=power).status == "review"


def test_a_leak_without_its_columns_is_no_review() -> None:
    demanded = policy(copy=1.0, secrets=0.5)
    power, found = measured(200, 200, demanded)
    assert [leak.lacks for leak in power.leaks] == [None, "secret"]
    assert judge(demanded, found, None, power=power).status == "pass"


@pytest.mark.parametrize(
    ("asked", "rows", "made"),
    [(20, 100, 20), (20, SMALL, 20), (20, 2 * SMALL, 10), (20, 10**6, LEAST_TRIALS), (3, 10**6, 3)],
)
def test_larger_tables_get_fewer_trials(asked: int, rows: int, made: int) -> None:
    assert trials_for(asked, rows) == made


@pytest.mark.parametrize(
    ("missed", "planned", "made", "noticed"), [((), 5, 5, 5), ((2,), 20, 20, 19), ((0, 1, 2), 20, 3, 0)]
)
def test_a_leak_that_one_of_few_trials_misses_is_tried_as_often_as_on_a_small_table(
    monkeypatch: pytest.MonkeyPatch, missed: tuple[int, ...], planned: int, made: int, noticed: int
) -> None:
    trials = iter(range(20))
    monkeypatch.setattr("hybrid.pipeline.power._Gate.notices", lambda *_: next(trials) not in missed)
    monkeypatch.setattr("hybrid.pipeline.power.SMALL", 10)
    demanded = policy(copy=0.05).model_copy(update={"power": PowerOptions(trials=20)})
    (leak,) = measured(1000, 1000, demanded)[0].leaks
    assert (leak.planned, leak.made, leak.noticed) == (planned, made, noticed)


def test_leaks_are_seen_by_metrics_that_exist() -> None:
    from hybrid.evaluation import REGISTRY

    assert {name for leak in LEAKS.values() for name in leak.seen_by} <= set(REGISTRY)
