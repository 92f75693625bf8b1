"""Results of the protection of values, in aggregates only."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

BELOW_LABELS = "below labels"
"""Method of columns that are generalized with their true values, and protected where values are restored."""


@dataclass(frozen=True)
class ColumnProtection:
    """Protection of one column."""

    column: str
    method: str
    """keep, sample, other, missing; draw: numbers and dates, coded at both ends and drawn anew where rare; below
    labels: generalized as they are, and rare values written as groups below the same label when they are restored."""
    values: int
    """Distinct values before."""
    rare: int | None
    """How many of them too few people held; None: some, but fewer than `min_count`."""
    changed: float | None
    """Share of the records whose value is another one now, 0..1; None: some, but of fewer than `min_count` records."""

    @property
    def sentence(self) -> str:
        """The protection in one sentence."""
        if self.method == "keep":
            return f"{self.column}: left as it is by decision, with all its {self.values:,} values"
        if self.rare == 0 and self.changed == 0:
            return f"{self.column}: each of its {self.values:,} values has enough holders; nothing was changed"
        if self.method == BELOW_LABELS:
            rare = "a few" if self.rare is None else f"{self.rare:,}"
            return f"{self.column}: generalized as it is; {rare} of {self.values:,} values were rare, and become groups"
        rare = "a few" if self.rare is None else f"{self.rare:,}"
        changed = "very few" if self.changed is None else f"{100 * self.changed:.1f} %"
        return f"{self.column}: {rare} of {self.values:,} values were rare, {changed} of the records changed"


@dataclass(frozen=True)
class Protection:
    """Protection of a table: the content of ``protection.json``."""

    min_count: int
    """People who must hold a value so that it stays."""
    columns: tuple[ColumnProtection, ...]

    @property
    def kept(self) -> list[str]:
        """Columns that were left as they are by decision."""
        return [column.column for column in self.columns if column.method == "keep"]

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        return asdict(self)
