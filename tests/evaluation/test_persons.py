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
from hybrid.evaluation.engine.intervals import auc_interval, clustered_error, independent_attempts
from hybrid.evaluation.measure import Measure, NotComputable
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.registry import REGISTRY
from hybrid.table import Table
from hybrid.table.read_options import ReadOptions
from hybrid.table.typed_table import read_frame
from tests.evaluation.simulated_visits import SCHEMA, context, joined, one_visit_each, visits, visits_of

PERSONS = ["persons_copied", "persons_near", "copied_sequences", "membership_persons"]


def test_worked_by_hand() -> None:
    """Ten training persons of two rows, ten control persons of two: rows 0, 1 (one person) and 4 are copied."""
    n = np.arange(20)
    train, control = (visits_of(20 + n + at, n % 2, 10.0 * n + at, n // 2) for at in (0, 30))
    table = joined(train.take(np.array([0, 1, 4])), visits_of(200 + n, n % 2, 7.0 + n))
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
        outcome = persons_copied(context(train, control, joined(one_visit_each(train, 0.02, rng), clean)))
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


@pytest.mark.parametrize(
    ("hits", "persons", "worth"),
    [
        ([1, 1, 0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3], 4.0),
        ([1, 0, 0, 1, 1, 0, 0, 1], [0, 1, 2, 3, 4, 5, 6, 7], 8.0),
        ([0, 0, 0, 0], [0, 0, 1, 1], 2.0),
        ([1, 0, 1, 0], [0, 0, 1, 1], 2.0),
    ],
    ids=["together", "alone", "never", "opposed"],
)
def test_attempts_on_rows_of_a_person_are_worth_as_many_as_are_independent(
    hits: list[int], persons: list[int], worth: float
) -> None:
    assert independent_attempts(np.array(hits, bool), np.array(persons)) == pytest.approx(worth)


ON_ROWS = (
    "linkability",
    "inference",
    "inference_quasi",
    "inference_model",
    "inference_exposed",
    "hitting_rate",
    "membership",
    "membership_density",
    "membership_exposed",
    "membership_subgroups",
)


@pytest.mark.parametrize("name", ON_ROWS)
def test_five_equal_rows_of_each_person_are_no_more_evidence_than_one(name: str) -> None:
    """Of the same rows, those of persons with five equal ones have the wider interval."""
    rng = np.random.default_rng(7)
    once = [visits(150, rng) for _ in range(3)]
    once = [part.take(np.unique(part.persons, return_index=True)[1]) for part in once]  # type: ignore[arg-type]
    train, control, table = (part.take(np.repeat(np.arange(len(part)), 5)) for part in once)
    options = EvaluateOptions(secrets=("cost",), min_cell=20)
    known = Context(train, control, replace(table, named_persons=None), options)
    rows = Context(
        replace(train, named_persons=None),
        replace(control, named_persons=None),
        replace(table, named_persons=None),
        options,
    )
    metric = REGISTRY[name]
    of_persons, of_rows = (metric.measure(c, metric.columns(c)[0]).outcome for c in (known, rows))
    assert isinstance(of_persons, Measure) and isinstance(of_rows, Measure)
    assert of_persons.excess is not None and of_rows.excess is not None
    widths = [excess[2] - excess[1] for excess in (of_persons.excess, of_rows.excess)]
    assert widths[0] > 1.5 * widths[1], (name, widths)


def test_a_value_of_one_patient_is_rare_however_often_it_occurs() -> None:
    rng = np.random.default_rng(4)
    train, control = visits(60, rng), visits(60, rng)
    frame = train.frame.assign(ward=np.where(train.persons == 3, "77", train.frame["ward"].astype(str)))
    train = Table(frame.astype({"ward": "category"}), SCHEMA, train.persons)
    table = train.take(np.arange(len(train)))
    outcome = rare_values(context(train, control, table))
    assert isinstance(outcome, Measure)
    assert outcome.details["columns"]["ward"]["train"] > 0
    alone = rare_values(context(replace(train, named_persons=None), replace(control, named_persons=None), table))
    assert isinstance(alone, Measure)


def test_they_need_to_know_the_person() -> None:
    rng = np.random.default_rng(5)
    train, control, table = (replace(visits(40, rng), named_persons=None) for _ in range(3))
    outcome = REGISTRY["persons_copied"].measure(Context(train, control, table, EvaluateOptions())).outcome
    assert isinstance(outcome, NotComputable) and outcome.lacks == "persons"
    found = evaluate(train, control, {"synthetic": table}, EvaluateOptions(families=["privacy"]), rng)
    outcomes = {metric.name: metric.outcome for metric in found.metrics if metric.name in PERSONS}
    assert set(outcomes) == set(PERSONS), "a rule about persons is told why it does not apply"
    assert {outcome.lacks for outcome in outcomes.values() if isinstance(outcome, NotComputable)} == {"persons"}


def test_histories_need_a_person_with_two_different_rows() -> None:
    rng = np.random.default_rng(6)
    train, control, table = visits(30, rng), visits(30, rng), visits(30, rng)
    single = train.take(np.unique(train.persons, return_index=True)[1])  # type: ignore[arg-type]
    outcome = copied_sequences(context(single, control, table))
    assert isinstance(outcome, NotComputable) and outcome.lacks == "several_rows"
    unseen = control.take(np.unique(control.persons, return_index=True)[1])  # type: ignore[arg-type]
    outcome = copied_sequences(context(train, unseen, table))
    assert isinstance(outcome, NotComputable) and outcome.lacks is None, "what cannot be compared is not excused"


def test_rows_of_a_person_stay_together_where_a_table_is_cut() -> None:
    rng = np.random.default_rng(3)
    persons = np.repeat(np.arange(60), 4)
    frame = pd.DataFrame({"place": persons + rng.normal(0, 0.01, len(persons)), "kind": rng.choice(list("ab"), 240)})
    people = replace(read_frame(frame, ReadOptions()), named_persons=persons)
    few, drawn = people.take(persons < 15), people.take(persons >= 30)
    context = Context(people, few, drawn, EvaluateOptions())
    cut = [part.rows for part, *_ in context.parts(["train", "control"])]
    assert len(cut) == 4 and all(len(np.unique(persons[rows])) == 15 for rows in cut)


@pytest.mark.parametrize("name", ["authenticity", "identifiability"])
def test_siblings_of_a_record_do_not_hide_a_leak(name: str) -> None:
    """Eight rows of each person are nearly equal; the excess holds 0 without a leak only."""
    rng = np.random.default_rng(11)

    def people(n: int, first: int) -> Table:
        ages, wards, costs = rng.integers(0, 9000, n), rng.integers(0, 4, n), rng.normal(500, 200, n)
        rows = np.repeat(np.arange(n), 8)
        jitter = rng.integers(0, 3, len(rows))
        return visits_of(ages[rows] + jitter, wards[rows], costs[rows] + jitter, first + rows)

    train, control, table = people(150, 0), people(150, 1000), people(150, 2000)
    clean = REGISTRY[name].compute(context(train, control, table))
    leaky = joined(train.take(np.arange(960)), table.take(np.arange(240)))
    found = REGISTRY[name].compute(context(train, control, leaky))
    assert isinstance(clean, Measure) and isinstance(found, Measure)
    assert clean.excess is not None and clean.excess[1] < 0 < clean.excess[2]
    assert found.excess is not None and found.excess[1] > 0.3


def lasting(n_persons: int, rows: int, rng: np.random.Generator) -> Table:
    """Some rows of each person with the same number of 4,000, such as a birth."""
    persons = np.repeat(np.arange(n_persons), rows)
    age, ward = rng.integers(0, 4_000, n_persons)[persons], rng.integers(0, 6, n_persons)[persons]
    return visits_of(age, ward, np.zeros(len(persons)), persons)


def singled(*parts: Table) -> Measure:
    outcome = REGISTRY["singling_out_univariate"].measure(Context(*parts, EvaluateOptions())).outcome
    assert isinstance(outcome, Measure) and outcome.details["attacks"] > 100
    return outcome


def test_people_are_cut_to_one_number_with_all_of_their_rows() -> None:
    """Of three rows of a training person, cut to a third, one would stand alone, and those of control never do."""
    risks = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        risks.append(singled(lasting(900, 3, rng), lasting(300, 3, rng), lasting(900, 3, rng)).value)
    assert abs(np.mean(risks)) < 0.06, risks


def test_every_row_three_times_singles_nobody_in_or_out() -> None:
    rng = np.random.default_rng(3)
    parts = [lasting(500, 1, rng), lasting(200, 2, rng), lasting(400, 1, rng)]
    thrice = [part.take(np.repeat(np.arange(len(part)), 3)) for part in parts]  # type: ignore[arg-type]
    assert singled(*parts) == singled(*thrice)


def test_a_copy_of_persons_singles_them_out() -> None:
    rng = np.random.default_rng(5)
    train = lasting(900, 3, rng)
    low = singled(train, lasting(300, 3, rng), train).low
    assert low is not None and low > 0.5
