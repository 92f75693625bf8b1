"""Facts about the source and the released tables that may be published."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hybrid.table import Table

ROUNDED_TO = 10
"""Numbers of source records are published as multiples of this, so that two releases do not tell of one person."""


@dataclass(frozen=True)
class TableFacts:
    """Counts and column roles of one run; no value of the data."""

    records: int
    control: int
    """Records of the source, and those of them that are kept apart; rounded to tens."""
    rows: int
    columns: int
    """Size of the released table."""
    identifiers: tuple[str, ...]
    generalized: tuple[str, ...]
    as_they_are: tuple[str, ...]
    """Columns that name a person; quasi-identifiers of a run that anonymizes; all others."""
    learned: int | None = None
    """Records that the generator learned from, rounded to tens; None where no generator ran, or it is not told."""

    @classmethod
    def of(
        cls,
        source: Table,
        control: Table | None,
        released: Table,
        *,
        anonymized: bool,
        rows: int | None = None,
        learned: int | None = None,
    ) -> TableFacts:
        """The facts of the tables of a run.

        ``rows``: of the released table, where ``released`` is its judged sample; None: those of ``released``.
        ``learned``: records that the generator learned from.
        """
        schema = source.schema
        generalized = schema.quasi_identifiers if anonymized else []
        named = {*generalized, *schema.identifiers}
        return cls(
            records=rounded(len(source)),
            control=0 if control is None else rounded(len(control)),
            rows=len(released) if rows is None else rows,
            columns=len(released.schema),
            identifiers=tuple(schema.identifiers),
            generalized=tuple(generalized),
            as_they_are=tuple(name for name in schema.names if name not in named),
            learned=None if learned is None else rounded(learned),
        )

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> TableFacts:
        entries: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in content.items()
        }
        return cls(**entries)

    def to_json(self) -> dict[str, Any]:
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


def public_household(found: Mapping[str, float]) -> dict[str, float]:
    """Public risk of households: counts in tens, the mean to a hundredth.

    The highest risk is rounded up to a tenth, so that it does not tell the size of the largest household.
    """
    return {
        "households": rounded(int(found["households"])),
        "risk_mean": round(found["risk_mean"], 2),
        "risk_max": math.ceil(10 * found["risk_max"] - 1e-9) / 10,
    }


def public_risk(found: Mapping[str, float]) -> dict[str, float]:
    """Public risk in the population, up to two significant digits."""
    return {key: _up(found[key]) for key in ("risk_mean", "risk_max")}


def _up(share: float) -> float:
    """The least number of two significant digits that is not below."""
    if share <= 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(share)) - 1)
    return float(f"{math.ceil(share / step - 1e-9) * step:.2g}")


def few(count: int) -> str:
    """Number of people or records in words, not exact."""
    return f"fewer than {ROUNDED_TO}" if count < ROUNDED_TO else f"about {rounded(count):,}"


def rounded(records: int) -> int:
    return round(records / ROUNDED_TO) * ROUNDED_TO


@dataclass(frozen=True)
class StatedTable:
    """One of several linked tables; no value of the data."""

    name: str
    file: str
    """The table, and its file in the run and in the release."""
    rows: int
    """Rows of the released table."""
    columns: tuple[Mapping[str, Any], ...]
    """As :func:`hybrid.publication.description.description.stated_columns`."""
    separator: str
    encoding: str
    """Of a CSV file."""
    public: bool
    """Whether it is released as it was given."""
    report: str | None
    """File of the table's page of the report."""
    key: str | None
    """Column with a different value in every row."""
    references: Mapping[str, str]
    """Columns that hold the key of another table, and that table: the parent first."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"columns": [dict(column) for column in self.columns]}


def table_files(certificate: Mapping[str, Any]) -> list[str]:
    """Files of the released tables that a certificate names."""
    linked = [table["file"] for table in certificate.get("tables") or ()]
    return linked or [name for name in certificate["files"] if Path(name).stem == "synthetic"]


def stated_tables(manifest: Mapping[str, Any]) -> tuple[StatedTable, ...]:
    """Linked tables of a run; none for a single table."""
    return tuple(StatedTable(**about | {"columns": tuple(about["columns"])}) for about in manifest.get("tables") or ())
