"""Rows of persons, worked by hand and on simulated visits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.base.likeness import agreement, rank_correlation
from hybrid.evaluation import REGISTRY, EvaluateOptions, Measure, NotComputable, evaluate
from hybrid.evaluation.attacks.persons import copied_histories, joined_rows
from hybrid.evaluation.context import Context
from hybrid.evaluation.fidelity.histories import (
    METRICS,
    gaps_between_rows,
    row_transitions,
    rows_in_order,
    rows_per_person,
    within_person,
)
from hybrid.evaluation.utility.c2st import c2st_agg
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table

SCHEMA = Schema(
    (
        Column("day", Role.INSENSITIVE, Kind.INTEGER, order=True),
        Column("ward", Role.SENSITIVE, Kind.CATEGORICAL),
        Column("cost", Role.INSENSITIVE, Kind.DECIMAL),
    )
)
NAMES = [metric.name for metric in METRICS]


def table(persons: list[int], days: list[int], wards: list[str], costs: list[float] | None = None) -> Table:
    columns = {"day": days, "ward": wards, "cost": costs or [float(7 * at) for at in range(len(days))]}
    frame = pd.DataFrame({c.name: pd.Series(columns[c.name], dtype=DTYPES[c.kind]) for c in SCHEMA})
    return Table(frame, SCHEMA, np.array(persons))


def visits(n_persons: int, seed: int, stay: float = 0.7) -> Table:
    """About two visits of each person, mostly in the ward of the first one."""
    rng = np.random.default_rng(seed)
    rows = rng.poisson(1.2, n_persons) + 1
    whose = np.repeat(np.arange(n_persons), rows)
    days = np.concatenate([np.sort(rng.integers(0, 300, count)) for count in rows])
    own = rng.choice(list("ABC"), n_persons)[whose]
    wards = np.where(rng.random(len(whose)) < stay, own, rng.choice(list("ABC"), len(whose)))
    cost = np.round(rng.lognormal(5, 0.3, n_persons)[whose] * rng.lognormal(0, 0.3, len(whose)), 2)
    return table(whose.tolist(), days.tolist(), wards.tolist(), cost.tolist())


def of(train: Table, drawn: Table, control: Table | None = None) -> Context:
    return Context(train, control, drawn, EvaluateOptions())


TRAIN = table([0, 0, 0, 1, 1, 2], [1, 4, 9, 2, 2, 5], list("AABBBA"))
DRAWN = table([5, 5, 6, 7], [1, 7, 3, 3], list("ABAB"))


def test_worked_by_hand() -> None:
    """Rows 3, 2, 1 against 2, 1, 1; gaps 3, 5, 0 against 6; steps AA, AB, BB against AB."""
    asked = of(TRAIN, DRAWN)
    expected = {rows_per_person: 1 / 3, gaps_between_rows: 1.0, row_transitions: 2 / 3, rows_in_order: 1.0}
    for compute, value in expected.items():
        outcome = compute(asked)
        assert isinstance(outcome, Measure) and outcome.value == pytest.approx(value), compute.__name__
    assert of(DRAWN, TRAIN).persons("table").tolist() == TRAIN.persons.tolist()  # type: ignore[union-attr]


def test_order_is_that_of_the_table() -> None:
    backwards = table([5, 5, 5], [7, 1, 3], list("ABA"))
    outcome = rows_in_order(of(TRAIN, backwards))
    assert isinstance(outcome, Measure) and outcome.value == 0.5


def test_likeness() -> None:
    assert agreement(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1])) == 1
    assert agreement(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])) == 0
    assert agreement(np.array([0, 0]), np.array([0, 0])) == 0
    x = np.array([1.0, 2, 3, np.nan])
    assert rank_correlation(x, -(x**3)) == pytest.approx(-1)
    assert rank_correlation(x, np.array([5.0, 5, 5, 1])) == 0 == rank_correlation(x[3:], x[3:])


def test_a_copy_is_closest_and_real_people_are_near() -> None:
    train, control, other = visits(500, 1), visits(500, 2), visits(500, 3)
    for drawn, most in ((train, 0.0), (other, 0.12)):
        asked = of(train, drawn, control)
        for compute in (rows_per_person, gaps_between_rows, row_transitions, within_person):
            outcome = compute(asked)
            assert isinstance(outcome, Measure) and outcome.value <= most + 1e-9 and outcome.reference is not None
    separated = c2st_agg(of(train, other, control))
    assert isinstance(separated, Measure) and separated.value == pytest.approx(0.5, abs=0.08)


def test_strangers_and_shuffled_rows_are_seen() -> None:
    train, control = visits(600, 1), visits(600, 2)
    strangers = of(train, replace(train, named_persons=None), control)
    alone, separated = rows_per_person(strangers), c2st_agg(strangers)
    assert isinstance(alone, Measure) and alone.value > 0.4
    assert isinstance(separated, Measure) and separated.value > 0.8
    for compute in (gaps_between_rows, row_transitions, within_person, rows_in_order):
        outcome = compute(strangers)
        assert isinstance(outcome, NotComputable) and outcome.state == "too_few"
    whose = np.random.default_rng(0).permutation(train.persons)  # type: ignore[arg-type]
    mixed = of(train, replace(train, named_persons=whose), control)
    for compute, least in ((within_person, 0.2), (row_transitions, 0.15), (gaps_between_rows, 0.02)):
        outcome = compute(mixed)
        assert isinstance(outcome, Measure) and outcome.value > least, compute.__name__


@pytest.mark.parametrize("differs", ["ward", "cost"])
def test_persons_are_told_apart_by_a_category_or_a_mean_alone(differs: str) -> None:
    """People with one row each: their numbers of rows and of distinct values say nothing."""
    rng = np.random.default_rng(3)

    def people(wards: list[float], cost: float) -> Table:
        costs = rng.normal(cost, 1, 300).round(2).tolist()
        return table(
            [*range(300)], rng.integers(0, 300, 300).tolist(), rng.choice(list("ABC"), 300, p=wards).tolist(), costs
        )

    equal = [1 / 3] * 3
    drawn = people([0.8, 0.1, 0.1], 100) if differs == "ward" else people(equal, 102)
    separated = c2st_agg(of(people(equal, 100), drawn, people(equal, 100)))
    assert isinstance(separated, Measure) and separated.value > 0.65 and separated.low is not None
    assert separated.low > 0.6 and separated.reference == 0.5


def test_histories_are_copied_where_one_person_of_the_table_has_both_rows() -> None:
    train, control, clean = visits(300, 1), visits(300, 2), visits(300, 3)
    frame = pd.concat([train.frame, clean.frame], ignore_index=True).astype(train.frame.dtypes.to_dict())
    linked = np.concatenate([train.persons, 1000 + clean.persons])  # type: ignore[operator, list-item]
    for persons, hit in ((linked, True), (None, False), (np.arange(len(frame)), False)):
        outcome = copied_histories(of(train, Table(frame, SCHEMA, persons), control))
        assert isinstance(outcome, Measure) and outcome.excess is not None
        assert (outcome.value > 0.95) if hit else (outcome.details["successes"] == 0)
    alike = table([0] * 1500, [1] * 1500, ["A"] * 1500, [1.0] * 1500)
    assert isinstance(copied_histories(of(train, alike, control)), NotComputable)


def test_rows_of_a_person_are_joined_by_a_table_that_links_them() -> None:
    train, control, clean = visits(300, 1), visits(300, 2), visits(300, 3)
    (copy, honest, unlinked) = (
        joined_rows(of(train, drawn, control)) for drawn in (train, clean, replace(train, named_persons=None))
    )
    assert isinstance(copy, Measure) and copy.value > 0.9
    assert isinstance(honest, Measure) and honest.excess is not None
    assert honest.excess[1] <= 0 <= honest.excess[2]
    assert isinstance(unlinked, Measure) and unlinked.value <= 0.05, "each row of such a table is a person of its own"
    singles = table(list(range(60)), [1] * 60, ["A"] * 60, [1.0] * 60)
    outcome = joined_rows(of(singles, singles, control))
    assert isinstance(outcome, NotComputable) and outcome.lacks == "several_rows"


def test_they_are_measured_where_persons_and_an_order_are_known() -> None:
    train, control, drawn = visits(60, 1), visits(60, 2), visits(60, 3)
    options = EvaluateOptions(families=("fidelity",))

    def measured(*tables: Table) -> set[str]:
        found = evaluate(tables[0], tables[1], {"synthetic": tables[2]}, options, np.random.default_rng(1))
        return {metric.name for metric in found.metrics} & set(NAMES)

    assert measured(train, control, drawn) == set(NAMES)
    columns = tuple(replace(column, order=None) for column in SCHEMA)
    unordered = [replace(one, schema=Schema(columns)) for one in (train, control, drawn)]
    assert measured(*unordered) == set(NAMES) - {"rows_in_order", "gaps_between_rows"}
    assert measured(*(replace(one, named_persons=None) for one in (train, control, drawn))) == set()
    outcome = REGISTRY["rows_in_order"].measure(Context(*unordered, options)).outcome
    assert isinstance(outcome, NotComputable) and outcome.lacks == "order"
