"""Risk model "size": the same leak in tables of other sizes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hybrid.base.options import Options
from hybrid.lab.risk.model import Level, RiskModel, Series, Share, leak


class SizeOptions(Options):
    """Section ``risk.size`` of a plan."""

    leak: tuple[Share, ...] = Field(default=(0.0, 0.2), min_length=1)
    """Shares of leaked records."""
    factors: tuple[Annotated[float, Field(gt=0, le=10)], ...] = Field(default=(0.25, 0.5, 1.0), min_length=2)
    """Records of the table, as multiples of the training records. Beyond 1, the split needs more fresh records than
    training records."""


class Size(RiskModel):
    """The same leak in smaller and larger tables (thesis, fig. 4.8)."""

    name = "size"
    title = "Smaller and larger tables"
    sentence = "The share of copied records is the same; only the number of records differs, which should not matter."
    Options = SizeOptions

    def series(self, options: SizeOptions) -> tuple[Series, ...]:
        """One series over the sizes per share of leaked records."""
        return tuple(
            Series(
                f"leak of {100 * share:g} %",
                "records, as a multiple of the training records",
                "none",
                tuple(Level(factor, leak(share, size=factor)) for factor in options.factors),
            )
            for share in options.leak
        )


SIZE = Size()
