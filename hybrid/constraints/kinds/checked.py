"""Kinds that a row is only checked for: ranges, uniqueness, values missing together, formulas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from hybrid.base.arrays import Mask
from hybrid.base.errors import Problem
from hybrid.base.words import listed, named
from hybrid.constraints.constraint import Constraint, no_row
from hybrid.constraints.expression import Expression, parse, quoted
from hybrid.table import Kind, Schema, Table
from hybrid.table.kinds.value_type import Measure

Limit = int | float | datetime | date | time | None


class Range(Constraint):
    """Limits of columns: of each, the least and the largest value."""

    range: dict[str, tuple[Limit, Limit]]
    """Columns of numbers, dates or times, each with [least, largest], both allowed; null: no limit on that side."""

    @field_validator("range")
    @classmethod
    def _in_order(cls, limits: dict[str, tuple[Limit, Limit]]) -> dict[str, tuple[Limit, Limit]]:
        if not limits:
            raise ValueError("range needs a column with its limits: {column: [least, largest]}")
        for name, (low, high) in limits.items():
            if low is None and high is None:
                raise ValueError(f"{name}: at least one of both limits must be set")
            measures = sorted(set(_measures((low, high))))
            if len(measures) > 1:
                first, second = (_MEASURED[one] for one in measures)
                raise ValueError(f"{name}: one limit is a {first} and the other a {second}")
            if low is not None and high is not None and comparable(low) > comparable(high):
                raise ValueError(f"{name}: the least value lies above the largest, so that no row can meet it")
        return limits

    @property
    def sentence(self) -> str:
        return listed([f"{name} {_words(*limits)}" for name, limits in self.range.items()])

    def problems(self, schema: Schema) -> Iterator[Problem]:
        for name, limits in self.range.items():
            kind = schema[name].kind
            measure = _measures(limits)[0]
            if measure != kind.measure:
                yield Problem(
                    f"the limits of {name!r} are {_MEASURED[measure]}s, and the column is {kind}",
                    "write limits of the column's kind: numbers, dates as YYYY-MM-DD, or times as HH:MM",
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


_MEASURED: Mapping[Measure, str] = {"number": "number", "calendar": "date", "clock": "time"}


def _measures(limits: Iterable[Limit]) -> list[Measure]:
    known = (limit for limit in limits if limit is not None)
    return ["calendar" if isinstance(one, date) else "clock" if isinstance(one, time) else "number" for one in known]


def comparable(limit: int | float | datetime | date | time) -> int | float | pd.Timestamp:
    """Limit as pandas compares it; a time of day is one of the first day of 1970."""
    if isinstance(limit, time):
        limit = datetime.combine(date(1970, 1, 1), limit)
    return pd.Timestamp(limit) if isinstance(limit, date) else limit


def _words(low: Limit, high: Limit) -> str:
    if low is None:
        return f"is at most {high}"
    return f"is at least {low}" if high is None else f"lies between {low} and {high}"


LEAST_MISSING = 20
"""Rows in which the columns are missing, and in which they are not, so that the constraint is suggested."""


def _by_gaps(table: Table) -> dict[bytes, list[str]]:
    """Columns by the rows in which they are missing, one bit a row; those that are, and are not, in enough rows."""
    found: dict[bytes, list[str]] = {}
    for name in table.schema.names:
        missing = table.frame[name].isna().to_numpy()
        if LEAST_MISSING <= missing.sum() <= len(missing) - LEAST_MISSING:
            found.setdefault(np.packbits(missing).tobytes(), []).append(name)
    return found


class MissingTogether(Constraint):
    """Columns that have a value together, or are missing together."""

    missing_together: Annotated[tuple[str, ...], Field(min_length=2)]
    """Two columns or more."""

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:  # noqa: ARG003 - no chance
        yield from (cls(missing_together=tuple(names)) for names in _by_gaps(table).values() if len(names) > 1)

    @property
    def sentence(self) -> str:
        return f"{named(self.columns)} are missing together"

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
    def sentence(self) -> str:
        return f"no two rows have the same {named(self.unique)}"

    def broken(self, table: Table) -> Mask:
        frame = table.frame[list(self.unique)]
        return np.asarray(frame.duplicated() & frame.notna().all(axis=1), dtype=bool)


class Formula(Constraint):
    """Formula over the columns of a row, such as ``cost >= 0``."""

    formula: str
    """Comparisons of columns, numbers and texts, joined by and, or, not; + - * /, in [...], abs, min, max, missing.
    Column names that are no words stand in backticks. Unknown, for want of a value, is not broken."""

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:  # noqa: ARG003 - no chance
        """Flags (0 and 1, or yes and no) that say whether another column has a value, such as a date of death."""
        gaps = _by_gaps(table)
        for column in table.schema if gaps else ():
            flag, values = quoted(column.name), table.frame[column.name]
            if not (column.kind.is_number or column.kind is Kind.BOOLEAN) or not values.isin((0, 1)).all():
                continue
            forms = (flag, f"(not {flag})") if column.kind is Kind.BOOLEAN else (f"({flag} == 1)", f"({flag} == 0)")
            up = values.to_numpy(dtype=bool)
            for text, rows in zip(forms, (up, ~up), strict=True):
                yield from (
                    cls(formula=f"missing({quoted(name)}) == {text}")
                    for name in gaps.get(np.packbits(rows).tobytes(), ())[:1]
                )

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
        return np.asarray(~self.expression.value(table).fillna(True), dtype=bool)
