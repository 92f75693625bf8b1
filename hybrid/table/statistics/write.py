"""Writer of files of Stata, SPSS and SAS, with the labels and formats of the file that a table came from.

Only codes that occur have a label: where labels are names of people, those of all people would be in the file. Notes
and the time of writing are in no file, so that the same table is the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import OutputError
from hybrid.table.kinds.registry import Kind
from hybrid.table.kinds.value_type import Moment
from hybrid.table.schema import Column, Table
from hybrid.table.statistics.codebook import PROGRAMS, SAS, Codebook, Program, code_text, pyreadstat
from hybrid.table.text import encode_texts

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
        return _Stored(_moments(values, program, meant), format=written or program.formats[own])
    labels = {} if book is None else book.labels.get(column.name, {})
    if column.kind.is_number:
        numbers = _numbers(values.to_numpy(np.float64, na_value=np.nan))
        return _Stored(numbers, _occurring(numbers, labels), written)
    found = _coded(values, column, labels, program, moment) if known or column.kind is Kind.BOOLEAN else None
    return _texts(values, column, {}) if found is None else _Stored(found, _occurring(found, labels), written)


def _moments(values: pd.Series, program: Program, moment: Moment) -> pd.Series:
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
