"""Classifier of synthetic against control persons."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.evaluation.context import Context, Role, order_of_rows, person_of_rows
from hybrid.evaluation.engine.intervals import auc_interval
from hybrid.evaluation.families import utility
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.utility.models import MAX_CATEGORIES, boosting, out_of_fold

FOLDS = 3
ITERATIONS = 50
MAX_PERSONS = 20_000
"""Persons per side; more would not change the verdict, only the time."""


def c2st_agg(context: Context) -> Outcome:
    """AUC of a classifier that separates the table's persons from control's.

    Classifier two-sample test with aggregation (C2ST-Agg of SyntheRela, arXiv 2410.03411). A person is the number of
    its rows, and per column the mean of numbers or the category of the first row, and the number of distinct values.
    Gradient boosting with 3-fold cross-validation on equal numbers of persons. .5 is no separation. Interval by DeLong.
    """
    rng = context.random("c2st_agg")
    sides = [_aggregates(context, role) for role in ("control", "table")]
    size = min(*map(len, sides), MAX_PERSONS)
    if size < 2 * FOLDS:
        return NotComputable(sentence("metric.few.classified", n=size), "too_few")
    inputs = np.concatenate([side[np.sort(rng.permutation(len(side))[:size])] for side in sides])
    labels, fold = np.repeat([0, 1], size), np.concatenate([rng.permutation(size) % FOLDS for _ in sides])
    is_number = np.column_stack([context.encoding.continuous, np.ones(len(context.encoding.columns), dtype=bool)])
    numbers = np.append(True, is_number)
    scores = out_of_fold(lambda seed: boosting(numbers, True, seed, ITERATIONS), inputs, labels, fold, rng)
    value, low, high = auc_interval(scores[labels == 1], scores[labels == 0], context.options.confidence)
    return Measure(value, low, high, 0.5, len(labels))


def _aggregates(context: Context, role: Role) -> Array:
    """Number of rows of each person, then per column its mean or first category, and its number of distinct values."""
    groups, times, table = person_of_rows(context, role), order_of_rows(context, role), context.encoded(role)
    rows = np.lexsort((times, groups))
    counts = np.bincount(groups)
    first = rows[np.cumsum(counts) - counts]
    found = [counts.astype(np.float64)]
    for at, continuous in enumerate(context.encoding.continuous):
        ranks, numbers = table.ranks[:, at], table.numbers[:, at]
        known = ranks >= 0
        if continuous:
            n = np.bincount(groups[known], minlength=len(counts))
            total = np.bincount(groups[known], numbers[known], len(counts))
            found.append(np.where(n > 0, total / np.maximum(n, 1), np.nan))
        else:
            codes = np.minimum(ranks[first], MAX_CATEGORIES).astype(np.float64)
            found.append(np.where(codes < 0, np.nan, codes))
        pairs = np.unique(groups[known] * (int(context.encoding.cardinality[at]) + 1) + ranks[known])
        owners = pairs // (int(context.encoding.cardinality[at]) + 1)
        found.append(np.bincount(owners, minlength=len(counts)).astype(np.float64))
    return np.column_stack(found)


METRICS = (
    utility(
        c2st_agg,
        "How well a classifier separates persons, with all their rows, from real ones; .5 is not at all.",
        no_leak=0.5,
        copy=0.5,
        needs=("control", "persons"),
    ),
)
