"""Limits of change in a table between two releases."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from hybrid.base.options import Options


class DriftOptions(Options):
    """Limits of drift.

    Beyond ``warn`` it is reported, beyond ``stop`` no stage runs until a person accepts the change.
    """

    warn: float = Field(default=0.1, ge=0)
    """Population stability index of a column, 0 (same) upwards. The custom of credit scoring (Siddiqi 2006):
    up to 0.1 little, up to 0.25 some, above that a changed population."""
    stop: float = Field(default=0.25, ge=0)
    """As ``warn``."""
    rows_warn: float = Field(default=0.1, ge=0)
    """Change of the number of rows, relative to the last release."""
    rows_stop: float = Field(default=0.3, ge=0)
    """As ``rows_warn``, in both directions."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.warn > self.stop or self.rows_warn > self.rows_stop:
            raise ValueError("a warning must come before the stop: warn at most stop, rows_warn at most rows_stop")
        return self
