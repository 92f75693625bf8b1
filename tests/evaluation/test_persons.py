"""Attacks whose target is a person: worked by hand, planted leaks of one visit per person, and clean tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.evaluation import evaluate
from hybrid.evaluation.attacks.membership import folds
from hybrid.evaluation.attacks.persons import copied_sequences, membership_persons, persons_copied, persons_near
from hybrid.evaluation.attacks.rare_values import rare_values
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import auc_interval, clustered_error
from hybrid.evaluation.measure import Measure, NotComputable
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.registry import REGISTRY
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table

PERSONS = ["persons_copied", "persons_near", "copied_sequences", "membership_persons"]
SCHEMA = Schema(
    (
        Column("age", Role.QUASI_IDENTIFIER, Kind.INTEGER),
        Column("ward", Role.INSENSITIVE, Kind.CATEGORICAL),
        Column("cost", Role.SENSITIVE, Kind.DECIMAL),
    )
)


def visits(n_persons: int, rng: np.random.Generator, first: int = 0) -> Table:
    """About five visits of each person, alike but for their cost."""
    rows = rng.poisson(4, n_persons) + 1
    persons = np.repeat(np.arange(n_persons), rows)
    age, ward = rng.integers(18, 95, n_persons)[persons], rng.integers(0, 6, n_persons)[persons]
    cost = np.round(rng.lognormal(7 + 0.01 * age, 0.6), 2)
    return _table(age, ward, cost, persons + first)


def _table(age: np.ndarray, ward: np.ndarray, cost: np.ndarray, persons: np.ndarray | None = None) -> Table:
    frame = pd.DataFrame({"age": pd.Series(age), "ward": pd.Series(ward).astype(str), "cost": pd.Series(cost)})
    frame = frame.astype({column.name: DTYPES[column.kind] for column in SCHEMA})
    return Table(frame, SCHEMA, persons)


def context(train: Table, control: Table, table: Table) -> Context:
    return Context(train, control, replace(table, persons=None), EvaluateOptions())


def _joined(one: Table, other: Table) -> Table:
    return Table(pd.concat([one.frame, other.frame], ignore_index=True).astype(one.frame.dtypes.to_dict()), SCHEMA)


def test_worked_by_hand() -> None:
    """Ten training persons of two rows, ten control persons of two: rows 0, 1 (one person) and 4 are copied."""
    n = np.arange(20)
    train, control = (_table(20 + n + at, n % 2, 10.0 * n + at, n // 2) for at in (0, 30))
    table = _joined(train.take(np.array([0, 1, 4])), _table(200 + n, n % 2, 7.0 + n))
    asked = context(train, control, table)
    copied, twice = persons_copied(asked), copied_sequences(asked)
    assert isinstance(copied, Measure) and isinstance(twice, Measure)
    assert (copied.details["successes"], copied.details["attacks"]) == (2, 10)
    assert (twice.details["successes"], twice.details["attacks"]) == (1, 10)
    assert copied.excess is not None and copied.excess[0] == copied.value > twice.value > 0


def test_a_leak_of_one_visit_per_person_is_found() -> None:
    """One visit of 2 % of 2,000 persons: found in 4 of 5 trials and more; by rows it is 0.4 %."""
    found = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        train, control, clean = visits(2000, rng), visits(860, rng), visits(2000, rng)
        leaked = rng.permutation(2000)[:40]
        first = np.unique(train.persons, return_index=True)[1][leaked]  # type: ignore[arg-type]
        outcome = persons_copied(context(train, control, _joined(train.take(first), clean)))
        assert isinstance(outcome, Measure) and outcome.excess is not None
        found += outcome.excess[1] > 0
    assert found >= 5


def test_clean_tables_are_no_leak() -> None:
    alarms = dict.fromkeys(PERSONS, 0)
    for seed in range(12):
        rng = np.random.default_rng(100 + seed)
        asked = context(visits(200, rng), visits(120, rng), visits(200, rng))
        for name in PERSONS:
            outcome = REGISTRY[name].measure(asked).outcome
            assert isinstance(outcome, Measure) and outcome.excess is not None, (name, outcome)
            alarms[name] += outcome.excess[1] > 0
    assert max(alarms.values()) <= 2


def test_a_copy_hits_everybody() -> None:
    rng = np.random.default_rng(1)
    train, control = visits(120, rng), visits(100, rng)
    asked = context(train, control, train)
    for compute in (persons_copied, persons_near, copied_sequences, membership_persons):
        outcome = compute(asked)
        assert isinstance(outcome, Measure)
        assert outcome.value > 0.95
    assert outcome.details["mean_of_rows"] > 0.95


def test_the_halves_of_control_share_no_person() -> None:
    rng = np.random.default_rng(2)
    asked = context(visits(50, rng), visits(40, rng), visits(50, rng))
    persons = asked.persons("control")
    both = folds(asked)
    for fold in both:
        assert not set(persons[fold.others.rows]) & set(persons[fold.reference.rows])
        assert len(fold.others.rows) + len(fold.reference.rows) == len(persons)
    assert sorted(np.concatenate([fold.others.rows for fold in both])) == list(range(len(persons)))


def test_rows_of_one_person_are_one_score() -> None:
    """Every score five times, as five rows of a person: the interval is that of the persons, not of the rows."""
    rng = np.random.default_rng(3)
    one, other = rng.normal(0.2, 1, 60), rng.normal(0, 1, 60)
    rows = np.repeat(one, 5), np.repeat(other, 5)
    clusters = np.repeat(np.arange(60), 5), np.repeat(np.arange(60), 5)
    alone, together = auc_interval(one, other, 0.95), auc_interval(*rows, 0.95, clusters)
    assert together == pytest.approx(alone, abs=0.01)
    naive = auc_interval(*rows, 0.95)
    assert naive[2] - naive[1] < 0.6 * (together[2] - together[1])
    assert clustered_error(rows[0], clusters[0]) > 0


def test_a_value_of_one_patient_is_rare_however_often_it_occurs() -> None:
    rng = np.random.default_rng(4)
    train, control = visits(60, rng), visits(60, rng)
    frame = train.frame.assign(ward=np.where(train.persons == 3, "77", train.frame["ward"].astype(str)))
    train = Table(frame.astype({"ward": "category"}), SCHEMA, train.persons)
    table = train.take(np.arange(len(train)))
    outcome = rare_values(context(train, control, table))
    assert isinstance(outcome, Measure)
    assert outcome.details["columns"]["ward"]["train"] > 0
    alone = rare_values(context(replace(train, persons=None), replace(control, persons=None), table))
    assert isinstance(alone, Measure)


def test_they_need_to_know_the_person() -> None:
    rng = np.random.default_rng(5)
    train, control, table = (replace(visits(40, rng), persons=None) for _ in range(3))
    outcome = REGISTRY["persons_copied"].measure(Context(train, control, table, EvaluateOptions())).outcome
    assert isinstance(outcome, NotComputable) and outcome.lacks == "persons"
    found = evaluate(train, control, {"synthetic": table}, EvaluateOptions(families=["privacy"]), rng)
    assert not {metric.name for metric in found.metrics} & set(PERSONS)
