"""Conditional histogram: each attribute's frequencies in the equivalence class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.donors import Donors, restore_columns
from hybrid.transition.protocol import Restored


@dataclass(frozen=True)
class FittedHistogram:
    """Original values by class. Private."""

    records: Donors

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Value of a random record of the row's class, per cell.

        Drawn anew for every attribute.
        """
        in_class = self.records.class_fallback(self.records.classes.find(labels.nodes))
        return restore_columns(self.records, labels, lambda at, nodes: [in_class], rng)  # noqa: ARG005
