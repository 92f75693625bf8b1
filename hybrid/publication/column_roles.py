"""Decision about the roles of a table's columns.

It states the person who decided, and the columns that are left as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hybrid.base.sentence import sentence, sentences
from hybrid.publication.verdict import Check, Verdict

RULE = "roles decided"


@dataclass(frozen=True)
class DecidedRoles:
    """Decision about the columns' roles, as a run records it."""

    decided_by: str | None = None
    date: str | None = None
    """The person, and the day (ISO 8601); None where nobody has decided."""
    undecided: tuple[str, ...] = ()
    """Columns left out of the run, since nobody has said what they are."""
    excluded: tuple[str, ...] = ()
    """Columns left out of the run by decision."""
    as_they_are: tuple[str, ...] = ()
    """Columns that are neither replaced as identifiers nor generalized as quasi-identifiers."""
    suspected: tuple[str, ...] = ()
    """Those of ``as_they_are`` whose name or values are those of identifiers."""
    repeating: tuple[str, ...] = ()
    """Identifiers with several rows per value, where nobody has said whose the rows are."""
    person: tuple[str, ...] = ()
    """Columns that name the person of a row; none where each row is another person."""
    second: tuple[str, ...] = ()
    """Columns that number a second person of each row, whom nothing counts."""

    @classmethod
    def from_json(cls, content: Mapping[str, Any] | None) -> DecidedRoles:
        """Read the content that :meth:`to_json` wrote; for a run without it, no person has decided the roles."""
        entries: dict[str, Any] = dict(content or {})
        entries |= {key: tuple(value) for key, value in entries.items() if isinstance(value, list)}
        return cls(**entries)

    def to_json(self) -> dict[str, Any]:
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    def check(self) -> Check:
        """Check that a person has decided every role and nothing contradicts the decision; else a review."""
        of = {
            key: ", ".join(getattr(self, key))
            for key in ("as_they_are", "excluded", "undecided", "suspected", "repeating", "second", "person")
        }
        left = [
            sentence("roles.as_they_are", names=of["as_they_are"]) if self.as_they_are else sentence("roles.none_left"),
            sentence("roles.left_out", names=of["excluded"]) if self.excluded else "",
        ]
        open_points = [
            sentence("roles.nobody") if self.decided_by is None else "",
            sentence("roles.undecided", names=of["undecided"]) if self.undecided else "",
            sentence("roles.suspected", names=of["suspected"]) if self.suspected else "",
            sentence("roles.repeating", names=of["repeating"]) if self.repeating else "",
            sentence("roles.second", names=of["second"], person=of["person"]) if self.second else "",
        ]
        if any(open_points):
            hint = "say what every column is and which names the person, then sign with roles: {decided_by, date}"
            return Check(RULE, "review", sentences(*open_points, *left, between="further"), hint)
        signed = sentence("roles.signed", who=str(self.decided_by), day=str(self.date))
        return Check(RULE, "pass", sentences(signed, *left, between="further"))


def with_roles(verdict: Verdict, roles: DecidedRoles) -> Verdict:
    return Verdict.of(verdict.policy, (roles.check(), *verdict.checks))
