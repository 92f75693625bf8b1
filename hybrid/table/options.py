"""Options of reading and splitting a table."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hybrid.options import Options
from hybrid.table.schema import Kind, Role


class ColumnOptions(Options):
    """What one column is."""

    role: Role = Role.INSENSITIVE
    """identifier | quasi_identifier | sensitive | insensitive."""
    kind: Kind | None = None
    """integer | decimal | categorical | boolean | date | datetime; inferred from the values if not given."""
    hierarchy: str | None = None
    """Path of the column's generalization hierarchy (CSV or YAML), relative to the config file."""
    format: str | None = None
    """strptime format of a date or datetime column, such as "%d.%m.%Y"; inferred if not given."""
    target: bool = False
    """Whether users will train models that predict this column."""


class DataOptions(Options):
    """Where the table is and how to read it."""

    path: str
    """CSV (.csv, .tsv, .txt, .data) or Parquet (.parquet, .pq), relative to the config file."""
    separator: str = Field(default=",", min_length=1, max_length=1)
    """The character between two fields of a CSV file."""
    decimal: Literal[".", ","] = "."
    """The decimal mark of a CSV file."""
    encoding: str = "utf-8"
    """The text encoding of a CSV file."""
    missing: tuple[str, ...] = ("",)
    """Texts that mean "missing" (surrounding spaces do not count)."""
    columns: dict[str, ColumnOptions] = Field(default_factory=dict)
    """Every column that is not just insensitive. Columns of the data that are not named here are insensitive."""
    unlisted: Literal["insensitive", "error"] = "insensitive"
    """What a column of the data that is not named under ``columns`` is."""


class SplitOptions(Options):
    """The control set: records that no generator sees, against which every attack is measured."""

    control: float = Field(default=0.3, ge=0, lt=1)
    """Share of records (0..1) kept as control. 0: none; metrics that need one are "not computable"."""
    key: str | None = None
    """A column whose equal values stay on one side, so that one person is never in both."""
