"""Membership inference by a classifier of rows against a reference sample."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.membership import folds
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.intervals import auc, auc_interval
from hybrid.evaluation.engine.threads import one_model, one_thread
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import Measure
from hybrid.evaluation.utility.models import boosting, features, filled, perceptron

ITERATIONS = 50
MAX_ROWS = 20_000
"""Rows of the table, and of the reference, that a model learns from."""
HELD_OUT = 0.3
"""Share of the rows on which PrivEval's model is tried."""
PARTS = 5
"""Parts of the rows, each of which PrivEval's network is tried on after learning from the others."""


def mir(context: Context) -> Measure:
    """AUC of the attack by a classifier of rows.

    MIR of SynthEval, as AUC. Gradient boosting learns to tell the table's rows from one half of control; training
    records are then told from the other half by how much they look like rows of the table, and the other way round,
    with the other half of train. 0.5 without a leak; interval by DeLong. As printed (PrivEval): MIR, the recall of
    training records by a model that learned to tell training records from the table's rows, and D-MLP, the AUC of a
    network that does so, mean of five parts. Both fall as the table leaks more: of a copy a half or less.
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
        details["paper"] = {"MIR": _recall(context, rng), "D-MLP": _detected(context, rng)}
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


def _detected(context: Context, rng: np.random.Generator) -> float:
    """Mean AUC of networks that separate training records from rows of the table, each on rows it has not seen."""
    columns = np.arange(len(context.encoding.columns))
    inputs, labels, parts = [], [], []
    for label, part in ((1, context.encoded("train")), (0, context.encoded("table"))):
        shuffled = part.order[rng.permutation(len(part))[: 2 * MAX_ROWS]]
        inputs.append(features(context.encoding, part.take(shuffled), columns))
        labels.append(np.full(len(shuffled), label))
        parts.append(np.arange(len(shuffled)) % PARTS)
    x, y, of = (np.concatenate(each) for each in (inputs, labels, parts))
    found = []
    for held in range(PARTS):
        model, tried = perceptron(context.encoding, columns, int(rng.integers(2**31))), of == held
        with one_thread(len(y), models=True), one_model, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn's, that a network could learn for longer.
            scores = np.round(model.fit(x[~tried], y[~tried]).predict_proba(x[tried])[:, 1], 9)
        found.append(auc(scores[y[tried] == 1], scores[y[tried] == 0]))
    return float(np.mean(found))


METRICS = (
    attack(
        mir,
        "membership",
        "How well a model that learned to tell the table from a reference sample finds out who was in the "
        "training data; .5 is guessing.",
        mechanism="learned model",
        by_default=False,
        printed=("MIR", "D-MLP"),
    ),
)
