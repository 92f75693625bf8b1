"""Column of a draft, and the line above it.

That line asks for a review until the role is decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import ConfigError
from hybrid.base.yaml_document import YamlDocument
from hybrid.table import Role

if TYPE_CHECKING:
    from hybrid.pipeline.draft_text import DraftText

_REVIEW = "# review: "


class DraftColumn:
    """Column of a draft; to set an attribute changes the draft.

    Parameters
    ----------
    draft : DraftText
        Where it is listed.
    name : str
        As the draft calls it.
    path : tuple of str
        Keys down to its line.
    """

    def __init__(self, draft: DraftText, name: str, path: tuple[str, ...]) -> None:
        self.draft, self.name, self.path = draft, name, path

    @property
    def role(self) -> str:
        """One of identifier, quasi_identifier, sensitive, insensitive, weight, undecided, excluded.

        A quasi-identifier of a guessed draft gets a hierarchy to start from.
        """
        return str(self._get("role") or Role.INSENSITIVE)

    @role.setter
    def role(self, role: str) -> None:
        if role not in list(Role):
            raise ConfigError(f"{role!r} is no role", hint=f"one of: {', '.join(Role)}")
        document = self.draft.document.with_value(self._path("role"), str(role))
        if role == Role.QUASI_IDENTIFIER and self.hierarchy is None:
            path = self.draft.described_for(self.name)
            document = document if path is None else document.with_value(self._path("hierarchy"), path)
        self.draft.keep(without_review(document, self.path))

    @property
    def kind(self) -> str | None:
        """Kind of the values; None: inferred."""
        found = self._get("kind")
        return None if found is None else str(found)

    @kind.setter
    def kind(self, kind: str) -> None:
        self.draft[self._path("kind")] = kind

    def forget_format(self) -> None:
        """Remove the format of dates, so that it is inferred."""
        if self._get("format") is not None:
            del self.draft[self._path("format")]

    @property
    def hierarchy(self) -> str | None:
        """Path of the hierarchy; None without one."""
        found = self._get("hierarchy")
        return None if found is None else str(found)

    @hierarchy.setter
    def hierarchy(self, path: str) -> None:
        self.draft[self._path("hierarchy")] = path

    @property
    def target(self) -> bool:
        """True if users will train models that predict the column."""
        return bool(self._get("target"))

    @target.setter
    def target(self, target: bool) -> None:
        self.draft[self._path("target")] = bool(target)

    @property
    def reason(self) -> str:
        """Reason for the role; empty if the text does not say."""
        return next(iter(_comment(self.draft.document, self.path)), "").strip().removeprefix(_REVIEW).removeprefix("# ")

    @property
    def is_decided(self) -> bool:
        """True if the role is decided.

        The line above the column does not ask for a review.
        """
        marked = any(line.strip().startswith(_REVIEW) for line in _comment(self.draft.document, self.path))
        return not marked and self.role != Role.UNDECIDED

    def accept(self) -> None:
        """Decide that the role is right.

        Raises
        ------
        ConfigError
            It is undecided.
        """
        if self.role == Role.UNDECIDED:
            raise ConfigError(f"{self.name!r} is undecided", hint=f"set its role: {', '.join(Role)}")
        self.role = self.role

    def _get(self, key: str) -> Any:
        return self.draft.document.get(self._path(key))

    def _path(self, key: str) -> tuple[str, ...]:
        return (*self.path, key)


def _comment(document: YamlDocument, column: tuple[str, ...]) -> Iterator[str]:
    """The line above a column, if it is a comment."""
    at = document.line_of(column)
    lines = document.text.splitlines()
    if at and lines[at - 1].strip().startswith("#"):
        yield lines[at - 1]


def without_review(document: YamlDocument, column: tuple[str, ...]) -> YamlDocument:
    """The document with the mark taken from the line above a column."""
    at = document.line_of(column)
    lines = document.text.splitlines(keepends=True)
    if at and lines[at - 1].strip().startswith(_REVIEW):
        lines[at - 1] = lines[at - 1].replace(_REVIEW, "# ", 1)
    return YamlDocument("".join(lines), document.name)
