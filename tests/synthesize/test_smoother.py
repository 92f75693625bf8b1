"""Numbers that few people have come from the distribution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.synthesize.generators.smoothing import Smoother


def test_values_of_few_persons_by_hand() -> None:
    values = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, np.nan])
    persons = np.array([-1, -2, -3, 4, 4, -1, 5, 6, 7, 8])
    # Records without a key are of one person together: 1 is held by one person, 2 by two, 3 by three.
    assert Smoother.of(values, 2, persons).common.tolist() == [2, 3]
    assert Smoother.of(values, 3, persons).common.tolist() == [3]
    assert Smoother.of(values, 3, np.arange(len(values))).common.tolist() == [1, 2, 3]


def test_intervals_by_hand() -> None:
    values = np.array([0.0, 0, 0, 1, 2, 3, 5, 6, 10])
    found = Smoother.of(values, 3, np.arange(len(values)))
    # 0 is common. Of 1, 2, 3 the mean is 2 and the next value 5: the inner end is 4, the outer one as far below.
    assert found.common.tolist() == [0]
    assert found.edges.tolist() == [1, 4, 10]


def test_a_rare_value_between_common_ones_does_not_jump_over_them() -> None:
    # Years of school: 17 is rare, and so are 0 and 20 and 21; 12, 16 and 18 are common.
    years = np.repeat([0.0, 12, 16, 17, 18, 20, 21], [30, 900, 200, 32, 100, 25, 25])
    found = Smoother.of(years, 50, np.arange(len(years)))
    assert found.common.tolist() == [0, 12, 16, 18, 21]
    assert found.crowded.tolist() == [False, False, False, True, True, False]
    drawn = found.apply(years, np.random.default_rng(0))
    for value, low, high in ((0, 0, 0), (17, 16, 18), (20, 18, 21), (21, 21, 21)):
        of = drawn[years == value]
        assert low <= of.min() and of.max() <= high, value
    assert 0.3 < np.mean(np.rint(drawn[years == 17]) == 17) < 0.7


@pytest.mark.parametrize(("best", "stays"), [(9, False), (10, True)])
def test_the_best_grade_stays_where_ten_people_have_it(best: int, stays: bool) -> None:
    grades = np.concatenate([np.random.default_rng(1).uniform(1, 4, 400), np.full(best, 4.0)])
    drawn = Smoother.of(grades, 50, np.arange(len(grades))).apply(grades, np.random.default_rng(0))
    assert (drawn == 4).sum() == (best if stays else 0)


def test_a_gap_of_few_people_does_not_keep_their_values() -> None:
    years = np.repeat([12.0, 16, 17, 18, 30, 31], [900, 200, 3, 100, 30, 30])
    drawn = Smoother.of(years, 50, np.arange(len(years))).apply(years, np.random.default_rng(0))
    assert np.ptp(drawn[years == 17]) > 2 or not np.isin(np.rint(drawn[years == 17]), 17).any()


def test_common_values_stay_and_the_distribution_of_the_others_is_kept() -> None:
    rng = np.random.default_rng(0)
    values = np.where(rng.random(5_000) < 0.4, 0.0, np.exp(rng.normal(size=5_000)))
    drawn = Smoother.of(values, 50, np.arange(len(values))).apply(values, rng)
    assert (drawn == 0).tolist() == (values == 0).tolist()
    assert not np.isin(drawn[drawn > 0], values).any()
    quantiles = np.linspace(0.02, 0.98, 25)
    assert np.quantile(drawn, quantiles) == pytest.approx(np.quantile(values, quantiles), rel=0.05, abs=0.01)
    assert drawn.mean() == pytest.approx(values.mean(), rel=0.01)


@given(
    st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), max_size=60),
    st.integers(1, 20),
    st.integers(0, 10**6),
)
def test_draws_stay_within_the_range_and_missing_ones_missing(values: list[float], holders: int, seed: int) -> None:
    known = np.array(values, dtype=np.float64)
    drawn = Smoother.of(known, holders, np.arange(len(known))).apply(known, np.random.default_rng(seed))
    assert np.isnan(drawn).tolist() == np.isnan(known).tolist()
    if np.isfinite(known).any():
        assert np.nanmin(drawn) >= np.nanmin(known) - 1e-6 and np.nanmax(drawn) <= np.nanmax(known) + 1e-6
