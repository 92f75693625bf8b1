"""The theorem's numbers against brute force, and the sentences that go with them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.base.errors import ConfigError
from hybrid.pipeline.amplification import epsilon_for, explain, explain_run, guarantee, least_epsilon
from hybrid.sample import SampleOptions
from hybrid.table import Column, Kind, Role, Schema

ALL_MET = {
    "sampled_independently": True,
    "sampled_first": True,
    "levels_fixed": True,
    "small_classes_left_out": True,
    "labels_only": True,
    "values_read": False,
}


def brute_force_delta(k, beta, epsilon, n_more=3000):
    gamma = (math.exp(epsilon) - 1 + beta) / math.exp(epsilon)
    n = np.arange(math.ceil(k / gamma) - 1, math.ceil(k / gamma) + n_more)
    return binom.sf(np.floor(gamma * n), n, beta).max()


@pytest.mark.parametrize(
    ("k", "beta", "epsilon"),
    [(5, 0.5, 1), (5, 0.5, math.log(2)), (20, 0.2, 1), (10, 0.1, 0.5), (20, 0.05, 1), (5, 0.9, 3), (2, 0.01, 0.02)],
)
def test_delta_is_the_largest_tail(k, beta, epsilon):
    assert guarantee(k, beta, epsilon).delta == pytest.approx(brute_force_delta(k, beta, epsilon), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.floats(0.005, 0.95), st.floats(0.0, 2.0))
def test_delta_on_random_arguments(k, beta, more):
    epsilon = least_epsilon(beta) + more
    # Without rounding at the edge j = gamma * n, both are the same maximum.
    assert guarantee(k, beta, epsilon).delta == pytest.approx(brute_force_delta(k, beta, epsilon), rel=1e-6)


@pytest.mark.parametrize(("k", "beta", "epsilon"), [(3, 0.3, 0.5), (5, 0.1, 0.3), (2, 0.5, 1.0), (4, 0.7, 1.5)])
def test_the_release_of_one_class_is_that_private(k, beta, epsilon):
    """The exact loss of releasing a sampled class count (below k: nothing), for every class size, both ways."""
    worst = 0.0
    for n in range(1, 200):
        j = np.arange(k, n + 1)
        with_one, without = ([binom.cdf(k - 1, m, beta), *binom.pmf(j, m, beta)] for m in (n, n - 1))
        for p, q in ((with_one, without), (without, with_one)):
            worst = max(worst, np.maximum(np.array(p) - math.exp(epsilon) * np.array(q), 0).sum())
    assert 0 < worst <= guarantee(k, beta, epsilon).delta


def test_deltas_below_all_floats_stay_numbers():
    assert guarantee(5000, 0.1, 1.0).delta == 0.0
    assert -3100 < guarantee(5000, 0.1, 1.0).log10_delta < -3000
    assert guarantee(5, 0.1, 900.0).log10_delta == pytest.approx(-5)  # beta ** k is the floor


def test_delta_falls_with_epsilon_and_k():
    deltas = [guarantee(20, 0.2, epsilon).log10_delta for epsilon in (0.3, 0.5, 1.0, 2.0)]
    assert deltas == sorted(deltas, reverse=True)
    assert guarantee(40, 0.2, 0.5).delta < guarantee(20, 0.2, 0.5).delta


def test_epsilon_for_a_delta():
    found = epsilon_for(20, 0.1, 1e-6)
    assert found.delta <= 1e-6 < guarantee(20, 0.1, found.epsilon - 1e-4).delta
    assert epsilon_for(50, 0.01, 0.9).epsilon == least_epsilon(0.01)
    assert epsilon_for(5, 0.1, 1e-6) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: guarantee(5, 0.5, 0.6),
        lambda: guarantee(5, 1.0, 1.0),
        lambda: guarantee(0, 0.5, 1.0),
        lambda: guarantee(5, 0.5, math.nan),
        lambda: epsilon_for(5, 0.5, 0.0),
    ],
)
def test_out_of_range(call):
    with pytest.raises(ConfigError) as error:
        call()
    assert error.value.problems[0].hint


def test_explains_what_holds():
    said = explain(k=20, beta=0.1, **ALL_MET)
    assert said.holds
    assert [one.delta <= delta for one, delta in zip(said.guarantees, (1e-6, 1e-9), strict=True)] == [True, True]
    assert f"{said.guarantees[0].epsilon:.4g}" in said.text
    unreachable = explain(k=5, beta=0.1, **ALL_MET)
    assert unreachable.guarantees == ()
    assert "no epsilon" in unreachable.text


@pytest.mark.parametrize("broken", list(ALL_MET))
def test_explains_what_does_not_hold_without_inventing_a_number(broken):
    said = explain(k=20, beta=0.1, **{**ALL_MET, broken: not ALL_MET[broken]})
    assert not said.holds
    assert said.guarantees == ()
    assert sum(not condition.met for condition in said.conditions) == 1
    assert next(condition.text for condition in said.conditions if not condition.met) in said.text
    assert "epsilon" not in said.text and "No differential privacy" in said.text


def test_no_sampling_promises_nothing():
    assert not explain(k=20, beta=1.0, **ALL_MET).holds


def test_explains_the_options_of_a_run():
    schema = Schema(tuple(Column(name, Role.QUASI_IDENTIFIER, Kind.INTEGER) for name in "ab"))
    anonymize = AnonymizeOptions(k=20, levels={"a": 1, "b": 2}, suppression_limit=1.0)
    sample = SampleOptions(method="beta", beta=0.1)
    assert explain_run(anonymize, sample, schema, reads_originals=False, sampled_first=True).holds
    assert not explain_run(anonymize, sample, schema, reads_originals=False).holds
    weaker = [
        (AnonymizeOptions(k=20, levels={"a": 1}, suppression_limit=1.0), sample, schema),
        (AnonymizeOptions(k=20, levels={"a": 1, "b": 2}, suppression_limit=0.5), sample, schema),
        (anonymize, SampleOptions(method="simple", beta=0.1), schema),
        (anonymize, SampleOptions(method="stratified", beta=0.1, minimum=2), schema),
        (anonymize, SampleOptions(beta=0.1), schema),
        (anonymize, sample, Schema((*schema, Column("c", Role.SENSITIVE, Kind.INTEGER)))),
    ]
    for case in weaker:
        said = explain_run(*case, reads_originals=False, sampled_first=True)
        assert sum(not condition.met for condition in said.conditions) == 1
