"""Range: limits of numbers and dates."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime

import numpy as np
import pandas as pd
from pydantic import field_validator

from hybrid.base.arrays import Mask
from hybrid.base.errors import Problem
from hybrid.constraints.constraint import NUMBERS, Constraint, listed, no_row
from hybrid.table import Schema, Table

Limit = int | float | datetime | date | None


class Range(Constraint):
    """Limits of columns: of each, the least and the largest value."""

    range: dict[str, tuple[Limit, Limit]]
    """Columns of numbers or dates, each with [least, largest], both allowed; null: no limit on that side."""

    @field_validator("range")
    @classmethod
    def _in_order(cls, limits: dict[str, tuple[Limit, Limit]]) -> dict[str, tuple[Limit, Limit]]:
        if not limits:
            raise ValueError("range needs a column with its limits: {column: [least, largest]}")
        for name, (low, high) in limits.items():
            if low is None and high is None:
                raise ValueError(f"{name}: at least one of both limits must be set")
            times = [isinstance(limit, date) for limit in (low, high) if limit is not None]
            if len(set(times)) > 1:
                raise ValueError(f"{name}: one limit is a date and the other a number")
            if low is not None and high is not None and comparable(low) > comparable(high):
                raise ValueError(f"{name}: the least value lies above the largest, so that no row can meet it")
        return limits

    @property
    def columns(self) -> tuple[str, ...]:
        """As :attr:`Constraint.columns`."""
        return tuple(self.range)

    @property
    def sentence(self) -> str:
        """As :attr:`Constraint.sentence`."""
        return listed([f"{name} {_words(*limits)}" for name, limits in self.range.items()])

    def problems(self, schema: Schema) -> Iterator[Problem]:
        """As :meth:`Constraint.problems`."""
        for name, limits in self.range.items():
            kind = schema[name].kind
            times = any(isinstance(limit, date) for limit in limits)
            if (times and not kind.is_temporal) or (not times and kind not in NUMBERS):
                wanted = "dates" if times else "numbers"
                yield Problem(
                    f"the limits of {name!r} are {wanted}, and the column is {kind}",
                    "write limits of the column's kind: numbers, or dates as YYYY-MM-DD",
                )

    def broken(self, table: Table) -> Mask:
        """As :meth:`Constraint.broken`."""
        found = no_row(table)
        for name, (low, high) in self.range.items():
            values = table.frame[name]
            if low is not None:
                found |= np.asarray((values < comparable(low)).fillna(False), dtype=bool)
            if high is not None:
                found |= np.asarray((values > comparable(high)).fillna(False), dtype=bool)
        return found


def comparable(limit: int | float | datetime | date) -> int | float | pd.Timestamp:
    """Limit as pandas compares it."""
    return pd.Timestamp(limit) if isinstance(limit, date) else limit


def _words(low: Limit, high: Limit) -> str:
    if low is None:
        return f"is at most {high}"
    return f"is at least {low}" if high is None else f"lies between {low} and {high}"
