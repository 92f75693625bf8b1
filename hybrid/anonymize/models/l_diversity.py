"""l-diversity: every class has l well-represented sensitive values (Machanavajjhala et al. 2007).

Source: doi 10.1145/1217299.1217302, definitions 4.1 to 4.3.

Pruning: distinct diversity is record-monotone, because a class only loses values under a finer generalization. Entropy
is concave and recursive (c,l)-diversity is closed under union (theorems 4.1 and 4.2), so both are convex; they imply a
number of distinct values, since the entropy is at most log(number of values) and recursive diversity needs an l-th one.

Where records share persons, distinct diversity is the largest number of persons with pairwise different values, which
a class only loses, too; the others weigh a record by 1 / (records of the person in the class).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from pydantic import Field, PositiveFloat, model_validator

from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.models.protocol import ClassRule, SensitiveModel
from hybrid.anonymize.models.released import ClassCounts, ModelCheck, at_least, below
from hybrid.base.arrays import Leaves, Numbers
from hybrid.hierarchy import Hierarchy


class LDiversity(SensitiveModel):
    """Every class has l well-represented sensitive values.

    Machanavajjhala et al. 2007, doi 10.1145/1217299.1217302.
    """

    model: Literal["l_diversity"]
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    """distinct: at least l values. entropy: the values' Shannon entropy is at least log(l). recursive: the most
    frequent value is rarer than c times all but the l - 1 most frequent ones together."""
    l: float = Field(default=2, ge=1)  # noqa: E741
    """How many values; a whole number unless kind is entropy."""
    c: PositiveFloat | None = None
    """The factor of recursive (c,l)-diversity; larger is weaker."""
    attribute: str
    """The sensitive column."""

    @model_validator(mode="after")
    def _fits(self) -> LDiversity:
        if self.kind != "entropy" and not float(self.l).is_integer():
            raise ValueError("l must be a whole number unless kind is entropy")
        if (self.kind == "recursive") != (self.c is not None):
            raise ValueError("c is set if and only if kind is recursive")
        return self

    @property
    def name(self) -> str:
        if self.c is not None:
            return f"recursive ({self.c:g},{self.l:g})-diversity of {self.attribute!r}"
        return f"{self.kind} {self.l:g}-diversity of {self.attribute!r}"

    @property
    def words(self) -> str:
        factor = f" and c = {self.c:g}" if self.c else ""
        return f"{self.kind} l-diversity of {self.attribute} with l = {self.l:g}{factor}"

    def rule(self, hierarchy: Hierarchy | None, leaves: Leaves | None) -> ClassRule:  # noqa: ARG002
        if self.c is not None:
            least = int(self.l)
            return ClassRule(
                self.name, self.attribute, lambda histogram: recursive_c(histogram, least), self.c, False, least,
                strict=True,
            )  # fmt: skip
        if self.kind == "entropy":
            return ClassRule(self.name, self.attribute, entropy_l, self.l, True, math.ceil(self.l - 1e-9))
        return ClassRule(self.name, self.attribute, distinct_l, self.l, True, int(self.l), record_monotone=True)

    def verify(self, counts: ClassCounts) -> ModelCheck:
        cells = counts.cells
        if self.c is not None:
            ordered = cells.sort_values(["class", "records"], ascending=[True, False])
            place = ordered.groupby("class").cumcount() + 1
            tail = counts.per_class(ordered["records"].where(place >= self.l, 0)).sum()
            return below(self.name, counts.per_class(cells["records"]).max() / tail, self.c)
        if self.kind == "entropy":
            bits = counts.per_class(cells["share"] * np.log2(cells["share"])).sum()
            return at_least(self.name, 2**-bits, self.l)
        return at_least(self.name, counts.different(), self.l)


def distinct_l(histogram: Histogram) -> Numbers:
    """Distinct values per class."""
    return histogram.distinct().astype(np.float64)


def entropy_l(histogram: Histogram) -> Numbers:
    """exp(Shannon entropy) per class: the effective number of values, 1 or more."""
    shares = histogram.frequencies()
    effective: Numbers = np.exp(-histogram.per_class(shares * np.log(shares)))
    return effective


def recursive_c(histogram: Histogram, least: int) -> Numbers:
    """Least c of recursive (c, l)-diversity per class.

    r_1 / (r_l + r_(l+1) + ...) with r_i the i-th largest count; inf if there is no l-th value.
    """
    counts, rank = histogram.descending()
    tail = histogram.per_class(np.where(rank >= least - 1, counts, 0))
    with np.errstate(divide="ignore"):
        ratio: Numbers = histogram.largest(histogram.counts) / tail
    return ratio
