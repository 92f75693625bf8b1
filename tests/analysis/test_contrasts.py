from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hybrid.analysis.contrasts import complete, estimates


def test_interval_by_hand() -> None:
    """Seeds answer 1, 2 and 6: mean 3, standard error sqrt(7/3), t of two degrees of freedom 4.302653."""
    values = np.array([[3.0, 5.0, 10.0], [2.0, 3.0, 4.0]])
    (one,) = estimates(np.array([[1.0, -1.0]]), values)
    assert one.value == pytest.approx(3.0)
    half = 4.302653 * np.sqrt(7 / 3)
    assert (one.low, one.high) == (pytest.approx(3 - half), pytest.approx(3 + half))
    assert (one.wide_low, one.wide_high) == (pytest.approx(3 - half), pytest.approx(3 + half))


def test_wide_interval_by_hand() -> None:
    """Two numbers together: each at p = 0.95 ** (1/2), where t of one degree of freedom is tan(pi p / 2)."""
    values = np.array([[0.0, 2.0], [0.0, 4.0]])
    one, other = estimates(np.eye(2), values, family=2)
    factor = np.tan(np.pi * 0.95**0.5 / 2)
    assert one.wide_high == pytest.approx(1 + factor)
    assert other.wide_high == pytest.approx(2 + 2 * factor)


def test_overlapping_splits_by_hand() -> None:
    """Nadeau and Bengio's variance: s^2 (1/S + r/(1 - r)), with s^2 = 7, S = 3, r = .3."""
    values = np.array([[1.0, 2.0, 6.0]])
    (one,) = estimates(np.eye(1), values, overlap=0.3)
    half = 4.302653 * np.sqrt(7 * (1 / 3 + 3 / 7))
    assert (one.low, one.high) == (pytest.approx(3 - half), pytest.approx(3 + half))


def test_one_sided_bounds_by_hand() -> None:
    """t of two degrees of freedom at 95 %: 2.919986."""
    (one,) = estimates(np.eye(1), np.array([[1.0, 2.0, 6.0]]))
    half = 2.919986 * np.sqrt(7 / 3)
    assert (one.least, one.most) == (pytest.approx(3 - half), pytest.approx(3 + half))


def test_intervals_hold_for_other_tables() -> None:
    """Seeds that share a table's error, correlation .3: the corrected interval of 10 seeds covers, the plain not."""
    rng = np.random.default_rng(6)
    tables = 500
    values = np.sqrt(0.3) * rng.normal(size=(tables, 1)) + np.sqrt(0.7) * rng.normal(size=(tables, 10))
    covered = {
        overlap: np.mean([one.differs for one in estimates(np.eye(tables), values, overlap=overlap)])
        for overlap in (0.0, 0.3)
    }
    assert covered[0.0] > 0.2 and covered[0.3] < 0.08


def test_one_seed_has_no_interval() -> None:
    (one,) = estimates(np.array([[1.0]]), np.array([[0.5]]))
    assert (one.value, one.low, one.wide_high, one.seeds) == (0.5, None, None, 1)
    assert not one.found and not one.differs


def test_no_spread_is_no_certainty() -> None:
    """Two seeds with the same count of copies may differ with the third."""
    (one,) = estimates(np.array([[1.0, -1.0]]), np.array([[0.1 + 0.2, 0.1 + 0.2], [0.1, 0.1]]))
    assert one.low is None and not one.found and one.seeds == 2


def test_rounding_is_no_difference() -> None:
    values = np.array([[0.1 + 0.2, 0.6], [0.3, 0.6]])
    (one,) = estimates(np.array([[1.0, -1.0]]), values)
    assert one.value == 0.0 and not one.found


def test_gaps_cost_seeds_before_they_cost_configurations() -> None:
    gap = np.nan
    rows, seeds = complete(np.array([[1.0, 1.0, gap], [1.0, 1.0, gap], [1.0, 1.0, 1.0]]))
    assert rows.tolist() == [True, True, True] and seeds.tolist() == [True, True, False]
    rows, seeds = complete(np.array([[1.0, gap], [1.0, gap], [1.0, gap], [1.0, 1.0]]))
    assert rows.tolist() == [False, False, False, True] and seeds.tolist() == [True, True]
    rows, seeds = complete(np.array([[1.0, gap], [gap, gap]]))
    assert rows.tolist() == [True, False] and seeds.tolist() == [True, False]
    holes = np.ones((16, 5))
    holes[14:, 4] = gap
    rows, seeds = complete(holes)
    assert rows.all() and seeds.tolist() == [True] * 4 + [False]


def test_a_configuration_that_mostly_failed_does_not_cost_the_seeds_of_all() -> None:
    values = np.ones((5, 10))
    values[2, 2:] = np.nan
    rows, seeds = complete(values)
    assert rows.tolist() == [True, True, False, True, True] and seeds.all()


@settings(max_examples=60, deadline=None)
@given(arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 5))))
def test_what_is_kept_is_complete(known: np.ndarray) -> None:
    rows, seeds = complete(np.where(known, 1.0, np.nan))
    assert known[np.ix_(rows, seeds)].all()
    assert rows.any() == known.any()
    if (known.sum(axis=1) > 1).any():
        assert seeds.sum() > 1


def test_interval_on_the_logit_scale_by_hand() -> None:
    """Mean .9, standard error .02, t of 2 degrees of freedom 4.3027: logit 2.1972 -+ 4.3027 x .02 / .09."""
    values = np.array([[0.9 - 0.02 * np.sqrt(3), 0.9, 0.9 + 0.02 * np.sqrt(3)]])
    (one,) = estimates(np.ones((1, 1)), values, within=(0.0, 1.0), logit=True)
    ends = [1 / (1 + np.exp(-(np.log(9) + side * 4.30265 * 0.02 / 0.09))) for side in (-1, 1)]
    assert [one.low, one.high] == pytest.approx(ends, rel=1e-5)
    (upper,) = estimates(np.ones((1, 1)), values, within=(None, 1.0), logit=True)
    assert upper.low == pytest.approx(0.9 - 4.30265 * 0.02)
    assert upper.high == pytest.approx(1 - 0.1 * np.exp(-4.30265 * 0.2))


def test_logit_intervals_cover_a_share_near_its_end() -> None:
    """95 % intervals of a mean of shares of 90 people, .05 or .95: right in 95 of 100, and in the range."""
    rng = np.random.default_rng(3)
    for truth in (0.05, 0.95):
        values = rng.binomial(90, truth, size=(2000, 5)) / 90
        found = estimates(np.eye(2000), values, within=(0.0, 1.0), logit=True)
        known = [one for one in found if one.low is not None and one.high is not None]
        assert all(0 < one.low <= one.value <= one.high < 1 for one in known if one.low is not None and one.high)
        assert 0.93 < np.mean([(one.low or 0) <= truth <= (one.high or 1) for one in known]) < 0.97
