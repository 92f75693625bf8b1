"""Margins of a table with sampling weights."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.evaluation.metric import Metric
from hybrid.table import Table
from hybrid.table.holders import holders
from hybrid.table.weights import weights_of


def _shares(table: Table, name: str, values: pd.Index) -> Array:
    """Weighted share of each value, and of all others together, last."""
    weights = weights_of(table)
    assert weights is not None
    place = values.get_indexer(pd.Index(table.frame[name].astype(object)))
    sums = np.bincount(np.where(place < 0, len(values), place), weights, minlength=len(values) + 1)
    shares: Array = sums / sums.sum()
    return shares


def weighted_margins(context: Context) -> Outcome:
    """Largest difference of a weighted share from the training records', 0..1.

    Of the categories of all categorical and boolean columns that at least ``min_cell`` training people hold; all others
    of a column count as one. The reference is the difference of control.
    """
    train = context.train
    tables = {"table": context.table} | ({} if context.control is None else {"control": context.control})
    if any((weights := weights_of(table)) is not None and not weights.sum() for table in (train, *tables.values())):
        return NotComputable("the weights of a table are all 0", "too_few")
    worst: dict[str, dict[str, float]] = {of: {} for of in tables}
    for column in train.schema:
        if column.kind.is_continuous:
            continue
        codes, distinct = pd.factorize(train.frame[column.name])
        kept = holders(codes, len(distinct), train.persons) >= context.options.min_cell
        values = pd.Index(distinct[kept]).astype(object)
        for of, table in tables.items() if kept.any() else ():
            gap = np.abs(_shares(table, column.name, values) - _shares(train, column.name, values))
            worst[of][column.name] = float(gap.max())
    if not worst["table"]:
        return NotComputable("no category is held by enough people", "too_few")
    reference = max(worst["control"].values()) if "control" in worst else None
    return Measure(
        max(worst["table"].values()), reference=reference, n=len(context.table), details={"columns": worst["table"]}
    )


METRICS = (
    Metric(
        name="weighted_margins",
        family="fidelity",
        direction="lower",
        sentence="How far the weighted share of a category is from that in the real table, at most.",
        low=0,
        high=1,
        no_leak=None,
        copy=0.0,
        compute=weighted_margins,
        needs=("weight",),
    ),
)
