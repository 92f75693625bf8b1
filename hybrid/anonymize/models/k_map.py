"""k-map: every class matches k people of a population table.

Source: Sweeney 2001, doctoral thesis, MIT.

Pruning: record-monotone. Under a finer generalization fewer people of the population share a record's labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import PositiveInt

from hybrid.anonymize.models.protocol import PopulationModel
from hybrid.anonymize.models.released import ModelCheck, at_least, equivalence_classes, frame_of
from hybrid.table import Table


class KMap(PopulationModel):
    """Every class matches k people of a population table (Sweeney 2001).

    Needs ``population``.
    """

    model: Literal["k_map"]
    k: PositiveInt
    """How many people of the population share the labels of a record."""

    @property
    def name(self) -> str:
        return f"{self.k}-map"

    def verify(self, people: pd.Series) -> ModelCheck:
        return at_least(self.name, people, self.k)


def people_per_class(
    table: Table | pd.DataFrame, population: Table | pd.DataFrame, quasi_identifiers: Sequence[str]
) -> pd.Series:
    """People of a population per class of a table, both generalized in the same way."""
    released = frame_of(table)[list(quasi_identifiers)].astype(object)
    people = frame_of(population)[list(quasi_identifiers)].astype(object)
    classes, n_classes = equivalence_classes(pd.concat([released, people], ignore_index=True), quasi_identifiers)
    counts = np.bincount(classes[len(released) :], minlength=n_classes)
    return pd.Series(counts[np.unique(classes[: len(released)])])
