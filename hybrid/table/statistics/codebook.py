"""Codebook of a file of Stata, SPSS or SAS: what it says about its columns, and how its program holds dates."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.fs as pafs

from hybrid.base.arrays import Array
from hybrid.base.errors import DataError, MissingExtraError
from hybrid.table.files import File
from hybrid.table.kinds.value_type import Moment

_SECOND, _DAY = 10**6, 86_400 * 10**6
"""Microseconds."""
_NAMED: tuple[tuple[Moment, str], ...] = (
    ("datetime", r"DATETIME|YMDHMS|[EB]8601D[TN]|IS8601DT|DATEAMPM|MDYAMPM|DTDATE"),
    ("date", r"[AEJS]?DATE|MOYR|QYR|WKYR|MONYY|(DDMMYY|MMDDYY|YYMMDD)[BCDNPS]?|WEEKDAT[EX]|(IS|[EB])8601DA"),
    ("time", r"TIME|HHMM|TOD|TIMEAMPM|(IS|[EB])8601TM"),
)
"""Formats of SPSS and SAS, without their widths."""
_WIDTH = re.compile(r"[0-9]*(\.[0-9]*)?\Z")
_STATA_DATE = re.compile(r"%-?[0-9]*t?d")
_STATA_MOMENT = re.compile(r"%-?[0-9]*t[cC](.*)", re.DOTALL)
_DAY_PARTS = re.compile(r"CC|YY|NN|DD|[nM]on|Mon|Month|d|D|J|c|y", re.DOTALL)
"""Parts of a format of Stata that tell the day."""
_FARTHEST = 9 * 10**18
"""Microseconds from 1970 that 64 bits hold."""


@dataclass(frozen=True)
class Program:
    """A program for statistics, and how its files count time."""

    name: str
    """Of the program."""
    origin: str
    """The moment from which it counts."""
    units: Mapping[Moment, int]
    """Microseconds of one unit of a date, of a moment and of a time of day."""
    formats: Mapping[Moment, str]
    """The format of a column that had none."""

    @property
    def _origin(self) -> int:
        return int(np.datetime64(self.origin, "us").astype(np.int64))

    def microseconds(self, numbers: Array, moment: Moment) -> Array:
        """Microseconds since 1970 of numbers of a file, or since midnight for a time of day; 0 where one is missing."""
        since = np.rint(np.nan_to_num(numbers, posinf=np.inf, neginf=-np.inf) * self.units[moment])
        counted: Array = np.clip(since, -_FARTHEST, _FARTHEST).astype(np.int64)
        return counted if moment == "time" else counted + self._origin

    def numbers(self, microseconds: Array, moment: Moment) -> Array:
        """Numbers that the file holds; the reverse of :meth:`microseconds`."""
        since = microseconds if moment == "time" else microseconds - self._origin
        counted: Array = since / self.units[moment]
        return counted


STATA = Program(
    "Stata",
    "1960-01-01",
    {"date": _DAY, "datetime": 1000, "time": 1000},
    {"date": "%td", "datetime": "%tc", "time": "%tcHH:MM:SS"},
)
SPSS = Program(
    "SPSS",
    "1582-10-14",
    {"date": _SECOND, "datetime": _SECOND, "time": _SECOND},
    {"date": "DATE11", "datetime": "DATETIME20", "time": "TIME8"},
)
SAS = Program(
    "SAS",
    "1960-01-01",
    {"date": _DAY, "datetime": _SECOND, "time": _SECOND},
    {"date": "DATE9", "datetime": "DATETIME20", "time": "TIME8"},
)
PROGRAMS: dict[str, Program] = {
    ".dta": STATA,
    ".sav": SPSS,
    ".zsav": SPSS,
    ".por": SPSS,
    ".sas7bdat": SAS,
    ".xpt": SAS,
}
"""The program of each suffix."""


def moment_of(program: Program, written: str | None) -> Moment | None:
    """Meaning of numbers of a format such as ``%td``, ``DATE11`` or ``F8.2``; None for plain numbers.

    Durations (``DTIME``) are numbers, and so are the months and quarters of Stata.
    """
    if not written:
        return None
    if program is STATA:
        return _moment_of_stata(written)
    name = _WIDTH.sub("", written.upper())
    return next((moment for moment, pattern in _NAMED if re.fullmatch(pattern, name)), None)


def _moment_of_stata(written: str) -> Moment | None:
    if _STATA_DATE.match(written):
        return "date"
    found = _STATA_MOMENT.match(written)
    if found is None:
        return None
    return "time" if found[1] and not _DAY_PARTS.search(found[1]) else "datetime"


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
    """Read what a file says about its columns, and none of its rows; ``encoding`` where it does not say its own."""
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
    """Rows and metadata of a file, as pyreadstat has them; dates and times as numbers."""
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
    """Import pyreadstat."""
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
