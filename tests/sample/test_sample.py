"""Sampling: sizes, strata, minima, shares, and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from hybrid.base.errors import ConfigError, DataError
from hybrid.sample import SampleOptions, sample, sample_table
from hybrid.sample.draw import expected_maximum
from tests.transition.transition_tables import mixed_table


def run(anonymized, seed=0, **options):
    return sample(anonymized, SampleOptions(**options), np.random.default_rng(seed))


def numbered(n):
    """A table whose class ids are its row numbers, to see which records were kept."""
    return replace(mixed_table(n, seed=3), class_ids=np.arange(n))


def test_none_keeps_everything():
    anonymized = mixed_table(30)
    sampled = run(anonymized)
    assert sampled.anonymized is anonymized
    assert (sampled.before, sampled.expected, sampled.actual, sampled.beta) == (30, 30.0, 30, 1.0)


def test_beta_is_binomial():
    anonymized = mixed_table(40)
    sizes = [run(anonymized, seed, method="beta", beta=0.3).actual for seed in range(400)]
    observed = np.bincount(sizes, minlength=41)
    expected = stats.binom(40, 0.3).pmf(np.arange(41)) * 400
    middle = expected > 5
    both = [np.append(x[middle], x[~middle].sum()) for x in (observed, expected)]
    assert stats.chisquare(*both).pvalue > 1e-3
    assert run(anonymized, method="beta", beta=0.3).expected == pytest.approx(12)


def test_simple_is_exact_and_every_record_is_as_likely():
    anonymized = numbered(40)
    hits = np.zeros(40)
    for seed in range(300):
        sampled = run(anonymized, seed, method="simple", beta=0.26)
        assert sampled.actual == sampled.expected == 10  # round(10.4)
        hits[sampled.anonymized.class_ids] += 1
    assert np.abs((hits - 75) / np.sqrt(300 * 0.25 * 0.75)).max() < 4


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["beta", "simple", "stratified"]), st.floats(0.05, 1.0), st.integers(0, 1000), st.booleans())
def test_parts_stay_together_and_in_order(method, beta, seed, proportional):
    anonymized = numbered(50)
    allocation = "proportional" if proportional else "independent"
    try:
        got = run(anonymized, seed, method=method, beta=beta, by=["job"], allocation=allocation).anonymized
    except DataError:
        return
    rows = got.class_ids
    assert 0 < len(rows) <= 50 and (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(anonymized.labels.nodes[rows], got.labels.nodes)
    np.testing.assert_array_equal(anonymized.leaves[rows], got.leaves)
    pd.testing.assert_frame_equal(anonymized.originals.take(rows).frame, got.originals.frame)
    pd.testing.assert_frame_equal(anonymized.labels.rest.take(rows).frame, got.labels.rest.frame)
    if beta == 1.0:
        assert len(rows) == 50


def test_stratified_by_class_proportional_is_within_one_of_every_quota():
    anonymized = mixed_table(400, missing=0.0)
    before = np.bincount(anonymized.class_ids)
    totals = np.zeros(len(before))
    for seed in range(200):
        got = run(anonymized, seed, method="stratified", beta=0.4, allocation="proportional")
        after = np.bincount(got.anonymized.class_ids, minlength=len(before))
        assert (np.abs(after - 0.4 * before) < 1).all()
        totals += after
    assert got.strata == len(before)
    np.testing.assert_allclose(totals / 200, 0.4 * before, atol=0.15)
    assert got.expected == pytest.approx(160)


def test_stratified_by_columns_keeps_a_minimum():
    anonymized = mixed_table(200)
    frame = anonymized.originals.frame
    for allocation in ("independent", "proportional"):
        options = {"method": "stratified", "beta": 0.02, "by": ["job", "ill"], "minimum": 3, "allocation": allocation}
        sizes = [run(anonymized, seed, **options) for seed in range(200)]
        for got in sizes:
            kept = got.anonymized.originals.frame.groupby(["job", "ill"], dropna=False, observed=True).size()
            before = frame.groupby(["job", "ill"], dropna=False, observed=True).size()
            assert (kept.reindex(before.index, fill_value=0) >= np.minimum(before, 3)).all()
        mean = np.mean([got.actual for got in sizes])
        assert mean == pytest.approx(sizes[0].expected, rel=0.02)


def test_expected_maximum_by_hand():
    """X ~ Binomial(2, 1/2): max(X, 1) is 1, 1, 2 with 1/4, 1/2, 1/4. X ~ Binomial(3, 1/3): P(X = 3) = 1/27."""
    assert expected_maximum(np.array([2]), 0.5, np.array([1])) == pytest.approx(1.25)
    assert expected_maximum(np.array([3]), 1 / 3, np.array([2])) == pytest.approx((26 * 2 + 1 * 3) / 27)
    assert expected_maximum(np.array([1]), 0.2, np.array([1])) == pytest.approx(1)
    both = expected_maximum(np.array([2, 5]), 0.5, np.array([1, 0]))
    assert both == pytest.approx(1.25 + 2.5)


@settings(max_examples=80)
@given(st.integers(1, 12), st.floats(0.01, 1.0), st.data())
def test_expected_maximum_by_summing(n, beta, data):
    least = data.draw(st.integers(0, n))
    counts = np.arange(n + 1)
    expected = np.maximum(counts, least) @ stats.binom(n, beta).pmf(counts)
    assert expected_maximum(np.array([n]), beta, np.array([least])) == pytest.approx(expected)


def test_shares_of_declared_groups():
    anonymized = mixed_table(300)
    sampled = run(anonymized, method="simple", beta=0.5, groups=["job", "smoker"])
    for name in ("job", "smoker"):
        shares = [share for share in sampled.shares if share.column == name]
        assert sum(share.before for share in shares) == pytest.approx(1)
        assert sum(share.after for share in shares) == pytest.approx(1)
    frame = sampled.anonymized.originals.frame
    nurses = next(share for share in sampled.shares if share.group == "Nurse")
    assert nurses.after == pytest.approx((frame["job"] == "Nurse").mean())
    unsampled = run(anonymized, groups=["job"])
    assert all(share.before == share.after for share in unsampled.shares)
    assert {share.group for share in unsampled.shares} >= {"(missing)", "Nurse"}


def test_refusals_name_the_mend_and_no_value():
    anonymized = mixed_table(60)
    with pytest.raises(DataError, match="kept none") as error:
        run(anonymized, method="simple", beta=0.001)
    assert error.value.problems[0].hint
    with pytest.raises(ConfigError, match=r"sample\.by names columns"):
        run(anonymized, method="stratified", by=["height"])
    with pytest.raises(ConfigError, match=r"sample\.groups names columns"):
        run(anonymized, groups=["height"])
    with pytest.raises(DataError, match="groups; at most"):
        run(anonymized, groups=["born"])
    with pytest.raises(ConfigError, match="no classes"):
        sample_table(anonymized.originals, SampleOptions(method="stratified"), np.random.default_rng(0))


@pytest.mark.parametrize("wrong", [{"beta": 0}, {"beta": 1.1}, {"beta": -0.5}, {"method": "poisson"}, {"by": []}])
def test_options_refuse(wrong):
    with pytest.raises(ValidationError):
        SampleOptions(**wrong)


def test_plain_tables_and_seeds():
    table = mixed_table(80).originals
    options = SampleOptions(method="stratified", beta=0.5, by=["job"])
    first, second = (sample_table(table, options, np.random.default_rng(4)) for _ in range(2))
    pd.testing.assert_frame_equal(first.frame, second.frame)
    assert 0 < len(first) < 80
    assert sample_table(table, SampleOptions(), np.random.default_rng(4)) is table
