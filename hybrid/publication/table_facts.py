"""Facts about the source and the released table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hybrid.table import Table

ROUNDED_TO = 10
"""Numbers of source records are published as multiples of this, so that two releases do not tell of one person."""


@dataclass(frozen=True)
class TableFacts:
    """Counts and column roles of one run; no value of the data.

    Parameters
    ----------
    records, control : int
        Records of the source, and those of them that are kept apart; rounded to tens.
    rows, columns : int
        Size of the released table.
    identifiers, generalized, as_they_are : tuple of str
        Columns that name a person; quasi-identifiers of a run that anonymizes; all others.
    """

    records: int
    control: int
    rows: int
    columns: int
    identifiers: tuple[str, ...]
    generalized: tuple[str, ...]
    as_they_are: tuple[str, ...]

    @classmethod
    def of(
        cls, source: Table, control: Table | None, released: Table, *, anonymized: bool, rows: int | None = None
    ) -> TableFacts:
        """The facts of the tables of a run.

        ``rows``: of the released table, where ``released`` is its judged sample; None: those of ``released``.
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
        )

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> TableFacts:
        """Read what :meth:`to_json` wrote."""
        entries: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in content.items()
        }
        return cls(**entries)

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
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
    """The nearest multiple of :data:`ROUNDED_TO`."""
    return round(records / ROUNDED_TO) * ROUNDED_TO
