"""Findings of checks: ok, note or error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hybrid.base.errors import Problem

Level = Literal["ok", "note", "error"]


@dataclass(frozen=True)
class Finding:
    """One line of ``hybrid check``.

    Parameters
    ----------
    level : "ok", "note" or "error"
        With an error nothing can run; a note is for the user to decide.
    message, hint, values : str
        As in :class:`hybrid.base.errors.Problem`: no cell values but in ``values``.
    """

    level: Level
    message: str
    hint: str = ""
    values: str = ""

    @classmethod
    def error(cls, problem: Problem) -> Finding:
        """The finding for a problem of an exception."""
        return cls("error", problem.message, problem.hint, problem.values)
