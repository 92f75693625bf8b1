"""Sequence of partitions: values of alike records, column after column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Array
from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.domain import assemble
from hybrid.transition.drawing.donors import Donors, add_counts, draw_records
from hybrid.transition.drawing.features import Features, features
from hybrid.transition.drawing.pools import RankedPools
from hybrid.transition.protocol import Restored


class Partition(Protocol):
    """Groups of records that are alike, and the group of any row."""

    def groups(self, matrix: Array, rng: np.random.Generator) -> Array:
        """Group that each row draws from; shape (n,), int64."""

    def pools(self, matrix: Array, ranks: Array, n_ranks: int) -> RankedPools:
        """Learned records by group and tree-order rank of their value."""


Grow = Callable[[Array, Array, int], Partition]
"""Partition from predictors (n, n_features), tree-order ranks (n,) of the values to predict, and a seed."""


@dataclass(frozen=True)
class FittedSequence:
    """One partition of the records per quasi-identifier. Private."""

    records: Donors
    features: Features
    partitions: tuple[Partition | None, ...]
    """None where every label is a single value, and there is nothing to choose."""
    pools: tuple[RankedPools | None, ...]
    predicts: tuple[bool, ...]
    """Whether the drawn value of each quasi-identifier is a predictor of the later ones."""

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Values in the row's group and below its label.

        Drawn column by column.
        """
        records = self.records
        matrix = self.features.matrix(labels)
        columns, counts = {}, dict[str, int]()
        for at, (name, domain) in enumerate(records.domains.items()):
            nodes, partition, pool = labels.nodes[:, at], self.partitions[at], self.pools[at]
            chain = [records.label_fallback(at, nodes), records.ancestor_fallback(at, nodes)]
            if partition is not None and pool is not None:
                chain.insert(0, records.below_fallback("leaf", at, pool, partition.groups(matrix, rng), nodes))
            draw = draw_records(chain, len(labels), rng)
            columns[name] = domain.series(records.cells(at, draw, nodes, rng))
            counts = add_counts(counts, draw.counts)
            if self.predicts[at]:
                matrix = np.column_stack([matrix, records.drawn_ranks(at, draw, nodes).astype(np.float32)])
        return Restored(assemble(labels, columns), {"leaf": 0} | counts)


def fit_sequence(
    anonymized: AnonymizedTable, grow: Grow, rng: np.random.Generator, *, sensitive: bool
) -> FittedSequence:
    """Grow one partition per quasi-identifier on the original values.

    Parameters
    ----------
    anonymized : AnonymizedTable
        What to learn from.
    grow : Grow
        Makes a partition.
    rng : numpy.random.Generator
        Draws the seeds.
    sensitive : bool
        Whether sensitive columns and targets are predictors, too.
    """
    records = Donors(anonymized)
    learned = features(records.domains, anonymized.labels, sensitive=sensitive)
    matrix = learned.matrix(anonymized.labels)
    partitions: list[Partition | None] = []
    pools: list[RankedPools | None] = []
    schema = anonymized.labels.schema
    predicts = tuple(sensitive or not schema[name].target for name in records.domains)
    for at, domain in enumerate(records.domains.values()):
        found = None
        ranks = records.ranks(at)
        if len(records) and (domain.n_leaves[records.nodes[:, at]] > 1).any():
            found = grow(matrix, ranks, int(rng.integers(2**31)))
        partitions.append(found)
        pools.append(None if found is None else found.pools(matrix, ranks, domain.hierarchy.n_leaves))
        if predicts[at]:
            matrix = np.column_stack([matrix, ranks.astype(np.float32)])
    return FittedSequence(records, learned, tuple(partitions), tuple(pools), predicts)
