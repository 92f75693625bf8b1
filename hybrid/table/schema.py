"""Tables and their schema: roles, kinds and formats of the columns; rows of one table after those of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa

from hybrid.base.arrays import Array, Codes
from hybrid.base.hashing import ABSENT_UNLESS_SET
from hybrid.table.kinds.registry import Kind
from hybrid.table.kinds.value_type import ColumnFormat


class Role(StrEnum):
    """Role of a column in an attack."""

    IDENTIFIER = "identifier"
    """Names one person directly; never learned, never released: a surrogate takes its place."""
    QUASI_IDENTIFIER = "quasi_identifier"
    """Known from elsewhere; together with others it may single a person out."""
    SENSITIVE = "sensitive"
    """What an attacker wants to learn."""
    INSENSITIVE = "insensitive"
    """Everything else."""
    WEIGHT = "weight"
    """Sampling weight: people of the population that a row counts for. Learned, and calibrated for the release."""
    UNDECIDED = "undecided"
    """Not known yet: a person has to decide. Never learned, never released, in nothing that a run writes."""
    EXCLUDED = "excluded"
    """Left out by decision: treated as an undecided column, and no decision is open."""

    @property
    def enters_runs(self) -> bool:
        """True for all but undecided and excluded columns."""
        return self not in (Role.UNDECIDED, Role.EXCLUDED)

    @property
    def is_learned(self) -> bool:
        """True for columns that enter runs and are no identifiers."""
        return self.enters_runs and self is not Role.IDENTIFIER


@dataclass(frozen=True)
class Column:
    """One column: name, role, kind, and how it is written."""

    name: str
    role: Role
    kind: Kind
    target: bool = False
    format: ColumnFormat = field(default_factory=ColumnFormat)
    order: bool | None = field(default=None, metadata=ABSENT_UNLESS_SET)
    """True: the rows of a person are ordered by this column; None: they are not."""


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order. Names are unique."""

    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Column:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @property
    def names(self) -> list[str]:
        """All column names, in order."""
        return [column.name for column in self.columns]

    def having(self, role: Role) -> list[str]:
        """Names of the columns with this role, in order."""
        return [column.name for column in self.columns if column.role is role]

    @property
    def identifiers(self) -> list[str]:
        """Names of the identifier columns."""
        return self.having(Role.IDENTIFIER)

    @property
    def quasi_identifiers(self) -> list[str]:
        """Names of the quasi-identifiers."""
        return self.having(Role.QUASI_IDENTIFIER)

    @property
    def sensitive(self) -> list[str]:
        """Names of the sensitive columns."""
        return self.having(Role.SENSITIVE)

    @property
    def targets(self) -> list[str]:
        """Names of the columns that models of the users predict."""
        return [column.name for column in self.columns if column.target]

    @property
    def order(self) -> str | None:
        """Column that orders the rows of a person; None without one."""
        return next((column.name for column in self.columns if column.order), None)

    def only(self, names: Iterable[str]) -> Schema:
        """The schema of these columns, in this schema's order."""
        wanted = set(names)
        return Schema(tuple(column for column in self.columns if column.name in wanted))

    def without_identifiers(self) -> Schema:
        """Schema of the columns that may be learned from: no identifiers, undecided or excluded columns."""
        return self.only(column.name for column in self if column.role.is_learned)

    def without_left_out(self) -> Schema:
        """The schema of everything that may enter a run."""
        return self.only(column.name for column in self if column.role.enters_runs)


@dataclass(frozen=True)
class Table:
    """A DataFrame with its schema.

    Parameters
    ----------
    frame : pandas.DataFrame, shape (n_rows, n_columns)
        Columns as in ``schema``, dtypes as in :data:`DTYPES`, a RangeIndex that means nothing.
        Treat as read-only: no stage mutates its input.
    schema : Schema
        The columns, in the frame's order.
    named_persons : numpy.ndarray, shape (n_rows,), int64, optional
        Person of each row where columns name one, negative for rows without a key
        (:func:`hybrid.table.persons.person_codes`). What counts or compares people reads :attr:`persons`.
    named_households : numpy.ndarray, shape (n_rows,), int64, optional
        Household of each row where columns name one (:func:`hybrid.table.persons.with_households`). What counts or
        compares households reads :attr:`households`.
    """

    frame: pd.DataFrame
    schema: Schema
    named_persons: Codes | None = field(default=None, metadata=ABSENT_UNLESS_SET)
    named_households: Codes | None = field(default=None, metadata=ABSENT_UNLESS_SET)

    def __post_init__(self) -> None:
        if list(self.frame.columns) != self.schema.names:
            raise ValueError("the frame's columns are not the schema's")
        if any(of is not None and len(of) != len(self.frame) for of in self._named):
            raise ValueError("there is not one person, or not one household, per row")
        if not isinstance(self.frame.index, pd.RangeIndex):
            object.__setattr__(self, "frame", self.frame.reset_index(drop=True))

    @property
    def rows_are_persons(self) -> bool:
        """True where no column names the person of a row, so that each row is another one."""
        return self.named_persons is None

    @property
    def has_households(self) -> bool:
        """True where columns name the household of a row."""
        return self.named_households is not None

    @property
    def persons(self) -> Codes:
        """Person of each row, shape (n_rows,): 0, 1, ... where each row is another; negative for rows without a key."""
        return np.arange(len(self.frame)) if self.named_persons is None else self.named_persons

    @property
    def households(self) -> Codes:
        """Household of each row, shape (n_rows,): its person's own where no column names one."""
        return self.persons if self.named_households is None else self.named_households

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        # No values: a table may hold people's records.
        return f"Table: {len(self):,} rows, {len(self.schema)} columns ({', '.join(self.schema.names)}); .frame"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the columns to polars, pyarrow and others: ``polars.DataFrame(table)``."""
        table = pa.Table.from_pandas(self.frame, preserve_index=False)
        for at, column in enumerate(self.schema):
            if column.kind.measure == "clock":  # pandas has no such dtype
                table = table.set_column(at, column.name, column.kind.type.to_arrow(self.frame[column.name]))
        return table.__arrow_c_stream__(requested_schema)

    @property
    def _named(self) -> tuple[Codes | None, Codes | None]:
        return self.named_persons, self.named_households

    def take(self, positions: Array) -> Table:
        """Rows at these positions (integers, or a boolean mask), renumbered from 0."""
        rows = self.frame.loc[positions] if positions.dtype == bool else self.frame.iloc[positions]
        persons, households = (None if of is None else of[positions] for of in self._named)
        return Table(rows.reset_index(drop=True), self.schema, persons, households)

    def only(self, names: Iterable[str]) -> Table:
        """These columns, in the table's order."""
        schema = self.schema.only(names)
        return Table(self.frame[schema.names], schema, *self._named)

    def without_identifiers(self) -> Table:
        """The table without its identifier, undecided and excluded columns."""
        return self.only(self.schema.without_identifiers().names)

    def without_left_out(self) -> Table:
        """The table without undecided and excluded columns."""
        return self.only(self.schema.without_left_out().names)


def concat_tables(table: Table, other: Table) -> Table:
    """Records of two tables that have no person in common.

    Where only one of them names persons, each row of the other is another person.
    """
    alone = table.rows_are_persons and other.rows_are_persons
    persons = None if alone else persons_of_both(table, other)
    return Table(concat_rows(table.frame, other.frame), table.schema, persons)


def persons_of_both(table: Table, other: Table) -> Codes:
    """Persons of the rows of two tables that have none in common."""
    mine, its = table.persons, other.persons
    lowest, highest = int(mine.min(initial=0)), int(mine.max(initial=-1))
    return np.concatenate([mine, np.where(its < 0, its + lowest, its + highest + 1)])


def concat_rows(frame: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """The rows of both, each column in one dtype (:func:`in_one_dtype`)."""
    return pd.DataFrame(
        {name: pd.concat(in_one_dtype(old, other[name]), ignore_index=True) for name, old in frame.items()}
    )


def in_one_dtype(old: pd.Series, new: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Two columns in one dtype; categories that only the second has come last."""
    if not isinstance(old.dtype, pd.CategoricalDtype) or old.dtype == new.dtype:
        return old, new
    known = set(old.cat.categories)
    whole = old.cat.add_categories([value for value in new.cat.categories if value not in known])
    return whole, new.astype(whole.dtype)
