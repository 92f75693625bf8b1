"""Privacy statement of one mechanism: its conditions and its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybrid.pipeline.amplification import Guarantee

NO_FILTER = "no row is left out for its distance to a training record"
ONE_ROW = "every person has one record (data.max_rows: 1 draws one of several)"
"""Condition of every statement about records that is to hold for persons."""
NOT_COUNTED = "no condition on drawn rows is tried by counting the records that meet it"
"""Condition of every statement, since such a count decides whether anything is drawn."""


@dataclass(frozen=True)
class Condition:
    """One condition of a statement, and whether a configuration meets it."""

    text: str
    met: bool


@dataclass(frozen=True)
class Explanation:
    """Privacy statement of a configuration, for ``hybrid explain`` and the certificate.

    Parameters
    ----------
    holds : bool
        Whether all conditions are met.
    conditions : tuple of Condition
        All of them.
    guarantees : tuple of Guarantee
        Empty unless it holds.
    text : str
        A few honest sentences.
    of_values : bool
        Whether it is about exact values below known labels alone, and says nothing of who is in the table.
    """

    holds: bool
    conditions: tuple[Condition, ...]
    guarantees: tuple[Guarantee, ...]
    text: str
    of_values: bool = False

    @property
    def is_private(self) -> bool:
        """True if it claims differential privacy of the synthetic table."""
        return self.holds and not self.of_values


def conditions_of(checks: Mapping[str, bool]) -> tuple[Condition, ...]:
    """Conditions by their texts, in order."""
    return tuple(Condition(text, met) for text, met in checks.items())


def unmet(conditions: Sequence[Condition]) -> list[str]:
    """Texts of the conditions that are not met."""
    return [condition.text for condition in conditions if not condition.met]


def together(explanations: Sequence[Explanation]) -> Explanation:
    """Combined statement of several mechanisms of one run.

    One of them may hold although another does not.
    """
    return Explanation(
        any(one.is_private for one in explanations),
        tuple(condition for one in explanations for condition in one.conditions),
        tuple(point for one in explanations for point in one.guarantees),
        " ".join(one.text for one in explanations),
    )


def not_so(columns: Sequence[str]) -> str:
    """Remark that names the columns of an unmet condition."""
    return f" (not so: {', '.join(map(repr, columns))})" if columns else ""
