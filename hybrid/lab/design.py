"""Plan of a laboratory, as its files and its page describe it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hybrid.base.options import Options
from hybrid.lab.risk import RiskModel


class Design(Protocol):
    """Plan of a laboratory, whether its tables are made or given."""

    @property
    def name(self) -> str:
        """Title."""

    @property
    def scale(self) -> str | None:
        """Name of the budget."""

    @property
    def seeds(self) -> Sequence[int]:
        """One per repetition."""

    @property
    def null_seeds(self) -> int:
        """Number of further trials without a leak."""

    @property
    def risk_models(self) -> Mapping[str, tuple[RiskModel, Options]]:
        """Kinds of leak that are tried."""

    def records(self, table: str) -> int | None:
        """Records of a table with a leak; None where that is not known."""


@dataclass(frozen=True)
class GivenTable:
    """A table from elsewhere, into which leaks were planted."""

    rows: Mapping[str, int]
    """Rows that were used of train, control (where it is given) and synthetic."""
    excesses: Mapping[str, tuple[float, float, float]]
    """Excess of each metric on the table as it is, with its interval; empty without control records."""
    not_planted: Mapping[str, str] = field(default_factory=dict)
    """Why kinds of leak could not be planted."""
    not_computable: Mapping[str, str] = field(default_factory=dict)
    """Why metrics gave no number."""
    notes: Sequence[str] = ()
    """On the files."""

    @property
    def has_control(self) -> bool:
        """True if control records were given."""
        return "control" in self.rows
