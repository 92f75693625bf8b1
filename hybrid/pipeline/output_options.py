"""Section ``output`` of a configuration: the synthetic table's file."""

from __future__ import annotations

from typing import Literal

from hybrid.base.options import Options


class OutputOptions(Options):
    """Options of writing the synthetic table."""

    format: Literal["same", "csv", "parquet"] = "same"
    """File format; same: that of the input (of a database: parquet)."""
    identifiers: Literal["surrogate", "drop"] = "surrogate"
    """Identifier columns hold fresh values that no source record has, or are left out."""
