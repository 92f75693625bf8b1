"""Distances of single columns' distributions from the training data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.space import extent
from hybrid.evaluation.families import fidelity
from hybrid.evaluation.measure import Measure, NotComputable, Outcome

BINS = 20
Compare = Callable[["ColumnMarginal", "ColumnMarginal"], float | None]


class ColumnMarginal:
    """Rows of one column per value of the shared vocabulary, numbers ascending, and missing; NaN for categories."""

    def __init__(self, counts: Array, missing: int, values: Array) -> None:
        self.counts, self.missing, self.values = counts, missing, values
        self.known = int(counts.sum())

    @property
    def cumulative(self) -> Array:
        return np.cumsum(self.counts) / self.known

    @property
    def shares(self) -> Array:
        """Share of every value, and last of "missing"."""
        return np.append(self.counts, self.missing) / (self.known + self.missing)

    @property
    def present(self) -> Array:
        return self.counts > 0


def marginal(context: Context, at: int, role: Role) -> ColumnMarginal:
    def vocabulary() -> Array:
        values = np.full(context.encoding.cardinality[at], np.nan)
        for table in context.encoding.tables:
            known = table.ranks[:, at] >= 0
            values[table.ranks[known, at]] = table.numbers[known, at]
        return values

    ranks = context.encoded(role).ranks[:, at]
    counts = np.bincount(ranks[ranks >= 0], minlength=context.encoding.cardinality[at])
    return ColumnMarginal(counts, int((ranks < 0).sum()), context.once(("vocabulary", at), vocabulary))


def _compare(context: Context, compare: Compare, columns: Array, worst: Callable[[Array], Any]) -> Outcome:
    rows, reference = {}, []
    for at in columns:
        train = marginal(context, at, "train")
        value = compare(train, marginal(context, at, "table"))
        other = None if context.control is None else compare(train, marginal(context, at, "control"))
        if value is not None:
            rows[context.encoding.names[at]] = {"value": value, "reference": other}
            reference += [] if other is None else [other]
    if not rows:
        return NotComputable("no column of this kind has values in both tables")
    values = np.array([row["value"] for row in rows.values()])
    extreme = int(worst(values))
    details = {"columns": rows, "worst": float(values[extreme]), "worst_column": list(rows)[extreme]}
    mean = float(np.mean(reference)) if reference else None
    return Measure(float(values.mean()), reference=mean, n=len(rows), details=details)


def _both_known(train: ColumnMarginal, table: ColumnMarginal) -> bool:
    return train.known > 0 and table.known > 0


def _wasserstein(train: ColumnMarginal, table: ColumnMarginal) -> float | None:
    if not _both_known(train, table) or np.isnan(train.values).any():
        return None
    inside = train.values[train.present]
    span = float(inside[-1] - inside[0]) or 1.0
    gap = np.abs(train.cumulative - table.cumulative)[:-1]
    return float((gap * np.diff(train.values)).sum() / span)


def wasserstein(context: Context) -> Outcome:
    """Mean 1-Wasserstein distance of numbers and dates to train.

    In units of train's range (METRICS C2), 0 or more. The integral of |F_P - F_Q| over the known values.
    """
    columns = np.flatnonzero(context.encoding.continuous)
    found = _compare(context, _wasserstein, columns, np.argmax)
    if context.options.paper and isinstance(found, Measure):  # In the columns' own units.
        spans = extent(context.encoded("train").numbers[:, columns])[1]
        units = {context.encoding.names[at]: float(span) for at, span in zip(columns, spans, strict=True)}
        raw = [row["value"] * units[name] for name, row in found.details["columns"].items()]
        found.details["paper"] = {"W": float(np.mean(raw))}
    return found


def _total_variation(train: ColumnMarginal, table: ColumnMarginal) -> float:
    return float(0.5 * np.abs(train.shares - table.shares).sum())


def total_variation(context: Context) -> Outcome:
    """Mean total variation distance of categorical columns to train, 0..1.

    It has the factor 1/2 (METRICS C3). A missing value counts as a category.
    """
    found = _compare(context, _total_variation, np.flatnonzero(~context.encoding.continuous), np.argmax)
    if context.options.paper and isinstance(found, Measure):  # Without the half.
        found.details["paper"] = {"TVD": 2 * found.value}
    return found


def _kolmogorov(train: ColumnMarginal, table: ColumnMarginal) -> float | None:
    if not _both_known(train, table):
        return None
    return float(np.abs(train.cumulative - table.cumulative).max())


def kolmogorov_smirnov(context: Context) -> Outcome:
    """Mean Kolmogorov-Smirnov distance of numbers and dates to train, 0..1.

    The largest gap between the distribution functions, averaged over columns.
    """
    return _compare(context, _kolmogorov, np.flatnonzero(context.encoding.continuous), np.argmax)


def _jensen_shannon(train: ColumnMarginal, table: ColumnMarginal) -> float:
    p, q = train.shares, table.shares
    if not np.isnan(train.values).any() and train.known:
        inner = np.minimum((train.cumulative - train.counts / train.known / 2) * BINS, BINS - 1).astype(int)
        cell = np.append(inner, BINS)
        p, q = (np.bincount(cell, weights=shares, minlength=BINS + 1) for shares in (p, q))
    middle = (p + q) / 2
    parts = [np.sum(x[x > 0] * np.log2(x[x > 0] / middle[x > 0])) / 2 for x in (p, q)]
    return float(np.sqrt(max(sum(parts), 0.0)))


def jensen_shannon(context: Context) -> Outcome:
    """Mean Jensen-Shannon distance of all columns to train, 0..1.

    The distance is the root of the divergence in bits. Numbers and dates in 20 bins of about equal mass in train;
    missing is a category.
    """
    return _compare(context, _jensen_shannon, np.arange(len(context.encoding.columns)), np.argmax)


def _shape(train: ColumnMarginal, table: ColumnMarginal) -> float | None:
    if not _both_known(train, table):
        return None
    if np.isnan(train.values).any():
        gaps = np.abs(train.counts / train.known - table.counts / table.known)
        return float(1 - 0.5 * gaps.sum())
    return 1 - float(np.abs(train.cumulative - table.cumulative).max())


def column_shapes(context: Context) -> Outcome:
    """SDMetrics' "Column Shapes", 0..1.

    Mean of 1 - KS (numbers, dates) and 1 - TV (categories), with missing values left out.
    """
    return _compare(context, _shape, np.arange(len(context.encoding.columns)), np.argmin)


def _missing_gap(train: ColumnMarginal, table: ColumnMarginal) -> float:
    return float(abs(train.shares[-1] - table.shares[-1]))


def missingness(context: Context) -> Outcome:
    """Mean difference in columns' share of missing values, 0..1."""
    return _compare(context, _missing_gap, np.arange(len(context.encoding.columns)), np.argmax)


def _covered(train: ColumnMarginal, table: ColumnMarginal) -> float | None:
    if not train.known:
        return None
    if np.isnan(train.values).any():
        return float((train.present & table.present).sum() / train.present.sum())
    mine, its = train.values[train.present], table.values[table.present]
    if not len(its):
        return 0.0
    span = mine[-1] - mine[0]
    shared = min(mine[-1], its[-1]) - max(mine[0], its[0])
    return float(np.clip(shared / span, 0, 1)) if span > 0 else float(its[0] <= mine[0] <= its[-1])


def coverage(context: Context) -> Outcome:
    """Mean coverage of train's categories and ranges by column, 0..1.

    Share of train's categories that occur, or of train's range that is reached.
    """
    return _compare(context, _covered, np.arange(len(context.encoding.columns)), np.argmin)


METRICS = (
    fidelity(
        wasserstein,
        "The mean distance between the distributions of numbers here and in the real data, as a share of the range.",
        high=None,
    ),
    fidelity(
        total_variation,
        "The share of rows whose category would have to change for a column to be distributed as in the real data.",
        headline=True,
        decides=5,
    ),
    fidelity(
        kolmogorov_smirnov,
        "The largest gap between the cumulative distributions of a number here and in the real data.",
    ),
    fidelity(jensen_shannon, "How different the distribution of a column is from the real one; 0 is equal."),
    fidelity(
        column_shapes,
        "How similar single columns are to the real ones, as SDMetrics scores it; 1 is equal.",
        direction="higher",
        copy=1.0,
        decides=6,
    ),
    fidelity(missingness, "The difference in the share of missing values."),
    fidelity(
        coverage,
        "The share of the real categories and of the real ranges of numbers that occur in the table.",
        direction="higher",
        copy=1.0,
    ),
)
