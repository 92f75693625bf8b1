"""Discriminator: a classifier of synthetic against control rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.intervals import auc_interval
from hybrid.evaluation.families import utility
from hybrid.evaluation.measure import Measure
from hybrid.evaluation.utility.models import boosting, features, out_of_fold
from hybrid.table.persons import person_groups

FOLDS = 3
ITERATIONS = 50
FREQUENT = 0.01
"""Contents of a larger share of the rows are not kept in one fold."""
MAX_ROWS = 20_000
"""Rows per side; more would not change the verdict, only the time."""


def _together(contents: Array, fold: Array, rng: np.random.Generator) -> Array:
    """Folds with all rows of one content in the same one, but those of more than 1 % of the rows.

    A few equal rows on both sides are recognized one by one; a frequent content is a property of the table.
    """
    import pandas as pd

    content = pd.factorize(contents)[0]
    counts = np.bincount(content)
    drawn = rng.permutation(len(counts)) % FOLDS
    return np.asarray(np.where(counts[content] <= FREQUENT * len(contents), drawn[content], fold))


def _of_persons(persons: Sequence[Array], rng: np.random.Generator) -> Array:
    groups = [person_groups(codes) for codes in persons]
    return np.concatenate([(rng.permutation(int(of.max(initial=-1)) + 1) % FOLDS)[of] for of in groups])


class ToldApart(NamedTuple):
    """Equally many real and synthetic rows, with labels, out-of-fold chances of being synthetic, and positions."""

    scores: Array
    labels: Array
    rows: tuple[Array, Array]


def told_apart(context: Context, real: Role) -> ToldApart:
    return context.once(("discriminator", real), lambda: _scores(context, real))


def _scores(context: Context, real: Role = "control", together: bool = True) -> ToldApart:
    """Scores of real and synthetic rows.

    The real rows should be those of control, so that equal rows on both sides are chance: with train's, the twins of a
    copy would push the score below chance (METRICS B16).
    """
    rng = context.random("discriminator")
    people, table = context.encoded(real), context.encoded("table")
    size = min(len(people), len(table), MAX_ROWS)
    rows = [part.order[np.sort(rng.permutation(len(part))[:size])] for part in (people, table)]
    inputs = np.concatenate(
        [features(context.encoding, part.take(r)) for part, r in zip((people, table), rows, strict=True)]
    )
    labels = np.repeat([0, 1], size)
    fold = np.concatenate([rng.permutation(size) % FOLDS for _ in rows])
    if together and not context.train.rows_are_persons:
        fold = _of_persons([context.persons(role)[r] for role, r in zip((real, "table"), rows, strict=True)], rng)
    elif together:
        contents = np.concatenate([context.keys[role][r] for role, r in zip((real, "table"), rows, strict=True)])
        fold = _together(contents, fold, rng)
    continuous = context.encoding.continuous
    scores = out_of_fold(lambda seed: boosting(continuous, True, seed, ITERATIONS), inputs, labels, fold, rng)
    return ToldApart(scores, labels, (rows[0], rows[1]))


def discriminator(context: Context) -> Measure:
    """AUC of a classifier that separates the table from control.

    Gradient boosting, with 3-fold cross-validation. Equal rows are in one fold, so that no row is recognized by its
    twin; where persons have several rows, these are, so that no row is recognized by its person.

    0.5 is no separation, 1 is perfect separation. ``details`` carry 2 max(AUC, 1 - AUC) - 1 and the
    propensity score mean squared error pMSE (Woo et al. 2009; 0 is best, 0.25 worst for equal sizes). Interval by
    DeLong.
    """
    scores, labels, _ = told_apart(context, "control")
    value, low, high = auc_interval(scores[labels == 1], scores[labels == 0], context.options.confidence)
    details: dict[str, object] = {
        "separation": 2 * max(value, 1 - value) - 1,
        "accuracy": float(((scores > 0.5) == (labels == 1)).mean()),
        "pmse": float(((scores - 0.5) ** 2).mean()),
    }
    if context.options.paper:  # The thesis takes train for real (METRICS B16).
        printed, truth, _ = _scores(context, "train", together=False)
        details["paper"] = {"accuracy": float(((printed > 0.5) == (truth == 1)).mean())}
    return Measure(value, low, high, 0.5, len(labels), details)


METRICS = (
    utility(
        discriminator,
        "How well a classifier separates these rows from real ones; .5 is not at all.",
        no_leak=0.5,
        copy=0.5,
        headline=True,
        decides=3,
    ),
)
