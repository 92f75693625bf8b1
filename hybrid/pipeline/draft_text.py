"""Base class of drafts: a configuration edited key by key, and the line above a column that asks for a review."""

from __future__ import annotations

import datetime
import difflib
from abc import abstractmethod
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hybrid.base.errors import ConfigError, HybridError, Problem
from hybrid.base.yaml_document import YamlDocument
from hybrid.pipeline.config_file import read_config_file
from hybrid.table import Role

if TYPE_CHECKING:
    import pandas as pd


_SECTION = ("data", "columns")


class DraftText:
    """Text of a configuration; every change can be undone.

    Keys are dotted (``draft["anonymize.k"] = 10``), or tuples where a new name holds a dot
    (``draft["data", "columns", "a.b", "role"]``). Comments and everything that was not changed stay as they are.

    Parameters
    ----------
    document : YamlDocument
        Text of the configuration.
    folder : Path
        Where its relative paths start.
    """

    notes: tuple[str, ...] = ()
    """What to think about first; no cell values."""

    def __init__(self, document: YamlDocument, folder: Path = Path()) -> None:
        self._history = [document]
        self.folder = folder

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read a configuration, to edit it.

        Raises
        ------
        ConfigError
            The file is missing, or no YAML.
        """
        file = Path(path)
        read_config_file(file)
        return cls(YamlDocument(file.read_text(encoding="utf-8-sig"), str(file)), file.parent)

    @property
    def document(self) -> YamlDocument:
        """The text as it is now."""
        return self._history[-1]

    @property
    def text(self) -> str:
        """The configuration as YAML, with its comments."""
        return self.document.text

    @property
    def path(self) -> Path:
        """The file that the text is of."""
        return self.folder / Path(self.document.name).name

    @property
    def columns(self) -> dict[str, DraftColumn]:
        """Columns that the configuration lists, by name, in its order."""
        return _Columns({name: DraftColumn(self, name, path) for name, path in self._listed()})

    def _listed(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Names of the columns, and where the text has them."""
        for name in self.document.get(_SECTION) or {}:
            yield name, (*_SECTION, name)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Columns whose role is still a guess, or is undecided."""
        return tuple(name for name, column in self.columns.items() if not column.is_decided)

    def described_for(self, name: str) -> str | None:  # noqa: ARG002 - drafts with a table at hand describe one
        """Path of a new hierarchy; None where none can be made."""
        return None

    def __getitem__(self, key: str | tuple[str, ...]) -> Any:
        """Value of a key in the text; None if not set."""
        return self.document.get(self._path(key))

    def __setitem__(self, key: str | tuple[str, ...], value: Any) -> None:
        """Set a key; sections on the way to it are made.

        Raises
        ------
        ConfigError
            There is no such key, or the value is none that it can have. What contradicts another key is found by
            ``config`` alone, so that keys can be set one after the other.
        """
        path = self._path(key)
        changed = self.document.with_value(path, value)
        problems = list(self._own_problems(changed, path))
        if problems:
            raise ConfigError(problems)
        self.keep(changed)

    def _own_problems(self, document: YamlDocument, path: tuple[str, ...]) -> Iterator[Problem]:
        """Problems of a text at one key, or below it."""
        before = self._history[-1]
        self._history[-1] = document
        try:
            _ = self.config
        except HybridError as error:
            where = f": {'.'.join(path)}"
            yield from (
                one for one in error.problems if f"{where}: " in f"{one.message}: " or f"{where}." in one.message
            )
        finally:
            self._history[-1] = before

    @property
    @abstractmethod
    def config(self) -> Any:
        """The checked configuration.

        Raises
        ------
        ConfigError
            With all problems at once.
        """

    def __delitem__(self, key: str | tuple[str, ...]) -> None:
        """Remove a key, so that its default holds."""
        self.keep(self.document.without(self._path(key)))

    def sign(self, name: str, date: datetime.date | None = None) -> None:
        """State who has decided the roles of all columns.

        The certificate of a release shows the name.

        Parameters
        ----------
        name : str
            Of the person who has read every line under ``data.columns``.
        date : datetime.date, optional
            Day of the decision; by default today.

        Raises
        ------
        ConfigError
            A role is undecided, or the name is empty.
        """
        open_ = [column for column, one in self.columns.items() if one.role == Role.UNDECIDED]
        if open_:
            raise ConfigError(
                f"undecided columns: {', '.join(open_)}", hint='for each: draft.columns["NAME"].role = "insensitive"'
            )
        if not name.strip():
            raise ConfigError("roles.decided_by: the name is empty", hint="say who decided")
        day = datetime.date.today() if date is None else date
        document = self.document
        for column in self.columns.values():
            document = without_review(document, column.path)
        self.keep(document.with_value(("roles",), {"decided_by": name.strip(), "date": day}))

    def keep(self, document: YamlDocument) -> None:
        """Take a changed text; the one before can be had again."""
        self._history.append(document)

    def undo(self) -> bool:
        """Take the last change back; False if there is none."""
        if len(self._history) == 1:
            return False
        self._history.pop()
        return True

    @property
    def difference(self) -> str:
        """Unified difference to the first text; empty if none."""
        return self._history[0].difference(self.document)

    def _path(self, key: str | tuple[str, ...]) -> tuple[str, ...]:
        """Keys of a dotted key; names with dots that the text has are found."""
        if isinstance(key, tuple):
            return key
        at: Any = self.document.content
        parts, path = key.split("."), []
        while parts:
            known = at if isinstance(at, dict) else {}
            n = next((n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in known), 1)
            path.append(".".join(parts[:n]))
            at, parts = known.get(path[-1]), parts[n:]
        return tuple(path)

    def to_frame(self) -> pd.DataFrame:
        """Columns as a DataFrame, one row each; no cell values."""
        import pandas as pd

        rows = [
            {
                "column": name,
                "role": one.role,
                "kind": one.kind,
                "hierarchy": one.hierarchy,
                "target": one.target,
                "decided": one.is_decided,
                "reason": one.reason,
            }
            for name, one in self.columns.items()
        ]
        return pd.DataFrame(rows, columns=["column", "role", "kind", "hierarchy", "target", "decided", "reason"])

    def __repr__(self) -> str:
        lines = [f"Draft of {self.document.name}: {len(self.columns)} columns, {len(self.undecided)} to decide"]
        width = max((len(name) for name in self.columns), default=0)
        lines += [
            f"  {name:<{width}}  {one.role:<16}  {'' if one.is_decided else 'review: '}{one.reason}".rstrip()
            for name, one in self.columns.items()
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(one.role)}</td><td>{escape(one.kind or '')}</td>"
            f"<td>{'' if one.is_decided else 'review: '}{escape(one.reason)}</td></tr>"
            for name, one in self.columns.items()
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        head = "<tr><th>column</th><th>role</th><th>kind</th><th>why</th></tr>"
        return f"<table>{head}{cells}</table><ul>{notes}</ul>"


class _Columns(dict[str, "DraftColumn"]):
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

    def __setattr__(self, name: str, value: Any) -> None:
        known = [one for one, found in vars(DraftColumn).items() if isinstance(found, property) and found.fset]
        if name not in (*known, "draft", "name", "path"):
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"one of: {', '.join(known)}"
            raise ConfigError(f"a column has no {name!r} that can be set", hint=hint)
        super().__setattr__(name, value)

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
        """True if the role is decided: the line above the column does not ask for a review."""
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
