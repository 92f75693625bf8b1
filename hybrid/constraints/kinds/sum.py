"""Sum: a total is the sum of other columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from hybrid.base.arrays import Mask, Numbers
from hybrid.base.errors import Problem
from hybrid.constraints.constraint import (
    BY_CHANCE,
    LEAST_ROWS,
    NUMBERS,
    Constraint,
    Rule,
    different_kinds,
    listed,
    no_row,
    numbers,
    whole_numbers,
    with_column,
)
from hybrid.table import Kind, Schema, Table

RELATIVE = 1e-9
"""Share of a total within which a sum of decimals counts as equal."""
MOST_COLUMNS = 20
"""Columns of numbers among which sums are looked for."""
Parts = Annotated[tuple[str, ...], Field(min_length=2)]


class Sum(Constraint):
    """Totals that are the sums of other columns."""

    sum: Annotated[dict[str, Parts], Field(min_length=1)]
    """Totals, each with the columns that it is the sum of: ``{total: [drugs, bed]}``."""

    @field_validator("sum")
    @classmethod
    def _no_part_of_itself(cls, totals: dict[str, Parts]) -> dict[str, Parts]:
        for total, parts in totals.items():
            if total in parts or len(set(parts)) < len(parts):
                raise ValueError(f"{total}: name other columns as its parts, each once")
        return totals

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:  # noqa: ARG003 - no chance
        """Totals of two or three columns that are no mere zeros."""
        names = [column.name for column in table.schema if column.kind in NUMBERS][:MOST_COLUMNS]
        values = np.column_stack([numbers(table.frame[name]) for name in names]) if names else np.empty((0, 0))
        parts = [at for at in range(len(names)) if np.mean(np.nan_to_num(values[:, at]) != 0) >= BY_CHANCE]
        for total in range(len(names)):
            for size in (2, 3):
                chosen = combinations([at for at in parts if at != total], size)
                found = [each for each in chosen if _adds_up(values, total, each)]
                yield from (cls(sum={names[total]: tuple(names[at] for at in each)}) for each in found)
                if found:
                    break

    @property
    def columns(self) -> tuple[str, ...]:
        """As :attr:`Constraint.columns`."""
        return tuple(dict.fromkeys(name for total, parts in self.sum.items() for name in (total, *parts)))

    @property
    def sentence(self) -> str:
        """As :attr:`Constraint.sentence`."""
        return listed([f"{total} is the sum of {listed(parts)}" for total, parts in self.sum.items()])

    def problems(self, schema: Schema) -> Iterator[Problem]:
        """As :meth:`Constraint.problems`."""
        strange = [schema[name] for name in self.columns if schema[name].kind not in NUMBERS]
        if strange:
            yield Problem(f"sums are about numbers: {different_kinds(strange)}", "name columns of numbers")
            return
        for total, parts in self.sum.items():
            decimals = [name for name in parts if schema[name].kind is Kind.DECIMAL]
            if schema[total].kind is Kind.INTEGER and decimals:
                yield Problem(
                    f"{total!r} is integer, and parts of it are decimal: {', '.join(decimals)}",
                    f"set data.columns.{total}.kind: decimal",
                )

    def fit(self, table: Table, least: int) -> Rule:  # noqa: ARG002 - nothing is learned
        """As :meth:`Constraint.fit`."""
        return _Computed(self)

    def broken(self, table: Table) -> Mask:
        """As :meth:`Constraint.broken`."""
        found = no_row(table)
        for total, parts in self.sum.items():
            values = numbers(table.frame[total])
            decimals = table.schema[total].format.decimals
            allowed = RELATIVE * np.maximum(np.abs(values), 1) + (0.0 if decimals is None else 0.5 * 10.0**-decimals)
            # A comparison with a missing value is false.
            found |= np.abs(values - _added(table, parts)) > allowed
        return found


@dataclass(frozen=True, eq=False)
class _Computed(Rule):
    """Sums held by computing the totals."""

    constraint: Sum

    @property
    def settles(self) -> tuple[str, ...]:
        return tuple(self.constraint.sum)

    def settle(self, table: Table) -> Table:
        """Totals of rows with all parts, where there is a total."""
        for total, parts in self.constraint.sum.items():
            column, values = table.schema[total], table.frame[total]
            sums = _added(table, parts)
            known = np.isfinite(sums) & values.notna().to_numpy()
            if column.kind is Kind.DECIMAL and column.format.decimals is not None:
                sums = np.round(sums, column.format.decimals)
            computed = whole_numbers(sums) if column.kind is Kind.INTEGER else pd.Series(sums)
            table = with_column(table, column, values.mask(known & computed.notna().to_numpy(), computed))
        return table

    def repair(self, table: Table, before: Table, rng: np.random.Generator) -> Table:  # noqa: ARG002 - nothing drawn
        """Compute the totals of the protected parts."""
        return self.settle(table)


@np.errstate(over="ignore")
def _adds_up(values: Numbers, total: int, parts: tuple[int, ...]) -> bool:
    """True if a column is the sum of others.

    Wherever all have a value, in enough rows, and not of equal totals alone. The first rows decide most cases.
    """
    for rows in (values[:LEAST_ROWS], values):
        gap = np.abs(rows[:, total] - rows[:, list(parts)].sum(axis=1))
        known = ~np.isnan(gap)
        if (gap[known] > RELATIVE * np.maximum(np.abs(rows[known, total]), 1)).any():
            return False
    return bool(known.sum() >= LEAST_ROWS and np.ptp(values[known, total]) > 0)


@np.errstate(over="ignore")
def _added(table: Table, parts: tuple[str, ...]) -> Numbers:
    """Sums of the parts, shape (n_rows,).

    NaN where one is missing, infinite beyond every float64.
    """
    return np.asarray(np.sum([numbers(table.frame[name]) for name in parts], axis=0), dtype=np.float64)
