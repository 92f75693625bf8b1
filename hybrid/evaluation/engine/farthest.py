"""Largest distance between the records of two tables."""

from __future__ import annotations

import math

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.engine.space import Columns

BLOCK = 128
"""Records of each side that are compared at once."""


def farthest(queries: Columns, references: Columns, squared: bool) -> float:
    """Largest distance of a query to a reference.

    Records far out are compared first, until no pair of the others can be farther: two records are at most as far as
    the sum of their distances from the middle, with every category different.

    Parameters
    ----------
    queries, references : Columns
        Records of one space, at least one each.
    squared : bool
        Whether that space's distance is E1 (else Gower's).
    """
    middle = np.median(np.concatenate([queries.numbers, references.numbers], axis=1), axis=1)[:, None]
    apart = float(references.weights.sum()) + float((queries.has_missing | references.has_missing).sum())
    reach = [_length(np.abs(side.numbers - middle), squared) for side in (queries, references)]
    order = [np.argsort(-one, kind="stable") for one in reach]
    mine, its = (one[by] for one, by in zip(reach, order, strict=True))
    best = 0.0
    for start in range(0, len(mine), BLOCK):
        for other in range(0, len(its), BLOCK):
            if _bound(float(mine[start] + its[other]), apart, squared) <= best:
                break
            block = queries.take(order[0][start : start + BLOCK])
            best = max(best, _largest(block, references.take(order[1][other : other + BLOCK]), squared))
    return math.sqrt(best) if squared else best


def _length(gaps: Array, squared: bool) -> Array:
    length: Array = np.sqrt((gaps**2).sum(axis=0)) if squared else gaps.sum(axis=0)
    return length


def _bound(numbers: float, apart: float, squared: bool) -> float:
    return (numbers**2 if squared else numbers) + apart


def _largest(queries: Columns, references: Columns, squared: bool) -> float:
    """Largest distance (E1: its square) of any pair."""
    total = np.zeros((queries.codes.shape[1], references.codes.shape[1]))
    for at in range(len(queries.numbers)):
        gap = np.abs(queries.numbers[at][:, None] - references.numbers[at])
        lacks, lacking = queries.missing[at][:, None], references.missing[at]
        gap = np.where(lacks & lacking, 0.0, np.where(lacks | lacking, 1.0, gap))
        total += gap**2 if squared else gap
    for at, weight in enumerate(references.weights):
        total += weight * (queries.codes[at][:, None] != references.codes[at])
    return float(total.max())
