"""Numbers become normal scores and come back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from hybrid.synthesize.generators.tabddpm.forms import Quantiles


def test_scores_are_normal_even_with_ties():
    rng = np.random.default_rng(0)
    values = np.where(rng.random(5000) < 0.4, 0.0, np.round(rng.exponential(100, 5000)))
    scores = Quantiles.of(values).to_normal(values, rng)
    assert kstest(scores, "norm").pvalue > 0.01


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=60).filter(lambda xs: len(set(xs)) > 1))
def test_values_come_back_to_where_they_were(values):
    values = np.array(values, dtype=float)
    quantiles = Quantiles.of(values)
    back = quantiles.from_normal(quantiles.to_normal(values, np.random.default_rng(0)))
    gaps = np.diff(quantiles.distinct).max()
    assert np.abs(back - values).max() <= gaps / 2 + 1e-6
    assert values.min() <= back.min()
    assert back.max() <= values.max()


def test_common_values_are_exact_and_rare_ones_spread():
    values = np.concatenate([np.zeros(900), np.arange(1, 1101) * 10.0])
    back = Quantiles.of(values).from_normal(np.random.default_rng(0).normal(size=20_000))
    assert (back == 0).mean() == pytest.approx(0.45, abs=0.02)
    assert np.isin(back[back > 10], values).mean() < 0.01


def test_scores_far_outside_stay_in_the_range():
    back = Quantiles.of(np.array([1.0, 2.0, 5.0])).from_normal(np.array([-40.0, 40.0]))
    assert back.tolist() == [1.0, 5.0]
