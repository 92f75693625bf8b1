"""beta-likeness: bounded relative gain of sensitive values in a class.

No value is much more frequent in a class than in the whole table.

Source: Cao and Karras 2012, doi 10.14778/2350229.2350255, definitions 2 (basic) and 3 (enhanced).

Pruning: convex, because each value's gain is linear in a class's distribution. No number of distinct values follows.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import PositiveFloat

from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.models.protocol import TOLERANCE, WHOLE_TABLE, ClassRule, SensitiveModel
from hybrid.anonymize.models.released import ClassCounts, ModelCheck, at_most
from hybrid.base.arrays import Leaves, Numbers
from hybrid.hierarchy import Hierarchy


class BetaLikeness(SensitiveModel):
    """No sensitive value is much more frequent in a class than overall.

    Cao and Karras 2012, doi 10.14778/2350229.2350255.
    """

    model: Literal["beta_likeness"]
    beta: PositiveFloat
    """Largest relative gain (q - p) / p of a value with frequency q in the class and p overall."""
    kind: Literal["basic", "enhanced"] = "enhanced"
    """enhanced: the gain is also at most -ln(p), so that frequent values are protected too."""
    attribute: str
    """The sensitive column."""
    compared_with: ClassVar[str] = WHOLE_TABLE

    @property
    def name(self) -> str:
        return f"{self.kind} {self.beta:g}-likeness of {self.attribute!r}"

    def rule(self, hierarchy: Hierarchy | None, leaves: Leaves | None) -> ClassRule:  # noqa: ARG002
        gain = relative_gain if self.kind == "basic" else enhanced_gain
        return ClassRule(self.name, self.attribute, gain, self.beta, False)

    def verify(self, counts: ClassCounts) -> ModelCheck:
        inside, overall = counts.cells["share"], counts.cells["overall"]
        gain = (inside - overall) / overall
        if self.kind == "enhanced":
            gain = gain.mask(gain + np.log(overall) > 1e-9, np.inf)
        return at_most(self.name, counts.per_class(gain).max(), self.beta)


def relative_gain(histogram: Histogram) -> Numbers:
    """Largest (q - p) / p per class: q in the class, p in the reference."""
    return histogram.largest(histogram.frequencies() / histogram.reference[histogram.values] - 1)


def enhanced_gain(histogram: Histogram) -> Numbers:
    """Least beta that each class needs: its largest (q - p) / p, infinite when a gain exceeds -ln(p)."""
    reference = histogram.reference[histogram.values]
    gain = histogram.frequencies() / reference - 1
    return histogram.largest(np.where(gain > -np.log(reference) + TOLERANCE, np.inf, gain))
