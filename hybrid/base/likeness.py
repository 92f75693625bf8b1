"""Likeness of paired values: agreement of categories, correlation of ranks, mutual information."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array, Codes


def agreement(before: Codes, after: Codes) -> float:
    """Cohen's kappa of paired categories, at most 1.

    Agreement beyond that of independent values, as a share of what is possible (Cohen 1960,
    doi:10.1177/001316446002000104). 0 where every value is the same. Codes are 0 or more, shape (n,), n >= 1.
    """
    levels = int(max(before.max(), after.max())) + 1
    shares = [np.bincount(side, minlength=levels) / len(side) for side in (before, after)]
    chance = float(shares[0] @ shares[1])
    return 0.0 if chance >= 1 else (float((before == after).mean()) - chance) / (1 - chance)


def rank_correlation(before: Array, after: Array) -> float:
    """Spearman's correlation of paired numbers, -1..1.

    Pairs with NaN do not count; 0 where fewer than two are left, or one side is constant.
    """
    known = ~(np.isnan(before) | np.isnan(after))
    if known.sum() < 2:
        return 0.0
    middles = []
    for side in (before[known], after[known]):
        _, places, counts = np.unique(side, return_inverse=True, return_counts=True)
        middles.append((np.cumsum(counts) - (counts + 1) / 2)[places])
    if min(side.std() for side in middles) == 0:
        return 0.0
    return float(np.corrcoef(middles[0], middles[1])[0, 1])


def mutual_information(left: Codes, right: Codes, n_left: int, n_right: int) -> float:
    """Mutual information of two codes of shape (n,) in nats, 0 or more, as counted."""
    n = len(left)
    if n == 0:
        return 0.0
    table = np.bincount(left * n_right + right, minlength=n_left * n_right).reshape(n_left, n_right) / n
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    seen = table > 0
    return max(float((table[seen] * np.log(table[seen] / expected[seen])).sum()), 0.0)
