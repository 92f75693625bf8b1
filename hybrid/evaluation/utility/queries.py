"""Errors of counting queries on the table."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.intervals import mean_interval
from hybrid.evaluation.families import utility
from hybrid.evaluation.measure import Measure

QUERIES = 500
COLUMNS = 3


def _answers(context: Context) -> dict[Role, Array]:
    """Share of rows (or weights) in each of 500 random ranges.

    Per table; shape (500,). A range is drawn on up to three random columns around a random training record: for numbers
    an interval of ranks between two training values, for categories a random half of the categories with the record's
    own in it.
    """
    encoding, train = context.encoding, context.encoded("train")
    p, rng = len(encoding.columns), context.random("query_error")
    roles: tuple[Role, ...] = ("train", "table") if context.control is None else ("train", "table", "control")
    tables = {role: np.ascontiguousarray(context.encoded(role).ranks.T) for role in roles}
    weights = {role: context.weights(role) for role in roles}
    answers: dict[Role, Array] = {role: np.empty(QUERIES) for role in tables}
    for i in range(QUERIES):
        record = train.ranks[train.order[rng.integers(len(train))]]
        inside = {role: np.ones(ranks.shape[1], dtype=bool) for role, ranks in tables.items()}
        for at in rng.permutation(p)[:COLUMNS]:
            wanted = np.zeros(encoding.cardinality[at] + 1, dtype=bool)
            if encoding.continuous[at] and record[at] >= 0:
                other = train.ranks[train.order[rng.integers(len(train))], at]
                wanted[min(record[at], max(other, 0)) : max(record[at], other) + 1] = True
            else:
                wanted[:] = rng.random(len(wanted)) < 0.5
            wanted[record[at]] = True
            for role, ranks in tables.items():
                inside[role] &= wanted[ranks[at]]
        for role, rows in inside.items():
            answers[role][i] = rows.mean() if weights[role] is None else np.average(rows, weights=weights[role])
    return answers


def query_error(context: Context) -> Measure:
    """Mean absolute error of random range counts, 0..1.

    Over three columns, as a share of all rows; with sampling weights, of their sum. The reference is the error of the
    control set. ``details`` carry the mean error relative to the true share (at least 1 % of the rows).
    """
    answers = _answers(context)
    truth = answers["train"]
    error = np.abs(answers["table"] - truth)
    value, low, high = mean_interval(error, context.options.confidence)
    reference = None
    details = {"relative": float((error / np.maximum(truth, 0.01)).mean())}
    if "control" in answers:
        other = np.abs(answers["control"] - truth)
        reference = float(other.mean())
        details["relative_reference"] = float((other / np.maximum(truth, 0.01)).mean())
    return Measure(value, max(low, 0.0), high, reference, QUERIES, details)


METRICS = (
    utility(
        query_error,
        "How far counts of people with given properties are from the real counts, as a share of all people.",
        needs=(),
        headline=True,
    ),
)
