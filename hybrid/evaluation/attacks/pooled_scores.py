"""One attack learned from the trainings about all attacked people together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array

FOLDS = 6
"""Parts of the trainings: each is attacked with what was learned from the others."""
CLIPPED = 4.0
"""Standard deviations beyond which an observation counts as this far."""
PENALTIES = np.logspace(0, 6, 13)
DRAWS = 400
"""Draws of people and trainings for intervals."""


class Interval(NamedTuple):
    """A value with its bounds."""

    value: float
    low: float
    high: float


def pooled_scores(seen: Array, member: Array) -> Array:
    """Membership score of every person in every training, larger for likely members.

    Observations of a person are standardized over the trainings that the attack learns from, and a ridge regression
    of membership on them is fitted to all people together; its penalty has the least generalized cross-validation
    error (Golub, Heath and Wahba 1979). Each training is scored by a regression that was learned without it.

    Parameters
    ----------
    seen : numpy.ndarray, shape (n, people, features)
        What was observed.
    member : numpy.ndarray, shape (n, people), bool
        Who was in.

    Returns
    -------
    numpy.ndarray, shape (n, people)
    """
    part = np.arange(len(seen)) % FOLDS
    scores = np.empty(member.shape)
    for fold in range(FOLDS):
        learned = part != fold
        center, spread = seen[learned].mean(axis=0), seen[learned].std(axis=0)
        usual = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-9)
        placed = np.clip((seen - center) * usual, -CLIPPED, CLIPPED).astype(np.float64)
        weights = _ridge(placed[learned].reshape(-1, seen.shape[2]), member[learned].reshape(-1))
        scores[~learned] = placed[~learned] @ weights
    return scores


def _ridge(features: Array, member: Array) -> Array:
    """Weights of the features; shape (n_features,)."""
    truth = member - member.mean()
    values, vectors = np.linalg.eigh(features.T @ features)
    values = np.maximum(values, 0.0)
    projected = vectors.T @ (features.T @ truth)
    rows = len(features)
    shrunk = projected / (values + PENALTIES[:, None])
    left = truth @ truth - 2 * shrunk @ projected + (shrunk**2) @ values
    freedom = (values / (values + PENALTIES[:, None])).sum(axis=1)
    best = int(np.argmin(left / np.maximum(rows - freedom, 1.0) ** 2))
    weights: Array = vectors @ shrunk[best]
    return weights


def success(
    scores: Array, member: Array, false_alarms: tuple[float, ...], confidence: float, rng: np.random.Generator
) -> list[Interval]:
    """AUC, and the share of members found at each false-alarm rate.

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
    drawn = [rng.multinomial(size, np.full(size, 1 / size), size=DRAWS).astype(float) for size in (n, people)]
    weights = (drawn[0][:, :, None] * drawn[1][:, None, :]).reshape(DRAWS, -1)
    order = np.argsort(-scores.ravel(), kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores.ravel()[order])), len(order) - 1)
    truth = member.ravel()[order]
    found = np.array(
        [
            rates(each[order] * truth, each[order] * ~truth, last, false_alarms)
            for each in (np.ones(scores.size), *weights)
        ]
    )
    tails = np.nanquantile(found[1:], [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    values = zip(found[0], *tails, strict=True)
    return [Interval(float(value), float(min(low, value)), float(max(high, value))) for value, low, high in values]


def rates(inside: Array, outside: Array, last: Array, false_alarms: tuple[float, ...]) -> list[float]:
    """AUC and rates of detection of one ranking.

    Parameters
    ----------
    inside, outside : numpy.ndarray, shape (n_scores,)
        Weights of members and of non-members, by falling score; 0 on the other side.
    last : numpy.ndarray
        Last position of every group of equal scores.
    false_alarms : tuple of float
        As for :func:`success`.
    """
    detected, alarms = (np.concatenate([[0.0], np.cumsum(side)[last]]) for side in (inside, outside))
    if not detected[-1] or not alarms[-1]:
        return [float("nan")] * (1 + len(false_alarms))
    detected, alarms = detected / detected[-1], alarms / alarms[-1]
    area = float((np.diff(alarms) * (detected[1:] + detected[:-1]) / 2).sum())
    corners = np.append(np.diff(alarms) > 0, True)  # The highest rate of detection at each rate of false alarms.
    return [area, *np.interp(false_alarms, alarms[corners], detected[corners])]
