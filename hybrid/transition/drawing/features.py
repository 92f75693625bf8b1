"""Predictors of drawn values: features for trees, groups by a declared column, bins of other attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import ConfigError
from hybrid.hierarchy import LabelTable
from hybrid.table import Column, Kind
from hybrid.table.codings import numbers_of
from hybrid.transition.drawing.domain import Domain
from hybrid.transition.drawing.donors import RankedPools, ranked_pools


@dataclass(frozen=True)
class Features:
    """Encoding of labels and other columns as numbers, fitted once."""

    domains: dict[str, Domain]
    """A label becomes the first and the last tree-order rank below it: siblings are neighbours."""
    columns: tuple[Column, ...]
    """The columns beside the quasi-identifiers that serve as predictors."""
    categories: dict[str, pd.Index]
    """Known values of the categorical ones; their position is the number, an unknown value is missing."""

    def matrix(self, labels: LabelTable) -> Array:
        """Numbers of every row, shape (n, 2 * n_qi + n_columns), float32; NaN is missing."""
        parts = []
        for at, domain in enumerate(self.domains.values()):
            first = domain.first[labels.nodes[:, at]]
            parts += [first, first + domain.n_leaves[labels.nodes[:, at]] - 1]
        parts += [self._numbers(column, labels.rest.frame[column.name]) for column in self.columns]
        return np.column_stack(parts).astype(np.float32) if parts else np.empty((len(labels), 0), dtype=np.float32)

    def _numbers(self, column: Column, values: pd.Series) -> Array:
        numbers: Array
        if column.kind is Kind.CATEGORICAL:
            numbers = pd.Categorical(values, categories=self.categories[column.name]).codes.astype(np.float64)
            numbers[numbers < 0] = np.nan
        else:
            numbers = numbers_of(values)
        return numbers


def features(domains: dict[str, Domain], labels: LabelTable, *, sensitive: bool) -> Features:
    """Learn the numbers of a table; ``sensitive``: sensitive columns and targets are predictors, too."""
    schema = labels.rest.schema
    chosen = tuple(c for c in schema if sensitive or not (c.target or c.name in schema.sensitive))
    categorical = [column.name for column in chosen if column.kind is Kind.CATEGORICAL]
    return Features(domains, chosen, {name: labels.rest.frame[name].cat.categories for name in categorical})


@dataclass(frozen=True)
class TreeCells:
    """Partition of the rows by the leaves of a decision tree."""

    tree: object
    n_cells: int

    def of(self, matrix: Array) -> Array:
        """Cell of each row, 0..n_cells-1; shape (n,), int64."""
        if not len(matrix):
            return np.empty(0, dtype=np.int64)
        found: Array = self.tree.apply(matrix).astype(np.int64)  # type: ignore[attr-defined]
        return found

    def groups(self, matrix: Array, rng: np.random.Generator) -> Array:  # noqa: ARG002
        return self.of(matrix)

    def pools(self, matrix: Array, nodes: Array, n_nodes: int) -> RankedPools:
        return ranked_pools(self.of(matrix), nodes, n_nodes)


MOST_CLASSES = 50
"""Columns with more distinct values (or more than half as many as records) are split by the variance of the
tree-order rank instead of Gini impurity."""


def predicts_classes(ranks: Array) -> bool:
    """True if a column's values, of which ``ranks`` (n,) has the tree-order ranks, are few enough to be classes."""
    return len(np.unique(ranks)) <= min(MOST_CLASSES, len(ranks) // 2)


def grow(matrix: Array, ranks: Array, min_records: int, seed: int) -> TreeCells:
    """Grow a tree that predicts a column's tree-order ranks from ``matrix``, NaN where missing.

    ``seed`` decides between equally good splits.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    model = DecisionTreeClassifier if predicts_classes(ranks) else DecisionTreeRegressor
    tree = model(min_samples_leaf=min_records, random_state=seed).fit(matrix, ranks)
    return TreeCells(tree, tree.tree_.node_count)


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
        return np.where(found < 0, len(self.values), found)


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
        return np.searchsorted(self.cuts, ranks, side="right")


def bins_by_records(ranks: Array, most: int) -> Bins:
    """Bins of tree-order ranks with about equally many records; one per distinct value if there are few."""
    distinct = np.unique(ranks)
    if len(distinct) <= most:
        return Bins(distinct[1:])
    cuts = np.unique(np.quantile(ranks, np.arange(1, most) / most, method="higher"))
    return Bins(cuts[cuts > distinct[0]])
