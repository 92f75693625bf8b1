"""Margins of a table with sampling weights."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context
from hybrid.evaluation.families import fidelity
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.table import Table
from hybrid.table.holders import holders, row_holders
from hybrid.table.weights import weights_of


def _shares(column: pd.Series, weights: Array, values: pd.Index) -> Array:
    place = values.get_indexer(pd.Index(column.astype(object)))
    sums = np.bincount(np.where(place < 0, len(values), place), weights, minlength=len(values) + 1)
    return np.asarray(sums / sums.sum())


def _weights(table: Table) -> Array:
    weights = weights_of(table)
    assert weights is not None
    return weights


def weighted_margins(context: Context) -> Outcome:
    """Largest difference of a weighted share from the training records', 0..1.

    Of the categories of all categorical and boolean columns that at least ``min_cell`` training people hold; all others
    of a column count as one. The reference is the difference of control.
    """
    train = context.train
    tables = {"table": context.table} | ({} if context.control is None else {"control": context.control})
    weights = {of: _weights(table) for of, table in {"train": train, **tables}.items()}
    if not all(each.sum() for each in weights.values()):
        return NotComputable("the weights of a table are all 0", "too_few")
    worst: dict[str, dict[str, float]] = {of: {} for of in tables}
    for column in train.schema:
        if column.kind.is_continuous:
            continue
        codes, distinct = pd.factorize(train.frame[column.name])
        kept = holders(codes, len(distinct), row_holders(train)) >= context.options.min_cell
        values = pd.Index(distinct[kept]).astype(object)
        if not kept.any():
            continue
        real = _shares(train.frame[column.name], weights["train"], values)
        for of, table in tables.items():
            gap = np.abs(_shares(table.frame[column.name], weights[of], values) - real)
            worst[of][column.name] = float(gap.max())
    if not worst["table"]:
        return NotComputable("no category is held by enough people", "too_few")
    reference = max(worst["control"].values()) if "control" in worst else None
    return Measure(
        max(worst["table"].values()), reference=reference, n=len(context.table), details={"columns": worst["table"]}
    )


METRICS = (
    fidelity(
        weighted_margins,
        "How far the weighted share of a category is from that in the real table, at most.",
        needs=("weight",),
    ),
)
