"""Whole numbers and decimals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hybrid.base.arrays import Array, Mask, Numbers
from hybrid.table.kinds.value_type import ColumnFormat, InWords, ParsedTexts, ValueType, ends, matches, positions_of_bad

LARGEST_DECIMAL = 1e30
"""Decimals beyond are refused: trees and nearest neighbours add them up with 32 bits, which end at 3e38."""
_INTEGER = r"\A(0|-?[1-9][0-9]*)\z"
"""Numbers that are written again as they were read: no plus sign (a telephone number), no leading zero (a code)."""
_DECIMAL = r"\A[+-]?((0|[1-9][0-9]*)(MARK[0-9]*)?|MARK[0-9]+)([eE][+-]?[0-9]+)?\z"
_MOST_DECIMALS = 12
"""Digits after the point beyond which numbers are written as Python's ``repr`` writes them."""
_SAMPLE = 10_000
"""Numbers from which it is seen how a column writes them."""
_MOST_FLOAT_DIGITS = 15
"""Significant decimal digits that a float64 always keeps."""
_INT64 = np.iinfo(np.int64)
_MOST_DIGITS = 10**15
"""Whole numbers beyond are texts in a workbook: Excel keeps fifteen digits."""


class NumberType(ValueType):
    """Numbers; a subclass says which."""

    measure, sort = "number", "number"
    hierarchies = ("intervals", "groups")

    def bound(self, value: object, scale: int) -> int | None:
        return round(value * scale) if isinstance(value, int | float) else None


class IntegerType(NumberType):
    """Whole numbers of 64 bits."""

    name = "integer"
    words = "whole number"
    plural = InWords("whole numbers", "ganze Zahlen")
    dtype, plain_dtype = "Int64", "int64"
    made_up = (0, 99)
    sql, croissant, datapackage = "BigInteger", "sc:Integer", "integer"

    def recognizes(self, texts: list[str], date_format: str | None, mark: str) -> bool:  # noqa: ARG002
        return bool(matches(texts, _INTEGER).all() and _fit(texts).all())

    def parse(self, texts: list[str], date_format: str | None, mark: str) -> ParsedTexts:  # noqa: ARG002
        good = matches(texts, _INTEGER)
        good[good] = _fit([text for text, ok in zip(texts, good, strict=True) if ok])
        numbers = np.zeros(len(texts), dtype=np.int64)
        numbers[good] = pa.array(texts, pa.large_string()).filter(pa.array(good)).cast(pa.int64()).to_numpy()
        return ParsedTexts(pd.Series(pd.arrays.IntegerArray(numbers, ~good)), ColumnFormat(), positions_of_bad(good))

    def cell(self, text: str, shape: ColumnFormat) -> Any:  # noqa: ARG002
        return int(text) if abs(int(text)) < _MOST_DIGITS else text

    def searched_texts(self, values: pd.Index) -> Iterable[str]:
        return map(str, values.astype(object))

    def format_of(self, arrow_type: pa.DataType) -> ColumnFormat | None:
        return ColumnFormat() if pa.types.is_integer(arrow_type) else None

    def unstorable(self, raw: pa.ChunkedArray) -> str:
        beyond = pa.types.is_uint64(raw.type) and ends(raw)[1] > _INT64.max
        return "integers beyond 64 signed bits" if beyond else ""

    def from_arrow(self, raw: pa.ChunkedArray) -> pd.Series:
        cast = pc.cast(raw, pa.int64(), safe=True)
        return cast.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get).astype(self.dtype).rename(None)

    def recast(self, values: pd.Series, kind: str) -> pd.Series | None:
        whole = kind == "decimal" and bool(((values % 1).fillna(0) == 0).all())
        return values.astype("Int64") if whole else None

    def step(self, shape: ColumnFormat) -> float:  # noqa: ARG002
        return 1.0

    def whole(self, values: Any, scale: int) -> Array:  # noqa: ARG002
        return np.asarray(values, dtype=np.int64)

    def series(self, whole: Array, missing: Mask, scale: int) -> pd.Series:  # noqa: ARG002
        return pd.Series(pd.arrays.IntegerArray(whole, missing))

    def written(self, positions: Numbers, missing: Mask, shape: ColumnFormat) -> pd.Series:  # noqa: ARG002
        return pd.Series(pd.arrays.IntegerArray(np.rint(positions).astype(np.int64), missing))

    def as_bound(self, value: Any) -> int:
        return int(value)


class DecimalType(NumberType):
    """Numbers with a point, in double precision."""

    name = "decimal"
    has_decimals = True
    words = "decimal number"
    plural = InWords("decimal numbers", "Dezimalzahlen")
    dtype, plain_dtype = "float64", "float64"
    made_up = (0, 100)
    sql, croissant, datapackage = "Double", "sc:Float", "number"

    def recognizes(self, texts: list[str], date_format: str | None, mark: str) -> bool:  # noqa: ARG002
        plain = _are_decimal(texts, mark).all() and not any(text.startswith("+") for text in texts)
        return bool(plain and not matches(texts, _INTEGER).all())

    def parse(self, texts: list[str], date_format: str | None, mark: str) -> ParsedTexts:  # noqa: ARG002
        good = _are_decimal(texts, mark)
        plain = [text.replace(mark, ".") if ok else "nan" for text, ok in zip(texts, good, strict=True)]
        values = pd.Series(plain, dtype="float64")
        known = [(text, value) for text, value, ok in zip(plain, values, good, strict=True) if ok]
        return ParsedTexts(values, replace(_digits(known), decimal_mark=mark), positions_of_bad(good))

    def text(self, value: Any, shape: ColumnFormat) -> str:
        least = (shape.decimals or 0) if shape.fixed_decimals else shape.least_decimals
        return decimal_text(float(value), shape.decimals, least).replace(".", shape.decimal_mark)

    def iso(self, value: Any) -> str:
        return repr(float(value) + 0.0)  # zero has one sign

    def cell(self, text: str, shape: ColumnFormat) -> Any:
        return float(text.replace(shape.decimal_mark, "."))

    def searched_texts(self, values: pd.Index) -> Iterable[str]:
        return (f"{value:.16g}" for value in values.astype(object))

    def format_of(self, arrow_type: pa.DataType) -> ColumnFormat | None:
        if pa.types.is_decimal(arrow_type):
            return ColumnFormat(decimals=max(arrow_type.scale, 0), fixed_decimals=True)
        return ColumnFormat() if pa.types.is_floating(arrow_type) else None

    def unstorable(self, raw: pa.ChunkedArray) -> str:
        numbers = raw.cast(pa.float64())  # there are few functions of shorter ones
        low, high = ends(numbers.filter(pc.invert(pc.is_nan(numbers))))
        return "" if max(-low, high) <= LARGEST_DECIMAL else f"numbers beyond {LARGEST_DECIMAL:g}"

    def from_arrow(self, raw: pa.ChunkedArray) -> pd.Series:
        if pa.types.is_decimal(raw.type):
            # Arrow's own cast to float is off by a last bit: 40.3 as 40.300000000000004.
            raw = pc.cast(raw, pa.string())
        return pc.cast(raw, pa.float64(), safe=False).to_pandas().astype(self.dtype).rename(None)

    def recast(self, values: pd.Series, kind: str) -> pd.Series | None:
        return values.astype("float64") if kind == "integer" else None

    def step(self, shape: ColumnFormat) -> float:
        return 0.0 if shape.decimals is None else 10.0**-shape.decimals

    def scale(self, values: pd.Series, shape: ColumnFormat) -> int | None:
        return _scale_of(values.to_numpy(dtype=np.float64), shape.decimals)

    def usual_scale(self, values: pd.Series, scale: int | None) -> int | None:
        few = min(FEW_ROWS, len(values) / RARE_ROWS)
        return _scale_of(values.to_numpy(dtype=np.float64), None, few) or scale

    def whole(self, values: Any, scale: int) -> Array:
        return np.asarray(np.rint(np.asarray(values) * scale), dtype=np.int64)

    def series(self, whole: Array, missing: Mask, scale: int) -> pd.Series:
        return pd.Series(np.where(missing, np.nan, whole / scale))

    def written(self, positions: Numbers, missing: Mask, shape: ColumnFormat) -> pd.Series:
        rounded = positions if shape.decimals is None else np.round(positions, shape.decimals)
        return pd.Series(np.where(missing, np.nan, rounded))

    def decimals(self, shape: ColumnFormat) -> int | None:
        return shape.decimals

    def neutral_format(self, decimals: int | None) -> ColumnFormat:
        return ColumnFormat(decimals=decimals)


FEW_ROWS, RARE_ROWS = 10, 200
"""Digits that fewer rows need, and fewer than one in so many, are not those of a column."""


def _scale_of(values: Numbers, decimals: int | None, few: float = 1) -> int | None:
    """Power of ten that makes all numbers whole but fewer than ``few``; None where a float keeps too few digits."""
    if not np.isfinite(values).all():
        return None
    for digits in range(_MOST_FLOAT_DIGITS + 1) if decimals is None else [decimals]:
        scale: int = 10**digits
        scaled = np.rint(values * scale)
        if np.abs(scaled).max() >= 10**_MOST_FLOAT_DIGITS:
            return None
        if np.count_nonzero(scaled / scale != values) < few:
            return scale
    return None


def _fit(texts: list[str]) -> Mask:
    fits = np.ones(len(texts), dtype=bool)
    long = np.flatnonzero(pc.binary_length(pa.array(texts, pa.large_string())).to_numpy() >= len(str(_INT64.max)))
    fits[long] = [_INT64.min <= int(texts[at]) <= _INT64.max for at in long]
    return fits


def _are_decimal(texts: list[str], mark: str) -> Mask:
    found = matches(texts, _DECIMAL.replace("MARK", re.escape(mark)))
    numbers = [text.replace(mark, ".") for text, ok in zip(texts, found, strict=True) if ok]
    found[found] = np.abs(np.array(numbers, dtype=np.float64)) <= LARGEST_DECIMAL
    return found


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


def decimal_text(value: float, most: int | None, least: int) -> str:
    """Number with ``least`` to ``most`` digits after the point, without zeros at the end beyond ``least``.

    Without ``most`` as many as distinguish the number from its neighbours, as ``repr`` writes it.
    """
    if most is None:
        return repr(value)
    whole, point, digits = f"{value:.{most}f}".partition(".")
    kept = digits.rstrip("0").ljust(least, "0")
    return whole + point + kept if kept else whole
