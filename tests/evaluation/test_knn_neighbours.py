"""Option ``knn_neighbours``: which neighbour ``knn_share`` compares."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from hybrid.evaluation import REGISTRY, EvaluateOptions, Measure, NotComputable
from hybrid.evaluation.context import Context
from hybrid.table import Kind, Role, Table
from tests.evaluation.simulated_people import make_people
from tests.evaluation.small_tables import measured, small


def share(k: int | None, train: Table, control: Table, table: Table) -> Measure:
    chosen = {} if k is None else {"knn_neighbours": k}
    return measured("knn_share", train, control, table, **chosen)


def test_worked_by_hand() -> None:
    """All rows lie at 0. Training people lie at 1, 5, 6, ..., people never seen at 2, 3, 4, 7, 8, ...: the nearest
    record is one of train, the second nearest one of control (3 before 5), and so is the third (4 before 6)."""
    amount = ("amount", Kind.DECIMAL, Role.INSENSITIVE)
    train = small([(float(at),) for at in (1, 5, 6, *range(20, 30))], amount)
    control = small([(float(at),) for at in (2, 3, 4, *range(40, 50))], amount)
    table = small([(0.0,)] * 10, amount)
    for k, expected in ((1, 1.0), (2, 0.0), (3, 0.0), (4, 1.0)):
        found = share(k, train, control, table)
        assert found.value == expected, k
        assert found.details["neighbour"] == k


def test_five_is_the_default_and_more_than_five_are_found() -> None:
    rng = np.random.default_rng(2)
    train, control = make_people(300, rng), make_people(200, rng)
    given, five, twelve, many = (share(k, train, control, train) for k in (None, 5, 12, 100))
    assert given == five
    assert five.details["neighbour"] == 5 and twelve.details["neighbour"] == 12
    assert five.excess is not None and five.excess[1] > 0, "a copy"
    assert len({five.value, twelve.value, many.value}) == 3
    assert many.low is not None and many.high is not None and many.low <= many.value <= many.high


def test_fewer_records_than_neighbours_are_too_few() -> None:
    rng = np.random.default_rng(3)
    context = Context(*(make_people(n, rng) for n in (60, 40, 60)), EvaluateOptions(knn_neighbours=41))
    found = REGISTRY["knn_share"].measure(context).outcome
    assert isinstance(found, NotComputable) and found.state == "too_few" and "knn_neighbours" in found.reason


def test_it_is_a_number_from_1_to_100() -> None:
    for k in (0, 101):
        with pytest.raises(ValidationError):
            EvaluateOptions(knn_neighbours=k)
