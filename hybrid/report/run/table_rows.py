"""Rows of the report's plain tables."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid.evaluation.measure import Evaluation, Measure

MOST_ROWS = 12
"""Rows shown of a ranking."""


@dataclass(frozen=True)
class TableRow:
    """One line of a table: names, then numbers as text."""

    names: tuple[str, ...]
    numbers: tuple[str, ...]


def synthetic_measure(evaluation: Evaluation, name: str) -> Measure | None:
    """The measure of a metric on the synthetic table.

    None if it has no value.
    """
    found = evaluation.find(name, "synthetic")
    return found.outcome if found is not None and isinstance(found.outcome, Measure) else None
