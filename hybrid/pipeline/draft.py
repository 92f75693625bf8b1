"""Draft of a configuration, edited key by key."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hybrid.base.atomic import write_text
from hybrid.base.errors import ConfigError, HybridError, Problem, refuse
from hybrid.base.options import Options
from hybrid.base.yaml_document import YamlDocument
from hybrid.hierarchy.build import Rows
from hybrid.hierarchy.files import text_of_rows
from hybrid.hierarchy.load import HierarchySource
from hybrid.hierarchy.spec import HierarchySpec
from hybrid.pipeline.config import RunConfig, configured
from hybrid.pipeline.config_file import read_config_file
from hybrid.pipeline.draft_column import DraftColumn, DraftColumns, without_review
from hybrid.pipeline.links import is_linked
from hybrid.pipeline.starter import GuessedConfig, guess_config, guess_frame
from hybrid.pipeline.starter.columns import guess_hierarchy, hierarchy_path, in_memory, write_hierarchies
from hybrid.pipeline.starter.config_text import refuse_existing
from hybrid.table import Role
from hybrid.table.typed_table import DATA_FRAME, Frame, is_frame

if TYPE_CHECKING:
    import pandas as pd

_SECTION = ("data", "columns")


class Draft:
    """Editable configuration of one table, or of linked tables; every change can be undone.

    Keys are dotted (``draft["anonymize.k"] = 10``), or tuples where a new name holds a dot
    (``draft["data", "columns", "a.b", "role"]``). Comments and everything that was not changed stay as they are.
    Columns of linked tables are called TABLE.COLUMN; keys and parent columns that the configuration does not list are
    none of them.

    Parameters
    ----------
    document : YamlDocument
        Text of the configuration.
    folder : Path
        Where its relative paths start.
    guessed : GuessedConfig, optional
        What the text was guessed from. Holds the table: private.
    """

    def __init__(self, document: YamlDocument, folder: Path = Path(), guessed: GuessedConfig | None = None) -> None:
        self._history = [document]
        self.folder = folder
        self._guessed = guessed
        self._described: dict[str, HierarchySpec] = {} if guessed is None else guessed.described
        self._in_memory: dict[str, HierarchySource] = {}
        self._given: dict[str, Rows] = {}
        self.notes = () if guessed is None else guessed.notes
        """What to think about first; no cell values."""
        self.source: Frame | None = None
        """Table in memory that it was guessed from: private."""

    @property
    def config(self) -> RunConfig:
        """The checked configuration.

        Raises
        ------
        ConfigError
            With all problems at once.
        """
        config = configured(self.document.content, {}, self.path)
        return config if self._guessed is None else config.with_hierarchies(self._hierarchies(config, self._guessed))

    def write(self, path: Path | str, force: bool = False) -> tuple[Path, ...]:
        """Write the configuration, and the guessed hierarchies that it names.

        Parameters
        ----------
        path : Path or str
            Where the configuration goes.
        force : bool
            Replace files that exist.

        Returns
        -------
        tuple of Path
            What was written; the configuration last.

        Raises
        ------
        ConfigError
            A file exists and ``force`` is not set, or the draft is wrong; nothing was written.
        OutputError
            The folder is not writable or the disk is full.
        """
        target = Path(path)
        named = {name: column.hierarchy for name, column in self.config.data.columns.items()}
        specs = {name: self._described[path] for name, path in named.items() if path in self._described}
        paths = {name: target.parent / str(named[name]) for name in specs}
        guessed, document = self._guessed, self.document
        if guessed is not None and guessed.data is not None:
            document = document.with_value(("data", "path"), os.path.relpath(guessed.data, target.parent))
        given = {target.parent / path: rows for path, rows in self._given.items() if path in named.values()}
        refuse_existing((*paths.values(), *given, target), force)
        if guessed is not None:
            columns = [one for one in guessed.columns if one.column.name in specs]
            described = [replace(one, hierarchy=specs[one.column.name]) for one in columns]
            write_hierarchies(guessed.table, described, paths)
        for file, rows in given.items():
            write_text(file, text_of_rows(rows), private=True)
        write_text(target, document.text)
        return (*paths.values(), *given, target)

    def _hierarchies(self, config: RunConfig, guessed: GuessedConfig) -> dict[str, HierarchySource]:
        for name, column in config.data.columns.items():
            path = column.hierarchy
            if path in self._described and path not in self._in_memory and name in guessed.table.schema:
                described = self._described[path], guessed.table.schema[name], guessed.table.frame[name]
                self._in_memory[path] = in_memory(*described)
        return self._in_memory

    def describe(self, name: str, source: HierarchySource) -> None:
        """Give a column of the table a hierarchy in memory.

        Parameters
        ----------
        name : str
            The column.
        source : Path or HierarchySpec or rows of labels
            A file, a description, or a row per value: the value, then its label on every level.
        """
        own = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
        suffix = "yaml" if isinstance(source, Options) else "csv"
        path = str(source.resolve()) if isinstance(source, Path) else f"hierarchies/given/{own}.{suffix}"
        if isinstance(source, Options):
            self._described[path] = source
        elif not isinstance(source, Path):
            self._given[path] = self._in_memory[path] = source
        self.columns[name].hierarchy = path

    def described_for(self, name: str) -> str | None:
        """Path of a new hierarchy for a column of the guessed table; None where none can be made."""
        if self._guessed is None or self._guessed.table.frame[name].nunique() < 2:
            return None
        column = self._guessed.table.schema[name]
        spec = guess_hierarchy(column, self._guessed.table.frame[name])
        taken = {Path(path).stem.lower() for path in self._described}
        path = hierarchy_path(name, spec, Path("hierarchies"), lambda path: path.stem.lower() in taken)
        self._described[path.as_posix()] = spec
        return path.as_posix()

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
        return DraftColumns({name: DraftColumn(self, name, path) for name, path in self._listed()})

    @property
    def is_linked(self) -> bool:
        """True of linked tables."""
        return is_linked(self.document.content)

    def _listed(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for name in self.document.get(_SECTION) or {}:
            yield name, (*_SECTION, name)
        for table, about in (self.document.get(("tables",)) or {}).items():
            for name in about.get("columns") or {}:
                yield f"{table}.{name}", ("tables", table, "columns", name)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Columns whose role is still a guess, or is undecided."""
        return tuple(name for name, column in self.columns.items() if not column.is_decided)

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
        refuse(self._own_problems(changed, path))
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


def guess(data: Frame | Path | str) -> Draft:
    """Guess a configuration from a table, for a person to decide: roles, kinds and hierarchies of the columns.

    Parameters
    ----------
    data : pandas.DataFrame, or any table of Arrow's PyCapsule interface (polars, pyarrow), Path or str
        One record per row; or a CSV or Parquet file.

    Returns
    -------
    Draft
        To be looked at, edited, run (``hybrid.run(draft, data=frame)``) or written.

    Raises
    ------
    DataError
        The table cannot be read.
    ConfigError
        ``data`` is neither a table nor a path.

    Examples
    --------
    >>> draft = hybrid.guess(frame)  # doctest: +SKIP
    >>> draft.columns["ward"].role = "quasi_identifier"  # doctest: +SKIP
    >>> draft["anonymize.k"] = 10  # doctest: +SKIP
    """
    if isinstance(data, str | Path):
        guessed = guess_config(Path(data))
        return Draft(YamlDocument(guessed.to_yaml(Path()), "config.yaml"), Path(), guessed)
    if not is_frame(data):
        raise ConfigError(
            f"data is a {type(data).__name__}, not a table", hint="give a DataFrame of pandas or polars, or a path"
        )
    guessed = guess_frame(data)
    draft = Draft(YamlDocument(guessed.to_yaml(Path()), DATA_FRAME), Path(), guessed)
    draft.source = data
    return draft
