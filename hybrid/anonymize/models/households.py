"""Households: every class has persons of several households.

k persons of one family are no crowd: who knows that a neighbour is among them knows the household. Asked for is what
distinct l-diversity (Machanavajjhala et al. 2007, doi 10.1145/1217299.1217302) asks for of the household as a value.

Pruning: record-monotone, because a class only loses households under a finer generalization; and convex, since a union
of classes has the households of each.
"""

from __future__ import annotations

from typing import Literal

import pandas as pd
from pydantic import Field

from hybrid.anonymize.models.l_diversity import distinct_l
from hybrid.anonymize.models.protocol import ClassRule, SensitiveModel
from hybrid.anonymize.models.released import ClassCounts, ModelCheck, at_least
from hybrid.base.arrays import Leaves
from hybrid.base.errors import ConfigError, DataError
from hybrid.base.sentence import sentence
from hybrid.hierarchy import Hierarchy
from hybrid.table import Table


class Households(SensitiveModel):
    """Every class has persons of several households: those of ``data.household``."""

    model: Literal["households"]
    least: int = Field(default=2, ge=2)
    """How many households."""

    @property  # type: ignore[misc]  # the other models have a field: theirs is a column
    def attribute(self) -> str:
        """Name of the households among the values that models count; no column has it."""
        return "household of data.household"

    @property
    def name(self) -> str:
        return f"{self.least} households"

    @property
    def words(self) -> str:
        return sentence("model.households", n=self.least)

    def values(self, table: Table) -> pd.Series:
        if not table.has_households:
            raise ConfigError("models: households are not known", hint="set data.household: the column that names them")
        unknown = int((table.households < 0).sum())
        if unknown:
            raise DataError(
                f"models: {unknown:,} rows have no household, and none can be counted for them",
                hint="fill in data.household, or leave these rows out",
            )
        return pd.Series(table.households)

    def rule(self, hierarchy: Hierarchy | None, leaves: Leaves | None) -> ClassRule:  # noqa: ARG002
        return ClassRule(self.name, self.attribute, distinct_l, self.least, True, self.least, record_monotone=True)

    def verify(self, counts: ClassCounts) -> ModelCheck:
        return at_least(self.name, counts.different(), self.least)
