"""Conditional joint: all quasi-identifiers of one record of the class together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.donors import Donors, draw_records, restore_columns
from hybrid.transition.drawing.pools import Slices
from hybrid.transition.protocol import Restored


@dataclass(frozen=True)
class FittedJoint:
    """Original values by class. Private."""

    records: Donors

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Values of one record of the row's class for all attributes.

        Correlations inside a class survive, and so do whole original combinations of values.
        """
        classes = self.records.classes.find(labels.nodes)
        chosen = draw_records([self.records.class_fallback(classes)], len(labels), rng).records

        def runs(rows: Array) -> Slices:
            return Slices(chosen, rows, (chosen[rows] >= 0).astype(np.int64))

        return restore_columns(self.records, labels, lambda at, nodes: [("class", runs)], rng)  # noqa: ARG005
