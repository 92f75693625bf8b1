"""Intervals of success rates, of risks against a control, and of ranking scores; the only statistics in the room."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from hybrid.arrays import Array


class Rate(NamedTuple):
    """A success rate: Wilson centre and half width, each in 0..1."""

    value: float
    error: float


class Risk(NamedTuple):
    """A risk in excess of the control: raw signed value (1 full leak, 0 none) and its bounds, not clipped."""

    value: float
    low: float
    high: float


def quantile(confidence: float) -> float:
    """The two-sided standard normal quantile, 1.959964 at .95."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def wilson(successes: float, attempts: float, confidence: float = 0.95) -> Rate:
    """Wilson score interval (Wilson 1927, as in Giomi et al. 2023, eq. 1).

    Parameters
    ----------
    successes : float
        0..attempts; an expectation over ties may be fractional.
    attempts : float
        Attacks really made, above 0.
    confidence : float
        0..1.

    Returns
    -------
    Rate
        r = (s + z^2/2)/(n + z^2) and z/(n + z^2) sqrt(s(n-s)/n + z^2/4).
    """
    z2 = quantile(confidence) ** 2
    total = attempts + z2
    spread = successes * (attempts - successes) / attempts + z2 / 4
    return Rate((successes + z2 / 2) / total, math.sqrt(z2 * max(spread, 0.0)) / total)


def risk(train: Rate, control: Rate) -> Risk | None:
    """Success on the training records in excess of success on the control records.

    R = (r_T - r_C)/(1 - r_C) with propagated error (Giomi et al. 2023, eq. 4; thesis eq. 3.2).

    Returns
    -------
    Risk or None
        None if the control rate leaves no headroom (r_C at 1).
    """
    headroom = 1 - control.value
    if headroom <= 1e-9:
        return None
    value = (train.value - control.value) / headroom
    error = math.hypot(train.error / headroom, control.error * (train.value - 1) / headroom**2)
    return Risk(value, value - error, value + error)


def simultaneous(confidence: float, parts: int) -> float:
    """Sidak's level for each of ``parts`` intervals, so that all hold together with ``confidence``."""
    return float(confidence ** (1 / max(parts, 1)))


def share_interval(share: float, n: float, confidence: float) -> tuple[float, float]:
    """Wilson bounds of an observed share (0..1) of ``n`` independent records."""
    rate = wilson(share * n, n, confidence)
    return min(max(rate.value - rate.error, 0.0), share), max(min(rate.value + rate.error, 1.0), share)


def mean_interval(values: Array, confidence: float) -> tuple[float, float, float]:
    """Mean of independent values, shape (n,), with normal bounds: (mean, low, high)."""
    mean = float(values.mean())
    error = quantile(confidence) * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return mean, mean - error, mean + error


def clustered_error(values: Array, *clusters: Array) -> float:
    """Standard error of a mean of values that hang together within clusters.

    Rows with the same nearest record share its luck: their scores are not independent. Cluster-robust variance, for
    two ways of clustering V_a + V_b - V_ab (Cameron, Gelbach and Miller 2011).

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
        The scores.
    clusters : numpy.ndarray, shape (n,), int, one or two
        Numbers of the clusters.
    """
    residuals = values - values.mean()

    def variance(ids: Array) -> float:
        _, code = np.unique(ids, return_inverse=True)
        return float((np.bincount(code, weights=residuals) ** 2).sum()) / len(values) ** 2

    if len(clusters) == 1:
        return math.sqrt(variance(clusters[0]))
    first, second = clusters
    both = first.astype(np.int64) * (int(second.max(initial=0)) + 2) + second
    separate = max(variance(first), variance(second))
    return math.sqrt(max(variance(first) + variance(second) - variance(both), separate))


def auc(positive: Array, negative: Array) -> float:
    """Area under the ROC curve: P(positive > negative) + P(equal)/2, by midranks."""
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([positive, negative]))
    n, m = len(positive), len(negative)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))


def auc_interval(positive: Array, negative: Array, confidence: float) -> tuple[float, float, float]:
    """AUC with DeLong's variance (DeLong et al. 1988; fast form of Sun & Xu 2014): (auc, low, high)."""
    from scipy.stats import rankdata

    n, m = len(positive), len(negative)
    ranks = rankdata(np.concatenate([positive, negative]))
    above = (ranks[:n] - rankdata(positive)) / m
    below = 1 - (ranks[n:] - rankdata(negative)) / n
    value = float(above.mean())
    variance = (above.var(ddof=1) / n if n > 1 else 0.0) + (below.var(ddof=1) / m if m > 1 else 0.0)
    error = quantile(confidence) * math.sqrt(variance)
    return value, max(value - error, 0.0), min(value + error, 1.0)
