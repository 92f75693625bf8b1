"""Options of the section ``privacy``."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal, Self

from pydantic import Field, model_validator

from hybrid.base.options import Options

Bound = int | float | datetime | date


class KnownColumn(Options):
    """Public knowledge about one column, which was not learned from the records."""

    bounds: tuple[Bound, Bound] | None = None
    """Least and greatest value of a number, date or time, both included; values beyond count as the nearer bound."""
    decimals: int | None = Field(default=None, ge=0, le=9)
    """Digits after the point of a decimal column."""
    values: tuple[str, ...] | None = Field(default=None, min_length=1)
    """All values of a category; others count as missing. null: those that the column's hierarchy file lists, or those
    that noisy counts of persons find."""

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.bounds is None:
            return self
        low, high = self.bounds
        if isinstance(low, date) != isinstance(high, date) or isinstance(low, datetime) != isinstance(high, datetime):
            raise ValueError("bounds: both are numbers, both dates, or both times")
        if not low < high:  # type: ignore[operator]  # of one sort
            raise ValueError("bounds: the first must be below the second")
        return self


class PrivacyOptions(Options):
    """Options of a differentially private release."""

    mode: Literal["dp"]
    """dp: the synthetic table is (epsilon, delta)-differentially private for one person more or less, with all rows."""
    epsilon: float = Field(gt=0, le=100)
    """Privacy budget of one run."""
    delta: float = Field(gt=0, lt=0.01)
    """Probability that the bound epsilon may fail; to be well below 1 / number of persons."""
    bins: int = Field(default=32, ge=2, le=1000)
    """Intervals that a column of many numbers or dates is cut into, about; values that many rows share stay apart."""
    people: str | None = Field(default=None, min_length=1)
    """Name of the people behind the records: all draws under one name share the policy's yearly budget, as do draws
    from the same file, query or records. null: the name of the configuration."""
    columns: dict[str, KnownColumn] = Field(default_factory=dict)
    """What is known of each column beforehand. Every number, date and time needs its bounds."""
