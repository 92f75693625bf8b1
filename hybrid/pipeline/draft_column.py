"""Columns of a draft, and the line above a column that asks for a review."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import ConfigError
from hybrid.base.yaml_document import YamlDocument
from hybrid.table import Role

if TYPE_CHECKING:
    from hybrid.pipeline.draft import Draft

_REVIEW = "# review: "


class DraftColumns(dict[str, "DraftColumn"]):
    """Columns by name; an unknown one is an error with the near ones, and none is replaced."""

    def __setitem__(self, name: str, value: Any) -> None:
        raise ConfigError("a column is changed by its attributes", hint=f'draft.columns[{name!r}].role = "sensitive"')

    def __missing__(self, name: str) -> DraftColumn:
        near = difflib.get_close_matches(str(name), list(self), n=1)
        raise UnknownColumn(
            f"there is no column {name!r}", hint=f"did you mean {near[0]!r}?" if near else f"one of: {', '.join(self)}"
        )


class UnknownColumn(ConfigError, KeyError):
    """A column that the configuration does not list."""

    __str__ = ConfigError.__str__


class DraftColumn:
    """Column of a draft; to set an attribute changes the draft.

    ``name`` is as the draft calls it, ``path`` has the keys down to its line.
    """

    def __init__(self, draft: Draft, name: str, path: tuple[str, ...]) -> None:
        self.draft, self.name, self.path = draft, name, path

    def __setattr__(self, name: str, value: Any) -> None:
        known = [one for one, found in vars(DraftColumn).items() if isinstance(found, property) and found.fset]
        if name not in (*known, "draft", "name", "path"):
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"one of: {', '.join(known)}"
            raise ConfigError(f"a column has no {name!r} that can be set", hint=hint)
        super().__setattr__(name, value)

    @property
    def table(self) -> str | None:
        """Name of its linked table; None: the only table."""
        return self.path[1] if self.path[0] == "tables" else None

    @property
    def role(self) -> str:
        """One of identifier, quasi_identifier, sensitive, insensitive, weight, undecided, excluded.

        A quasi-identifier of a guessed draft gets a hierarchy to start from. What :func:`hybrid.guess` declares of
        columns that belong together goes with a column that is no longer learned.
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
        if not Role(role).is_learned:
            document = self._without_constraints(document)
        self.draft.keep(without_review(document, self.path))

    def _without_constraints(self, document: YamlDocument) -> YamlDocument:
        section = ("constraints",) if self.table is None else ("tables", self.table, "constraints")
        own = self.path[-1]
        declared = document.get(section) or []
        kept = [one for one in declared if all(own not in one.get(kind, ()) for kind in ("le", "combinations"))]
        if len(kept) == len(declared):
            return document
        return document.with_value(section, kept) if kept else document.without(section)

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
        """True if the role is decided: the line above the column does not ask for a review."""
        marked = any(line.strip().startswith(_REVIEW) for line in _comment(self.draft.document, self.path))
        return not marked and self.role != Role.UNDECIDED

    def accept(self) -> None:
        """Decide that the role is right."""
        if self.role == Role.UNDECIDED:
            raise ConfigError(f"{self.name!r} is undecided", hint=f"set its role: {', '.join(Role)}")
        self.role = self.role

    def _get(self, key: str) -> Any:
        return self.draft.document.get(self._path(key))

    def _path(self, key: str) -> tuple[str, ...]:
        return (*self.path, key)


def _comment(document: YamlDocument, column: tuple[str, ...]) -> Iterator[str]:
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
