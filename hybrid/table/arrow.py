"""Conversion between Arrow types and kinds of columns, without loss of type."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hybrid.table.schema import DTYPES, LARGEST_DECIMAL, Column, ColumnFormat, Kind, Table
from hybrid.table.text import encode_texts

_DICTIONARY = re.compile(r"dictionary<values=(.+), indices=(\w+), ordered=([01])>\Z")

_CALENDAR = "0001-01-01", "10000-01-01"
"""First day that can be written as a date, and the first one after."""
_A_DAY = {"D": 1, "s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
"""Units of Arrow's dates and times in a day."""


def is_text(arrow_type: pa.DataType) -> bool:
    """True if a column of this type is parsed from texts."""
    plain = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_null(plain))


def kind_of(arrow_type: pa.DataType) -> tuple[Kind | None, ColumnFormat]:
    """Kind and CSV format of a column that is not text; no kind where its type is not supported."""
    types = pa.types
    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    if types.is_boolean(arrow_type):
        return Kind.BOOLEAN, ColumnFormat()
    if types.is_integer(arrow_type):
        return Kind.INTEGER, ColumnFormat()
    if types.is_decimal(arrow_type):
        return Kind.DECIMAL, ColumnFormat(decimals=max(arrow_type.scale, 0), fixed_decimals=True)
    if types.is_floating(arrow_type):
        return Kind.DECIMAL, ColumnFormat()
    if types.is_date(arrow_type):
        return Kind.DATE, ColumnFormat()
    if types.is_timestamp(arrow_type):
        return Kind.DATETIME, ColumnFormat(date_format="%Y-%m-%d %H:%M:%S.%f")
    return None, ColumnFormat()


def typed_values(raw: pa.ChunkedArray, kind: Kind) -> pd.Series:
    """A column that has no :func:`unstorable` values in the dtype of its kind; times in UTC, to the microsecond."""
    target = {
        Kind.BOOLEAN: pa.bool_(),
        Kind.INTEGER: pa.int64(),
        Kind.DECIMAL: pa.float64(),
        Kind.DATE: pa.timestamp("us"),
        Kind.DATETIME: pa.timestamp("us"),
    }[kind]
    if pa.types.is_dictionary(raw.type):
        raw = raw.cast(raw.type.value_type)
    if pa.types.is_decimal(raw.type):
        raw = pc.cast(raw, pa.string())  # Arrow's own cast to float is off by a last bit: 40.3 as 40.300000000000004
    cast = pc.cast(raw, target, safe=kind is Kind.INTEGER)
    mapper = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}.get
    return cast.to_pandas(types_mapper=mapper).astype(DTYPES[kind]).rename(None)


def unstorable(raw: pa.ChunkedArray, kind: Kind) -> str:
    """Description of the values of a typed column that its dtype cannot hold; empty if there are none.

    Integers have 64 signed bits, decimals are at most :data:`~hybrid.table.schema.LARGEST_DECIMAL`, dates and times lie
    in the years 1 to 9999.
    """
    if pa.types.is_dictionary(raw.type):
        raw = raw.cast(raw.type.value_type)
    if kind is Kind.INTEGER and pa.types.is_uint64(raw.type):
        return "integers beyond 64 signed bits" if _ends(raw)[1] > np.iinfo(np.int64).max else ""
    if kind is Kind.DECIMAL:
        numbers = raw.cast(pa.float64())  # there are few functions of shorter ones
        low, high = _ends(numbers.filter(pc.invert(pc.is_nan(numbers))))
        return "" if max(-low, high) <= LARGEST_DECIMAL else f"numbers beyond {LARGEST_DECIMAL:g}"
    if not kind.is_temporal:
        return ""
    unit = "D" if pa.types.is_date32(raw.type) else "ms" if pa.types.is_date64(raw.type) else raw.type.unit
    counts = raw.cast(pa.int32()).cast(pa.int64()) if unit == "D" else raw.cast(pa.int64())
    low, high = _ends(counts)
    first, last = (int(np.datetime64(day, "D").astype(np.int64)) for day in _CALENDAR)
    inside = first <= low // _A_DAY[unit] and high // _A_DAY[unit] < last
    return "" if inside else "dates or times outside of the years 1 to 9999"


def _ends(raw: pa.ChunkedArray) -> tuple[Any, Any]:
    """Smallest and largest number; 0 where there is none."""
    ends = pc.min_max(raw).as_py()
    return ends["min"] or 0, ends["max"] or 0


def to_arrow(table: Table) -> pa.Table:
    """Table with the Arrow types of its source, or the natural ones for a CSV source.

    A 32-bit or narrower integer column that holds a larger number (a surrogate identifier) becomes 64 bits wide.
    """
    arrays = {column.name: _array(table.frame[column.name], column) for column in table.schema}
    return pa.table(arrays) if arrays else pa.table({})


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Types that every engine has: no dictionaries, texts instead of the type null, no metadata."""
    return pa.schema([pa.field(field.name, _plain_type(field.type)) for field in schema])


def _plain_type(found: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(found):
        return _plain_type(found.value_type)
    return pa.string() if pa.types.is_null(found) else found


def _array(values: pd.Series, column: Column) -> pa.Array:
    source = column.format.arrow_type
    if source is None:
        return _natural(values, column)
    arrow_type = arrow_type_of(source)
    if pa.types.is_null(arrow_type):
        return pa.nulls(len(values)) if values.isna().all() else _natural(values, column)
    if is_text(arrow_type):
        return _texts(values, column).cast(arrow_type)
    plain = arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type
    try:
        exact = pa.types.is_integer(plain)
        array = _natural(values, column).cast(plain, safe=exact)
    except pa.ArrowInvalid:
        return _natural(values, column)
    return array.dictionary_encode().cast(arrow_type) if pa.types.is_dictionary(arrow_type) else array


def _natural(values: pd.Series, column: Column) -> pa.Array:
    if column.kind is Kind.CATEGORICAL:
        return pa.array(values.astype(object).where(values.notna(), None), type=pa.string())
    if column.kind is Kind.DATE:
        return pa.array(values, type=pa.timestamp("us"), from_pandas=True).cast(pa.date32())
    return pa.array(values, from_pandas=True)


def _texts(values: pd.Series, column: Column) -> pa.Array:
    """Texts as the source wrote them; a missing value is null unless the source has a marker for it."""
    codes, texts = encode_texts(values, column)
    lookup = pa.array([*texts[:-1], texts[-1] or None], type=pa.string())
    return lookup.take(pa.array(codes.astype(np.int64)))


def arrow_type_of(text: str) -> pa.DataType:
    """The Arrow type whose ``str`` is ``text``."""
    dictionary = _DICTIONARY.match(text)
    if dictionary is not None:
        values, indices, ordered = dictionary.groups()
        return pa.dictionary(arrow_type_of(indices), arrow_type_of(values), ordered == "1")
    if text.startswith("decimal"):
        name, _, rest = text.partition("(")
        make = getattr(pa, name)
        return make(*(int(number) for number in rest.rstrip(")").split(",")))
    if text.startswith("timestamp"):
        unit, _, zone = text[text.index("[") + 1 : -1].partition(", tz=")
        return pa.timestamp(unit, tz=zone or None)
    if text.startswith("date"):
        return pa.date64() if text.startswith("date64") else pa.date32()
    return pa.type_for_alias(text)


def recast(values: pd.Series, kind: Kind, wanted: Kind) -> pd.Series | None:
    """A typed column as another kind, or None where something would be lost by it."""
    if wanted is Kind.CATEGORICAL and kind in (Kind.INTEGER, Kind.BOOLEAN):
        return values.astype("string").astype(object).astype("category")
    if wanted is Kind.DECIMAL and kind is Kind.INTEGER:
        return values.astype("float64")
    if wanted is Kind.INTEGER and kind is Kind.DECIMAL and bool(((values % 1).fillna(0) == 0).all()):
        return values.astype("Int64")
    if wanted is Kind.BOOLEAN and kind is Kind.INTEGER and bool(values.dropna().isin([0, 1]).all()):
        return values.astype("boolean")
    if wanted is Kind.DATETIME and kind is Kind.DATE:
        return values
    if wanted is Kind.DATE and kind is Kind.DATETIME and bool((values.dropna() == values.dropna().dt.floor("D")).all()):
        return values
    return None
