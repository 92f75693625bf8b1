"""Shares of a table's rows in which no single real person shows."""

from __future__ import annotations

import math

from hybrid.base.arrays import Mask

ROUNDED_TO = 10
"""Real rows are counted in steps of this, rounded up, so that no single person shows."""


def row_share(rows: Mask, *, real: bool) -> float:
    """Share (0..1) of rows that are True; of real ones rounded up."""
    count = int(rows.sum())
    shown = min(ROUNDED_TO * math.ceil(count / ROUNDED_TO), len(rows)) if real else count
    return shown / max(len(rows), 1)
