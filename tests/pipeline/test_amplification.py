"""The theorem's numbers against brute force, and the sentences that go with them."""

from __future__ import annotations

import math
from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.base.errors import ConfigError
from hybrid.pipeline.amplification import epsilon_for, explain, explain_run, guarantee, least_epsilon
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.guarantees import promises
from hybrid.sample import SampleOptions
from hybrid.table import Column, Kind, Role, Schema
from hybrid.transition import REGISTRY
from tests.transition.choices import every_choice

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


EVERY_SAMPLE = [
    SampleOptions(method=method, beta=beta, allocation=allocation, minimum=minimum)
    for method, allocation in product(
        *(get_args(SampleOptions.model_fields[name].annotation) for name in ("method", "allocation"))
    )
    for minimum in (0, 5)
    for beta in (0.1, 0.5, 0.9, 1.0)
]


@pytest.mark.parametrize("sample", EVERY_SAMPLE, ids=lambda one: "-".join(map(str, one.model_dump().values())))
@pytest.mark.parametrize("sampled_first", [False, True])
def test_the_words_of_what_is_left_are_true_of_every_sampling(sample, sampled_first):
    schema = Schema((Column("a", Role.QUASI_IDENTIFIER, Kind.INTEGER),))
    text = explain_run(
        AnonymizeOptions(k=5), sample, schema, reads_originals=True, from_records=["a"], sampled_first=sampled_first
    ).text
    everybody_used = sample.method == "none" or sample.beta == 1
    small_strata_kept_whole = sample.method == "stratified" and sample.minimum > 0
    # 5 of 5 records of a class of five are kept: presence is no secret, whatever beta says.
    unsure = not everybody_used and not small_strata_kept_whole and sample.beta <= 0.5
    assert ("it cannot be determined whether a given person is among the records" in text) == unsure
    assert (f"with a probability of about {sample.beta:g}" in text) == unsure
    assert "most likely not" not in text
    # k counts the records before sampling, so that it holds afterwards only if nothing is left out after it.
    assert ("down to a single one" in text) == (not everybody_used and not sampled_first)
    assert "in the anonymized table every combination of labels is shared by at least 5 records" in text


def test_values_taken_from_the_records_are_named():
    said = explain(k=20, beta=0.1, from_records=["zip", "age"], **ALL_MET)
    assert not said.holds
    assert "listed beforehand in a hierarchy file (not so: 'zip', 'age')" in said.text


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize(("name", "options"), every_choice())
def test_the_condition_on_original_values_is_met_exactly_where_the_strategy_says_so(name, options, order):
    schema = Schema((Column("a", Role.QUASI_IDENTIFIER, Kind.INTEGER),))
    config = RunConfig.model_validate(
        {
            "version": 1,
            "data": {"path": "people.csv"},
            "anonymize": {"k": 5},
            "transition": {"method": name, "order": order, **options},
            "synthesize": {"generator": "none"},
        }
    )
    (said,) = promises(config, schema, (), ())
    met = {condition.text: condition.met for condition in said.conditions}
    strategy = REGISTRY[name]
    reads = strategy.reads_originals(strategy.Options(**options))
    assert met["the transition reads no original value beyond the domain of its column"] != reads
