"""Marginal: each attribute's frequencies among all records with the label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.base.arrays import Array
from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.donors import Donors, Fallback, RankedPools, pair_fallback, ranked_pools, restore_columns
from hybrid.transition.drawing.groups import ColumnGroups, groups_of
from hybrid.transition.protocol import Restored, Transition


class MarginalOptions(base.Options):
    """Options of ``marginal``."""

    given: str | None = None
    """A column that is no quasi-identifier, such as the target: values are drawn from the records with the same
    label and the same value of it (ten groups of equal size for numbers and dates). null: the label alone."""


@dataclass(frozen=True)
class FittedMarginal:
    """Original values by label.

    Private, though every parameter pools all classes with the label.
    """

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
