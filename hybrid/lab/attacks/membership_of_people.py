"""Success of attacks on the membership of single people, with training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.intervals import auc_interval, exact_share_interval
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.lab.attacks.shadows import Trained

MIN_SIDE = 3
"""Trainings with, and without, a record that it takes to learn or to judge an attack on it."""
POINTS = 20
"""Thresholds that are tried for the empirical epsilon."""


def attackable(learned: Trained, tested: Trained) -> list[int]:
    """People with enough trainings with and without them, by number."""
    sides = [[np.bincount(side, minlength=2).min() for side in part.member.T] for part in (learned, tested)]
    return [at for at, (one, other) in enumerate(zip(*sides, strict=True)) if min(one, other) >= MIN_SIDE]


def judged(
    context: Context, learned: Trained, tested: Trained, scores: Sequence[tuple[int, Array]], confidence: float
) -> Outcome:
    """Mean AUC over the people, with its interval and the empirical epsilon.

    Parameters
    ----------
    learned, tested : Trained
        Trainings that the attack learned from, and those it is tried on.
    scores : sequence of (int, numpy.ndarray)
        Number of each attacked person, and its scores in the tests, larger where it seems to have been in.
    """
    if not scores:
        return NotComputable(f"the time allowed for {len(learned)} shadows and {len(tested)} tests", "timed_out")
    inside = [tested.member[:, at] for at, _ in scores]
    attacks = [auc_interval(said[was], said[~was], confidence) for (_, said), was in zip(scores, inside, strict=True)]
    said, truth = np.concatenate([each for _, each in scores]), np.concatenate(inside)
    epsilon = empirical_epsilon(said, truth, context.random("empirical epsilon"))
    return _mean(np.array(attacks), learned, tested, {"epsilon": epsilon})


def _mean(attacks: Array, learned: Trained, tested: Trained, more: dict[str, Any]) -> Measure:
    """The mean over the records, whose coins are independent."""
    values, lows, highs = attacks.T
    value, n = float(values.mean()), len(values)
    low, high = (float(np.sqrt(((values - ends) ** 2).sum())) / n for ends in (lows, highs))
    details: dict[str, object] = {
        "advantage": 2 * value - 1,
        "records": n,
        "shadows": len(learned),
        "tests": len(tested),
        "highest": float(values.max()),
        "lowest": float(values.min()),
        "spread": float(values.std()),
        **more,
    }
    return Measure(value, max(value - low, 0.0), min(value + high, 1.0), 0.5, n * len(tested), details).above(0.5)


def empirical_epsilon(scores: Array, member: Array, rng: np.random.Generator, delta: float = 0.0) -> float:
    """Lower bound of epsilon that an attack's scores show, 0 or more.

    log((TPR - delta) / FPR) with Clopper and Pearson's bounds (1934), each at 97.5 %, in the one half of the trials;
    the threshold is the best one of the other half (Jagielski et al. 2020, Algorithm 2). Trials of several people that
    share trainings count as independent.
    """
    half = rng.permutation(len(scores)) < len(scores) // 2
    thresholds = np.unique(np.quantile(scores[half], np.linspace(0, 1, POINTS + 1)))
    bounds = [_epsilon(scores[half] >= edge, member[half], delta) for edge in thresholds]
    chosen = thresholds[int(np.argmax(bounds))]
    return max(_epsilon(scores[~half] >= chosen, member[~half], delta), 0.0)


def _epsilon(said: Array, member: Array, delta: float) -> float:
    inside, outside = int(member.sum()), int((~member).sum())
    if not inside or not outside:
        return 0.0
    low = exact_share_interval(int(said[member].sum()), inside, 0.95)[0]
    high = exact_share_interval(int(said[~member].sum()), outside, 0.95)[1]
    return math.log((low - delta) / high) if low > delta else 0.0
