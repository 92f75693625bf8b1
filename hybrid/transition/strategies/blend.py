"""Blend: the class's histogram mixed with the uniform distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.domain import assemble
from hybrid.transition.drawing.donors import Donors, Draw, add_counts, draw_records
from hybrid.transition.protocol import Restored


class BlendOptions(base.Options):
    """Options of ``blend``."""

    weight: float = Field(default=0.5, ge=0.0, le=1.0)
    """Share of cells drawn from the class, in [0, 1]; 0 is Uniform, 1 is Conditional."""


@dataclass(frozen=True)
class FittedBlend:
    """Original values by class. Private."""

    records: Donors
    weight: float

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """A class record's value or any value below the label, per cell.

        The choice is random.
        """
        records, n = self.records, len(labels)
        classes = records.classes.find(labels.nodes)
        columns, counts = {}, dict[str, int]()
        for at, (name, domain) in enumerate(records.domains.items()):
            nodes = labels.nodes[:, at]
            chain = [
                records.class_fallback(classes),
                records.label_fallback(at, nodes),
                records.ancestor_fallback(at, nodes),
            ]
            draw = draw_records(chain, n, rng)
            counts = add_counts(counts, draw.counts)
            kept = np.where(rng.random(n) < self.weight, draw.records, -1)
            mixed = Draw(kept, {"uniform": int((kept < 0).sum())})
            columns[name] = domain.series(records.cells(at, mixed, nodes, rng))
        return Restored(assemble(labels, columns), counts)


class Blend:
    """With probability ``weight`` Conditional (histogram), else Uniform, for each cell by itself.

    ``Restored.fallbacks`` counts where the conditional part would have come from.
    """

    name = "blend"
    Options: type[base.Options] = BlendOptions

    def reads_originals(self, options: BlendOptions) -> bool:
        """Unless nothing is drawn from the classes."""
        return options.weight > 0

    def fit(self, anonymized: AnonymizedTable, options: BlendOptions, rng: np.random.Generator) -> FittedBlend:  # noqa: ARG002
        """Arrange the original values by class."""
        return FittedBlend(Donors(anonymized), options.weight)
