"""Rare values: cells with a value of few training people."""

from __future__ import annotations

from types import EllipsisType
from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import PEOPLE, Context, Role
from hybrid.evaluation.engine.encoding import ranks_of
from hybrid.evaluation.engine.intervals import clustered_error, difference, quantile, share_interval, simultaneous
from hybrid.evaluation.families import indicator
from hybrid.evaluation.measure import Measure, NotComputable, Outcome, excesses
from hybrid.table.holders import holders


class Rare(NamedTuple):
    """Shares of the rows with a rare value in one column."""

    column: str
    most: int
    train: float
    control: float
    """Cells whose value at most ``most`` training and control people hold, one of them at least a training (control)
    person of equally large parts of both, 0..1."""
    error: float
    """Standard error of their difference, clustered by value."""
    kept: float
    """Share of the training people in each comparison, 0..1."""

    def excess(self, n: int, confidence: float) -> tuple[float, float, float]:
        """Difference of both shares and its bounds, per whole training set.

        The wider of the normal interval with clustered error and of Newcombe's (1998, method 10), which holds for few
        cells.
        """
        sides = ((share, *share_interval(share, n, confidence)) for share in (self.train, self.control))
        value, low, high = difference(*sides)
        error = quantile(confidence) * self.error
        return value / self.kept, min(low, value - error) / self.kept, max(high, value + error) / self.kept


def rare_values(context: Context) -> Outcome:
    """Excess of cells with a rare value, in the worst column.

    Rare are values that few training people hold; the worst column is that where the excess is largest. A value (a
    category, or an exact number or date) is rare if fewer than ``min_holders`` people hold it, of all training people
    and people never seen together: no value that enough training people hold is rare, however few control people there
    are. From the share of the table's cells with a rare value of a training person the share with one of a person never
    seen is subtracted, equally many of both, so it is about 0 without a leak. Every column is also judged by the values
    that one person alone holds. The interval holds for all columns at once (Sidak).
    """
    most = context.options.min_holders - 1
    found = [row for name in context.schema.names for row in _column(context, name, (1, most))]
    if not found or not len(context.table):
        return NotComputable("no column has a value")
    n, level = len(context.table), simultaneous(context.options.confidence, len(found))
    rows = [(row, row.excess(n, level)) for row in found]
    (top, (value, low, high)) = max(rows, key=lambda row: (row[1][1], row[1][0], row[0].column))
    columns = {
        row.column: {"train": row.train, "control": row.control, "excess": excess[0]}
        for row, excess in rows
        if row.most == most
    }
    details = {
        "worst_column": top.column,
        "holders": f"1 to {top.most}" if top.most > 1 else "1",
        "columns": columns,
        "interval": f"simultaneous over {len(found)}",
    }
    parts = excesses({f"{row.column} {row.most}": excess for row, excess in rows}, n)
    return Measure(value, low, high, top.control, n, details, (value, low, high), len(found), parts)


def _column(context: Context, name: str, most: tuple[int, int]) -> list[Rare]:
    """Cells of one column with a value of one person, and with a value of at most so many people."""
    if name in context.encoding.names:
        at = context.encoding.names.index(name)
        train, control, table = (part.ranks[:, at] for part in context.encoding.tables)
    else:
        train, control, table = (part[:, 0] for part in ranks_of(context.tables, [name]))
    parts, size = context.parts(PEOPLE), int(max(train.max(), control.max(), table.max())) + 1
    kept = context.kept("train", PEOPLE)
    everyone = _held(context, "train", train, ..., size) + _held(context, "control", control, ..., size)
    found = []
    for limit in dict.fromkeys(most):
        hits = np.zeros((2, len(table)))
        for mine, its in parts:
            sides: tuple[tuple[Role, Array, Array], ...] = (("train", train, mine.rows), ("control", control, its.rows))
            for at, side in enumerate(sides):
                rare = (_held(context, *side, size) > 0) & (everyone <= limit)
                hits[at] += np.append(rare, False)[table] / len(parts)
        error = clustered_error(hits[0] - hits[1], table)
        found.append(Rare(name, limit, float(hits[0].mean()), float(hits[1].mean()), error, kept))
    return found


def _held(context: Context, role: Role, ranks: Array, rows: Array | EllipsisType, size: int) -> Array:
    """Number of people in these rows (``...``: all) that hold each value, shape (size,), int64."""
    return holders(ranks[rows], size, context.persons(role)[rows])


METRICS = (
    indicator(
        rare_values,
        "The share of cells, beyond chance, whose value only a few training people hold, in the worst column.",
        low=None,
        high=None,
        no_leak=0.0,
        copy=None,
        mechanism="exact",
    ),
)
