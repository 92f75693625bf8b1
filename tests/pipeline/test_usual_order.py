"""What the usual order (anonymize, sample, restore) proves and what not, by exact enumeration of tiny tables."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from hybrid.anonymize import anonymize
from hybrid.anonymize.options import AnonymizeOptions
from hybrid.base.errors import ConfigError
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.build import from_rows
from hybrid.pipeline.amplification import delta_of_large_class, delta_of_sampling_last, large_class
from hybrid.table import Column, Kind, Role, Schema, Table
from hybrid.transition.drawing.domain import domains_of

TOWNS = Column("town", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL)
K = 2


def listed() -> Hierarchy:
    """Two regions of two towns each, as a file lists them."""
    return from_rows([[town, region, "*"] for town, region in zip("abcd", "NNSS", strict=True)], TOWNS, False, "towns")


def restored(towns: str, beta: float, **options: object) -> dict[tuple[int, ...], float]:
    """Exact distribution of how often each town is in the released table.

    The real search chooses the labels; each kept record is then sampled with probability beta, and Uniform restores it.
    """
    table = Table(pd.DataFrame({"town": pd.Categorical(list(towns))}), Schema((TOWNS,)))
    found = anonymize(table, {"town": listed()}, AnonymizeOptions(k=K, **options))
    (domain,) = domains_of(found).values()
    released = {(0, 0, 0, 0): 1.0}
    for node in found.labels.nodes[:, 0]:
        below = domain.order[domain.first[node] : domain.first[node] + domain.n_leaves[node]]
        assert domain.n_possible(np.array([node]))[0] == len(below)
        after: dict[tuple[int, ...], float] = defaultdict(float)
        for counts, mass in released.items():
            after[counts] += mass * (1 - beta)
            for leaf in below:
                more = tuple(count + (at == leaf) for at, count in enumerate(counts))
                after[more] += mass * beta / len(below)
        released = dict(after)
    assert math.isclose(sum(released.values()), 1.0)
    return released


def delta(p: dict[tuple[int, ...], float], q: dict[tuple[int, ...], float], epsilon: float) -> float:
    """The least delta of two outputs, in both directions."""
    both = {*p, *q}
    ways = [[(a.get(one, 0.0), b.get(one, 0.0)) for one in both] for a, b in ((p, q), (q, p))]
    return max(sum(max(a - math.exp(epsilon) * b, 0.0) for a, b in way) for way in ways)


@pytest.mark.parametrize(("limit", "single"), [(0.0, ""), (0.15, "d")])
def test_one_record_turns_the_labels_of_all_others(limit, single):
    """Without one record of c nobody keeps his town: b appears, which it never does with that record."""
    beta, reached = 0.5, []
    for n in (4, 6, 8):
        whole, less = (restored("a" * n + "c" * m + single, beta, suppression_limit=limit) for m in (2, 1))
        assert all(counts[1] == 0 for counts in whole)
        reached.append(delta(whole, less, 20.0))
        # By hand: each of the others shows as another town with half its probability to show at all, or less.
        assert reached[-1] >= 1 - (1 - beta / 2) ** n - 1e-9
    assert reached == sorted(reached)
    assert reached[-1] > 0.89 > delta_of_sampling_last(K, beta)


def test_suppression_hides_the_switch_only_below_its_limit():
    """With room for suppression the small class is left out, and delta is that of fixed levels."""
    whole, less = "aaaaaabbcc", "aaaaaabcc"
    fixed = {"levels": {"town": 0}, "suppression_limit": 1.0}
    found = delta(restored(whole, 0.5, **fixed), restored(less, 0.5, **fixed), 20.0)
    assert found == pytest.approx(delta_of_sampling_last(K, 0.5), abs=1e-6)


@pytest.mark.parametrize(("size", "beta", "epsilon"), [(3, 0.3, 0.5), (40, 0.5, 0.1), (12, 0.7, 2.0), (8, 0.2, 0.0)])
def test_delta_of_large_classes_is_the_largest_divergence(size, beta, epsilon):
    worst = 0.0
    for n in range(size, size + 60):
        counts = np.arange(n + 1)
        p, q = binom.pmf(counts, n, beta), binom.pmf(counts, n - 1, beta)
        for one, other in ((p, q), (q, p)):
            worst = max(worst, np.maximum(one - math.exp(epsilon) * other, 0).sum())
    assert delta_of_large_class(size, beta, epsilon) == pytest.approx(worst, rel=1e-9)


def test_members_of_large_classes_are_covered_and_others_are_not():
    """Through the real search with fixed levels: classes of 6, 3 and 2 records."""
    beta, epsilon, fixed = 0.4, 0.6, {"levels": {"town": 0}, "suppression_limit": 1.0}
    whole = restored("aaaaaabbbcc", beta, **fixed)
    for less, size in (("aaaaabbbcc", 6), ("aaaaaabbcc", 3)):
        assert delta(whole, restored(less, beta, **fixed), epsilon) <= delta_of_large_class(size, beta, epsilon) + 1e-12
    of_k = delta(whole, restored("aaaaaabbbc", beta, **fixed), epsilon)
    assert of_k >= delta_of_sampling_last(K, beta) - 1e-12 > delta_of_large_class(3, beta, epsilon)


def test_smallest_large_class():
    size = large_class(0.5, 1.0, 1e-6)
    assert delta_of_large_class(size, 0.5, 1.0) <= 1e-6 < delta_of_large_class(size - 1, 0.5, 1.0)
    for arguments in ((0.5, 0.0, 1e-6), (0.5, 1.0, 0.0), (1.0, 1.0, 1e-6)):
        with pytest.raises(ConfigError):
            large_class(*arguments)


def laplace_tail(threshold: float, scale: float) -> float:
    """P(threshold + Laplace(scale) <= 0)."""
    return 0.5 * math.exp(-threshold / scale) if threshold >= 0 else 1 - 0.5 * math.exp(threshold / scale)


@pytest.mark.parametrize(("k", "t", "noise"), [(6, 2, 1.0), (9, 2, 1.0), (4, 1, 2.0)])
def test_randomized_deniability_is_private_for_one_row_but_not_for_its_refusal(k, t, noise):
    """Theorem 1 of Bindschaedler, Shokri and Gunter for one row of fixed labels, by exact enumeration.

    A row shows with the share of its class in the records, if the class has at least k records and noise.
    """
    epsilon, allowed = noise + math.log1p(1 / t), math.exp(-noise * (k - t))

    def shows(sizes):
        return [size / sum(sizes) * laplace_tail(k - size, 1 / noise) for size in sizes]

    def refused(sizes):
        return 1 - sum(shows(sizes))

    worst = worst_refusal = 0.0
    for sizes in product(range(1, 14), repeat=2):
        if sum(sizes) <= k:
            continue
        less = (sizes[0] - 1, sizes[1])
        for one, other in ((sizes, less), (less, sizes)):
            rows = zip(shows(one), shows(other), strict=True)
            worst = max(worst, sum(max(a - math.exp(epsilon) * b, 0.0) for a, b in rows))
            worst_refusal = max(worst_refusal, refused(one) - math.exp(epsilon) * refused(other))
    assert 0 < worst <= allowed < worst_refusal
