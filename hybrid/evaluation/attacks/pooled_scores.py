"""One attack learned from the trainings about all attacked people together."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.intervals import auc, clustered_error, placements

FOLDS = 6
"""Parts of the trainings: each is attacked with what was learned from the others."""
CLIPPED = 4.0
"""Standard deviations beyond which an observation counts as this far."""
PENALTIES = np.logspace(0, 6, 13)
DRAWS = 200
"""Draws of people and trainings for intervals."""


class Interval(NamedTuple):
    """A value with its bounds."""

    value: float
    low: float
    high: float


def pooled_scores(seen: Array, member: Array) -> Array:
    """Membership score of every person in every training, larger for likely members.

    Observations of a person are standardized over all trainings, and a ridge regression of membership on them is fitted
    to all people together; its penalty has the least generalized cross-validation error (Golub, Heath and Wahba 1979).
    Each training is scored by a regression that was learned without it.

    Parameters
    ----------
    seen : numpy.ndarray, shape (n, people, features)
        What was observed.
    member : numpy.ndarray, shape (n, people), bool
        Who was in: half of the pool in each training.

    Returns
    -------
    numpy.ndarray, shape (n, people)
    """
    part = np.arange(len(seen)) % FOLDS
    center, spread = seen.mean(axis=0), seen.std(axis=0)
    usual = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-9)
    placed = np.clip((seen - center) * usual, -CLIPPED, CLIPPED)
    sums = [_sums(placed[part == fold], member[part == fold]) for fold in range(FOLDS)]
    scores = np.empty(member.shape)
    for fold in range(FOLDS):
        products, shared, trials = zip(*(sums[:fold] + sums[fold + 1 :]), strict=True)
        scores[part == fold] = placed[part == fold] @ _ridge(sum(products), sum(shared), sum(trials))
    return scores


def _sums(placed: Array, member: Array) -> tuple[Array, Array, int]:
    """Sums over trials for a regression: products of the features, those with membership (+-1/2), and a count."""
    features = placed.reshape(-1, placed.shape[-1])
    shared = features.T @ (member.reshape(-1) - 0.5).astype(features.dtype)
    return (features.T @ features).astype(np.float64), shared.astype(np.float64), len(features)


def _ridge(products: Array, shared: Array, trials: int) -> Array:
    """Weights of the features; shape (n_features,)."""
    values, vectors = np.linalg.eigh(products)
    values = np.maximum(values, 0.0)
    projected = vectors.T @ shared
    shrunk = projected / (values + PENALTIES[:, None])
    left = trials / 4 - 2 * shrunk @ projected + (shrunk**2) @ values
    freedom = (values / (values + PENALTIES[:, None])).sum(axis=1)
    best = int(np.argmin(left / np.maximum(trials - freedom, 1.0) ** 2))
    weights: Array = vectors @ shrunk[best]
    return weights


def auc_of(scores: Array, member: Array, confidence: float) -> Interval:
    """AUC with an interval for trials that share people and trainings.

    The variance is that of the mean of placements (DeLong et al. 1988), dependent within people and within trainings:
    V_people + V_trainings (Cameron, Gelbach and Miller 2011, doi 10.1198/jbes.2010.07136). Their overlap is not taken
    off, since the scores share what was learned, too: with it taken off, such intervals cover 77 to 93 % instead of
    95 %, without that 90 to 99 % (``benchmarks/pooled_intervals.py``). Student's quantile and c/(c - 1), with c the
    fewer of people and trainings.

    Parameters
    ----------
    scores, member : numpy.ndarray, shape (n, people)
        Scores, and who was in.
    confidence : float
        Level of the interval.
    """
    from scipy.stats import t as student

    inside, outside = scores[member], scores[~member]
    value = auc(inside, outside)
    centered = np.empty(scores.shape)
    centered[member], centered[~member] = (
        (side - value) * scores.size / len(side) for side in placements(inside, outside)
    )
    training, person = np.indices(scores.shape).reshape(2, -1)
    error = math.hypot(*(clustered_error(centered.reshape(-1), each) for each in (training, person)))
    fewest = min(scores.shape)
    half = float(student.ppf((1 + confidence) / 2, fewest - 1)) * error * math.sqrt(fewest / (fewest - 1))
    return Interval(value, max(value - half, 0.0), min(value + half, 1.0))


def found_at(
    scores: Array, member: Array, false_alarms: tuple[float, ...], confidence: float, rng: np.random.Generator
) -> list[Interval]:
    """Share of members found at each false-alarm rate.

    Bounds are percentiles over draws of people and of trainings with replacement, both at once: the pigeonhole
    bootstrap (Owen 2007, doi 10.1214/07-AOAS122), which is a little too wide rather than too narrow.

    Parameters
    ----------
    scores, member : numpy.ndarray, shape (n, people)
        Scores, and who was in.
    false_alarms : tuple of float
        Shares of non-members taken for members, 0..1; between two thresholds the attacker tosses a coin.
    confidence : float
        Level of each interval.
    """
    n, people = scores.shape
    order = np.argsort(-scores.ravel(), kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores.ravel()[order])), len(order) - 1)
    truth, training, person = member.ravel()[order], order // people, order % people
    found = [rates(truth.astype(float), (~truth).astype(float), last, false_alarms)]
    for _ in range(DRAWS):
        drawn = [rng.multinomial(size, np.full(size, 1 / size)).astype(float) for size in (n, people)]
        weights = drawn[0][training] * drawn[1][person]
        found.append(rates(weights * truth, weights * ~truth, last, false_alarms))
    tails = np.nanquantile(found[1:], [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    values = zip(found[0], *tails, strict=True)
    return [Interval(float(value), float(min(low, value)), float(max(high, value))) for value, low, high in values]


def rates(inside: Array, outside: Array, last: Array, false_alarms: tuple[float, ...]) -> list[float]:
    """Rates of detection of one ranking.

    Parameters
    ----------
    inside, outside : numpy.ndarray, shape (n_scores,)
        Weights of members and of non-members, by falling score; 0 on the other side.
    last : numpy.ndarray
        Last position of every group of equal scores.
    false_alarms : tuple of float
        As for :func:`found_at`.
    """
    detected, alarms = (np.concatenate([[0.0], np.cumsum(side)[last]]) for side in (inside, outside))
    if not detected[-1] or not alarms[-1]:
        return [float("nan")] * len(false_alarms)
    detected, alarms = detected / detected[-1], alarms / alarms[-1]
    corners = np.append(np.diff(alarms) > 0, True)  # The highest rate of detection at each rate of false alarms.
    return [float(share) for share in np.interp(false_alarms, alarms[corners], detected[corners])]
