"""Combining rules, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import ConfigError
from hybrid.estimates import combine

Q, U = [10.0, 12.0, 14.0], [3.0, 4.0, 5.0]
"""Three tables: mean 12, between variance 4, mean variance 4."""


@pytest.mark.parametrize(
    ("rule", "variance", "freedom"),
    [
        ("simple", 4 * (50 / 100 + 1 / 3), np.inf),
        ("proper", 4 * (50 / 100 + 1.5 / 3), np.inf),
        ("full", 4 / 3 * 4 - 4, 2 * (1 - 4 / (4 / 3 * 4)) ** 2),
        ("partial", 4 / 3 + 4, 2 * (1 + 4 * 3 / 4) ** 2),
    ],
)
def test_rules_by_hand(rule: str, variance: float, freedom: float) -> None:
    found = combine(Q, U, n=100, k=50, rule=rule)  # type: ignore[arg-type]
    assert found.estimates == [12.0]
    assert found.errors**2 == pytest.approx(variance)
    assert found.freedom == pytest.approx(freedom)


def test_one_table_of_the_real_size_doubles_the_variance() -> None:
    found = combine(1.0, 0.5, n=200, k=200, names=["age"])
    assert found.errors == pytest.approx([1.0])
    assert found.to_frame().loc["age", ["low", "high"]].tolist() == pytest.approx([-0.959964, 2.959964], abs=1e-6)


def test_a_variance_below_zero_is_adjusted() -> None:
    found = combine([1.0, 1.1, 0.9], [1.0, 1.0, 1.0], n=100, k=50, rule="full")
    assert found.errors**2 == pytest.approx(0.5) and found.freedom == 2


def test_students_quantile_is_that_of_the_freedom() -> None:
    found = combine(Q, U, n=100, k=50, rule="partial", confidence=0.9)
    # Quantile .95 of Student's distribution with 32 degrees of freedom.
    assert (found.high - found.estimates) / found.errors == pytest.approx(1.693889, abs=1e-5)


def test_all_problems_are_said_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        combine([1.0, np.nan], [1.0, -1.0], n=0, k=5, rule="between", confidence=2, names=["a", "b"])  # type: ignore[arg-type]
    assert len(caught.value.problems) == 5
    with pytest.raises(ConfigError, match="needs two tables"):
        combine([1.0], [1.0], n=5, k=5, rule="full")


@given(
    st.lists(st.floats(-100, 100), min_size=2, max_size=6),
    st.integers(10, 10_000),
    st.integers(10, 10_000),
)
def test_more_tables_never_widen_and_never_pass_the_real_variance(q: list[float], n: int, k: int) -> None:
    variances = [2.0] * len(q)
    all_, one = combine(q, variances, n, k), combine(q[:1], variances[:1], n, k)
    assert 2.0 * k / n < all_.errors[0] ** 2 <= one.errors[0] ** 2
    assert combine(q, variances, n, k, rule="proper").errors[0] > all_.errors[0]
