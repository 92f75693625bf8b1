"""Membership inference by neural densities."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.membership import MAX_ATTACKED, folds, ordinal, standard
from hybrid.evaluation.context import Context, Part
from hybrid.evaluation.engine.flow import fitted_log_densities
from hybrid.evaluation.engine.intervals import auc_interval
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import Measure, NotComputable, Outcome

MAX_POINTS = 5_000
"""Records that a density is learned from."""


def membership_flow(context: Context) -> Outcome:
    """AUC of DOMIAS with neural densities.

    As ``membership_density``, the densities those of block neural autoregressive flows (De Cao et al. 2019), as in van
    Breugel et al. 2023: the score is log p_S(x) - log p_R(x). At most 5,000 records make up each density, and at most
    5,000 random members and non-members are attacked.
    """
    if find_spec("torch") is None:
        reason = "a density is learned with torch, which is missing: pip install 'hybrid-release[tabddpm]' brings it"
        return NotComputable(reason, "failed")
    rng, continuous = context.random("membership_flow"), context.encoding.continuous
    center, scale = standard(context.encoded("train"), continuous)

    def points(part: Part, limit: int) -> tuple[Array, Array]:
        table = context.encoded(part.role)
        rows = table.order[np.isin(table.order, part.rows)]
        rows = rows[rng.permutation(len(rows))[:limit]]
        return np.nan_to_num((ordinal(table.take(rows), continuous) - center) / scale), rows

    table, _ = points(context.whole("table"), MAX_POINTS)
    asked = [[points(part, MAX_ATTACKED // 2) for part in (fold.members, fold.others)] for fold in folds(context)]
    seeds = [int(seed) for seed in rng.integers(2**31, size=3)]
    mine = fitted_log_densities(table, [people for fold in asked for people, _ in fold], seeds[0])
    scores: list[list[Array]] = [[], []]
    for at, (fold, people) in enumerate(zip(folds(context), asked, strict=True)):
        reference, _ = points(fold.reference, MAX_POINTS)
        its = fitted_log_densities(reference, [part for part, _ in people], seeds[1 + at])
        for side in range(2):
            scores[side].append(mine[2 * at + side] - its[side])
    members, others = (np.concatenate(side) for side in scores)
    clusters = context.clusters(*(np.concatenate([fold[side][1] for fold in asked]) for side in range(2)))
    value, low, high = auc_interval(members, others, context.options.confidence, clusters)
    details = {"advantage": 2 * value - 1, "non_members": len(others), "points": [len(table), len(reference)]}
    return Measure(value, low, high, 0.5, len(members), details).above(0.5)


METRICS = (
    attack(
        membership_flow,
        "membership",
        "How well an attacker who compares neural densities (DOMIAS) finds out who was in the training data.",
        mechanism="density",
        by_default=False,
    ),
)
