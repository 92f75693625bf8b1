"""People who are alone, and copies of them, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.evaluation import EvaluateOptions, Measure, NotComputable, evaluate
from hybrid.evaluation.attacks.copies import lone_rows
from hybrid.evaluation.context import Context
from hybrid.table import Kind, Role, Table
from tests.evaluation.small_tables import measured, small

COLUMNS = (
    ("town", Kind.CATEGORICAL, Role.QUASI_IDENTIFIER),
    ("job", Kind.CATEGORICAL, Role.INSENSITIVE),
    ("pay", Kind.INTEGER, Role.INSENSITIVE),
)
Row = tuple[str, str, int]


def people(*rows: Row) -> Table:
    return small(list(rows), *COLUMNS)


def lone(side: str, n: int = 40) -> list[Row]:
    """People of whom each has a town and a job that nobody else has: all are two categories from all others."""
    return [(f"{side} town {i % 10}", f"{side} job {i}", i) for i in range(n)]


MANY = [("big town", "farmer", 5)] * 30
"""People who are equal to each other: none of them is alone, however often the table repeats them."""
TRAIN, CONTROL = people(*lone("mine"), *MANY), people(*lone("its"), *MANY)


def found(name: str, *rows: Row) -> Measure:
    return measured(name, TRAIN, CONTROL, people(*rows))


def test_of_people_who_are_alone_those_are_counted_whom_a_row_equals() -> None:
    copied = found("lone_copies", *lone("mine")[:10], *lone("its")[:4], *MANY)
    assert (copied.details["attacks"], copied.details["successes"]) == (40, 10)
    assert (copied.details["control_attacks"], copied.details["control_successes"]) == (40, 4)
    # Wilson's centres (s + z^2/2) / (n + z^2): 11.920729 / 43.841459 = .271905 and 5.920729 / 43.841459 = .135049.
    assert copied.value == pytest.approx((0.271905 - 0.135049) / (1 - 0.135049), abs=1e-5)


def test_copies_of_people_who_are_equal_to_each_other_disclose_none() -> None:
    assert found("lone_copies", *MANY).details["successes"] == 0


def test_a_near_copy_differs_by_one_category_and_a_twentieth_of_the_range_of_a_number() -> None:
    town, job, _ = lone("mine")[0]
    # Pay is 0 to 39 in training: a twentieth of the range is 1.95. Together with one category the distance is 1.05.
    for row, near in {
        (town, job, 0): True,
        (town, "another job", 0): True,
        (town, "another job", 1): True,
        (town, "another job", 2): False,
        ("another town", "another job", 0): False,
    }.items():
        assert found("lone_near_copies", row, *MANY).details["successes"] == near, row
        assert found("lone_copies", row, *MANY).details["successes"] == (row == (town, job, 0)), row


def test_who_has_a_neighbour_is_not_apart_and_who_has_a_twin_not_alone() -> None:
    own = lone("mine")
    twin, neighbour = own[1], (own[2][0], "a job of its own", own[2][2])
    context = Context(people(*own, twin, *MANY), people(*lone("its"), neighbour), people(*MANY), EvaluateOptions())
    alone, apart = (set(lone_rows(context, "train", near)) for near in (False, True))
    assert set(range(40)) - alone == {1} and 40 not in alone
    assert 2 in alone and 2 not in apart


def test_rows_of_one_person_are_no_company() -> None:
    own = lone("mine", 20)
    persons = np.repeat(np.arange(20), 2)
    train = Table(people(*(row for row in own for _ in range(2))).frame, TRAIN.schema, persons)
    control = Table(CONTROL.frame, TRAIN.schema, np.arange(len(CONTROL)))
    context = Context(train, control, people(*MANY), EvaluateOptions())
    assert list(lone_rows(context, "train", near=True)) == list(range(40))


def run_one(name: str, train: Table, **options: object) -> Measure | NotComputable:
    asked = EvaluateOptions.model_validate({"metrics": (name,), **options})
    return evaluate(train, CONTROL, {"synthetic": people(*MANY)}, asked, np.random.default_rng(1)).metrics[0].outcome


@pytest.mark.parametrize("name", ["lone_copies", "lone_near_copies", "lone_secrets"])
def test_with_fewer_than_twenty_people_alone_nothing_is_said(name: str) -> None:
    few = run_one(name, people(*lone("mine", 19), *MANY), secrets=("job",))
    assert isinstance(few, NotComputable)
    assert few.lacks == "lone_records"


def test_secrets_of_people_alone_are_found_whatever_the_other_columns_hold() -> None:
    """The pay is no secret, and the rows have another."""
    train, control = people(*lone("mine"), *MANY), people(*lone("its"), *MANY)
    others = [(town, job, pay + 1) for town, job, pay in (*lone("mine")[:10], *lone("its")[:4])]
    town, job, pay = lone("mine")[20]
    rows = people(*others, (town, "another job", pay), ("another town", job, pay), *MANY)
    made = measured("lone_secrets", train, control, rows, secrets=("job",))
    assert (made.details["successes"], made.details["control_successes"]) == (10, 4)
    assert (made.details["attacks"], made.details["columns"]) == (40, ["town", "job"])
    assert measured("lone_copies", train, control, rows).details["successes"] == 0


def test_secrets_of_people_alone_need_a_secret() -> None:
    nothing = run_one("lone_secrets", people(*MANY))
    assert isinstance(nothing, NotComputable) and nothing.lacks == "secret"
