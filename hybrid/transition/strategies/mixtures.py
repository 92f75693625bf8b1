"""Marginal, blend and shrunk: frequencies of the label, or of the class mixed with the label's or uniform ones."""

from __future__ import annotations

from dataclasses import dataclass

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
from hybrid.transition.drawing.features import ColumnGroups, groups_of
from hybrid.transition.protocol import Restored, Transition


class MarginalOptions(base.Options):
    """Options of ``marginal``."""

    given: str | None = None
    """A column that is no quasi-identifier, such as the target: values are drawn from the records with the same
    label and the same value of it (ten groups of equal size for numbers and dates). null: the label alone."""


@dataclass(frozen=True)
class FittedMarginal:
    """Original values by label. Private, though every parameter pools all classes with the label."""

    records: Donors
    groups: ColumnGroups | None
    pools: tuple[RankedPools, ...]

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Value of a random record with the same label, and the same value of the given column, if any."""
        codes = None if self.groups is None else self.groups.codes(labels)

        def own(at: int, nodes: Array) -> list[Fallback]:
            return [] if codes is None else [pair_fallback("given", self.pools[at], nodes, codes)]

        return restore_columns(self.records, labels, own, rng)


class Marginal(Transition):
    """Distribution of each label over the table, optionally given one column."""

    name = "marginal"
    Options = MarginalOptions

    def fit(self, anonymized: AnonymizedTable, options: MarginalOptions, rng: np.random.Generator) -> FittedMarginal:  # noqa: ARG002
        records = Donors(anonymized)
        if options.given is None:
            return FittedMarginal(records, None, ())
        groups = groups_of(anonymized.labels, options.given)
        codes = groups.codes(anonymized.labels)
        n_qi = anonymized.leaves.shape[1]
        return FittedMarginal(
            records, groups, tuple(ranked_pools(records.nodes[:, at], codes, len(groups)) for at in range(n_qi))
        )


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
        records, n = self.records, len(labels)
        in_class = records.class_fallback(records.classes.find(labels.nodes))

        def cells(at: int, draw: DrawnRecords, nodes: Array) -> Array:
            kept = np.where(rng.random(n) < self.weight, draw.records, -1)
            return records.cells(at, DrawnRecords(kept, {"uniform": int((kept < 0).sum())}), nodes, rng)

        return restore_columns(records, labels, lambda at, nodes: [in_class], rng, cells)  # noqa: ARG005


class Blend(Transition):
    """With probability ``weight`` Conditional (histogram), else Uniform, for each cell by itself.

    ``Restored.fallbacks`` counts where the conditional part would have come from.
    """

    name = "blend"
    Options = BlendOptions

    def reads_originals(self, options: BlendOptions) -> bool:
        return options.weight > 0

    def fit(self, anonymized: AnonymizedTable, options: BlendOptions, rng: np.random.Generator) -> FittedBlend:  # noqa: ARG002
        return FittedBlend(Donors(anonymized), options.weight)


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
        classes = self.records.classes.find(labels.nodes)
        sizes = self.records.by_class.runs(classes).size
        weight = sizes / np.maximum(sizes + self.strength, 1e-300)

        def own(at: int, nodes: Array) -> list[Fallback]:  # noqa: ARG001
            used = np.where(rng.random(len(classes)) < weight, classes, -1)
            return [self.records.class_fallback(used)]

        return restore_columns(self.records, labels, own, rng)


class Shrunk(Transition):
    """Histogram of the class shrunk towards the label's, more for small classes."""

    name = "shrunk"
    Options = ShrunkOptions

    def fit(self, anonymized: AnonymizedTable, options: ShrunkOptions, rng: np.random.Generator) -> FittedShrunk:  # noqa: ARG002
        return FittedShrunk(Donors(anonymized), options.strength)
