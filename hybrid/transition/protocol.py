"""Protocol of transitions: fit on an anonymized table, restore specific values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.options import Options
from hybrid.constraints import Redrawn
from hybrid.hierarchy import LabelTable
from hybrid.table import Table


@dataclass(frozen=True)
class Restored:
    """A table with specific values again.

    ``fallbacks`` counts, per step of the fallback chain ("class", "label", "ancestor", "uniform"), the cells
    whose value came from that step; cells that were drawn again to keep a constraint count once per draw.
    ``redrawn`` counts the rows drawn again; None without constraints.
    """

    table: Table
    fallbacks: Mapping[str, int] = field(default_factory=dict)
    redrawn: Redrawn | None = None


class FittedTransition(Protocol):
    """Fitted transition. Private, since it holds original values."""

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Turn every label into a value below it.

        Parameters
        ----------
        labels : LabelTable, n rows
            Records of the anonymized table itself (order: pre) or synthetic ones (order: post), whose
            combination of labels need not occur in any equivalence class.
        rng : numpy.random.Generator
            Draws the values.

        Returns
        -------
        Restored
            n rows in the same order, columns and kinds of the original table; every value generalizes back to
            its label, columns that are no quasi-identifiers are untouched, the missing label becomes missing.
        """


class Transition(Protocol):
    """Strategy with its options and its fit."""

    name: str
    Options: type[Options]

    def reads_originals(self, options: Any) -> bool:  # noqa: ARG002 - most do, whatever their options
        """True if original values decide what is restored, beyond the labels and the hierarchies' leaves and bounds.

        The privacy statements of explanations and certificates rest on this answer; a strategy that does not give one
        is taken to read them.
        """
        return True

    def fit(self, anonymized: AnonymizedTable, options: Any, rng: np.random.Generator) -> FittedTransition:
        """Learn what restoring needs from the (sampled) anonymized table."""
