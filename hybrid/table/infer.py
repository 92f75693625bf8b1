"""Type inference and parsing of a column's distinct texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hybrid.base.arrays import Array
from hybrid.table.schema import LARGEST_DECIMAL, ColumnFormat, Kind
from hybrid.table.text import decimal_text

_INTEGER = r"\A(0|-?[1-9][0-9]*)\z"
"""Numbers that are written again as they were read: no plus sign (a telephone number), no leading zero (a code)."""
_DECIMAL = r"\A[+-]?((0|[1-9][0-9]*)(MARK[0-9]*)?|MARK[0-9]+)([eE][+-]?[0-9]+)?\z"
_MOST_DECIMALS = 12
"""Digits after the point beyond which numbers are written as Python's ``repr`` writes them."""
_SAMPLE = 10_000
"""Numbers from which it is seen how a column writes them."""
_INT64 = np.iinfo(np.int64)
_DTYPE = "datetime64[us]"
BOOLEAN_SPELLINGS = (
    *(("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n")),
    *(("ja", "nein"), ("oui", "non"), ("sí", "no"), ("si", "no"), ("sì", "no"), ("ja", "nee"), ("sim", "não")),
)
DATE_FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
DATETIME_FORMATS = tuple(
    f"{date}{gap}{time}{zone}"
    for date in DATE_FORMATS
    for gap in (" ", "T")
    for time in ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f")
    for zone in ("", "Z")
)


@dataclass(frozen=True)
class Parsed:
    """The distinct texts of a column as typed values.

    ``values`` has the dtype of ``kind`` and one entry per text; ``bad`` lists the positions of texts that are
    not of that kind (their value is missing).
    """

    kind: Kind
    values: pd.Series
    format: ColumnFormat
    bad: tuple[int, ...] = ()


def parse(texts: Sequence[str], kind: Kind | None = None, date_format: str | None = None, mark: str = ".") -> Parsed:
    """Parse the distinct non-missing texts of one column.

    Parameters
    ----------
    texts : sequence of str
        Distinct values, stripped, none of them a missing marker.
    kind : Kind, optional
        What the values are; guessed if not given: boolean, integer, decimal, date, datetime, else categorical.
        Whole numbers with leading zeros (codes) and beyond 64 bits are categorical.
    date_format : str, optional
        strptime format of dates and datetimes; guessed if not given.
    mark : str
        The decimal mark.

    Returns
    -------
    Parsed
        Typed values; :attr:`Parsed.bad` is empty when the kind was guessed.
    """
    texts = list(texts)
    if kind is None:
        kind = _guess(texts, date_format, mark)
    parser = {
        Kind.INTEGER: _integers,
        Kind.BOOLEAN: _booleans,
        Kind.CATEGORICAL: _categories,
    }.get(kind)
    if parser is not None:
        return parser(texts)
    if kind is Kind.DECIMAL:
        return _decimals(texts, mark)
    return _dates(texts, kind, date_format)


def _guess(texts: list[str], date_format: str | None, mark: str) -> Kind:
    if not texts:
        return Kind.CATEGORICAL
    if _boolean_spelling(texts) is not None:
        return Kind.BOOLEAN
    if _written(texts, _INTEGER).all():
        return Kind.INTEGER if _fit(texts).all() else Kind.CATEGORICAL
    if _are_decimal(texts, mark).all() and not any(text.startswith("+") for text in texts):
        return Kind.DECIMAL
    if date_format is not None:
        return Kind.DATETIME if "%H" in date_format else Kind.DATE
    if _date_format(texts, DATE_FORMATS) is not None:
        return Kind.DATE
    if _date_format(texts, DATETIME_FORMATS) is not None:
        return Kind.DATETIME
    return Kind.CATEGORICAL


def _written(texts: list[str], pattern: str) -> Array:
    """True for texts that match an RE2 pattern; shape (n_texts,), bool."""
    matches = pc.match_substring_regex(pa.array(texts, pa.large_string()), pattern)
    result: Array = matches.to_numpy(zero_copy_only=False)
    return result


def _fit(texts: list[str]) -> Array:
    """True for whole numbers within 64 bits; shape (n_texts,), bool."""
    fits = np.ones(len(texts), dtype=bool)
    long = np.flatnonzero(pc.binary_length(pa.array(texts, pa.large_string())).to_numpy() >= len(str(_INT64.max)))
    fits[long] = [_INT64.min <= int(texts[at]) <= _INT64.max for at in long]
    return fits


def _are_decimal(texts: list[str], mark: str) -> Array:
    """True for numbers up to :data:`~hybrid.table.schema.LARGEST_DECIMAL`; shape (n_texts,), bool."""
    found = _written(texts, _DECIMAL.replace("MARK", re.escape(mark)))
    numbers = [text.replace(mark, ".") for text, ok in zip(texts, found, strict=True) if ok]
    found[found] = np.abs(np.array(numbers, dtype=np.float64)) <= LARGEST_DECIMAL
    return found


def _categories(texts: list[str]) -> Parsed:
    written = pa.array(texts, pa.large_string())
    if pc.all(pc.less(written[:-1], written[1:])).as_py() is not False:
        values = pd.Categorical.from_codes(np.arange(len(texts)), categories=pd.Index(texts, dtype=object))
    else:
        values = pd.Categorical(texts, categories=sorted(set(texts)))
    return Parsed(Kind.CATEGORICAL, pd.Series(values), ColumnFormat())


def _integers(texts: list[str]) -> Parsed:
    good = _written(texts, _INTEGER)
    good[good] = _fit([text for text, ok in zip(texts, good, strict=True) if ok])
    numbers = np.zeros(len(texts), dtype=np.int64)
    numbers[good] = pa.array(texts, pa.large_string()).filter(pa.array(good)).cast(pa.int64()).to_numpy()
    return Parsed(Kind.INTEGER, pd.Series(pd.arrays.IntegerArray(numbers, ~good)), ColumnFormat(), _bad(good))


def _decimals(texts: list[str], mark: str) -> Parsed:
    good = _are_decimal(texts, mark)
    plain = [text.replace(mark, ".") if ok else "nan" for text, ok in zip(texts, good, strict=True)]
    values = pd.Series(plain, dtype="float64")
    known = [(text, value) for text, value, ok in zip(plain, values, good, strict=True) if ok]
    return Parsed(Kind.DECIMAL, values, replace(_digits(known), decimal_mark=mark), _bad(good))


def _digits(known: list[tuple[str, float]]) -> ColumnFormat:
    """Number of decimals: fixed, a range, or as needed.

    As needed: each number has as many as it needs.
    """
    digits = {len(text.partition(".")[2]) for text, _ in known}
    if not known or max(digits) > _MOST_DECIMALS or any("e" in text.lower() for text, _ in known):
        return ColumnFormat()
    most, least = max(digits), min(digits)
    some = known[:: max(1, len(known) // _SAMPLE)]
    as_needed = any(decimal_text(value, most, least) != text for text, value in some)
    if as_needed and all(repr(value) == text for text, value in some):
        return ColumnFormat()
    return ColumnFormat(decimals=most, fixed_decimals=most == least, least_decimals=least)


def _boolean_spelling(texts: list[str]) -> tuple[str, str] | None:
    if not 1 <= len(set(islice(texts, 3))) <= 2:
        return None
    lowered = {text.lower() for text in texts}
    if len(lowered) != len(set(texts)):
        return None
    for true, false in BOOLEAN_SPELLINGS:
        if lowered == {true, false} or (true == "true" and lowered < {true, false}):
            return true, false
    return None


def _booleans(texts: list[str]) -> Parsed:
    true, false = _boolean_spelling(texts) or _declared_spelling(texts)
    written = {text.lower(): text for text in texts}
    good = [text.lower() in (true, false) for text in texts]
    values = pd.array(
        [text.lower() == true if ok else pd.NA for text, ok in zip(texts, good, strict=True)], dtype="boolean"
    )
    shape = ColumnFormat(
        true=written.get(true, _same_case(written.get(false, ""), true)),
        false=written.get(false, _same_case(written.get(true, ""), false)),
    )
    return Parsed(Kind.BOOLEAN, pd.Series(values), shape, _bad(good))


def _declared_spelling(texts: list[str]) -> tuple[str, str]:
    """Spelling of a column declared boolean.

    1/0, on/off and single values count too.
    """
    lowered = {text.lower() for text in texts}
    spellings = (*BOOLEAN_SPELLINGS, ("1", "0"), ("on", "off"))
    return max(spellings, key=lambda pair: len(lowered & set(pair)))


def _same_case(model: str, text: str) -> str:
    if model.isupper():
        return text.upper()
    return text.capitalize() if model[:1].isupper() else text


def _dates(texts: list[str], kind: Kind, date_format: str | None) -> Parsed:
    formats = DATE_FORMATS if kind is Kind.DATE else DATETIME_FORMATS
    chosen = date_format or _date_format(texts, formats) or _best_format(texts, formats)
    values = _to_datetime(texts, chosen)
    shape = ColumnFormat(date_format=chosen)
    good = values.notna() if kind is Kind.DATETIME else values == values.dt.floor("D")
    return Parsed(kind, values.where(good), shape, _bad(good.tolist()))


def _to_datetime(texts: list[str], date_format: str) -> pd.Series:
    """Dates and times in microseconds; NaT for texts of another format."""
    found = pd.to_datetime(pd.Series(texts, dtype=object), format=date_format, errors="coerce").astype(_DTYPE)
    # pandas reads years 1678 to 2262 only; "9999-12-31" for "never" is common.
    rest = found.isna()
    found[rest] = np.array([_moment(texts[i], date_format) for i in np.flatnonzero(rest)], dtype=_DTYPE)
    return found


def _moment(text: str, date_format: str) -> datetime | None:
    try:
        return datetime.strptime(text, date_format)
    except ValueError:
        return None


def _date_format(texts: list[str], formats: tuple[str, ...]) -> str | None:
    """First format that reads every text; None if none does.

    Day comes before month where both would do.
    """
    if not texts or not texts[0][:1].isdigit():
        return None
    for candidate in formats:
        if _moment(texts[0], candidate) is not None and _to_datetime(texts, candidate).notna().all():
            return candidate
    return None


def _best_format(texts: list[str], formats: tuple[str, ...]) -> str:
    sample = texts[:1000]
    return max(formats, key=lambda candidate: int(_to_datetime(sample, candidate).notna().sum()))


def ambiguous_dates(texts: Sequence[str], date_format: str) -> bool:
    """True if day and month could be swapped in every text.

    Then the config should state the format.
    """
    swapped = date_format.replace("%d", "%_").replace("%m", "%d").replace("%_", "%m")
    if swapped == date_format or date_format.startswith("%Y") or "." in date_format:
        return False
    return bool(_to_datetime(list(texts), swapped).notna().all())


def _bad(good: Sequence[bool] | Array) -> tuple[int, ...]:
    return tuple(int(at) for at in np.flatnonzero(~np.asarray(good, dtype=bool)))
