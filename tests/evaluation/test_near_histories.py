"""Metric ``near_histories``: histories moved in time, of linked and of unlinked rows; worked by hand; clean tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hybrid.evaluation import REGISTRY, EvaluateOptions
from hybrid.evaluation.attacks.near_histories import HistorySpace, Rows, _histories, _nearest, _places, near_histories
from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import Measure, NotComputable
from hybrid.evaluation.planted_leaks import LEAKS
from hybrid.table import Kind, Role, Table
from hybrid.table.persons import with_order
from hybrid.table.read_options import ReadOptions
from hybrid.table.typed_table import read_frame
from tests.evaluation.small_tables import small

MONTHS = 6


def accounts(n: int, rng: np.random.Generator) -> Table:
    """Six months of n customers, a row each; customers are numbered."""
    persons = np.repeat(np.arange(n), MONTHS)
    level = rng.normal(7, 1, n)
    bill = np.exp(level[:, None] + np.cumsum(rng.normal(0, 0.25, (n, MONTHS)), axis=1)).round().ravel()
    frame = pd.DataFrame(
        {
            "month": np.tile(np.arange(1, MONTHS + 1), n),
            "sex": rng.choice(["f", "m"], n)[persons],
            "school": rng.choice(["graduate", "university", "high", "other"], n, p=[0.35, 0.47, 0.15, 0.03])[persons],
            "married": rng.choice(["no", "yes", "other"], n, p=[0.5, 0.45, 0.05])[persons],
            "age": rng.integers(20, 80, n)[persons],
            "limit": (np.exp(level + 1) // 100 * 100)[persons],
            "bill": bill,
            "paid": (bill * rng.beta(1, 6, n * MONTHS)).round(),
            "status": rng.choice([-2, -1, 0, 1, 2], n * MONTHS, p=[0.15, 0.25, 0.4, 0.1, 0.1]),
            "late": rng.choice(["no", "yes"], n, p=[0.8, 0.2])[persons],
        }
    )
    return replace(read_frame(frame, ReadOptions()), named_persons=persons)


def context(n: int, seed: int, *, linked: bool, ordered: bool = False) -> Context:
    rng = np.random.default_rng(seed)
    train, control, table = (accounts(size, rng) for size in (n, n, n))
    tables = [with_order(part, "month" if ordered else None) for part in (train, control, table)]
    if not linked:
        tables[2] = replace(tables[2], named_persons=None)
    return Context(tables[0], tables[1], tables[2], EvaluateOptions(), seed)


def leaked(asked: Context, share: float, seed: int) -> Measure:
    found = LEAKS["histories"].plant(asked, share, np.random.default_rng(seed))
    assert not isinstance(found, NotComputable)
    assert found.table.rows_are_persons == asked.table.rows_are_persons
    measure = near_histories(Context(asked.train, asked.control, found.table, asked.options, asked.seed))
    assert isinstance(measure, Measure)
    return measure


@pytest.mark.parametrize(("linked", "share"), [(True, 0.02), (False, 0.05)])
def test_histories_moved_by_a_month_with_noise_are_found(linked: bool, share: float) -> None:
    """16 of 800 persons, six months each, months moved by one and numbers within 5 %; 40 where no rows are linked."""
    for seed in range(3):
        found = leaked(context(800, seed, linked=linked, ordered=True), share, seed)
        assert found.excess is not None and found.excess[1] > 0.005, (seed, found.excess)


def test_the_column_of_time_need_not_be_named() -> None:
    """Moved by hand, in a column that nobody declared as the order; a person's rows are neighbours in the table."""
    rng = np.random.default_rng(5)
    asked = context(800, 5, linked=True)
    people = rng.choice(800, 16, replace=False)
    rows = np.flatnonzero(np.isin(asked.train.persons, people))
    frame = asked.table.frame.copy()
    moved = asked.train.frame.iloc[rows].copy()
    moved["month"] += 1
    for name in ("limit", "bill", "paid"):
        moved[name] = (moved[name] * rng.uniform(0.95, 1.05, len(rows))).round().astype(moved[name].dtype)
    frame.iloc[: len(rows)] = moved.to_numpy()
    table = Table(frame.astype(asked.table.frame.dtypes.to_dict()), asked.table.schema, asked.table.persons)
    found = near_histories(Context(asked.train, asked.control, table, asked.options, 5))
    assert isinstance(found, Measure) and found.excess is not None and found.excess[1] > 0.005


def test_clean_tables_are_no_leak() -> None:
    alarms = 0
    for seed in range(20):
        found = near_histories(context(120, 100 + seed, linked=bool(seed % 2)))
        assert isinstance(found, Measure) and found.low is not None
        alarms += found.low > 0
    assert alarms <= 2


def test_a_copy_hits_everybody() -> None:
    asked = context(200, 1, linked=True)
    found = near_histories(Context(asked.train, asked.control, asked.train, asked.options, 1))
    assert isinstance(found, Measure) and found.value > 0.055


def test_worked_by_hand() -> None:
    """One person of two rows. Of the four people's rows, a quarter lies between neighbouring numbers.

    x is another value in each of the person's rows and weighs 1; sex is the same in all, and weighs 1 / 2.
    """
    columns = (("sex", Kind.CATEGORICAL, Role.INSENSITIVE), ("x", Kind.INTEGER, Role.INSENSITIVE))
    train = replace(small([("f", 10), ("f", 20)], *columns), named_persons=np.array([0, 0]))
    control = replace(small([("m", 30), ("m", 40)], *columns), named_persons=np.array([0, 0]))
    table = replace(small([("m", 10), ("f", 40), ("f", 20), ("m", 30)], *columns), named_persons=np.array([0, 0, 1, 1]))
    asked = Context(train, control, table, EvaluateOptions())
    space = HistorySpace(asked)
    assert space.weights.tolist() == [0.5, 1.0]
    points = space.points("train", np.arange(2))
    assert points[1].tolist() == [0.125, 0.375]
    zeros = np.zeros(4, np.int64)
    people, starts = _histories(Rows(points, zeros[:2], zeros[:2]), zeros[:2])
    table_points = space.points("table", np.arange(4))
    # Each row without its largest term. First row: to (m, 10) 0, to (f, 40) 0; to (f, 20) 0, to (m, 30) .5 and .5: .5.
    # Second row: to (m, 10) .25 of .5 and .25, to (f, 40) 0; to (f, 20) 0. So both persons of the table are at 0.
    everybody = Rows(table_points, zeros, np.array([0, 0, 1, 1]))
    assert _nearest(space, people, starts, everybody).tolist() == [0.0]
    # The last row alone: sex differs (.5) and x by .5 for the first row, by .25 for the second: .5 and .25 are left.
    alone = Rows(table_points[:, 3:], zeros[:1], zeros[:1])
    assert _nearest(space, people, starts, alone) == pytest.approx([0.375])
    # Three places away: as if both columns differed, .5 + 1 without the largest.
    away = alone._replace(places=np.array([3]))
    assert _nearest(space, people, starts, away) == pytest.approx([0.5])


def test_places_follow_the_order_and_gaps_come_last() -> None:
    persons, times = np.array([1, 0, 1, 0, 1]), np.array([np.nan, 5.0, 2.0, 4.0, 3.0])
    assert _places(persons, times).tolist() == [2, 1, 0, 0, 1]


def test_who_has_one_row_has_no_history() -> None:
    asked = context(60, 2, linked=True)
    one = asked.train.take(np.arange(0, 60 * MONTHS, MONTHS))
    found = REGISTRY["near_histories"].measure(Context(one, asked.control, asked.table, asked.options)).outcome
    assert isinstance(found, NotComputable) and found.lacks == "several_rows"
    assert asked.control is not None
    other = asked.control.take(np.arange(0, 60 * MONTHS, MONTHS))
    found = REGISTRY["near_histories"].measure(Context(asked.train, other, asked.table, asked.options)).outcome
    assert isinstance(found, NotComputable) and found.lacks is None


def test_a_side_without_histories_has_no_scores() -> None:
    """Of two people with one row each there is no history: no person, not an error."""
    rows = Rows(np.zeros((1, 2)), np.zeros(2, np.int64), np.zeros(2, np.int64))
    found, starts = _histories(rows, np.array([0, 1]))
    assert starts.tolist() == [0] and found.points.shape == (1, 0)
