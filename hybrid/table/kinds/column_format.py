"""Format in which the source of a table writes a column."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnFormat:
    """Format in which the source writes a column, kept for the output."""

    missing: str = ""
    """The marker written for a missing value (CSV)."""
    padding: str = ""
    """White space before every value (CSV files separated by ``", "``)."""
    decimals: int | None = None
    """Digits after the point; None: as many as needed."""
    fixed_decimals: bool = False
    """Whether every value is written with exactly :attr:`decimals` digits."""
    least_decimals: int = 0
    """Digits that are written although they are zeros ("10.0"), where the number of digits varies."""
    decimal_mark: str = "."
    date_format: str = "%Y-%m-%d"
    true: str = "True"
    false: str = "False"
    arrow_type: str | None = None
    """Arrow type of a Parquet source, as :func:`str` of it shows it; None for CSV."""
