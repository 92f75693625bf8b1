"""Lower bounds of epsilon from attacks that try to refute a guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hybrid.base.arrays import Array

_ORDERS = 1 + np.geomspace(1e-3, 1e3, 61)
"""Orders of Renyi divergences that are looked at."""
_LARGEST = 64.0
"""Largest lower bound that is looked for."""


def guesses_p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Upper bound of the probability of so many right guesses about canaries of one run.

    It holds for (epsilon, delta)-differentially private mechanisms: Steinke, Nasr and Jagielski (2023), Privacy
    Auditing with One (1) Training Run, Theorem 5.2. Each canary was in the table with probability 1/2, independently;
    of so many of them a guess (in, out) was made. Small values refute the guarantee.
    """
    from scipy.stats import binom

    chance = 1 / (1 + math.exp(-epsilon))
    enough = float(binom.sf(right - 1, guesses, chance))
    # P(right - i <= Binomial < right), for every i, per unit of delta that moves it there.
    below = np.cumsum(binom.pmf(right - np.arange(1, right + 1), guesses, chance))
    moved = float(np.max(below / np.arange(1, right + 1), initial=0.0))
    return min(enough + 2 * canaries * delta * moved, 1.0)


def epsilon_of_guesses(canaries: int, guesses: int, right: int, delta: float, confidence: float) -> float:
    """Largest epsilon that guesses refute with a confidence in (0, 1), 0 if none (:func:`guesses_p_value`)."""
    return _largest(lambda epsilon: guesses_p_value(canaries, guesses, right, epsilon, delta) < 1 - confidence)


def shares_of_game(
    hits: tuple[Array | int, Array | int], runs: tuple[int, int], confidence: float
) -> tuple[Array, Array]:
    """Clopper-Pearson bounds of an event's frequencies on neighbouring tables: low of the first, high of the second.

    They hold together with ``confidence``; each has half of the error probability.
    """
    from scipy.stats import beta

    half = (1 - confidence) / 2
    more, less = np.asarray(hits[0]), np.asarray(hits[1])
    low = np.where(more > 0, beta.ppf(half, np.maximum(more, 1), runs[0] - more + 1), 0.0)
    high = np.where(less < runs[1], beta.ppf(1 - half, less + 1, np.maximum(runs[1] - less, 1)), 1.0)
    return low, high


def epsilon_between(low: Array, high: Array, delta: float) -> Array:
    """Least epsilon of a mechanism with these frequencies of an event.

    From P(event on one table) <= e^epsilon * P(event on the other) + delta; bounds as of :func:`shares_of_game`.
    """
    refutes = low - delta > high
    found: Array = np.where(refutes, np.log(np.where(refutes, low - delta, 1.0) / high), 0.0)
    return np.maximum(found, 0.0)


def rho_between(low: Array, high: Array, delta: float = 0.0) -> Array:
    """Least rho of a mechanism with these frequencies of an event.

    The Renyi divergence of every order alpha of the two frequencies is at most alpha * rho (Bun and Steinke 2016,
    Definition 1.1 and Lemma 2.2), after delta of the probability is set aside (their Definition 8.1). Bounds as of
    :func:`shares_of_game`.
    """
    most, least = np.asarray(low - delta), np.minimum(np.asarray(high) / (1 - delta), 1.0)
    refutes = most > least
    p = np.where(refutes, most, 0.5)[..., None]
    q = np.where(refutes, least, 0.5)[..., None]
    inside = _ORDERS * np.log(p) + (1 - _ORDERS) * np.log(q)
    outside = _ORDERS * np.log1p(-p) + (1 - _ORDERS) * np.log1p(-q)
    found = np.logaddexp(inside, outside) / (_ORDERS * (_ORDERS - 1))
    return np.asarray(np.where(refutes, np.maximum(found.max(axis=-1), 0.0), 0.0))


def _largest(refuted: Callable[[float], bool]) -> float:
    """Largest epsilon that is refuted, by bisection; 0 if none is."""
    if not refuted(0.0):
        return 0.0
    low, high = 0.0, _LARGEST
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
