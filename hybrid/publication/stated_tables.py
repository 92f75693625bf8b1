"""Released linked tables as a run's manifest states them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class StatedTable:
    """One of several linked tables; no value of the data.

    Parameters
    ----------
    name, file : str
        The table, and its file in the run and in the release.
    rows : int
        Rows of the released table.
    columns : tuple of mapping
        As :func:`hybrid.publication.description.columns.stated_columns`.
    separator, encoding : str
        Of a CSV file.
    public : bool
        Whether it is released as it was given.
    report : str or None
        File of the table's page of the report.
    key : str or None
        Column with a different value in every row.
    references : mapping of str to str
        Columns that hold the key of another table, and that table: the parent first.
    """

    name: str
    file: str
    rows: int
    columns: tuple[Mapping[str, Any], ...]
    separator: str
    encoding: str
    public: bool
    report: str | None
    key: str | None
    references: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        return asdict(self) | {"columns": [dict(column) for column in self.columns]}


def table_files(certificate: Mapping[str, Any]) -> list[str]:
    """Files of the released tables that a certificate names."""
    linked = [table["file"] for table in certificate.get("tables") or ()]
    return linked or [name for name in certificate["files"] if Path(name).stem == "synthetic"]


def stated_tables(manifest: Mapping[str, Any]) -> tuple[StatedTable, ...]:
    """Linked tables of a run; none for a single table."""
    return tuple(StatedTable(**about | {"columns": tuple(about["columns"])}) for about in manifest.get("tables") or ())
