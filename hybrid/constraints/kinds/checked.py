"""Kinds that a row is only checked for: ranges, uniqueness, values missing together, formulas."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from hybrid.base.arrays import Mask
from hybrid.base.errors import Problem
from hybrid.constraints.constraint import NUMBERS, Constraint, listed, no_row
from hybrid.constraints.expression import Expression, parse
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
        return tuple(self.range)

    @property
    def sentence(self) -> str:
        return listed([f"{name} {_words(*limits)}" for name, limits in self.range.items()])

    def problems(self, schema: Schema) -> Iterator[Problem]:
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


LEAST_MISSING = 20
"""Rows in which the columns are missing, and in which they are not, so that the constraint is suggested."""


class MissingTogether(Constraint):
    """Columns that have a value together, or are missing together."""

    missing_together: Annotated[tuple[str, ...], Field(min_length=2)]
    """Two columns or more."""

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:  # noqa: ARG003 - no chance
        same: dict[bytes, list[str]] = {}
        for name in table.schema.names:
            missing = table.frame[name].isna().to_numpy()
            if LEAST_MISSING <= missing.sum() <= len(missing) - LEAST_MISSING:
                same.setdefault(np.packbits(missing).tobytes(), []).append(name)
        yield from (cls(missing_together=tuple(names)) for names in same.values() if len(names) > 1)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.missing_together

    @property
    def sentence(self) -> str:
        return f"{listed(self.columns)} are missing together"

    def broken(self, table: Table) -> Mask:
        missing = table.frame[list(self.columns)].isna().to_numpy()
        return np.asarray(missing.any(axis=1) & ~missing.all(axis=1))


class Unique(Constraint):
    """Values that no two rows share.

    Identifiers get fresh values, which are unique where they are numbers or texts.
    """

    about_identifiers = True
    of_table = True

    unique: Annotated[tuple[str, ...], Field(min_length=1)]
    """One column or more, whose values together occur once."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.unique

    @property
    def sentence(self) -> str:
        return f"no two rows have the same {listed(self.unique)}"

    def broken(self, table: Table) -> Mask:
        frame = table.frame[list(self.unique)]
        return np.asarray(frame.duplicated() & frame.notna().all(axis=1), dtype=bool)


class Formula(Constraint):
    """Formula over the columns of a row, such as ``cost >= 0``."""

    formula: str
    """Comparisons of columns, numbers and texts, joined by and, or, not; + - * /, in [...], abs, min, max, missing.
    Column names that are no words stand in backticks. Unknown, for want of a value, is not broken."""

    @field_validator("formula")
    @classmethod
    def _in_grammar(cls, text: str) -> str:
        parse(text)
        return text

    @property
    def expression(self) -> Expression:
        return parse(self.formula)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.expression.columns

    @property
    def sentence(self) -> str:
        return self.formula

    def problems(self, schema: Schema) -> Iterator[Problem]:
        hint = "compare it, such as a + b <= 10"
        yield from self.expression.problems(schema, ["truth"], "not true or false", hint)

    def broken(self, table: Table) -> Mask:
        return np.asarray(~self.expression.truth(table).fillna(True), dtype=bool)
