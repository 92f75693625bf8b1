"""Options of reading and splitting a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from hybrid.base.options import Options
from hybrid.table.files import holds_credentials
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


class SqlOptions(Options):
    """A table or a query of a database. Where it is and who may read it stands in the environment alone."""

    url_env: str
    """The environment variable that holds the database's URL, such as
    postgresql+psycopg://user:password@host/database."""
    table: str | None = None
    """The table or view, with its schema if it is not the default one: "clinic.admissions"."""
    query: str | None = None
    """A SELECT instead of a table."""

    @model_validator(mode="before")
    @classmethod
    def _no_url(cls, content: Any) -> Any:
        if isinstance(content, Mapping) and "url" in content:
            raise ValueError("a URL holds credentials, which no config may: set an environment variable, and url_env")
        return content

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.url_env) is None:
            raise ValueError("url_env is the name of an environment variable, not the URL itself")
        if (self.table is None) == (self.query is None):
            raise ValueError("set table or query, and not both")
        return self


class DataOptions(Options):
    """Where the table is and how to read it."""

    path: str = ""
    """CSV (.csv, .tsv, .txt, .data) or Parquet (.parquet, .pq), relative to the config file, or a URL (s3://...)."""
    sql: SqlOptions | None = None
    """A database instead of a file."""
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

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if bool(self.path) == (self.sql is not None):
            raise ValueError("set path or sql, and not both")
        if holds_credentials(self.path):
            raise ValueError("path holds a user name or a password: leave them out, and set them in the environment")
        return self


class SplitOptions(Options):
    """The control set: records that no generator sees, against which every attack is measured."""

    control: float = Field(default=0.3, ge=0, lt=1)
    """Share of records (0..1) kept as control. 0: none; metrics that need one are "not computable"."""
    rows: int | None = Field(default=None, ge=2)
    """Use no more than so many records, drawn at random: a budget for trying things out."""
    key: str | None = None
    """A column whose equal values stay on one side, so that one person is never in both."""
    stable: bool = False
    """Whether a record keeps its side when others come and go: for releases night after night, whose sum would
    give more away if everybody changed sides. Records are told apart by ``key``, else by the identifiers, else by
    all columns."""
