"""Membership inference by a classifier of rows against a reference sample."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.membership import Fold, Scorer, asked_apart, by_fold
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.intervals import auc
from hybrid.evaluation.engine.threads import one_model
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import Measure
from hybrid.evaluation.utility.models import boosting, features, out_of_fold, perceptron, quiet, told_apart

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
    rows = _shuffled(context, "table", MAX_ROWS, rng)

    def attack(context: Context, fold: Fold) -> Scorer:
        chosen = rng.permutation(fold.reference.rows)[:MAX_ROWS]
        unseen = context.encoded("control").take(context.by_content(fold.reference._replace(rows=chosen)))
        asked = _told(context, rows, unseen, int(rng.integers(2**31)))
        return lambda people: asked(context.encoded(people.role).take(people.rows))

    found, details = by_fold(context, attack), dict[str, object]()
    if context.options.paper:
        details["paper"] = {"MIR": _recall(context, rng), "D-MLP": _detected(context, rng)}
    return asked_apart(context, found, **details)


def _shuffled(context: Context, role: Role, most: int, rng: np.random.Generator) -> Encoded:
    table = context.encoded(role)
    return table.take(rng.permutation(table.order)[:most])


def _told(context: Context, positive: Encoded, negative: Encoded, seed: int) -> Callable[[Encoded], Array]:
    """Probability that a record is one of the positive, by gradient boosting."""
    sides = (features(context.encoding, part) for part in (positive, negative))
    asked = told_apart(boosting(context.encoding.continuous, True, seed, ITERATIONS), *sides)
    return lambda records: asked(features(context.encoding, records))


def _recall(context: Context, rng: np.random.Generator) -> float:
    """Recall of held-out training records among rows of the table."""
    learned, held = [], []
    for role in ("train", "table"):
        shuffled = _shuffled(context, role, 2 * MAX_ROWS, rng)
        out = np.arange(len(shuffled)) < round(HELD_OUT * len(shuffled))
        held.append(shuffled.take(out))
        learned.append(shuffled.take(~out))
    asked = _told(context, learned[0], learned[1], int(rng.integers(2**31)))
    return float((asked(held[0]) >= 0.5).mean())


def _detected(context: Context, rng: np.random.Generator) -> float:
    """Mean AUC of networks that separate training records from rows of the table, each on rows it has not seen."""
    sides = [_shuffled(context, role, 2 * MAX_ROWS, rng) for role in ("train", "table")]
    x = np.concatenate([features(context.encoding, side) for side in sides])
    y = np.repeat([1, 0], [len(side) for side in sides])
    of = np.concatenate([np.arange(len(side)) % PARTS for side in sides])
    with one_model, quiet():
        found = out_of_fold(lambda seed: perceptron(context.encoding.continuous, seed), x, y, of, rng)
    scores = np.round(found, 9)
    return float(np.mean([auc(scores[(of == at) & (y == 1)], scores[(of == at) & (y == 0)]) for at in range(PARTS)]))


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
