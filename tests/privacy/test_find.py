"""Domains found by noisy counts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid.privacy.accounting import delta_of
from hybrid.privacy.domain import KnownColumn, PrivacyOptions
from hybrid.privacy.plan import encode_table, find_intervals, find_keys, threshold
from hybrid.table import Column, Kind, Role, Schema, Table


def bits(seed: int):
    return np.random.default_rng(seed).bytes


def test_frequent_categories_are_found_and_those_of_one_person_are_not() -> None:
    values = pd.Series(["a"] * 400 + ["b"] * 300 + ["c"] * 2 + [None] * 50, dtype="category")
    found = find_keys(values, np.arange(len(values)), 1, 0.01, 1e-6, bits(0))
    assert found.states == ("a", "b")
    assert found.rho <= 0.01


def test_a_person_counts_once_per_category_whatever_the_rows() -> None:
    values = pd.Series(["mine"] * 500 + ["ours"] * 500, dtype="category")
    persons = np.concatenate([np.zeros(500, dtype=np.int64), np.arange(500)])
    assert find_keys(values, persons, 4, 0.05, 1e-6, bits(1)).states == ("ours",)


def test_threshold_is_passed_by_a_single_person_less_often_than_delta() -> None:
    variance, rows, delta = 9, 3, 0.02
    wide = np.arange(-200, 201)
    weights = np.exp(-(wide**2) / (2 * variance))
    beyond = weights[1 + wide >= threshold(variance, rows, delta)].sum() / weights.sum()
    assert rows * beyond <= delta
    assert rows * weights[1 + wide >= threshold(variance, rows, delta) - 3].sum() / weights.sum() > delta / 10


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 10**6), st.integers(0, 2**32), st.integers(2, 40))
def test_intervals_are_all_positions_once_and_in_order(last: int, seed: int, bins: int) -> None:
    rng = np.random.default_rng(seed)
    positions = rng.integers(0, last + 1, 300)
    found = find_intervals(positions, last, 1, 1.0, bins, 300, bits(seed))
    lows, highs = np.array(found.intervals).T
    assert (lows[0], highs[-1]) == (0, last)
    assert (lows <= highs).all()
    assert (lows[1:] == highs[:-1] + 1).all()
    assert found.rho <= 1.0


def test_values_that_many_share_are_intervals_of_their_own() -> None:
    rng = np.random.default_rng(3)
    positions = np.concatenate([np.zeros(9000), np.full(800, 99_999), rng.integers(3000, 20_000, 1500)]).astype(int)
    found = find_intervals(positions, 99_999, 1, 0.01, 32, 11_300, bits(4)).intervals
    assert (0, 0) in found
    assert (99_999, 99_999) in found
    assert 6 < len(found) < 40


def table(n: int) -> Table:
    rng = np.random.default_rng(5)
    kinds = {"age": Kind.INTEGER, "job": Kind.CATEGORICAL, "town": Kind.CATEGORICAL, "income": Kind.INTEGER}
    frame = pd.DataFrame(
        {
            "age": pd.array(rng.integers(0, 100, n), dtype="Int64"),
            "job": pd.Categorical(rng.choice(["a", "b"], n)),
            "town": pd.Categorical(rng.choice(["x", "y"], n)),
            "income": pd.array(rng.integers(0, 5, n), dtype="Int64"),
        }
    )
    return Table(frame, Schema(tuple(Column(name, Role.INSENSITIVE, kind) for name, kind in kinds.items())))


def test_account_names_every_part_and_leaves_the_rest_to_the_generator() -> None:
    known = {
        "age": KnownColumn(bounds=(0, 99)),
        "income": KnownColumn(bounds=(0, 4)),
        "town": KnownColumn(values=("x",)),
    }
    options = PrivacyOptions(mode="dp", epsilon=1, delta=1e-6, columns=known)
    coded = encode_table(table(2000), options, {}, 2, bits(6))
    assert [part.name for part in coded.parts] == ["number of rows", "intervals of age", "categories of job"]
    rho, delta = math.fsum(part.rho for part in coded.parts) + coded.rho, sum(part.delta for part in coded.parts)
    assert delta == 1e-7
    assert delta + delta_of(rho, 1.0) <= 1e-6 * (1 + 1e-9)
    assert abs(coded.n_rows - 2000) < 1000
    assert {domain.column.name: domain.size for domain in coded.domains}["town"] == 2
