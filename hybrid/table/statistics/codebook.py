"""Codebook of a file of Stata, SPSS or SAS: what it says about its columns."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import pandas as pd
import pyarrow.fs as pafs

from hybrid.base.errors import DataError, MissingExtraError
from hybrid.table.files import File
from hybrid.table.kinds.value_type import Moment
from hybrid.table.statistics.program import PROGRAMS, Program, moment_of

_READERS = {".sas7bdat": "read_sas7bdat", ".xpt": "read_xport", ".dta": "read_dta", ".por": "read_por"}
_SAV = "read_sav"
_OLD_TRANSPORT = b"HEADER RECORD*******LIBRARY HEADER"
"""Beginning of a transport file of version 5, which has names of eight characters."""


@dataclass(frozen=True)
class Codebook:
    """Labels and formats of the columns of a file.

    Notes and the label of the file are not among them: they may name people, and nothing that is written has them.
    """

    program: Program
    """Whose file it is."""
    names: tuple[str, ...]
    """The columns, in the file's order."""
    labels: Mapping[str, Mapping[Any, str]]
    """Texts of codes, by column; two codes of a column never have the same text."""
    descriptions: Mapping[str, str]
    """Labels of the columns that have one."""
    formats: Mapping[str, str]
    """Formats of the columns that have one."""
    texts: frozenset[str]
    singles: frozenset[str]
    """Columns that hold texts; that hold numbers of seven digits."""
    measures: Mapping[str, str]
    """Levels of measurement, which SPSS has."""
    version: int = 8
    """Of a transport file of SAS: 5 or 8."""

    @cached_property
    def moments(self) -> dict[str, Moment]:
        """Columns of dates and times."""
        found = {name: moment_of(self.program, form) for name, form in self.formats.items() if name not in self.texts}
        return {name: moment for name, moment in found.items() if moment is not None}


def read_codebook(file: File, encoding: str = "utf-8") -> Codebook:
    """Read what a file says about its columns, and none of its rows.

    Parameters
    ----------
    encoding : str
        Of the texts, where the file does not say it.

    Raises
    ------
    DataError, MissingExtraError
        The file cannot be read; pyreadstat is not installed.
    """
    _, meta = content(file, encoding, metadata_only=True)
    types = meta.readstat_variable_types
    texts = frozenset(name for name, stored in types.items() if stored.startswith("string"))
    return Codebook(
        program=PROGRAMS[file.suffix],
        names=tuple(meta.column_names),
        labels={name: _told_apart(found, name in texts) for name, found in meta.variable_value_labels.items()},
        descriptions=_stated(meta.column_names_to_labels),
        formats=_stated(meta.original_variable_types),
        texts=texts,
        singles=frozenset(name for name, stored in types.items() if stored == "float"),
        measures=_stated(meta.variable_measure),
        version=5 if file.suffix == ".xpt" and _begins(file, _OLD_TRANSPORT) else 8,
    )


def content(file: File, encoding: str, *, metadata_only: bool = False) -> tuple[pd.DataFrame, Any]:
    """Rows and metadata of a file, as pyreadstat has them; dates and times as numbers.

    Raises
    ------
    DataError, MissingExtraError
        As :func:`read_codebook`.
    """
    library = pyreadstat(str(file))
    read = getattr(library, _READERS.get(file.suffix, _SAV))
    own = library.ReadstatError, library.PyreadstatError
    options = {"metadataonly": metadata_only, "disable_datetime_conversion": True}
    # A file mostly says its encoding; what the configuration says is tried where it does not.
    for tried in (None, *([] if encoding == "utf-8" else [encoding])):
        named = options if tried is None or file.suffix == ".por" else {**options, "encoding": tried}
        try:
            frame, meta = read(_place(file), **named)
            return frame, meta
        except (*own, UnicodeDecodeError, ValueError, OverflowError, OSError):
            continue
    raise DataError(
        f"{file}: the file could not be read as a file of {PROGRAMS[file.suffix].name}",
        hint="save it again in the program; if its letters are at fault, set data.encoding to theirs, such as cp1252",
    ) from None


def pyreadstat(file: str) -> ModuleType:
    """Import pyreadstat.

    Raises
    ------
    MissingExtraError
        It is not installed.
    """
    try:
        import pyreadstat as library
    except ImportError:
        raise MissingExtraError(
            f"{file}: files of Stata, SPSS and SAS need the package pyreadstat",
            hint="pip install 'hybrid-release[formats]'",
        ) from None
    return library


def _place(file: File) -> str | io.BytesIO:
    if isinstance(file.filesystem, pafs.LocalFileSystem):
        return file.path
    with file.open() as data:
        return io.BytesIO(data.read())


def _begins(file: File, beginning: bytes) -> bool:
    with file.open() as data:
        return bool(data.read(len(beginning)) == beginning)


def _stated(found: Mapping[str, str | None]) -> dict[str, str]:
    return {name: text.strip() for name, text in found.items() if text and text.strip()}


def _told_apart(labels: Mapping[Any, str], of_texts: bool) -> dict[Any, str]:
    """Texts of codes, each followed by its code where several have the same.

    Letters among the codes of numbers are missing values of Stata and SAS.
    """
    kind = str if of_texts else (int, float)
    texts = {code: text.strip() for code, text in labels.items() if isinstance(code, kind) and text.strip()}
    uses = Counter(texts.values())
    named = {code: text if uses[text] == 1 else f"{text} ({code_text(code)})" for code, text in texts.items()}
    if len(set(named.values())) == len(named):
        return named
    return {code: f"{text} ({code_text(code)})" for code, text in texts.items()}


def code_text(code: Any) -> str:
    """A code as a person writes it: 7, not 7.0."""
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)
