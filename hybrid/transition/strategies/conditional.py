"""Conditional: values as the record's equivalence class holds them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.transition.drawing.donors import Donors
from hybrid.transition.protocol import FittedTransition
from hybrid.transition.strategies.given import fit_given
from hybrid.transition.strategies.histogram import FittedHistogram
from hybrid.transition.strategies.joint import FittedJoint
from hybrid.transition.strategies.kde import fit_kde


class ConditionalOptions(base.Options):
    """Options of ``conditional``."""

    estimator: Literal["histogram", "kde", "joint", "given"] = "histogram"
    """histogram: each attribute by itself, by its frequencies in the class; kde: the same smoothed by a kernel for
    numbers and dates; joint: all quasi-identifiers of one record together; given: each attribute by itself, from
    those records of the class that a decision tree finds alike in the record's other columns."""
    bandwidth: float = Field(default=1.0, gt=0.0)
    """kde: factor on the bandwidth of Silverman's rule of thumb."""
    min_records: int = Field(default=5, ge=1)
    """given: least number of records (of all classes together) that count as alike."""


class Conditional:
    """Distributions of every equivalence class; discloses some original values.

    Under a root label (a suppressed value) missing is drawn as often as the class holds it. Rows whose
    combination of labels no class has fall back, column by column, to records with the same label, then to
    records whose value lies below it, then to a uniform draw; ``Restored.fallbacks`` counts the cells of each.
    """

    name = "conditional"
    Options: type[base.Options] = ConditionalOptions

    def reads_originals(self, options: ConditionalOptions) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def fit(
        self, anonymized: AnonymizedTable, options: ConditionalOptions, rng: np.random.Generator
    ) -> FittedTransition:
        """Arrange the original values by class."""
        if options.estimator == "kde":
            return fit_kde(Donors(anonymized), anonymized.class_ids, options.bandwidth)
        if options.estimator == "joint":
            return FittedJoint(Donors(anonymized))
        if options.estimator == "given":
            return fit_given(anonymized, options.min_records, rng)
        return FittedHistogram(Donors(anonymized))
