"""Risk model "leaky": training records as they are."""

from __future__ import annotations

from hybrid.base.options import Options
from hybrid.lab.risk.model import LEAKS, Level, RiskModel, Series, Shares, leak


class LeakyOptions(Options):
    """Section ``risk.leaky`` of a plan."""

    levels: Shares = LEAKS
    """Shares of the table's records that are training records, from 0."""


class Leaky(RiskModel):
    """Training records as they are among fresh ones (thesis, section 3.3.5)."""

    name = "leaky"
    title = "Copied records"
    sentence = "A known share of the table are training records as they are; the rest are people never used."
    Options = LeakyOptions

    def series(self, options: LeakyOptions) -> tuple[Series, ...]:
        """One series over the shares."""
        return (Series("", "share of records leaked", "share", tuple(Level(f, leak(f)) for f in options.levels)),)


LEAKY = Leaky()
