"""Options of linked tables: the keys ``person`` and ``tables`` of a configuration."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from hybrid.base.options import Options
from hybrid.constraints import AnyConstraint
from hybrid.table.data_options import SourceOptions
from hybrid.table.read_options import ReadOptions

TableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
"""Name of a table; its output file has it, too."""


class ThroughOptions(Options):
    """A table with one row for each pair, such as the rights of clients on accounts: one of them is the owner."""

    table: TableName
    """The table of pairs. Its parent is this table. A release has the owner's key in one pair of each row, and keys of
    other, random parents in its other pairs."""
    column: str = Field(min_length=1)
    """Its column with the key of this table."""
    owner: str = Field(min_length=1)
    """Its column with the key of the parent; it has the role identifier."""
    prefer: str | None = None
    """Condition that the owner's pair meets, such as type = 'OWNER'. Of several such pairs, or where none meets it, the
    first one counts."""


class ParentOptions(Options):
    """Reference of every row to one row of the parent."""

    table: TableName
    """The parent: a table that is not public, and has a key."""
    column: str = Field(min_length=1)
    """The column of this table that holds the parent's key; with `through` this table's own key."""
    through: ThroughOptions | None = None
    """Where a row may belong to several parents, the table of these pairs, and which of them owns it."""
    orphans: Literal["refuse", "drop"] = "refuse"
    """Rows whose parent is missing or unknown: the configuration is refused, or these rows are left out."""


class TableOptions(ReadOptions, SourceOptions):
    """Options of one linked table: source, reading, references."""

    key: str | None = Field(default=None, min_length=1)
    """The column with a different value in every row, never missing; needed where other tables refer to this one. Keys
    and parent columns are identifiers, and need no line under ``columns``."""
    parent: ParentOptions | None = None
    """The table whose rows own the rows of this one. Every table but the person table and public ones has one."""
    order: str | None = Field(default=None, min_length=1)
    """The date, time or number by which the rows of one parent are ordered. null: the order of the file."""
    references: dict[str, TableName] = Field(default_factory=dict)
    """Columns that hold the key of a public table, and that table: {hospital: hospitals}. Such a column is an ordinary
    one, with a role under ``columns``; its values must be keys of the public table."""
    public: bool = False
    """Whether the table says nothing about people: it is released as it is."""
    constraints: tuple[AnyConstraint, ...] = ()
    """Constraints between columns of this table that every row of it keeps; each is a mapping with one key."""


class LinkOptions(Options):
    """Tables that belong together, and the one whose rows are the persons."""

    person: TableName
    """The person table: each row is one person, named by its key. Every other table that is not public descends from it
    over its parents."""
    tables: dict[TableName, TableOptions] = Field(min_length=1)
    """The tables by their names; no more than four below each other."""
