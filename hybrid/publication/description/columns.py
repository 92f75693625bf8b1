"""Columns of a released table: kinds, formats and meanings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hybrid.publication.description.options import ColumnDescription
from hybrid.table import Column, Kind, Schema

WORDS = {
    Kind.INTEGER: "whole number",
    Kind.DECIMAL: "decimal number",
    Kind.CATEGORICAL: "text",
    Kind.BOOLEAN: "yes or no",
    Kind.DATE: "date",
    Kind.DATETIME: "date and time",
}
"""Kinds of values in plain words."""


@dataclass(frozen=True)
class DescribedColumn:
    """A column of a released table; no value of a record.

    Parameters
    ----------
    name : str
        As in the file's header.
    kind : Kind
        Kind of its values.
    missing : str
        Text that stands for a missing value in a CSV file.
    padding : str
        White space before every value of a CSV file.
    decimal_mark, date_format, true, false : str
        How a CSV file writes numbers, dates (as :meth:`datetime.datetime.strftime`) and truth values.
    description, unit : str or None
        From the section ``publish``.
    """

    name: str
    kind: Kind
    missing: str = ""
    padding: str = ""
    decimal_mark: str = "."
    date_format: str = "%Y-%m-%d"
    true: str = "True"
    false: str = "False"
    description: str | None = None
    unit: str | None = None

    @classmethod
    def of(cls, column: Column) -> DescribedColumn:
        """The column of a table."""
        form = column.format
        return cls(
            column.name,
            column.kind,
            form.missing,
            form.padding,
            form.decimal_mark,
            form.date_format,
            form.true,
            form.false,
        )

    @classmethod
    def from_json(cls, content: Mapping[str, Any], said: ColumnDescription) -> DescribedColumn:
        """Read what :func:`stated_columns` wrote, with the publisher's words."""
        kind = Kind(content["kind"])
        return cls(**{**content, "kind": kind, "description": said.description, "unit": said.unit})

    @property
    def words(self) -> str:
        """Kind and unit in plain words."""
        return WORDS[self.kind] + (f", in {self.unit}" if self.unit else "")


def stated_columns(schema: Schema) -> list[dict[str, Any]]:
    """Columns of a released table for a run's manifest (JSON types)."""
    left_out = ("description", "unit")
    return [
        {key: value for key, value in asdict(DescribedColumn.of(column)).items() if key not in left_out}
        for column in schema
    ]
