"""Conditional given: values of records in the class with similar other columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Array
from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.donors import Donors, Fallback, restore_columns
from hybrid.transition.drawing.features import Cells, Features, features, grow
from hybrid.transition.drawing.pools import RankedPools, ranked_pools
from hybrid.transition.protocol import Restored


@dataclass(frozen=True)
class FittedGiven:
    """Original values by class and tree cell. Private."""

    records: Donors
    features: Features
    cells: tuple[Cells, ...]
    """One partition per quasi-identifier."""
    pools: tuple[RankedPools, ...]
    """Per quasi-identifier: records by class and cell."""

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Value of a record in the row's class and tree cell.

        Of the class where the cell has none.
        """
        classes = self.records.classes.find(labels.nodes)
        matrix = self.features.matrix(labels)

        def own(at: int, nodes: Array) -> list[Fallback]:  # noqa: ARG001
            cell, pool = self.cells[at].of(matrix), self.pools[at]
            alike = lambda rows: pool.runs(classes[rows], cell[rows], np.ones(len(rows), dtype=np.int64))  # noqa: E731
            return [("given", alike), self.records.class_fallback(classes)]

        return restore_columns(self.records, labels, own, rng)


def fit_given(anonymized: AnonymizedTable, min_records: int, rng: np.random.Generator) -> FittedGiven:
    """Grow one tree per quasi-identifier over the whole table.

    On the labels and the record's other columns.

    Parameters
    ----------
    anonymized : AnonymizedTable
        What to learn from.
    min_records : int
        Least number of records (of all classes together) in a tree cell.
    rng : numpy.random.Generator
        Decides between equally good splits.
    """
    records = Donors(anonymized)
    learned = features(records.domains, anonymized.labels, sensitive=True)
    matrix = learned.matrix(anonymized.labels)
    cells, by_class_and_cell = [], []
    for at in range(anonymized.leaves.shape[1]):
        found = grow(matrix, records.ranks(at), min_records, int(rng.integers(2**31)))
        cells.append(found)
        by_class_and_cell.append(ranked_pools(anonymized.class_ids, found.of(matrix), found.n_cells))
    return FittedGiven(records, learned, tuple(cells), tuple(by_class_and_cell))
