"""Uniqueness of the distribution: by hand, on copies, leaks and fresh people, and clustered by person."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hybrid.evaluation import EvaluateOptions, Measure, NotComputable
from hybrid.evaluation.attacks.distribution import _column, _marginals, distribution_uniqueness
from hybrid.evaluation.context import Context
from hybrid.table import DTYPES, Column, Kind, Role, Schema, Table
from tests.evaluation.simulated_people import make_people

PLACE = Schema(
    (Column("place", Role.INSENSITIVE, Kind.CATEGORICAL), Column("work", Role.INSENSITIVE, Kind.CATEGORICAL))
)


def towns(a: int, b: int) -> Table:
    """People of two towns; work is the same everywhere but for one person in each town."""
    frame = pd.DataFrame({"place": ["a"] * a + ["b"] * b, "work": ["x"] * (a + b)}).astype(DTYPES[Kind.CATEGORICAL])
    return Table(frame, PLACE)


def measured(train: Table, control: Table, table: Table) -> Measure:
    found = distribution_uniqueness(Context(train, control, table, EvaluateOptions()))
    assert isinstance(found, Measure)
    return found


@pytest.mark.parametrize(("table", "expected"), [((25, 15), 0), ((30, 10), 1), ((20, 20), -1), ((35, 5), 2)])
def test_one_column_by_hand(table: tuple[int, int], expected: float) -> None:
    # Shares of a: .75 in train, .5 in control, .625 among both. The table's share minus .625, over .125.
    found = measured(towns(30, 10), towns(20, 20), towns(*table))
    assert found.value == pytest.approx(expected, abs=1e-12)
    # Scores of a and b: (s - m)/m. Train has three quarters of a, control one half.
    share = table[0] / 40
    high, low = (share - 0.625) / 0.625, (0.625 - share) / 0.375
    exchanged = abs(high - low) * np.sqrt(0.75 * 0.25 / 40 + 0.5 * 0.5 / 40)
    drawn = 0.25 * (1 / 0.625 + 1 / 0.375) * np.sqrt(share * (1 - share) / 40)
    way = 0.5 * 0.25**2 * (1 / 0.625 + 1 / 0.375)
    assert found.high is not None and found.high - found.value == pytest.approx(
        1.959964 * max(exchanged, drawn) / way, rel=1e-5
    )
    assert found.excess == (found.value, found.low, found.high) and found.details["cells"] == 2


def test_sizes_may_differ() -> None:
    # .75 of 40 and .5 of 20: .667 among all; train lies .083 above it.
    assert measured(towns(30, 10), towns(10, 10), towns(3000, 1000)).value == pytest.approx(1)
    assert measured(towns(30, 10), towns(10, 10), towns(2000, 1000)).value == pytest.approx(0, abs=1e-9)


def test_the_same_frequencies_tell_nothing() -> None:
    found = distribution_uniqueness(Context(towns(20, 20), towns(30, 30), towns(35, 5), EvaluateOptions()))
    assert isinstance(found, NotComputable) and "the same frequencies" in found.reason


def test_a_copy_is_1_whatever_its_size_and_order() -> None:
    rng = np.random.default_rng(1)
    train, control = make_people(300, rng), make_people(200, rng)
    twice = train.take(np.tile(rng.permutation(300), 2))
    found = measured(train, control, twice)
    assert found.value == pytest.approx(1, abs=1e-9)
    assert found.low is not None and 0 < found.low < 1
    assert found.details["tracing_low"] > 0.5


def test_without_a_leak_alarms_are_rare_and_a_share_of_copies_reads_as_that_share() -> None:
    rng = np.random.default_rng(3)
    everybody = make_people(4000, rng)
    alarms, ways = 0, []
    for _ in range(40):
        parts = np.split(rng.permutation(4000)[:420], [200, 320])
        train, control, fresh = map(everybody.take, parts)
        alarms += (measured(train, control, fresh).low or 0) > 0
        half = everybody.take(np.concatenate([parts[2], parts[0][:100]]))
        ways.append(measured(train, control, half).value)
    assert alarms <= 4  # Binomial(40, .025) is above 4 once in 300 tries.
    assert abs(np.mean(ways) - 0.5) < 3 * np.std(ways) / np.sqrt(len(ways))


def test_rows_of_a_person_count_as_one() -> None:
    rng = np.random.default_rng(2)
    parts = [make_people(n, rng) for n in (150, 150, 150)]
    ones = measured(parts[0], parts[1], parts[2])
    doubled = [part.take(np.repeat(np.arange(150), 2)) for part in parts]
    # Cells of fewer than 20 rows are together: with twice the rows, of fewer than 40.
    options = EvaluateOptions(min_cell=40)
    persons = [Table(part.frame, part.schema, np.repeat(np.arange(150), 2)) for part in doubled]
    found = distribution_uniqueness(Context(persons[0], persons[1], persons[2], options))
    assert isinstance(found, Measure) and (found.value, found.low) == pytest.approx((ones.value, ones.low))


def test_numbers_are_cut_in_tenths_and_small_cells_are_together() -> None:
    rng = np.random.default_rng(4)
    context = Context(*(make_people(400, rng) for _ in range(3)), EvaluateOptions())
    for at, column in enumerate(context.encoding.columns):
        found = _column(context, at)
        counts = np.bincount(found.people, minlength=found.n)
        assert found.rows.max() < found.n and (counts[1:] >= 20).all(), column.name
        assert found.n <= 12 or not context.encoding.continuous[at]
    for found in _marginals(context):
        assert (np.bincount(found.people, minlength=found.n)[1:] >= 20).all()
