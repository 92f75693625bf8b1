"""Conditional: values as the record's equivalence class holds them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from hybrid import options as base
from hybrid.anonymize.result import AnonymizedTable
from hybrid.transition.base import FittedTransition
from hybrid.transition.histogram import FittedHistogram
from hybrid.transition.records import Records


class ConditionalOptions(base.Options):
    """How the distribution inside a class is estimated."""

    estimator: Literal["histogram"] = "histogram"
    """histogram: each attribute by itself, by its frequencies in the class."""


class Conditional:
    """Learns the original values of every equivalence class, and therefore gives some of them away.

    Under a root label (a suppressed value) missing is drawn as often as the class holds it. Rows whose
    combination of labels no class has fall back, column by column, to records with the same label, then to
    records whose value lies below it, then to a uniform draw; ``Restored.fallbacks`` counts the cells of each.
    """

    name = "conditional"
    Options: type[base.Options] = ConditionalOptions

    def fit(
        self,
        anonymized: AnonymizedTable,
        options: ConditionalOptions,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> FittedTransition:
        """Arrange the original values by class."""
        return FittedHistogram(Records(anonymized))
