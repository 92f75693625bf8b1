"""Tree and learned: values of records that decision trees or forests find alike, column after column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from pydantic import Field

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.base.arrays import Array
from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.donors import (
    Donors,
    DrawnRecords,
    Fallback,
    RankedPools,
    pair_fallback,
    ranked_pools,
    restore_columns,
)
from hybrid.transition.drawing.features import Features, TreeCells, features, grow, predicts_classes
from hybrid.transition.protocol import Restored, Transition


class Partition(Protocol):
    """Groups of records that are alike, and the group of any row."""

    def groups(self, matrix: Array, rng: np.random.Generator) -> Array:
        """Group that each row draws from; shape (n,), int64."""

    def pools(self, matrix: Array, nodes: Array, n_nodes: int) -> RankedPools:
        """Learned records by group and node of their label."""


Grow = Callable[[Array, Array, int], Partition]
"""Partition from predictors (n, n_features), tree-order ranks (n,) of the values to predict, and a seed."""


@dataclass(frozen=True)
class FittedSequence:
    """One partition of the records per quasi-identifier. Private."""

    records: Donors
    features: Features
    partitions: tuple[tuple[Partition, RankedPools] | None, ...]
    """With its records; None where every label is a single value, and there is nothing to choose."""
    predicts: tuple[bool, ...]
    """Whether the drawn value of each quasi-identifier is a predictor of the later ones."""
    least: int
    """Records of a group with one label, from which on a value is drawn from them alone."""

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Draw values in the row's group and below its label, column by column."""
        records, matrix = self.records, self.features.matrix(labels)

        def own(at: int, nodes: Array) -> list[Fallback]:
            found = self.partitions[at]
            if found is None:
                return []
            partition, pool = found
            # Others of the group whose value lies below the label would not do: local recoding gives finer labels
            # to frequent values, so that rare ones, such as the ages of the oldest, would be lost.
            return [pair_fallback("leaf", pool, partition.groups(matrix, rng), nodes, self.least)]

        def cells(at: int, draw: DrawnRecords, nodes: Array) -> Array:
            nonlocal matrix
            found = records.cells(at, draw, nodes, rng)
            if self.predicts[at]:
                matrix = np.column_stack([matrix, records.drawn_ranks(at, draw, nodes).astype(np.float32)])
            return found

        restored = restore_columns(records, labels, own, rng, cells)
        return replace(restored, fallbacks={"leaf": 0, **restored.fallbacks})


def fit_sequence(
    anonymized: AnonymizedTable, grow: Grow, rng: np.random.Generator, *, sensitive: bool, least: int
) -> FittedSequence:
    """Grow one partition per quasi-identifier on the original values.

    ``sensitive``: sensitive columns and targets are predictors, too. ``least``: records of a group with one label, from
    which on a value is drawn from them alone.
    """
    records = Donors(anonymized)
    learned = features(records.domains, anonymized.labels, sensitive=sensitive)
    matrix = learned.matrix(anonymized.labels)
    partitions: list[tuple[Partition, RankedPools] | None] = []
    schema = anonymized.labels.schema
    predicts = tuple(sensitive or not schema[name].target for name in records.domains)
    for at, domain in enumerate(records.domains.values()):
        found = None
        ranks = records.ranks(at)
        if len(records) and (domain.n_leaves[records.nodes[:, at]] > 1).any():
            found = grow(matrix, ranks, int(rng.integers(2**31)))
            pool = found.pools(matrix, records.nodes[:, at], domain.hierarchy.n_nodes)
        partitions.append(None if found is None else (found, pool))
        if predicts[at]:
            matrix = np.column_stack([matrix, ranks.astype(np.float32)])
    return FittedSequence(records, learned, tuple(partitions), predicts, least)


LEAST = 5
"""Records of a leaf with one label, from which on ``tree`` draws from them alone."""
SHARE, FEWEST, MOST = 50, 20, 200
"""One of so many records is in a leaf where no number is configured, but at least and at most so many records are."""


class TreeOptions(base.Options):
    """Options of ``tree``."""

    min_records: int | None = Field(default=None, ge=1)
    """Least number of records in a leaf of a tree: the privacy knob. Choose it well above k. null: a fiftieth of the
    records, but 20 at least and 200 at most: of 700 records three or four leaves of 200 would tell adults from
    children, and no more."""
    sensitive: bool = True
    """Whether sensitive columns and targets are predictors, too: models trained on the result gain, and inference
    of these columns from the quasi-identifiers becomes a little easier."""


class Tree(Transition):
    """One decision tree per quasi-identifier on labels, other columns, drawn values.

    Each tree leaf holds at least ``min_records`` records of any classes (the labels are among the predictors, but a
    leaf can hold several of them). A value is drawn from those of them that carry the row's label, if they are five or
    more, else from all records that carry it. Quasi-identifiers are restored in the order of the columns, each knowing
    the ones before it.
    """

    name = "tree"
    Options = TreeOptions

    def fit(self, anonymized: AnonymizedTable, options: TreeOptions, rng: np.random.Generator) -> FittedSequence:
        least = options.min_records or min(max(len(anonymized) // SHARE, FEWEST), MOST)

        def partition(matrix: Array, ranks: Array, seed: int) -> TreeCells:
            return grow(matrix, ranks, least, seed)

        return fit_sequence(anonymized, partition, rng, sensitive=options.sensitive, least=LEAST)


TREES = 10
"""Trees of a forest."""


class LearnedOptions(base.Options):
    """Options of ``learned``."""

    min_records: int = Field(default=5, ge=1)
    """Least number of records in a leaf of every tree: the privacy knob. The default is close to the data, for
    comparisons: small leaves bring the records back. Choose it well above k for a release."""


@dataclass(frozen=True)
class Forest:
    """Random forest of one quasi-identifier, as groups of records: a group is a leaf of one tree."""

    model: object
    """The fitted forest of scikit-learn."""
    starts: Array
    """Number of each tree's first group; shape (n_trees,), int64."""

    def groups(self, matrix: Array, rng: np.random.Generator) -> Array:
        """Leaf of the row in one tree, every tree equally likely."""
        tree = rng.integers(len(self.starts), size=len(matrix))
        return np.asarray(self._leaves(matrix)[np.arange(len(matrix)), tree])

    def pools(self, matrix: Array, nodes: Array, n_nodes: int) -> RankedPools:
        """Every record once per tree."""
        leaves = self._leaves(matrix)
        found = ranked_pools(leaves.ravel(), np.repeat(nodes, leaves.shape[1]), n_nodes)
        return RankedPools(found.members // leaves.shape[1], found.keys, n_nodes)

    def _leaves(self, matrix: Array) -> Array:
        if not len(matrix):
            return np.empty((0, len(self.starts)), dtype=np.int64)
        leaves: Array = self.model.apply(matrix).astype(np.int64) + self.starts  # type: ignore[attr-defined]
        return leaves


def grow_forest(matrix: Array, ranks: Array, min_records: int, seed: int) -> Forest:
    """Random forest of a column's tree-order rank; see :func:`hybrid.transition.drawing.features.grow`."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    model = RandomForestClassifier if predicts_classes(ranks) else RandomForestRegressor
    # Every tree on all records: a leaf then holds min_records of them, not of a bootstrap sample.
    forest = model(TREES, min_samples_leaf=min_records, max_features=0.5, bootstrap=False, random_state=seed)
    sizes = [tree.tree_.node_count for tree in forest.fit(matrix, ranks).estimators_]
    return Forest(forest, np.cumsum([0, *sizes[:-1]]))


class Learned(Transition):
    """Random forests of the quasi-identifiers given all other columns.

    Predictors are labels, other columns and the values drawn so far. The distribution of a value is the mean over the
    trees of what a row's leaf holds of its label (Meinshausen 2006, for numbers and categories alike; one tree is
    drawn per row and column). A leaf holds at least ``min_records`` records, of any labels; where none carries the
    row's label, all that carry it serve. It is the extreme of what a transition can learn from the data,
    for comparisons: small leaves are close to the records, and that is their risk. Quasi-identifiers are restored in
    the order of the columns.
    """

    name = "learned"
    Options = LearnedOptions

    def fit(self, anonymized: AnonymizedTable, options: LearnedOptions, rng: np.random.Generator) -> FittedSequence:
        def partition(matrix: Array, ranks: Array, seed: int) -> Forest:
            return grow_forest(matrix, ranks, options.min_records, seed)

        return fit_sequence(anonymized, partition, rng, sensitive=True, least=1)
