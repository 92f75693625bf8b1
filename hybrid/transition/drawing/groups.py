"""Groups of records by a declared column, and bins of values as parents of other attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import ConfigError
from hybrid.hierarchy import LabelTable
from hybrid.table.codings import numbers_of

N_BINS = 10
"""Groups of about equal size that numbers and dates are cut into."""


@dataclass(frozen=True)
class ColumnGroups:
    """Values of one grouping column."""

    column: str
    """Name of the column."""
    values: pd.Index
    """Distinct values; for numbers and dates the lower bounds of the bins."""
    binned: bool
    """Whether values are lower bounds."""

    def __len__(self) -> int:
        """Number of groups; the last one is for missing and unknown values."""
        return len(self.values) + 1

    def codes(self, labels: LabelTable) -> Array:
        """Group of each row, 0..len-1; shape (n,), int64."""
        values = labels.rest.frame[self.column]
        if not self.binned:
            found = self.values.get_indexer(pd.Index(values))
        else:
            found = np.maximum(np.searchsorted(self.values, numbers_of(values), side="right") - 1, 0)
            found[values.isna()] = -1
        codes: Array = np.where(found < 0, len(self.values), found)
        return codes


def groups_of(labels: LabelTable, column: str) -> ColumnGroups:
    """Learn the groups of a column."""
    schema = labels.rest.schema
    if column not in schema:
        why = "a quasi-identifier" if column in labels.schema else "no column of the data"
        raise ConfigError(
            f"transition.given names {column!r}, which is {why}",
            hint=f"use one of: {', '.join(schema.names)}" if schema.names else "remove transition.given",
        )
    values = labels.rest.frame[column].dropna()
    if not schema[column].kind.is_continuous:
        return ColumnGroups(column, pd.Index(values.unique()), binned=False)
    quantiles = np.quantile(numbers_of(values), np.arange(N_BINS) / N_BINS) if len(values) else np.empty(0)
    return ColumnGroups(column, pd.Index(np.unique(quantiles)), binned=True)


@dataclass(frozen=True)
class Bins:
    """Runs of tree-order ranks."""

    cuts: Array
    """The first rank of every bin but the first, ascending; shape (n_bins - 1,), int64."""

    def __len__(self) -> int:
        return len(self.cuts) + 1

    def codes(self, ranks: Array) -> Array:
        """Bin of each rank, 0..len-1; int64."""
        codes: Array = np.searchsorted(self.cuts, ranks, side="right")
        return codes


def bins_by_records(ranks: Array, most: int) -> Bins:
    """Bins of tree-order ranks with about equally many records; one per distinct value if there are few."""
    distinct = np.unique(ranks)
    if len(distinct) <= most:
        return Bins(distinct[1:])
    cuts = np.unique(np.quantile(ranks, np.arange(1, most) / most, method="higher"))
    return Bins(cuts[cuts > distinct[0]])


def mutual_information(left: Array, right: Array, n_left: int, n_right: int) -> float:
    """Mutual information of two codes of shape (n,) in nats, 0 or more, as counted."""
    n = len(left)
    if n == 0:
        return 0.0
    table = np.bincount(left * n_right + right, minlength=n_left * n_right).reshape(n_left, n_right) / n
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    seen = table > 0
    return max(float((table[seen] * np.log(table[seen] / expected[seen])).sum()), 0.0)
