"""Learned: the distribution of values given labels and other columns, by forests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.base.arrays import Array
from hybrid.transition.drawing.features import predicts_classes
from hybrid.transition.drawing.pools import RankedPools, ranked_pools
from hybrid.transition.drawing.sequence import FittedSequence, fit_sequence

TREES = 10
"""Trees of a forest."""


class LearnedOptions(base.Options):
    """Options of ``learned``."""

    min_records: int = Field(default=5, ge=1)
    """Least number of records in a leaf of every tree: the privacy knob. The default is close to the data, for
    comparisons: small leaves bring the records back. Choose it well above k for a release."""


@dataclass(frozen=True)
class Forest:
    """Random forest of one quasi-identifier, as groups of records.

    A group is a leaf of one tree.

    Parameters
    ----------
    model : object
        The fitted forest of scikit-learn.
    starts : numpy.ndarray, shape (n_trees,), int64
        Number of each tree's first group.
    """

    model: object
    starts: Array

    def groups(self, matrix: Array, rng: np.random.Generator) -> Array:
        """Leaf of the row in one tree.

        Every tree is equally likely.
        """
        tree = rng.integers(len(self.starts), size=len(matrix))
        found: Array = self._leaves(matrix)[np.arange(len(matrix)), tree]
        return found

    def pools(self, matrix: Array, ranks: Array, n_ranks: int) -> RankedPools:
        """Every record once per tree."""
        leaves = self._leaves(matrix)
        found = ranked_pools(leaves.ravel(), np.repeat(ranks, leaves.shape[1]), n_ranks)
        return RankedPools(found.members // leaves.shape[1], found.keys, n_ranks)

    def _leaves(self, matrix: Array) -> Array:
        """Group of each row in every tree; shape (n, n_trees), int64."""
        if not len(matrix):
            return np.empty((0, len(self.starts)), dtype=np.int64)
        leaves: Array = self.model.apply(matrix).astype(np.int64) + self.starts  # type: ignore[attr-defined]
        return leaves


def grow_forest(matrix: Array, ranks: Array, min_records: int, seed: int) -> Forest:
    """Grow a random forest that predicts a column's tree-order rank.

    Parameters as for :func:`hybrid.transition.drawing.features.grow`.
    """
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    model = RandomForestClassifier if predicts_classes(ranks) else RandomForestRegressor
    # Every tree on all records: a leaf then holds min_records of them, not of a bootstrap sample.
    forest = model(TREES, min_samples_leaf=min_records, max_features=0.5, bootstrap=False, random_state=seed)
    sizes = [tree.tree_.node_count for tree in forest.fit(matrix, ranks).estimators_]
    return Forest(forest, np.cumsum([0, *sizes[:-1]]))


class Learned:
    """Random forests of the quasi-identifiers given all other columns.

    Predictors are labels, other columns and the values drawn so far. The distribution of a value is the mean over the
    trees of what a row's leaf holds below its label (Meinshausen 2006, for numbers and categories alike; one tree is
    drawn per row and column). A leaf holds at least ``min_records`` records, of any labels; where none has a value
    below the row's label, the label's records serve. It is the extreme of what a transition can learn from the data,
    for comparisons: small leaves are close to the records, and that is their risk. Quasi-identifiers are restored in
    the order of the columns.
    """

    name = "learned"
    Options: type[base.Options] = LearnedOptions

    def reads_originals(self, options: LearnedOptions) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def fit(self, anonymized: AnonymizedTable, options: LearnedOptions, rng: np.random.Generator) -> FittedSequence:
        """Grow the forests on the original values."""

        def partition(matrix: Array, ranks: Array, seed: int) -> Forest:
            return grow_forest(matrix, ranks, options.min_records, seed)

        return fit_sequence(anonymized, partition, rng, sensitive=True)
