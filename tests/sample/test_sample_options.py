"""Options that draw the same records are the same, and no others."""

from __future__ import annotations

import pytest

from hybrid.sample import SampleOptions


@pytest.mark.parametrize(
    "own", [{"by": ["sex"]}, {"allocation": "proportional"}, {"minimum": 3}, {"order": "pre"}, {"groups": ["sex"]}]
)
def test_everything_counts_for_a_stratified_sample(own):
    options = SampleOptions(method="stratified", beta=0.5, **own)
    assert options.effective == options
    assert options.effective != SampleOptions(method="stratified", beta=0.5).effective


@pytest.mark.parametrize("method", ["beta", "simple"])
def test_strata_count_for_no_other_method(method):
    strata = SampleOptions(method=method, beta=0.5, by=["sex"], allocation="proportional", minimum=3, order="pre")
    assert strata.effective == SampleOptions(method=method, beta=0.5, order="pre")


@pytest.mark.parametrize("method", ["beta", "simple", "stratified"])
def test_a_sample_of_all_is_none_but_for_its_reported_groups(method):
    whole = SampleOptions(method=method, beta=1.0, by=["sex"], minimum=3, order="pre", groups=["sex"])
    assert whole.effective == SampleOptions(groups=["sex"])
