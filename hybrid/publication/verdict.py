"""Verdicts of the gate.

One check per rule and number, the worst decides.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Decision = Literal["pass", "review", "block"]
"""Verdict on a run: release, let people decide, or refuse."""
Status = Literal["pass", "review", "block", "not judged"]
"""Result of one check; not judged: there is no number to judge."""
SEVERITY: dict[Decision, int] = {"pass": 0, "review": 1, "block": 2}


@dataclass(frozen=True)
class Check:
    """One rule of the policy, applied.

    ``message`` states in plain words what was found beside what was demanded; ``hint`` what to try. Neither holds a
    record.
    """

    rule: str
    status: Status
    message: str
    hint: str = ""
    applies: bool = True
    """Whether the rule is about this run; False only where the policy names the condition under which it is not."""
    details: str = ""
    """The finding by the program's own names: metric, column, stage, value, interval."""
    metric: str | None = None
    """Metric of the released table that the check is about."""
    excess: tuple[float, float] | None = None
    """Ends of the excess over people never seen, widened so that the intervals of all rules hold together."""
    table: str | None = None
    """Table it is about, of several linked ones; None for a single table, and for what is about all of them."""

    @property
    def decision(self) -> Decision:
        """The verdict that this check alone leads to.

        A rule that applies and was not judged is a review.
        """
        if self.status == "not judged":
            return "review" if self.applies else "pass"
        return self.status


@dataclass(frozen=True)
class Verdict:
    """The worst decision of all checks, and the checks."""

    status: Decision
    policy: str
    checks: tuple[Check, ...]

    @classmethod
    def of(cls, policy: str, checks: tuple[Check, ...]) -> Verdict:
        """The verdict of some checks.

        Without any it is a review, since nothing was judged.
        """
        decisions = [check.decision for check in checks] or ["review"]
        return cls(max(decisions, key=SEVERITY.__getitem__), policy, checks)

    @property
    def open_checks(self) -> tuple[Check, ...]:
        """Checks that do not pass, the worst first."""
        failed = [check for check in self.checks if check.decision != "pass"]
        return tuple(sorted(failed, key=lambda check: -SEVERITY[check.decision]))

    def about(self, table: str) -> Verdict:
        """Part of the verdict that is about one of several linked tables."""
        return Verdict.of(self.policy, tuple(check for check in self.checks if check.table == table))

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        return asdict(self)
