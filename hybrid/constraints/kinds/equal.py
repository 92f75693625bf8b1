"""Columns with the same value in every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from hybrid.base.arrays import Mask
from hybrid.base.errors import Problem
from hybrid.constraints.constraint import (
    BY_CHANCE,
    LEAST_ROWS,
    Constraint,
    Rule,
    different_kinds,
    listed,
    no_row,
    with_column,
)
from hybrid.table import Role, Schema, Table


class Equal(Constraint):
    """Columns with the same value, or missing together."""

    equal: Annotated[tuple[str, ...], Field(min_length=2)]
    """Two columns or more of one kind. The first is protected and learned, the others are copies of it."""

    @field_validator("equal")
    @classmethod
    def _different(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("equal names each column once")
        return names

    @classmethod
    def candidates(cls, table: Table, rng: np.random.Generator) -> Iterator[Constraint]:  # noqa: ARG003 - no chance
        """Columns that agree in all rows, and would not if shuffled.

        Of several quasi-identifiers among them only the first.
        """
        same: dict[tuple[str, bytes], list[str]] = {}
        for column in sorted(table.schema, key=lambda one: one.role is not Role.QUASI_IDENTIFIER):
            values = table.frame[column.name]
            shares = values.value_counts(normalize=True)
            if values.notna().sum() < LEAST_ROWS or 1 - float((shares**2).sum()) < BY_CHANCE:
                continue
            digest = pd.util.hash_pandas_object(values, index=False).to_numpy().tobytes()
            names = same.setdefault((str(column.kind), digest), [])
            if not names or column.role is not Role.QUASI_IDENTIFIER:
                names.append(column.name)
        yield from (cls(equal=tuple(names)) for names in same.values() if len(names) > 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """As :attr:`Constraint.columns`."""
        return self.equal

    @property
    def sentence(self) -> str:
        """As :attr:`Constraint.sentence`."""
        return f"{listed(self.columns)} are equal"

    def problems(self, schema: Schema) -> Iterator[Problem]:
        """As :meth:`Constraint.problems`."""
        columns = [schema[name] for name in self.equal]
        if len({column.kind for column in columns}) > 1:
            yield Problem(f"equal columns are of one kind: {different_kinds(columns)}", "give them the same kind")
        quasi = [column.name for column in columns[1:] if column.role is Role.QUASI_IDENTIFIER]
        if quasi:
            yield Problem(
                f"copies cannot be quasi-identifiers, which are made coarser on their own: {', '.join(quasi)}",
                "name one quasi-identifier first, and give the others another role or leave them out of the file",
            )

    def broken(self, table: Table) -> Mask:
        """As :meth:`Constraint.broken`."""
        first, *others = (table.frame[name] for name in self.equal)
        found = no_row(table)
        for other in others:
            same = (other.astype(object) == first.astype(object)) | (other.isna() & first.isna())
            found |= ~same.fillna(False).to_numpy(dtype=bool)
        return found

    def fit(self, table: Table, least: int) -> Rule:  # noqa: ARG002 - nothing is learned
        """As :meth:`Constraint.fit`."""
        return _Copied(self)


@dataclass(frozen=True, eq=False)
class _Copied(Rule):
    """Equal columns held by copying the first.

    A generator learns the first alone.
    """

    constraint: Equal

    @property
    def replaces(self) -> tuple[str, ...]:
        return self.constraint.equal[1:]

    @property
    def settles(self) -> tuple[str, ...]:
        return self.constraint.equal[1:]

    def encodes(self, table: Table) -> bool:  # noqa: ARG002 - copies need nothing
        return True

    def encode(self, table: Table, original: Table) -> Table:  # noqa: ARG002 - the first column says it all
        left = [name for name in table.schema.names if name not in self.replaces]
        return Table(table.frame[left], Schema(tuple(table.schema[name] for name in left)), table.persons)

    def decode(self, table: Table, like: Table) -> Table:
        first, *others = self.constraint.equal
        frame = table.frame.assign(**dict.fromkeys(others, table.frame[first]))
        columns = {column.name: column for column in table.schema} | {name: like.schema[name] for name in others}
        names = [name for name in like.schema.names if name in columns]
        return Table(frame[names], Schema(tuple(columns[name] for name in names)), table.persons)

    def settle(self, table: Table) -> Table:
        first, *others = self.constraint.equal
        for name in others:
            table = with_column(table, table.schema[name], table.frame[first])
        return table

    def repair(self, table: Table, before: Table, rng: np.random.Generator) -> Table:  # noqa: ARG002 - nothing drawn
        """Copy the protected values of the first column."""
        return self.settle(table)
