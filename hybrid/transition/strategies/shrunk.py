"""Shrunk: small classes borrow from all records with the same label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.base.arrays import Array
from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.donors import Donors, Fallback, restore_columns
from hybrid.transition.protocol import Restored


class ShrunkOptions(base.Options):
    """Options of ``shrunk``."""

    strength: float = Field(default=20.0, ge=0.0)
    """In records: a class of n records is used with probability n / (n + strength), the label otherwise. 0 is
    Conditional (histogram); large values approach Marginal."""


@dataclass(frozen=True)
class FittedShrunk:
    """Original values by class. Private."""

    records: Donors
    strength: float

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Value of a class record or one with the same label.

        The choice is random, for each cell.
        """
        classes = self.records.classes.find(labels.nodes)
        sizes = self.records.by_class.runs(classes).size
        weight = sizes / np.maximum(sizes + self.strength, 1e-300)

        def own(at: int, nodes: Array) -> list[Fallback]:  # noqa: ARG001
            used = np.where(rng.random(len(classes)) < weight, classes, -1)
            return [self.records.class_fallback(used)]

        return restore_columns(self.records, labels, own, rng)


class Shrunk:
    """Histogram of the class shrunk towards the label's, more for small classes."""

    name = "shrunk"
    Options: type[base.Options] = ShrunkOptions

    def reads_originals(self, options: ShrunkOptions) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def fit(self, anonymized: AnonymizedTable, options: ShrunkOptions, rng: np.random.Generator) -> FittedShrunk:  # noqa: ARG002
        """Arrange the original values by class."""
        return FittedShrunk(Donors(anonymized), options.strength)
