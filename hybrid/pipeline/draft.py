"""Draft of a configuration, edited key by key."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from hybrid.base.atomic import write_text
from hybrid.base.errors import ConfigError
from hybrid.base.options import Options
from hybrid.base.yaml_document import YamlDocument
from hybrid.hierarchy.build import Rows
from hybrid.hierarchy.files import text_of_rows
from hybrid.hierarchy.load import HierarchySource
from hybrid.hierarchy.spec import HierarchySpec
from hybrid.pipeline.config import RunConfig, configured
from hybrid.pipeline.draft_text import DraftText
from hybrid.pipeline.starter import GuessedConfig, guess_config, guess_frame
from hybrid.pipeline.starter.columns import guess_hierarchy, hierarchy_paths, in_memory, write_hierarchies
from hybrid.pipeline.starter.config_text import refuse_existing
from hybrid.table.typed_table import DATA_FRAME, Frame, is_frame


class Draft(DraftText):
    """Editable configuration of one table, with undo.

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
        super().__init__(document, folder)
        self._guessed = guessed
        self._described: dict[str, HierarchySpec] = {} if guessed is None else guessed.described
        self._in_memory: dict[str, HierarchySource] = {}
        self._given: dict[str, Rows] = {}
        self.notes = () if guessed is None else guessed.notes
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
        one = replace(next(c for c in self._guessed.columns if c.column.name == name), hierarchy=spec)
        taken = {Path(path).stem.lower() for path in self._described}
        found = hierarchy_paths((one,), Path("hierarchies"))[name]
        number = 2
        path = found
        while path.stem.lower() in taken:
            path, number = found.with_stem(f"{found.stem}_{number}"), number + 1
        self._described[path.as_posix()] = spec
        return path.as_posix()


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
