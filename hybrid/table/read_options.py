"""Options of reading a table from any source."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from hybrid.base.options import Options
from hybrid.table.kinds.registry import Kind
from hybrid.table.schema import Role

Accepted = Literal["multiline_cells", "long_cells", "short_last_line", "total_lines", "more_than_memory"]
ALL_ACCEPTED: tuple[Accepted, ...] = tuple(one for one in get_args(Accepted) if one != "more_than_memory")
"""Options of reading what a person need not accept: a guess, or a file that was written by this program."""


class ColumnOptions(Options):
    """Role, kind and format of one column."""

    role: Role = Role.INSENSITIVE
    """identifier | quasi_identifier | sensitive | insensitive | undecided (enters no run until a person decides)."""
    kind: Kind | None = None
    """integer | decimal | categorical | boolean | date | datetime | time; inferred from the values if not given."""
    hierarchy: str | None = None
    """Path of the column's generalization hierarchy (CSV or YAML), relative to the config file."""
    format: str | None = None
    """strptime format of a column of dates or times, such as "%d.%m.%Y" or "%H:%M"; inferred if not given."""
    target: bool = False
    """Whether users will train models that predict this column."""


class ReadOptions(Options):
    """Options of reading: text conventions, roles and kinds of columns."""

    separator: str = Field(default=",", min_length=1, max_length=1)
    """The character between two fields of a CSV file."""
    decimal: Literal[".", ","] = "."
    """The decimal mark of a CSV file."""
    encoding: str = "utf-8"
    """The text encoding of a CSV file, or of a file of Stata, SPSS or SAS that does not say its own."""
    sheet: str | None = Field(default=None, min_length=1)
    """The sheet of a workbook (.xlsx); null: the first."""
    missing: tuple[str, ...] = ("",)
    """Texts that mean "missing" (surrounding spaces do not count); of a file of Stata, SPSS or SAS also codes."""
    columns: dict[str, ColumnOptions] = Field(default_factory=dict)
    """Every column that is not just insensitive. Columns of the data that are not named here are insensitive."""
    accept: tuple[Accepted, ...] = ()
    """What a CSV file may hold although it mostly comes of mispaired quotes or a cut file: cells with line breaks and
    as many separators as a record has, cells 50 times as long as usual (and over 200 characters), a last line that
    is cut short (one with too few fields is then left out), lines with a total or a note in place of a record. And of
    a Parquet file, more_than_memory: it is read although it seems to take more than is free."""
    unlisted: Literal["insensitive", "error"] = "insensitive"
    """What a column of the data that is not named under ``columns`` is."""

    def having(self, role: Role) -> tuple[str, ...]:
        """Columns that are named with a role, in their order."""
        return tuple(name for name, column in self.columns.items() if column.role is role)
