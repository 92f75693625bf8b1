"""Errors for users, one class per kind of fault, and findings of checks.

The text of every error carries file names, column names, counts and rules, and **never a cell value**: it
travels into logs and into Prefect's database. Values that help to fix it (the uncovered category, the
unparsable date) go into :attr:`Problem.values`, which only the interactive command line prints.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True)
class Problem:
    """One fault and its remedy."""

    message: str
    """What was found, where, and what was expected. No cell values."""
    hint: str = ""
    """What the user can do about it. No cell values. Empty if there is nothing to add."""
    values: str = ""
    """Cell values that help to fix it. Private: printed on an interactive terminal only."""

    def __str__(self) -> str:
        return f"{self.message}  hint: {self.hint}" if self.hint else self.message


class HybridError(Exception):
    """Base class of all errors that this package raises on purpose.

    ``problems`` are everything that is wrong, all at once. A plain string is one, with ``hint`` and ``values`` as in
    :class:`Problem`.
    """

    exit_code: ClassVar[int] = 1
    title: ClassVar[str] = "error"
    page: ClassVar[str] = ""
    """Page of the documentation that explains errors of this class, below ``docs/``; empty if there is none."""

    def __init__(self, problems: str | Problem | Iterable[Problem], *, hint: str = "", values: str = "") -> None:
        if isinstance(problems, str):
            problems = Problem(problems, hint, values)
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type[HybridError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


class ConfigError(HybridError):
    """The configuration asks for something that does not exist or contradicts itself."""

    exit_code = 2
    title = "config"
    page = "start/your-table.md"


class DataError(HybridError):
    """The input table cannot be used as it is."""

    exit_code = 2
    title = "data"
    page = "start/your-table.md"


class UnreachableError(DataError):
    """A storage or a database cannot be reached at the moment."""


class DriftError(DataError):
    """The input table differs from the one last released beyond the limits."""

    title = "drift"
    page = "guides/nights.md"


class HierarchyError(HybridError):
    """A generalization hierarchy is malformed or does not cover the data."""

    exit_code = 2
    title = "hierarchy"
    page = "guides/hierarchies.md"


class InfeasibleError(HybridError):
    """No generalization meets the privacy models within the suppression limit."""

    exit_code = 2
    title = "infeasible"
    page = "concepts/anonymization.md"


class MissingExtraError(HybridError):
    """An optional package is needed and not installed."""

    exit_code = 2
    title = "not installed"
    page = "start/install.md"


@contextmanager
def needs_extra(extra: str, message: str) -> Iterator[None]:
    """Name the extra to install where the block imports what is not there."""
    try:
        yield
    except ImportError:
        raise MissingExtraError(message, hint=f"pip install 'hybrid-release[{extra}]'") from None


class OutputError(HybridError):
    """A result could not be written; earlier results are unchanged."""

    title = "output"


class VerificationError(HybridError):
    """A result fails its verification. The run stops; nothing is released."""

    title = "verification"
    page = "guides/verify.md"


class GeneratorError(HybridError):
    """A generator could not be trained or could not sample."""

    title = "generator"
    page = "guides/generators.md"


class GateRefused(HybridError):
    """The policy refuses the release of this table."""

    exit_code = 3
    title = "refused"
    page = "concepts/verdict.md"


class ApprovalNeeded(GateRefused):
    """The policy asks for a review that too few people have accepted."""

    exit_code = 4
    title = "waiting"
    page = "guides/releases.md"


class NotReleasableWarning(UserWarning):
    """A table was made that may not be shared: its verdict is none, or no pass, or its roles are guesses."""


def place_of(error: BaseException) -> str:
    """Module and line of this package that raised an error.

    Nothing else may be said about an error whose text is unknown, since it may hold cell values.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "hybrid" in frame.filename]
    if not frames:
        return "a library"
    parts = frames[-1].filename.replace("\\", "/").rpartition("/hybrid/")[2]
    return f"hybrid/{parts}:{frames[-1].lineno}"


Level = Literal["ok", "note", "error"]


def refuse(problems: Iterable[Problem], error: type[HybridError] = ConfigError) -> None:
    """Raise all problems at once, if there are any."""
    found = list(problems)
    if found:
        raise error(found)


@dataclass(frozen=True)
class Finding:
    """One line of ``hybrid check``."""

    level: Level
    """With an error nothing can run; a note is for the user to decide."""
    message: str
    hint: str = ""
    values: str = ""
    """As in :class:`hybrid.base.errors.Problem`: no cell values but in ``values``."""

    @classmethod
    def error(cls, problem: Problem) -> Finding:
        return cls("error", problem.message, problem.hint, problem.values)
