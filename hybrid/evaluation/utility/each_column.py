"""Prediction of each column from all others: the column that lost most of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.intervals import clustered_error, placements, quantile, simultaneous
from hybrid.evaluation.engine.threads import one_model, one_thread
from hybrid.evaluation.families import utility
from hybrid.evaluation.fidelity.content import GROUPS, GROUPS_OF_PAIRS, MOST_LISTED, grouped
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.metric import MIN_ROWS
from hybrid.table import Role as ColumnRole

PREDICTED = 0.6
"""AUC that the low end of a model of the real table must reach for a column to count as predicted."""
MOST_COLUMNS = 30
"""Columns that are predicted; of wider tables a random sample."""
MOST_ROWS = 5_000
"""Rows that a model is trained on, and tested on; of larger tables a random sample."""
TREES = 20


class Ranked(NamedTuple):
    """AUC of a model that predicts the groups of a column, and each tested row's part in it."""

    auc: float
    parts: Array
    """Shape (n,), float64; mean 0. Their clustered error is that of the AUC."""


def lost_prediction(context: Context) -> Outcome:
    """Largest fall of how well a column is predicted from all others, at most 1.

    A random forest learns the groups of the column's values (:func:`~..fidelity.content.groups_of`) from those of all
    others, once from the table and once from the training records; both are tested on control. The fall is the
    difference of their AUCs (:func:`ranked`), of the column whose low end is the highest. The low end is DeLong's for
    paired AUCs (1988), over people, and holds for all columns together (Sidak). Columns that the real table does not
    predict, AUC below :data:`PREDICTED` at the low end, are left out.
    """
    targets = _targets(context)
    real = context.once_for_all_stages("each column", lambda: [_scored(context, at, "train") for at in targets])
    level = simultaneous(context.options.confidence, max(len(targets), 1))
    z, persons = quantile(level), context.persons("control")[_rows(context, "control")]
    judged = [
        (at, known)
        for at, known in zip(targets, real, strict=True)
        if known is not None and known.auc - z * clustered_error(known.parts, persons) >= PREDICTED
    ]
    if not judged:
        return NotComputable("the real table predicts no column from the others", lacks="linked_columns")
    people, parts = len(np.unique(persons)), dict[str, Measure]()
    for at, known in judged:
        there = known if context.table is context.train else _scored(context, at, "table")
        assert there is not None
        fall, error = known.auc - there.auc, z * clustered_error(known.parts - there.parts, persons)
        name = context.encoding.names[at]
        about = {"column": name, "train": known.auc, "table": there.auc}
        ends = fall - error, fall + error
        parts[name] = Measure(fall, *ends, 0.0, people, about, together=len(targets))
    order = sorted(parts.values(), key=lambda one: (-(one.low or 0.0), -one.value, one.details["column"]))
    worst = order[0].details
    details: dict[str, Any] = {
        "columns": [one.details for one in order[:MOST_LISTED]],
        "worst": worst["column"],
        "said": f"{worst['column']} can be predicted with {worst['table']:.2f} instead of {worst['train']:.2f} "
        "(0.5: guessing, 1: sure)",
        "predicted": len(order),
        "tried": len(targets),
        "interval": f"simultaneous over {len(targets)}",
    }
    return replace(order[0], details=details, parts=parts)


def _targets(context: Context) -> list[int]:
    """Columns to predict, as positions in the coding: all, or a random sample of very many."""
    weights = _weights(context)
    columns = np.array([at for at in range(len(context.encoding.columns)) if at not in weights], dtype=np.int64)
    if len(columns) < 2:
        return []
    rng = context.random("each column")
    return sorted(map(int, rng.permutation(columns)[:MOST_COLUMNS])) if len(columns) > MOST_COLUMNS else list(columns)


def _weights(context: Context) -> set[int]:
    return {at for at, column in enumerate(context.encoding.columns) if column.role is ColumnRole.WEIGHT}


def _rows(context: Context, role: Role) -> Array:
    """Rows that count, in an order that depends on content only."""
    order = context.encoded(role).order
    if len(order) <= MOST_ROWS:
        return order
    return context.random(f"each column {role}").permutation(order)[:MOST_ROWS]


def _scored(context: Context, at: int, source: Role) -> Ranked | None:
    """AUC on control of a model of one table; None where control has only one group of the column."""
    from sklearn.ensemble import RandomForestClassifier

    weights, inputs = _weights(context), grouped(context, GROUPS)
    target = grouped(context, GROUPS_OF_PAIRS)[at]
    others = [of for i, of in enumerate(inputs) if i != at and i not in weights]
    trained, tested = _rows(context, source), _rows(context, "control")
    truth = target.codes["control"][tested]
    if min(len(trained), len(tested)) < MIN_ROWS or len(np.unique(truth)) < 2:
        return None
    x, asked = (
        np.column_stack([of.codes[role][rows] for of in others]).astype(np.float32)
        for role, rows in ((source, trained), ("control", tested))
    )
    seed = int(context.random(f"each column {at}").integers(2**31))
    model = RandomForestClassifier(TREES, max_depth=12, min_samples_leaf=5, random_state=seed)
    with one_thread(len(trained), models=True), one_model:
        model.fit(x, target.codes[source][trained])
        likely = np.zeros((len(tested), target.n))
        likely[:, model.classes_] = model.predict_proba(asked)
    return ranked(likely, truth)


def ranked(likely: Array, truth: Array) -> Ranked:
    """AUC of each group against the rest, averaged with the groups' frequencies, and each row's part in it.

    The parts are the structural components of DeLong et al. 1988: of a row of the group, the share of the others that
    it is above, less the AUC, over the number of rows of the group; of another row, the share of the group that is
    above it, likewise. Of a difference of two AUCs on the same rows they are the difference.

    Parameters
    ----------
    likely : numpy.ndarray, shape (n, n_groups), 0..1
        Probability of each group.
    truth : numpy.ndarray, shape (n,), int
        The groups; two or more occur.
    """
    n = len(truth)
    value, parts = 0.0, np.zeros(n)
    for group in np.unique(truth):
        mine = truth == group
        inside, outside = likely[mine, group], likely[~mine, group]
        above, below = placements(inside, outside)
        area, share = float(above.mean()), len(inside) / n
        value += share * area
        parts[mine] += share * (above - area) * n / len(inside)
        parts[~mine] += share * (below - area) * n / len(outside)
    return Ranked(value, parts)


METRICS = (
    utility(
        lost_prediction,
        "How much worse the most affected column can be predicted from the others than in the real table.",
        low=-1,
    ),
)
