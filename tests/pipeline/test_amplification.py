"""The accounting of a threshold on sampled counts, against brute force."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from hybrid.base.errors import ConfigError
from hybrid.pipeline.amplification import delta_of_sampling_last, epsilon_for, guarantee


def hockey_stick(p, q, epsilon):
    return np.maximum(np.asarray(p) - math.exp(epsilon) * np.asarray(q), 0).sum()


def by_class_size(k, beta, epsilon, largest):
    """The largest divergence of one class's count, below k nothing, over all sizes of the class, both ways."""
    worst = 0.0
    for n in range(1, largest):
        j = np.arange(k, n + 1)
        with_one, without = ([binom.cdf(k - 1, m, beta), *binom.pmf(j, m, beta)] for m in (n, n - 1))
        worst = max(worst, hockey_stick(with_one, without, epsilon), hockey_stick(without, with_one, epsilon))
    return worst


def printed(k, beta, epsilon):
    """Delta as Theorem 5 of Li, Qardaji and Su (2012) prints it."""
    gamma = (math.exp(epsilon) - 1 + beta) / math.exp(epsilon)
    n = np.arange(math.ceil(k / gamma) - 1, math.ceil(k / gamma) + 3000)
    return binom.sf(np.floor(gamma * n), n, beta).max()


@pytest.mark.parametrize(
    ("k", "beta", "epsilon"),
    [(3, 0.3, 0.5), (5, 0.1, 0.3), (2, 0.5, 1.0), (4, 0.7, 1.5), (1, 0.4, 0.2), (3, 0.5, 0.0), (6, 0.6, 0.05)],
)
def test_delta_is_the_largest_divergence_of_one_class(k, beta, epsilon):
    assert guarantee(k, beta, epsilon).delta == pytest.approx(by_class_size(k, beta, epsilon, 100), rel=1e-7)


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 5), st.floats(0.3, 0.95), st.floats(0.0, 2.5))
def test_delta_on_random_arguments(k, beta, epsilon):
    assert guarantee(k, beta, epsilon).delta == pytest.approx(by_class_size(k, beta, epsilon, 45), rel=1e-6)


def outputs(cells, k, beta):
    """Probability of every published table, by enumerating all samples of a small one."""
    found: dict[tuple[int, ...], float] = {}
    for chosen in product((0, 1), repeat=len(cells)):
        counts = np.bincount([cell for cell, kept in zip(cells, chosen, strict=True) if kept], minlength=3)
        published = tuple(np.where(counts >= k, counts, 0))
        found[published] = found.get(published, 0.0) + beta ** sum(chosen) * (1 - beta) ** (len(cells) - sum(chosen))
    return found


@pytest.mark.parametrize("sizes", [(8, 0, 0), (4, 4, 2), (5, 3, 2), (9, 2, 1)])
@pytest.mark.parametrize(("k", "beta", "epsilon"), [(2, 0.5, 0.4), (3, 0.3, 0.7), (3, 0.6, 0.1)])
def test_every_pair_of_small_tables_is_within_the_guarantee(sizes, k, beta, epsilon):
    cells = np.repeat(np.arange(3), sizes)
    whole = outputs(cells, k, beta)
    for cell in np.unique(cells):
        other = outputs(np.delete(cells, np.flatnonzero(cells == cell)[0]), k, beta)
        both = sorted({*whole, *other})
        p, q = ([one.get(output, 0.0) for output in both] for one in (whole, other))
        worst = max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
        assert worst <= guarantee(k, beta, epsilon).delta + 1e-12


def test_no_smaller_delta_is_true_of_ten_records():
    """Equality: the worst class has n = floor((k - 1) / gamma) + 1 records, here at most 10."""
    k, beta, epsilon = 3, 0.6, 0.4
    worst = max(
        hockey_stick([whole.get(o, 0.0) for o in whole], [less.get(o, 0.0) for o in whole], epsilon)
        for n in range(k, 11)
        for whole, less in [(outputs([0] * n, k, beta), outputs([0] * (n - 1), k, beta))]
    )
    assert guarantee(k, beta, epsilon).delta == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize(("k", "beta"), [(2, 0.01), (5, 0.5), (20, 0.1), (10, 0.9), (50, 0.05)])
def test_the_printed_theorem_is_never_smaller(k, beta):
    least = -math.log1p(-beta)
    for epsilon in (least, least + 0.05, least + 0.5, least + 2):
        assert guarantee(k, beta, epsilon).delta <= printed(k, beta, epsilon) * (1 + 1e-9)


def test_the_printed_theorem_is_hundreds_of_times_larger():
    assert printed(3, 0.01, -math.log1p(-0.01)) / guarantee(3, 0.01, -math.log1p(-0.01)).delta > 180


def test_deltas_below_all_floats_stay_numbers():
    assert guarantee(5000, 0.1, 1.0).delta == 0.0
    assert -3100 < guarantee(5000, 0.1, 1.0).log10_delta < -3000
    assert guarantee(5, 0.1, 900.0).log10_delta == pytest.approx(-5)  # beta ** k is the floor


def test_delta_falls_with_epsilon_and_k():
    deltas = [guarantee(20, 0.2, epsilon).log10_delta for epsilon in (0.0, 0.1, 0.3, 0.5, 1.0, 2.0)]
    assert deltas == sorted(deltas, reverse=True)
    assert guarantee(40, 0.2, 0.5).delta < guarantee(20, 0.2, 0.5).delta


def test_epsilon_for_a_delta():
    found = epsilon_for(20, 0.1, 1e-6)
    assert found.delta <= 1e-6 < guarantee(20, 0.1, found.epsilon - 1e-4).delta
    assert epsilon_for(50, 0.01, 0.9).epsilon == 0.0
    assert epsilon_for(5, 0.1, 1e-6) is None


def test_the_opposite_order():
    """Anonymized, then sampled: a class of k shows with this probability, and without one of its records never."""
    k, beta = 4, 0.3
    shown = sum(beta**j * (1 - beta) ** (k - j) * math.comb(k, j) for j in range(1, k + 1))
    assert delta_of_sampling_last(k, beta) == pytest.approx(shown)
    assert guarantee(k, beta, 5.0).delta < delta_of_sampling_last(k, beta) / 50


@pytest.mark.parametrize(
    "call",
    [
        lambda: guarantee(5, 0.5, -0.1),
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
