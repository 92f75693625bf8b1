"""Tree: values of records with similar labels and other columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.domain import assemble
from hybrid.transition.drawing.donors import Donors, add_counts, draw_records
from hybrid.transition.drawing.features import Cells, Features, features, grow
from hybrid.transition.drawing.pools import RankedPools, ranked_pools
from hybrid.transition.protocol import Restored


class TreeOptions(base.Options):
    """Options of ``tree``."""

    min_records: int = Field(default=200, ge=1)
    """Least number of records in a leaf of a tree: the privacy knob. Choose it well above k."""
    sensitive: bool = True
    """Whether sensitive columns and targets are predictors, too: models trained on the result gain, and inference
    of these columns from the quasi-identifiers becomes a little easier."""


@dataclass(frozen=True)
class FittedTree:
    """One partition of the records per quasi-identifier. Private."""

    records: Donors
    features: Features
    cells: tuple[Cells | None, ...]
    """None where every label is a single value, and there is nothing to choose."""
    pools: tuple[RankedPools | None, ...]
    predicts: tuple[bool, ...]
    """Whether the drawn value of each quasi-identifier is a predictor of the later ones."""

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Values in the row's tree leaf and below its label.

        Drawn column by column.
        """
        records = self.records
        matrix = self.features.matrix(labels)
        columns, counts = {}, dict[str, int]()
        for at, (name, domain) in enumerate(records.domains.items()):
            nodes, cells, pool = labels.nodes[:, at], self.cells[at], self.pools[at]
            chain = [records.label_fallback(at, nodes), records.ancestor_fallback(at, nodes)]
            if cells is not None and pool is not None:
                chain.insert(0, records.below_fallback("leaf", at, pool, cells.of(matrix), nodes))
            draw = draw_records(chain, len(labels), rng)
            columns[name] = domain.series(records.cells(at, draw, nodes, rng))
            counts = add_counts(counts, draw.counts)
            if self.predicts[at]:
                matrix = np.column_stack([matrix, records.drawn_ranks(at, draw, nodes).astype(np.float32)])
        return Restored(assemble(labels, columns), {"leaf": 0} | counts)


class Tree:
    """One decision tree per quasi-identifier on labels, other columns, drawn values.

    Each tree leaf holds at least ``min_records`` records of any classes; a value is drawn from those of them whose
    value lies below the row's label (which may be fewer: the labels are among the predictors, but a leaf can hold
    several of them), and where there are none, from the label's records. Quasi-identifiers are
    restored in the order of the columns, each knowing the ones before it.
    """

    name = "tree"
    Options: type[base.Options] = TreeOptions

    def reads_originals(self, options: TreeOptions) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def fit(self, anonymized: AnonymizedTable, options: TreeOptions, rng: np.random.Generator) -> FittedTree:
        """Grow the trees on the original values."""
        records = Donors(anonymized)
        learned = features(records.domains, anonymized.labels, sensitive=options.sensitive)
        matrix = learned.matrix(anonymized.labels)
        cells: list[Cells | None] = []
        by_cell: list[RankedPools | None] = []
        schema = anonymized.labels.schema
        predicts = tuple(options.sensitive or not schema[name].target for name in records.domains)
        for at, domain in enumerate(records.domains.values()):
            found = None
            ranks = records.ranks(at)
            if len(records) and (domain.n_leaves[records.nodes[:, at]] > 1).any():
                found = grow(matrix, ranks, options.min_records, int(rng.integers(2**31)))
            cells.append(found)
            n_ranks = domain.hierarchy.n_leaves
            by_cell.append(None if found is None else ranked_pools(found.of(matrix), ranks, n_ranks))
            if predicts[at]:
                matrix = np.column_stack([matrix, ranks.astype(np.float32)])
        return FittedTree(records, learned, tuple(cells), tuple(by_cell), predicts)
