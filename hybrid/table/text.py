"""Columns of texts: kind and format inferred, values parsed, and written again the way the source writes them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hybrid.base.arrays import Array
from hybrid.base.errors import Problem
from hybrid.table.read_options import ColumnOptions
from hybrid.table.schema import DTYPES, LARGEST_DECIMAL, Column, ColumnFormat, Kind


def as_text(values: pd.Series, column: Column) -> pd.Series:
    """The values as the source would have written them.

    Parameters
    ----------
    values : pandas.Series, shape (n,)
        In the dtype of the column's kind.
    column : Column
        Kind and format.

    Returns
    -------
    pandas.Series, shape (n,), object
        Texts with the column's padding; missing values are its missing marker.
    """
    codes, texts = encode_texts(values, column)
    return pd.Series(np.array(texts, dtype=object)[codes], dtype=object)


def encode_texts(values: pd.Series, column: Column) -> tuple[Array, list[str]]:
    """Texts of distinct values (missing last), and each row's text number.

    Returns
    -------
    codes : numpy.ndarray, shape (n,), int64
    texts : list of str
    """
    codes, distinct = pd.factorize(values, use_na_sentinel=True)
    padding = column.format.padding
    texts = [padding + _text(value, column) for value in distinct]
    return np.where(codes < 0, len(texts), codes), [*texts, column.format.missing]


def _text(value: Any, column: Column) -> str:
    shape = column.format
    if column.kind is Kind.BOOLEAN:
        return shape.true if value else shape.false
    if column.kind.is_temporal:
        return _date_text(pd.Timestamp(value), shape.date_format)
    if column.kind is Kind.DECIMAL:
        least = (shape.decimals or 0) if shape.fixed_decimals else shape.least_decimals
        return decimal_text(float(value), shape.decimals, least).replace(".", shape.decimal_mark)
    return str(value)


def _date_text(value: pd.Timestamp, date_format: str) -> str:
    """Text as ``strftime``, with years of four digits also before 1000, where platforms differ."""
    return str(value.strftime(date_format.replace("%Y", f"{value.year:04d}")))


def decimal_text(value: float, most: int | None, least: int) -> str:
    """Number with ``least`` to ``most`` digits after the point.

    Parameters
    ----------
    value : float
        The number.
    most : int or None
        Digits to round to; None: as many as distinguish the number from its neighbours, as ``repr`` writes it.
    least : int
        Digits that stay although they are zeros; up to ``most``. Not used where ``most`` is None.
    """
    if most is None:
        return repr(value)
    whole, point, digits = f"{value:.{most}f}".partition(".")
    kept = digits.rstrip("0").ljust(least, "0")
    return whole + point + kept if kept else whole


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
    matches = pc.match_substring_regex(pa.array(texts, pa.large_string()), pattern)
    result: Array = matches.to_numpy(zero_copy_only=False)
    return result


def _fit(texts: list[str]) -> Array:
    fits = np.ones(len(texts), dtype=bool)
    long = np.flatnonzero(pc.binary_length(pa.array(texts, pa.large_string())).to_numpy() >= len(str(_INT64.max)))
    fits[long] = [_INT64.min <= int(texts[at]) <= _INT64.max for at in long]
    return fits


def _are_decimal(texts: list[str], mark: str) -> Array:
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
    """Number of decimals: fixed, a range, or as many as each number needs."""
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
    """Spelling of a column declared boolean, where 1/0, on/off and single values count, too."""
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
    """First format that reads every text; day comes before month where both would do."""
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
    """True if day and month could be swapped in every text, so that the config should state the format."""
    swapped = date_format.replace("%d", "%_").replace("%m", "%d").replace("%_", "%m")
    if swapped == date_format or date_format.startswith("%Y") or "." in date_format:
        return False
    return bool(_to_datetime(list(texts), swapped).notna().all())


def _bad(good: Sequence[bool] | Array) -> tuple[int, ...]:
    return tuple(int(at) for at in np.flatnonzero(~np.asarray(good, dtype=bool)))


_MOST_LISTED = 10


@dataclass(frozen=True)
class _Texts:
    """The distinct texts of a column.

    ``spelled`` are the texts of the source (with white space, missing markers included), ``bare`` the same
    without white space around them, ``is_marker`` says which mean "missing", and ``rows`` (shape (n_spelled,))
    how often each occurs. ``codes`` (shape (n_rows,)) number the text of each row, -1 for a null.
    """

    spelled: pa.Array
    bare: pa.Array
    is_marker: Array
    codes: Array
    rows: Array


def convert_texts(
    name: str,
    raw: pa.ChunkedArray,
    wanted: ColumnOptions,
    markers: Collection[str],
    mark: str,
    counts: Array | None = None,
) -> tuple[Column, pd.Series, Problem | None]:
    """Parse one column.

    Parameters
    ----------
    name : str
        Of the column.
    raw : pyarrow.ChunkedArray
        Texts, or a dictionary of texts.
    wanted : ColumnOptions
        Role; kind and format, or none to infer them.
    markers : collection of str
        Texts that mean "missing".
    mark : str
        The decimal mark.
    counts : numpy.ndarray, shape (n_rows,), int, optional
        Records that each row represents; 1 if not given.

    Returns
    -------
    column : Column
        How the texts were written is in its format.
    values : pandas.Series, shape (n_rows,)
        In the dtype of the column's kind.
    problem : Problem or None
        Texts that are not of the wanted kind; their values are missing.
    """
    texts = _distinct(raw, {marker.strip() for marker in markers}, counts)
    known = texts.bare.filter(pa.array(~texts.is_marker)).unique()
    known = known.take(pc.sort_indices(known))
    parsed = parse(known.to_pylist(), wanted.kind, wanted.format, mark)
    value_of = pc.index_in(texts.bare, value_set=known).fill_null(-1).to_numpy(zero_copy_only=False)
    problem = _unparsed(name, wanted, parsed, known, value_of, texts.rows) if parsed.bad else None
    at = np.append(value_of, -1)[texts.codes]
    values = pd.Series(parsed.values.array.take(at, allow_fill=True))
    if parsed.kind is not Kind.CATEGORICAL:
        values = values.astype(DTYPES[parsed.kind])
    shape = replace(parsed.format, missing=_commonest_marker(texts), padding=_common_padding(texts))
    return Column(name, wanted.role, parsed.kind, wanted.target, shape), values, problem


def _distinct(raw: pa.ChunkedArray, markers: set[str], counts: Array | None) -> _Texts:
    spelled, codes = _encoded(raw)
    bare = pc.utf8_trim_whitespace(spelled)
    is_marker = pc.is_in(bare, value_set=pa.array(sorted(markers), pa.large_string()))
    known = codes >= 0
    rows = np.bincount(codes[known], None if counts is None else counts[known], len(spelled)).astype(np.int64)
    return _Texts(spelled, bare, is_marker.to_numpy(zero_copy_only=False), codes, rows)


def _encoded(raw: pa.ChunkedArray) -> tuple[pa.Array, Array]:
    """Distinct texts, and the number of each row's text, -1 for a null.

    A dictionary is never written out: a small file may hold a long text in each of millions of rows.
    """
    if not pa.types.is_dictionary(raw.type) or pa.types.is_null(raw.type.value_type):
        encoded = raw.cast(pa.large_string()).combine_chunks().dictionary_encode()
        return encoded.dictionary, encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    whole = raw.unify_dictionaries().combine_chunks()
    listed = whole.dictionary.cast(pa.large_string()).dictionary_encode()  # it may list a text twice, or a null
    numbers = np.append(listed.indices.fill_null(-1).to_numpy(zero_copy_only=False), -1)
    codes = numbers[whole.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)]
    used = np.unique(codes[codes >= 0])
    position = np.full(len(listed.dictionary) + 1, -1)
    position[used] = np.arange(len(used))
    return listed.dictionary.take(pa.array(used)), position[codes]


def _unparsed(
    name: str, wanted: ColumnOptions, parsed: Parsed, known: pa.Array, value_of: Array, rows: Array
) -> Problem:
    n_rows = int(rows[np.isin(value_of, parsed.bad)].sum())
    shown = known.take(pa.array(parsed.bad[:_MOST_LISTED])).to_pylist()
    return Problem(
        f"column {name!r} is declared {wanted.kind} but {len(parsed.bad)} distinct values ({n_rows} rows) are not",
        "correct the column's kind or format, or list the texts under data.missing",
        values=", ".join(map(repr, shown)),
    )


def _commonest_marker(texts: _Texts) -> str:
    used = np.flatnonzero(texts.is_marker)
    if not len(used):
        return ""
    best = max(used, key=lambda at: (texts.rows[at], texts.spelled[int(at)].as_py()))
    return str(texts.spelled[int(best)].as_py())


def _common_padding(texts: _Texts) -> str:
    if texts.spelled.equals(texts.bare):
        return ""
    values = texts.spelled.filter(pa.array(~texts.is_marker)).to_pylist()
    paddings = {text[: len(text) - len(text.lstrip())] for text in values}
    return paddings.pop() if len(paddings) == 1 else ""
