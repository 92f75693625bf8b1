"""Information losses to minimize, with lower bounds for pruning.

One module per family.
"""

from __future__ import annotations

from hybrid.anonymize.options import LossOptions
from hybrid.anonymize.search.associations import LevelAssociations
from hybrid.anonymize.search.distinct_rows import DistinctRows
from hybrid.anonymize.search.lattice import Lattice
from hybrid.anonymize.search.losses.classes import AverageClassSize, Discernibility
from hybrid.anonymize.search.losses.columns import DomainShare, Entropy, Precision, column_weights
from hybrid.anonymize.search.losses.protocol import Bound, Loss, LossScore, RowCosts

__all__ = ["Bound", "CellLoss", "Loss", "LossScore", "RowCosts", "build_loss"]

CellLoss = DomainShare | Precision
"""Losses that are defined cell by cell, so that cells of one column may be on different levels."""


def build_loss(
    options: LossOptions,
    records: DistinctRows,
    lattice: Lattice,
    k: int,
    associations: LevelAssociations | None = None,
) -> Loss:
    """The loss that these options describe, over this lattice; ``associations``: of the loss ``association`` alone."""
    weights = column_weights(options, records.names)
    match options.name:
        case "loss" | "association":
            # Only the loss by association comes with them.
            lost = None if associations is None else associations.lost
            return DomainShare(records, lattice, weights, options.mean or "geometric", options.gs_factor, lost)
        case "precision":
            return Precision(records, lattice, weights, options.mean or "arithmetic", options.gs_factor)
        case "entropy":
            mean = "arithmetic" if options.normalized else "sum"
            return Entropy(records, lattice, weights, mean, normalized=options.normalized)
        case "aecs":
            return AverageClassSize(records, lattice, k)
        case "discernibility":
            return Discernibility(records, k)
