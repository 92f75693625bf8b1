"""(alpha, k)-anonymity.

No sensitive value makes up more than alpha of a class.

Source: Wong et al. 2006, doi 10.1145/1150402.1150499, applied to every value of the column.

Pruning: convex, because the largest frequency is convex in a class's distribution. Frequencies of at most alpha need at
least 1/alpha distinct values.
"""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.models.protocol import ClassRule, SensitiveModel
from hybrid.anonymize.models.released import ClassCounts, ModelCheck, at_most
from hybrid.base.arrays import Leaves, Numbers
from hybrid.hierarchy import Hierarchy


class AlphaK(SensitiveModel):
    """(alpha, k)-anonymity: bounded share of each sensitive value in a class.

    No value makes up more than alpha of a class (Wong et al. 2006, doi 10.1145/1150402.1150499).
    """

    model: Literal["alpha_k"]
    alpha: float = Field(gt=0, le=1)
    """Largest relative frequency of any one value in a class."""
    attribute: str
    """The sensitive column."""

    @property
    def name(self) -> str:
        return f"alpha = {self.alpha:g} of {self.attribute!r}"

    def rule(self, hierarchy: Hierarchy | None, leaves: Leaves | None) -> ClassRule:  # noqa: ARG002
        least = math.ceil(1 / self.alpha - 1e-9)
        return ClassRule(self.name, self.attribute, largest_share, self.alpha, False, least)

    def verify(self, counts: ClassCounts) -> ModelCheck:
        return at_most(self.name, counts.per_class(counts.cells["share"]).max(), self.alpha)


def largest_share(histogram: Histogram) -> Numbers:
    """Relative frequency of the most frequent value per class, in (0, 1]."""
    return histogram.largest(histogram.frequencies())
