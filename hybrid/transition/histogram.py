"""Conditional histogram: each attribute by itself, as frequent as in the record's equivalence class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.hierarchy import LabelTable
from hybrid.transition.base import Restored
from hybrid.transition.domain import assemble
from hybrid.transition.records import RUNGS, Records, add_counts, draw_records


@dataclass(frozen=True)
class FittedHistogram:
    """Original values by class. Private."""

    records: Records

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """For each cell the value of a record drawn from the row's class, drawn anew for every attribute."""
        classes = self.records.classes.find(labels.nodes)
        columns, counts = {}, dict.fromkeys(RUNGS, 0)
        for at, (name, domain) in enumerate(self.records.domains.items()):
            nodes = labels.nodes[:, at]
            rungs = [
                self.records.class_rung(classes),
                self.records.label_rung(at, nodes),
                self.records.ancestor_rung(at, nodes),
            ]
            draw = draw_records(rungs, len(labels), rng)
            columns[name] = domain.series(self.records.cells(at, draw, nodes, rng))
            counts = add_counts(counts, draw.counts)
        return Restored(assemble(labels, columns), counts)
