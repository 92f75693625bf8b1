"""Tree: values of records with similar labels and other columns."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.base.arrays import Array
from hybrid.transition.drawing.features import Cells, grow
from hybrid.transition.drawing.sequence import FittedSequence, fit_sequence


class TreeOptions(base.Options):
    """Options of ``tree``."""

    min_records: int = Field(default=200, ge=1)
    """Least number of records in a leaf of a tree: the privacy knob. Choose it well above k."""
    sensitive: bool = True
    """Whether sensitive columns and targets are predictors, too: models trained on the result gain, and inference
    of these columns from the quasi-identifiers becomes a little easier."""


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

    def fit(self, anonymized: AnonymizedTable, options: TreeOptions, rng: np.random.Generator) -> FittedSequence:
        """Grow the trees on the original values."""

        def partition(matrix: Array, ranks: Array, seed: int) -> Cells:
            return grow(matrix, ranks, options.min_records, seed)

        return fit_sequence(anonymized, partition, rng, sensitive=options.sensitive)
