"""Verdict of the gate: checks and their worst status."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["pass", "review", "block"]
SEVERITY: dict[Status, int] = {"pass": 0, "review": 1, "block": 2}


@dataclass(frozen=True)
class Check:
    """One rule of the policy, applied.

    ``message`` states what was found beside what was demanded; ``hint`` what to try. Neither holds a record.
    """

    rule: str
    status: Status
    message: str
    hint: str = ""


@dataclass(frozen=True)
class Verdict:
    """The worst status of all checks, and the checks."""

    status: Status
    policy: str
    checks: tuple[Check, ...]

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        return asdict(self)
