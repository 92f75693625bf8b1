"""Files of Stata, SPSS and SAS, through pyreadstat: their codebooks, a reader and a writer.

Codes with labels become the labels. Missing values that a user defined are missing. In a file that is written only
codes that occur have a label: where labels are names of people, those of all people would be in the file. Notes and the
time of writing are in no file, so that the same table is the same bytes.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.fs as pafs

from hybrid.base.arrays import Array
from hybrid.base.errors import DataError, OutputError, needs_extra
from hybrid.table.files import File
from hybrid.table.kinds.registry import Kind
from hybrid.table.kinds.value_type import Moment
from hybrid.table.read_options import ColumnOptions, ReadOptions
from hybrid.table.schema import Column, Table
from hybrid.table.text import encode_texts
from hybrid.table.typed_table import column_problems

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
        return since / self.units[moment]


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
    with needs_extra("formats", f"{file}: files of Stata, SPSS and SAS need the package pyreadstat"):
        import pyreadstat as library
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


_WHOLE = re.compile(r"-?[0-9]{1,9}")
_LARGEST_WHOLE = 2.0**53
_DAYS = np.iinfo(np.int32).min, np.iinfo(np.int32).max
"""Of dates in 32 bits."""


_MOST_DIGITS = 6
_OF_A_STEP, _OF_A_NUMBER = 1e-3, 1e-6
"""Shares of a step and of a number up to which a number has so few digits but for how it was stored."""


def read_statistics_file(file: File, options: ReadOptions) -> pa.Table:
    """Read the columns of a file: texts for labels and times of day, dates, moments, whole numbers and decimals.

    A column that is declared a number keeps its codes; one that is declared a category or boolean has the labels of all
    codes that have one. Of others, a column has labels unless most of its different values have none: its labels then
    explain a few special numbers. Markers of missing values are codes or labels.
    """
    book = read_codebook(file, options.encoding)
    problems = column_problems(str(file), list(book.names), options)
    if problems:
        raise DataError(problems)
    frame, _ = content(file, options.encoding)
    columns = {name: _column(frame[name], name, book, options) for name in book.names}
    return pa.table(columns)


def _column(values: pd.Series, name: str, book: Codebook, options: ReadOptions) -> pa.Array:
    kind = options.columns.get(name, ColumnOptions()).kind
    labels = book.labels.get(name, {})
    if name in book.texts:
        return pa.array(values.map(lambda text: labels.get(text, text)), pa.string(), from_pandas=True)
    numbers = pd.to_numeric(values).to_numpy(np.float64, na_value=np.nan)
    if name in book.moments:
        return _read_moments(numbers, book, book.moments[name])
    if name in book.singles:
        numbers = numbers.astype(np.float32).astype(str).astype(np.float64)  # 0.1, not 0.10000000149011612
    numbers = _without_noise(numbers)
    numbers = np.where(np.isin(numbers, _missing_codes(labels, options.missing)), np.nan, numbers)
    if labels and not (kind is not None and kind.is_number) and (named := _named(numbers, labels, kind)) is not None:
        return named
    return _plain(numbers)


def _without_noise(numbers: Array) -> Array:
    """Numbers of a few digits without what their storage added, as SAS does to shortened ones, and sums to decimals."""
    for digits in range(_MOST_DIGITS + 1):
        rounded = np.round(numbers, digits)
        off = np.abs(numbers - rounded)
        if not (off > np.minimum(_OF_A_STEP * 10.0**-digits, _OF_A_NUMBER * np.abs(numbers))).any():
            return np.asarray(rounded)
    return numbers


def _plain(numbers: Array) -> pa.Array:
    """Whole numbers where all are."""
    whole = numbers[~np.isnan(numbers)]
    if len(whole) and (np.abs(whole) < _LARGEST_WHOLE).all() and (whole % 1 == 0).all():
        return pa.array(np.nan_to_num(numbers).astype(np.int64), mask=np.isnan(numbers))
    return pa.array(numbers, from_pandas=True)


def _missing_codes(labels: Mapping[Any, str], markers: Sequence[str]) -> list[float]:
    """Codes that are markers of missing values themselves, or whose labels are."""
    labelled = [float(code) for code, text in labels.items() if text in markers or code_text(code) in markers]
    return [*labelled, *(float(text) for text in markers if _WHOLE.fullmatch(text))]


def _named(numbers: Array, labels: Mapping[Any, str], kind: Kind | None) -> pa.Array | None:
    codes, distinct = pd.factorize(numbers)
    bare = [code_text(value) for value in distinct.tolist() if value not in labels]
    if kind is None and len(bare) > len(distinct) / 2:
        return None
    if set(bare) & set(labels.values()):
        return None
    texts = [labels.get(value, code_text(value)) for value in distinct.tolist()]
    return pa.array(texts, pa.string()).take(pa.array(codes, mask=codes < 0))


def _read_moments(numbers: Array, book: Codebook, moment: Moment) -> pa.Array:
    missing = np.isnan(numbers)
    counted = book.program.microseconds(numbers, moment)
    if moment == "datetime":
        return pa.array(counted, pa.timestamp("us"), mask=missing)
    if moment == "date":
        days = np.clip(counted // _DAY, *_DAYS)
        return pa.array(days.astype(np.int32), pa.int32(), mask=missing).cast(pa.date32())
    if ((counted < 0) | (counted >= _DAY))[~missing].any():
        return _plain(numbers)  # durations, not times of a day
    return _times(counted, missing)


def _times(counted: Array, missing: Array) -> pa.Array:
    times, distinct = pd.factorize(counted)
    texts = []
    for value in distinct.tolist():
        seconds, rest = divmod(value, 10**6)
        text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        texts.append(f"{text}.{rest:06d}" if rest else text)
    return pa.array(texts, pa.string()).take(pa.array(times, mask=missing))


SYNTHETIC = "synthetic"
"""Label of a file whose rows are synthetic."""
_STATA = 14
"""Version of Stata from which files can be opened: the first with Unicode."""
_LARGEST = 2**31 - 100
"""Whole numbers beyond are written as decimals: Stata keeps the last ones for missing values."""
_CLOCKS: dict[str, tuple[re.Pattern[bytes], bytes]] = {
    ".dta": (re.compile(rb"(<timestamp>\x11).{17}", re.DOTALL), rb"\g<1>01 Jan 1970 00:00"),
    ".sav": (re.compile(rb"\A(.{92}).{17}", re.DOTALL), rb"\g<1>01 Jan 7000:00:00"),
    ".zsav": (re.compile(rb"\A(.{92}).{17}", re.DOTALL), rb"\g<1>01 Jan 7000:00:00"),
    ".xpt": (re.compile(rb"[0-9]{2}[A-Z]{3}[0-9]{2}(:[0-9]{2}){3}"), b"01JAN70:00:00:00"),
}
"""Where a file says when it was written, and what stands there instead."""
_HEAD = 2048
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{6}))?")


@dataclass(frozen=True)
class _Stored:
    values: pd.Series
    labels: dict[Any, str] = field(default_factory=dict)
    format: str | None = None

    @property
    def is_text(self) -> bool:
        return bool(self.values.dtype == object)


def write_statistics_file(table: Table, path: Path, suffix: str, book: Codebook | None, *, synthetic: bool) -> None:
    """Write a table with the codebook of the file that it came from; without one, labels are written as texts.

    Where the rows are synthetic, the label of the file is :data:`SYNTHETIC`.
    """
    library, program = pyreadstat(path.name), PROGRAMS[suffix]
    stored = {column.name: _stored(table.frame[column.name], column, program, book) for column in table.schema}
    frame = pd.DataFrame({name: one.values for name, one in stored.items()})
    described = {} if book is None else book.descriptions
    options: dict[str, Any] = {
        "file_label": SYNTHETIC if synthetic else "",
        "column_labels": {name: text for name, text in described.items() if name in stored},
        "variable_format": {name: one.format for name, one in stored.items() if one.format is not None},
    }
    if program is not SAS:
        options["variable_value_labels"] = {name: one.labels for name, one in stored.items() if one.labels}
    try:
        if suffix == ".dta":
            library.write_dta(frame, path, version=_STATA, **options)
        elif suffix == ".xpt":
            library.write_xport(frame, path, file_format_version=8 if book is None else book.version, **options)
        else:
            measures = _measures(stored, book)
            library.write_sav(frame, path, compress=suffix == ".zsav", variable_measure=measures, **options)
    except (library.ReadstatError, library.PyreadstatError, ValueError, OverflowError):
        raise OutputError(
            f"the table cannot be written as a file of {program.name}: a name or a text is too long for it, or of "
            "characters that it does not have",
            hint="output: {format: parquet} or {format: csv}",
        ) from None
    _stop_clock(path, suffix)


def _measures(stored: Mapping[str, _Stored], book: Codebook | None) -> dict[str, str]:
    found = {} if book is None else book.measures
    return {name: found[name] for name, one in stored.items() if name in found and not one.is_text}


def _stop_clock(path: Path, suffix: str) -> None:
    pattern, instead = _CLOCKS[suffix]
    with path.open("r+b") as file:
        head = file.read(_HEAD)
        file.seek(0)
        file.write(pattern.sub(instead, head))


def _stored(values: pd.Series, column: Column, program: Program, book: Codebook | None) -> _Stored:
    known = book is not None and column.name in book.names
    if book is not None and column.name in book.texts:
        return _texts(values, column, book.labels.get(column.name, {}))
    moment = None if book is None else book.moments.get(column.name)
    written = None if book is None or (program is SAS and moment is None) else book.formats.get(column.name)
    own = column.kind.type.moment
    if own is not None:
        meant = own if moment is None or "time" in (own, moment) else moment
        return _Stored(_written_moments(values, program, meant), format=written or program.formats[own])
    labels = {} if book is None else book.labels.get(column.name, {})
    if column.kind.is_number:
        numbers = _numbers(values.to_numpy(np.float64, na_value=np.nan))
        return _Stored(numbers, _occurring(numbers, labels), written)
    found = _coded(values, column, labels, program, moment) if known or column.kind is Kind.BOOLEAN else None
    return _texts(values, column, {}) if found is None else _Stored(found, _occurring(found, labels), written)


def _written_moments(values: pd.Series, program: Program, moment: Moment) -> pd.Series:
    counted = program.numbers(values.to_numpy("datetime64[us]").astype(np.int64), moment)
    return pd.Series(np.where(values.isna(), np.nan, counted))


def _numbers(numbers: Array) -> pd.Series:
    known = numbers[~np.isnan(numbers)]
    if len(known) and (np.abs(known) <= _LARGEST).all() and (known % 1 == 0).all():
        return pd.Series(numbers).astype("Int32")
    return pd.Series(numbers)


def _occurring(numbers: pd.Series, labels: Mapping[Any, str]) -> dict[Any, str]:
    used = set(numbers.dropna().unique().tolist())
    return {type(next(iter(used)))(code): text for code, text in labels.items() if code in used}


def _coded(
    values: pd.Series, column: Column, labels: Mapping[Any, str], program: Program, moment: Moment | None
) -> pd.Series | None:
    """Codes of texts in the file; None where a text has none."""
    codes, texts = encode_texts(values, column)
    if column.kind is Kind.BOOLEAN and column.format.arrow_type not in (None, "string"):
        texts = ["1" if text == column.format.true else "0" for text in texts[:-1]] + [texts[-1]]
    code_of = {text: code for code, text in labels.items()}
    numbers = [_number(text, code_of, program, moment) for text in texts[:-1]]
    if any(number is None for number in numbers):
        return None
    missing = _number(texts[-1], code_of, program, moment)
    found = np.array([*numbers, np.nan if missing is None else missing], dtype=np.float64)
    return _numbers(found[codes])


def _number(text: str, code_of: Mapping[str, Any], program: Program, moment: Moment | None) -> float | None:
    if text in code_of:
        return float(code_of[text])
    if moment == "time":
        found = _TIME.fullmatch(text)
        if found is None:
            return None
        hours, minutes, seconds, rest = (int(part or 0) for part in found.groups())
        counted = np.array([((hours * 60 + minutes) * 60 + seconds) * 10**6 + rest])
        return float(program.numbers(counted, moment)[0])
    try:
        number = float(text)
    except ValueError:
        return None
    return number if code_text(number) == text else None


def _texts(values: pd.Series, column: Column, labels: Mapping[Any, str]) -> _Stored:
    codes, texts = encode_texts(values, column)
    code_of = {text: code for code, text in labels.items()}
    held = [code_of.get(text, text) for text in texts]
    used = {code: labels[code] for code in held[:-1] if code in labels}
    return _Stored(pd.Series(np.array(held, dtype=object)[codes], dtype=object), used)
