"""The compiled distances, on records worked by hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.kernels import agrees, column_distance, distance, occurrences, slack


class Records(NamedTuple):
    """Two numbers and one category of each record, column-major."""

    numbers: Array
    missing: Array
    codes: Array
    weights: Array


def records(first: list[float], second: list[float], codes: list[int], weight: float = 1.0) -> Records:
    numbers = np.array([first, second])
    missing = np.isnan(numbers)
    return Records(np.nan_to_num(numbers), missing, np.array([codes]), np.array([weight]))


NAN = float("nan")


@pytest.mark.parametrize(
    ("x", "y", "squared", "expected"),
    [
        (0.5, 0.2, False, 0.3),
        (0.2, 0.5, True, 0.09),
        (NAN, 0.5, False, 1.0),
        (3.0, NAN, True, 1.0),
        (NAN, NAN, False, 0),
    ],
)
def test_distance_of_two_numbers(x: float, y: float, squared: bool, expected: float) -> None:
    assert column_distance(x, bool(np.isnan(x)), y, bool(np.isnan(y)), squared) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("squared", "skip", "expected"),
    [(False, -1, 0.4 + 1 + 2), (True, -1, 0.16 + 1 + 2), (False, 0, 1 + 2), (False, 1, 0.4 + 2), (False, 2, 0.4 + 1)],
)
def test_distance_of_two_records(squared: bool, skip: int, expected: float) -> None:
    query, reference = records([0.1], [NAN], [3]), records([9.0, 0.5], [9.0, 0.7], [3, 4], weight=2.0)
    assert distance(query, 0, reference, 1, squared, skip) == pytest.approx(expected)
    same = records([0.1], [NAN], [3], weight=2.0)
    assert distance(query, 0, same, 0, squared, skip) == 0.0


@pytest.mark.parametrize("squared", [False, True])
def test_the_screen_never_loses_a_record_to_rounding(squared: bool, rng: np.random.Generator) -> None:
    x, y = rng.normal(scale=50, size=(2, 200, 7))
    d = np.abs(x - y) ** (2 if squared else 1)
    exact = d.sum(axis=1)
    rough = np.zeros(200, dtype=np.float32)
    for c in range(7):
        step = np.abs(x[:, c].astype(np.float32) - y[:, c].astype(np.float32))
        rough += step * step if squared else step
    scale = float(max(np.abs(x).max(), np.abs(y).max()))
    limits = np.array([slack(value, 7, scale) for value in exact])
    assert (rough <= limits).all()
    assert (limits < exact * 1.001 + 0.001).all()


@pytest.mark.parametrize(
    ("truth", "guess", "relative", "absolute", "symmetric", "expected"),
    [
        (100.0, 104.0, 0.05, 0.0, False, True),
        (100.0, 94.0, 0.05, 0.0, False, False),
        (95.0, 100.0, 0.05, 0.0, False, True),
        (100.0, 95.0, 0.05, 0.0, False, False),
        (100.0, 95.0, 0.05, 0.0, True, True),
        (1.0, 3.0, 0.0, 2.0, False, True),
        (1.0, 3.1, 0.0, 2.0, False, False),
        (NAN, 1.0, 9.0, 9.0, False, False),
    ],
)
def test_a_guess_within_tolerance(
    truth: float, guess: float, relative: float, absolute: float, symmetric: bool, expected: bool
) -> None:
    class Secret(NamedTuple):
        ranks: Array
        numbers: Array
        relative: Array
        absolute: Array
        symmetric: bool

    def secret(rank: int, number: float) -> Secret:
        return Secret(np.array([[rank]]), np.array([[number]]), np.array([relative]), np.array([absolute]), symmetric)

    assert agrees(secret(0, truth), 0, secret(1, guess), 0, 0) is expected
    assert agrees(secret(1, truth), 0, secret(1, guess), 0, 0)


def test_occurrences_of_predicates() -> None:
    ranks = np.array([[0, 0, 1, 2, -1], [5, 6, 6, 6, 5]]) - np.array([[0], [5]])
    order = np.argsort(ranks, axis=1, kind="stable")
    starts = np.array([np.searchsorted(np.sort(row), np.arange(-1, 5)) for row in ranks])
    cases = [
        ((0, 0), (0, 1), (0, 1), 2),  # first is 0, second is 0 or 1
        ((2, 1), (2, 1), (0, 1), 1),
        ((1, 0), (1, 0), (0, 1), 0),
        ((0, 1), (2, 1), (0, 1), 2),  # three rows, counted up to two
        ((-1, 0), (-1, 0), (0, -1), 1),  # missing
        ((0, 0), (0, 0), (-1, -1), 0),  # asks nothing
    ]
    low, high, columns = (np.array([case[at] for case in cases]) for at in range(3))
    for owners, counts in (([], [case[3] for case in cases]), ([1, 0, 0, 0, 1], [2, 1, 0, 1, 1, 0])):
        found = np.zeros(len(cases), dtype=np.int8)
        people = np.array(owners, dtype=np.int64)
        occurrences(low, high, columns, order, starts, ranks, people, 2, 0, len(cases), found, np.full(len(cases), -1))
        assert found.tolist() == counts
