"""Membership inference by a classifier of rows against a reference sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.membership import folds
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.intervals import auc_interval
from hybrid.evaluation.engine.threads import one_thread
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import Measure
from hybrid.evaluation.utility.models import boosting, features, filled

ITERATIONS = 50
MAX_ROWS = 20_000
"""Rows of the table, and of the reference, that a model learns from."""
HELD_OUT = 0.3
"""Share of the rows on which PrivEval's model is tried."""


def mir(context: Context) -> Measure:
    """AUC of the attack by a classifier of rows.

    MIR of SynthEval, as AUC. Gradient boosting learns to tell the table's rows from one half of control; training
    records are then told from the other half by how much they look like rows of the table, and the other way round,
    with the other half of train. 0.5 without a leak; interval by DeLong. As printed (PrivEval): the recall of training
    records by a model that learned to tell training records from the table's rows, which falls as the table leaks more.
    """
    rng = context.random("mir")
    table = context.encoded("table")
    rows = table.take(table.order[rng.permutation(len(table))[:MAX_ROWS]])
    scores: list[list[Array]] = [[], []]
    asked: list[list[Array]] = [[], []]
    for fold in folds(context):
        control = context.encoded("control")
        unseen = control.take(control.order[np.isin(control.order, rng.permutation(fold.reference.rows)[:MAX_ROWS])])
        model = _told(context, rows, unseen, int(rng.integers(2**31)))
        for scored, of, part in zip(scores, asked, (fold.members, fold.others), strict=True):
            scored.append(_probability(context, model, context.encoded(part.role).take(part.rows)))
            of.append(part.rows)
    members, others = (np.concatenate(scored) for scored in scores)
    clusters = context.clusters(*map(np.concatenate, asked))
    value, low, high = auc_interval(members, others, context.options.confidence, clusters)
    details: dict[str, object] = {"advantage": 2 * value - 1, "non_members": len(others)}
    if context.options.paper:
        details["paper"] = {"MIR": _recall(context, rng)}
    return Measure(value, low, high, 0.5, len(members), details).above(0.5)


def _told(context: Context, positive: Encoded, negative: Encoded, seed: int) -> Any:
    """Model of the probability that a record is one of the first."""
    columns = np.arange(len(context.encoding.columns))
    inputs = np.concatenate([features(context.encoding, part, columns) for part in (positive, negative)])
    labels = np.repeat([1, 0], [len(positive), len(negative)])
    model = boosting(context.encoding, columns, True, seed, ITERATIONS)
    with one_thread(len(labels), models=True):
        return model.fit(filled(inputs), labels)


def _probability(context: Context, model: Any, records: Encoded) -> Array:
    columns = np.arange(len(context.encoding.columns))
    found: Array = model.predict_proba(features(context.encoding, records, columns))[:, 1]
    return np.round(found, 9)  # Rounding must not break ties.


def _recall(context: Context, rng: np.random.Generator) -> float:
    """Recall of held-out training records among rows of the table."""
    learned, held = [], []
    for part in (context.encoded("train"), context.encoded("table")):
        shuffled = part.order[rng.permutation(len(part))[: 2 * MAX_ROWS]]
        cut = round(HELD_OUT * len(shuffled))
        held.append(part.take(shuffled[:cut]))
        learned.append(part.take(shuffled[cut:]))
    model = _told(context, learned[0], learned[1], int(rng.integers(2**31)))
    return float((_probability(context, model, held[0]) >= 0.5).mean())


METRICS = (
    attack(
        mir,
        "membership",
        "How well a model that learned to tell the table from a reference sample finds out who was in the "
        "training data; .5 is guessing.",
        mechanism="learned model",
        by_default=False,
        printed=("MIR",),
    ),
)
