"""Confidence intervals of rates, risks against a control, and AUCs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array, Mask


class Rate(NamedTuple):
    """A success rate: Wilson centre and half width, each in 0..1."""

    value: float
    error: float


class Interval(NamedTuple):
    """A number with both ends of its interval."""

    value: float
    low: float
    high: float


def difference(mine: tuple[float, float, float], its: tuple[float, float, float]) -> Interval:
    """Difference of two independent numbers with intervals, by Newcombe (1998, method 10)."""
    (value, low, high), (other, least, most) = mine, its
    down, up = math.hypot(value - low, most - other), math.hypot(high - value, other - least)
    return Interval(value - other, value - other - down, value - other + up)


@lru_cache(maxsize=64)
def quantile(confidence: float) -> float:
    """The two-sided standard normal quantile, 1.959964 at .95."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def wilson(successes: float, attempts: float, confidence: float = 0.95) -> Rate:
    """Wilson score interval (Wilson 1927), as in Giomi et al. 2023, eq. 1.

    r = (s + z^2/2)/(n + z^2) and z/(n + z^2) sqrt(s(n-s)/n + z^2/4) of n > 0 attempts; an expectation over ties may be
    fractional.
    """
    z2 = quantile(confidence) ** 2
    total = attempts + z2
    spread = successes * (attempts - successes) / attempts + z2 / 4
    return Rate((successes + z2 / 2) / total, math.sqrt(z2 * max(spread, 0.0)) / total)


def risk(train: Rate, control: Rate) -> Interval | None:
    """Success on training records in excess of that on control.

    R = (r_T - r_C)/(1 - r_C) with propagated error, not clipped (Giomi et al. 2023, eq. 4; thesis eq. 3.2). None if the
    control rate leaves no headroom (r_C at 1).
    """
    headroom = 1 - control.value
    if headroom <= 1e-9:
        return None
    value = (train.value - control.value) / headroom
    error = math.hypot(train.error / headroom, control.error * (train.value - 1) / headroom**2)
    return Interval(value, value - error, value + error)


def failure_ratio(train: tuple[float, float], control: tuple[float, float], confidence: float) -> tuple[float, float]:
    """Bounds of (1 - r_T)/(1 - r_C), which is 1 - R.

    They hold for few attacks and far out in the tails. Donner and Zou's method (2012, eq. 9) from the Wilson bounds of
    both rates of failure, which are not symmetric. Of successes and attacks on either side; control has failures.
    """
    (a, a_low, a_high), (b, b_low, b_high) = (_failures(*side, confidence) for side in (train, control))
    product = a * b
    up, down = b_low * (2 * b - b_low), a_low * (2 * a - a_low)
    high = (product + math.sqrt(max(product**2 - a_high * (2 * a - a_high) * up, 0.0))) / up
    below = product + math.sqrt(max(product**2 - down * b_high * (2 * b - b_high), 0.0))
    return down / below if below > 0 else 0.0, high


def _failures(successes: float, attempts: float, confidence: float) -> tuple[float, float, float]:
    return 1 - successes / attempts, *share_interval(1 - successes / attempts, attempts, confidence)


def simultaneous(confidence: float, parts: int) -> float:
    """Sidak's level for each of ``parts`` intervals that shall hold together with ``confidence``."""
    return float(confidence ** (1 / max(parts, 1)))


def share_interval(share: float, n: float, confidence: float) -> tuple[float, float]:
    """Wilson bounds of an observed share (0..1) of ``n`` independent records."""
    rate = wilson(share * n, n, confidence)
    return min(max(rate.value - rate.error, 0.0), share), max(min(rate.value + rate.error, 1.0), share)


def exact_share_interval(successes: float, n: float, confidence: float) -> tuple[float, float]:
    """Exact bounds of a share (Clopper and Pearson 1934) of ``n`` records; both numbers may be fractional."""
    from scipy.stats import beta

    tail = (1 - confidence) / 2
    low = float(beta.ppf(tail, successes, n - successes + 1)) if successes else 0.0
    high = float(beta.ppf(1 - tail, successes + 1, n - successes)) if successes < n else 1.0
    return low, high


def mean_interval(values: Array, confidence: float) -> tuple[float, float, float]:
    """Mean of independent values, shape (n,), with normal bounds: (mean, low, high)."""
    mean = float(values.mean())
    error = quantile(confidence) * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return mean, mean - error, mean + error


def clustered_error(values: Array, *clusters: Array) -> float:
    """Standard error of a mean of values dependent within clusters.

    Rows with the same nearest record share its luck: their scores are not independent. Cluster-robust variance, for two
    ways of clustering V_a + V_b - V_ab (Cameron, Gelbach and Miller 2011).
    """
    residuals = values - values.mean()

    def variance(ids: Array) -> float:
        return float((np.bincount(numbered(ids), weights=residuals) ** 2).sum()) / len(values) ** 2

    if len(clusters) == 1:
        return math.sqrt(variance(clusters[0]))
    first, second = clusters
    both = first.astype(np.int64) * (int(second.max(initial=0)) + 2) + second
    separate = max(variance(first), variance(second))
    return math.sqrt(max(variance(first) + variance(second) - variance(both), separate))


def numbered(ids: Array) -> Array:
    """Cluster numbers from 0, below the number of values; as they are, where they are such numbers."""
    if len(ids) and ids.min() >= 0 and ids.max() < len(ids):
        return ids
    return np.asarray(np.unique(ids, return_inverse=True)[1])


def independent_attempts(hits: Array, persons: Array) -> float:
    """Number of independent attempts that attacks on records are worth.

    The number at which the binomial variance is the cluster-robust one (Kish's effective size, 1965): as many as there
    are records where those of a person succeed independently, as many as there are persons where they do together. The
    number of persons where the cluster-robust variance is 0.
    """
    rate, error = float(np.mean(hits)), clustered_error(np.asarray(hits, dtype=float), persons)
    if error == 0:
        return float(len(np.unique(persons)))
    return min(max(rate * (1 - rate) / error**2, 1.0), float(len(hits)))


def auc(positive: Array, negative: Array) -> float:
    """Area under the ROC curve: P(positive > negative) + P(equal)/2, by midranks."""
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([positive, negative]))
    n, m = len(positive), len(negative)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))


def auc_interval(
    positive: Array, negative: Array, confidence: float, clusters: tuple[Array, Array] | None = None
) -> tuple[float, float, float]:
    """AUC with an interval that holds for few scores, too.

    Returns (auc, low, high). The wider of DeLong's interval (DeLong et al. 1988; fast form of Sun & Xu 2014), which
    follows the scores' real spread but is too narrow for few of them and has no width at an AUC of 1, and of
    :func:`_auc_score_bounds`. With ``clusters``, the persons of both sides, of whom none is on both: the variance is
    that of clustered scores (Obuchowski 1997, doi 10.2307/2533958), and persons are counted instead of scores.
    """
    return auc_intervals([(positive, negative)], [confidence], [clusters])[0]


def auc_intervals(
    scores: Sequence[tuple[Array, Array]],
    confidences: Sequence[float],
    clusters: Sequence[tuple[Array, Array] | None],
) -> list[tuple[float, float, float]]:
    """AUCs of several pairs of sides, each with its interval: those of :func:`auc_interval`."""
    found = np.array([_delong(*pair, persons) for pair, persons in zip(scores, clusters, strict=True)])
    values, variances, n, m = found.reshape(-1, 4).T
    z = np.array([quantile(confidence) for confidence in confidences])
    errors = z * np.sqrt(variances)
    low, high = _auc_score_bounds(values, n, m, z)
    ends = np.maximum(np.minimum(values - errors, low), 0.0), np.minimum(np.maximum(values + errors, high), 1.0)
    return [(float(value), float(least), float(most)) for value, least, most in zip(values, *ends, strict=True)]


def _delong(positive: Array, negative: Array, clusters: tuple[Array, Array] | None) -> tuple[float, float, int, int]:
    """AUC, its variance, and the units on each side."""
    n, m = len(positive), len(negative)
    if clusters is None:
        positive, negative = np.sort(positive), np.sort(negative)  # Sorted values are found several times faster.
    above, below = placements(positive, negative)
    value = float(above.mean())
    if clusters is None:
        variance = (above.var(ddof=1) / n if n > 1 else 0.0) + (below.var(ddof=1) / m if m > 1 else 0.0)
        return value, float(variance), n, m
    persons = [numbered(ids) for ids in clusters]
    variance = clustered_error(above, persons[0]) ** 2 + clustered_error(below, persons[1]) ** 2
    n, m = (int(np.count_nonzero(np.bincount(ids))) for ids in persons)
    return value, variance, n, m


def placements(positive: Array, negative: Array) -> tuple[Array, Array]:
    """Share of the negative below each positive score, and of the positive above each negative one; ties half."""
    above, below = _below(positive, np.sort(negative)), _below(negative, np.sort(positive))
    return above / len(negative), 1 - below / len(positive)


def weighted_auc_interval(
    positive: Array, negative: Array, of_positive: Array, of_negative: Array, confidence: float
) -> tuple[float, float, float]:
    """Weighted AUC with a normal interval: (auc, low, high).

    P(positive > negative) + P(equal)/2 of a pair drawn in proportion to the weights. The variance is the linearized one
    of two weighted means of placements, sum of w^2 (placement - auc)^2 over (sum of w)^2 on each side (DeLong's for
    equal weights and many scores).
    """

    def placed(values: Array, others: Array, weights: Array) -> Array:
        order = np.argsort(others, kind="stable")
        sums = np.append(0.0, np.cumsum(weights[order]))
        ends = (np.searchsorted(others[order], values, side) for side in ("left", "right"))
        return np.asarray(sum(sums[end] for end in ends) / (2 * sums[-1]))

    above, below = placed(positive, negative, of_negative), 1 - placed(negative, positive, of_positive)
    value = float(np.average(above, weights=of_positive))
    sides = ((above, of_positive), (below, of_negative))
    variance = sum(float(((w * (part - value)) ** 2).sum() / w.sum() ** 2) for part, w in sides)
    error = quantile(confidence) * math.sqrt(variance)
    return value, max(value - error, 0.0), min(value + error, 1.0)


def _below(values: Array, ordered: Array) -> Array:
    return np.asarray((np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2)


def _auc_score_bounds(values: Array, n: Array, m: Array, z: Array) -> tuple[Array, Array]:
    """Areas that the observed ones do not contradict, of several at once.

    Newcombe 2006, part 2, method 5. The variance is that at the area asked for, after Hanley and McNeil 1982, with both
    sizes replaced by their mean in its second-order terms; so the interval has a width where every score is on its
    side.
    """
    size = (n + m) / 2 - 1

    def contradicts(area: Array) -> Mask:
        spread = 1 + size * ((1 - area) / (2 - area) + area / (1 + area))
        return np.asarray(np.abs(values - area) > z * np.sqrt(area * (1 - area) * spread / (n * m)))

    def edge(end: float) -> Array:
        inside, outside = values, np.full_like(values, end)
        for _ in range(50):
            middle = (inside + outside) / 2
            beyond = contradicts(middle)
            inside, outside = np.where(beyond, inside, middle), np.where(beyond, middle, outside)
        return inside

    return edge(0.0), edge(1.0)


def votes_interval(share: float, votes: Array, rows: int, confidence: float) -> tuple[float, float]:
    """Wilson bounds of a share of votes for records.

    Each row votes for the side of one record, and records fall on either side by chance. The variance of the share is
    then c (1 - c) times the sum over records of (w - mean w)^2, with w the votes for a record as a share of the rows: 1
    / that sum is the number of independent votes (Kish 1965). A table unlike the data points at a few records only, and
    is worth as few votes. ``votes`` counts the rows that vote for each record of either side; ``rows`` also those that
    vote for no single record, and no more than so many votes count.
    """
    weights = votes / rows
    concentration = float(((weights - weights.mean()) ** 2).sum()) * len(votes) / max(len(votes) - 1, 1)
    return share_interval(share, 1 / max(concentration, 1 / rows), confidence)


def vote_error(values: Array, *voters: Array, sizes: tuple[int, ...]) -> float:
    """Standard error of the share of majorities for the own side.

    A majority is that of the votes of the nearest records, each for its own side. Records fall on either side by
    chance, the size of each side being given. The first-order part of a majority of K votes (Hoeffding 1948), the share
    K (2^(1-K) C(K-1, (K-1)/2))^2 of its variance, adds up over the majorities that a record votes in; the rest is taken
    as independent. ``values`` is 1 where the majority is on one side, 0 on the other, 1/2 for ties; ``voters`` of each
    side, shape (n, (K + 1) / 2), number its nearest records, -1 for none; ``sizes`` are those of the sides.
    """
    n = len(values)
    votes = 2 * voters[0].shape[1] - 1
    first = votes * (math.comb(votes - 1, (votes - 1) // 2) / 2 ** (votes - 1)) ** 2
    spread = 0.0
    for near, size in zip(voters, sizes, strict=True):
        counts = np.bincount(near.ravel() + 1, minlength=size + 1)[1:]
        spread += float(((counts - counts.mean()) ** 2).sum())
    return float(values.std()) * math.sqrt(first * spread / sum(v.shape[1] for v in voters) + (1 - first) * n) / n
