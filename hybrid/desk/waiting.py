"""Progress of a process: its stage among all, and the time that is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Told = Sequence[tuple[float, Mapping[str, Any]]]
"""Progress reports with their times, in seconds since 1970: ``step``, ``done`` and ``total``."""
_SLOWEST, _FASTEST = 20.0, 0.05
"""Bounds of the ratio of seconds to expected seconds that a stage hands on to later ones."""
_SOME = 0.05
"""Share of a stage from which its own pace says more than the forecast."""


@dataclass(frozen=True)
class Waiting:
    """Stage of a process, and seconds."""

    number: int
    of: int
    """The stage among all, from 1; 0 of 0 where they are not known."""
    stage: str
    """Its name; empty before the first."""
    seconds: float
    """So far."""
    left: float | None
    """Expected; None where nothing tells."""

    @property
    def share(self) -> float:
        """Share that is done, 0..1: of the time where that is known, else of the stages."""
        if self.left is not None and self.seconds + self.left > 0:
            return self.seconds / (self.seconds + self.left)
        return max(self.number - 1, 0) / self.of if self.of else 0.0


def waiting_of(told: Told, steps: Sequence[str], expected: Mapping[str, float], began: float, now: float) -> Waiting:
    """Progress of a process by its reports.

    Its stage is the one that it named last. The seconds left of that are those so far times (1 - f) / f, where f is the
    mean share that its parts report, or else what the forecast leaves. Later stages take what was expected, times the
    pace of the present one.

    Parameters
    ----------
    expected : mapping of str to float
        Seconds of some of them.
    began, now : float
        Seconds since 1970.
    """
    at, since, parts = -1, {-1: began}, dict[str, float]()
    for when, one in told:
        found = _stage(str(one["step"]), steps)
        if found not in (at, None):
            at, parts = found, {}
        since.setdefault(at, when)
        if one.get("total"):
            parts[str(one["step"]).partition(": ")[0]] = min(one["done"] / one["total"], 1.0)
    stage, seconds = steps[at] if at >= 0 else "", max(now - began, 0.0)
    here, foreseen = max(now - since[at], 0.0), expected.get(stage, 0.0)
    share = sum(parts.values()) / len(parts) if parts else 0.0
    left = here * (1 - share) / share if share >= _SOME else max(foreseen - here, 0.0)
    pace = min(max((here + left) / foreseen, _FASTEST), _SLOWEST) if foreseen else 1.0
    later = pace * sum(expected.get(one, 0.0) for one in steps[at + 1 :])
    return Waiting(at + 1, len(steps), stage, seconds, left + later if expected else None)


def _stage(step: str, steps: Sequence[str]) -> int | None:
    """Place of the stage that a step belongs to; None for a part of one that does not name it."""
    found = [at for at, name in enumerate(steps) if step == name or step.startswith((f"{name} ", f"{name}-"))]
    return found[-1] if found else None
