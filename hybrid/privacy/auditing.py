"""Lower bounds of epsilon from attacks that try to refute a guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

_LARGEST = 64.0
"""Largest lower bound that is looked for."""


def guesses_p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """Probability of so many right guesses about canaries of one run.

    At most that, if the mechanism is (epsilon, delta)-differentially private: Steinke, Nasr and Jagielski (2023),
    Privacy Auditing with One (1) Training Run, Theorem 5.2.

    Parameters
    ----------
    canaries : int
        Records of which each was in the table with probability 1/2, independently.
    guesses : int
        Canaries about which a guess (in, out) was made.
    right : int
        Right guesses.
    epsilon, delta : float
        The stated guarantee.

    Returns
    -------
    float
        In [0, 1]; small values refute the guarantee.
    """
    from scipy.stats import binom

    chance = 1 / (1 + math.exp(-epsilon))
    enough = float(binom.sf(right - 1, guesses, chance))
    # P(right - i <= Binomial < right), for every i, per unit of delta that moves it there.
    below = np.cumsum(binom.pmf(right - np.arange(1, right + 1), guesses, chance))
    moved = float(np.max(below / np.arange(1, right + 1), initial=0.0))
    return min(enough + 2 * canaries * delta * moved, 1.0)


def epsilon_of_guesses(canaries: int, guesses: int, right: int, delta: float, confidence: float) -> float:
    """Largest epsilon that guesses about canaries refute; 0 if none.

    Parameters as for :func:`guesses_p_value`; ``confidence`` in (0, 1) is that of the lower bound.
    """
    return _largest(lambda epsilon: guesses_p_value(canaries, guesses, right, epsilon, delta) < 1 - confidence)


def epsilon_of_game(hits: tuple[int, int], runs: tuple[int, int], delta: float, confidence: float) -> float:
    """Largest epsilon that a distinguishing game refutes; 0 if none.

    Of P(hit with) <= e^epsilon * P(hit without) + delta, by a Clopper-Pearson lower bound of the one and an upper bound
    of the other, each with half of the error probability.

    Parameters
    ----------
    hits : (int, int)
        Runs in which an event, fixed beforehand, occurred on the one and on the other neighbouring table.
    runs : (int, int)
        Runs on each.
    delta : float
        Of the stated guarantee.
    confidence : float
        In (0, 1).
    """
    from scipy.stats import beta

    half = (1 - confidence) / 2
    low = float(beta.ppf(half, hits[0], runs[0] - hits[0] + 1)) if hits[0] else 0.0
    high = float(beta.ppf(1 - half, hits[1] + 1, runs[1] - hits[1])) if hits[1] < runs[1] else 1.0
    return math.log((low - delta) / high) if low - delta > high else 0.0


def _largest(refuted: Callable[[float], bool]) -> float:
    """Largest epsilon that is refuted, by bisection; 0 if none is."""
    if not refuted(0.0):
        return 0.0
    low, high = 0.0, _LARGEST
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
