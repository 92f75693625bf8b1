"""Conversion between Arrow types and kinds of columns, without loss of type."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hybrid.base.arrays import Array
from hybrid.table.kinds.registry import Kind
from hybrid.table.kinds.value_type import ColumnFormat, plain_values
from hybrid.table.schema import Column, Table
from hybrid.table.text import encode_texts

_DICTIONARY = re.compile(r"dictionary<values=(.+), indices=(\w+), ordered=([01])>\Z")


def is_text(arrow_type: pa.DataType) -> bool:
    """True if a column of this type is parsed from texts."""
    plain = plain_type(arrow_type)
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_null(plain))


def kind_of(arrow_type: pa.DataType) -> tuple[Kind | None, ColumnFormat]:
    """Kind and CSV format of a column that is not text; no kind where its type is not supported."""
    for kind in Kind:
        shape = kind.type.format_of(plain_type(arrow_type))
        if shape is not None:
            return kind, shape
    return None, ColumnFormat()


def to_arrow(table: Table) -> pa.Table:
    """Table with the Arrow types of its source, or the natural ones for a CSV source.

    A 32-bit or narrower integer column that holds a larger number (a surrogate identifier) becomes 64 bits wide.
    """
    arrays = {column.name: _array(table.frame[column.name], column) for column in table.schema}
    return pa.table(arrays) if arrays else pa.table({})


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Types that every engine has: no dictionaries, texts instead of the type null, no metadata."""
    plain = ((field.name, plain_type(field.type)) for field in schema)
    return pa.schema([(name, pa.string() if pa.types.is_null(kind) else kind) for name, kind in plain])


def plain_type(found: pa.DataType) -> pa.DataType:
    """The type of the values of a column that may be a dictionary."""
    return plain_type(found.value_type) if pa.types.is_dictionary(found) else found


def cast_to(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values of an engine in the type that their source stores them in."""
    if pa.types.is_null(kind):
        return pa.nulls(len(values))
    plain = values.cast(plain_type(kind), safe=not pa.types.is_floating(kind))
    return plain.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else plain


def content_order(content: pa.Table, names: Sequence[str]) -> Array:
    """Order of rows by their content, so that nothing is left of any other order; shape (n,), int64.

    The columns ``names`` decide first. Ascending: texts by the bytes of UTF-8, missing values last.
    """
    columns = [*names, *(name for name in content.column_names if name not in names)]
    keys = [_ranks(content[name]) for name in columns]
    return np.lexsort(keys[::-1]) if keys else np.arange(content.num_rows)


def _ranks(column: pa.ChunkedArray) -> Array:
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype=np.int32)
    # Arrow cannot sort numbers of 16 bits.
    values = column.cast(pa.float32()) if pa.types.is_float16(column.type) else plain_values(column)
    encoded = values.combine_chunks().dictionary_encode()
    place = np.empty(len(encoded.dictionary) + 1, dtype=np.int32)
    place[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(encoded.dictionary))
    place[-1] = len(encoded.dictionary)
    return np.asarray(place[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)])


def _array(values: pd.Series, column: Column) -> pa.Array:
    source = column.format.arrow_type
    if source is None:
        return column.kind.type.to_arrow(values)
    arrow_type = arrow_type_of(source)
    if pa.types.is_null(arrow_type):
        return pa.nulls(len(values)) if values.isna().all() else column.kind.type.to_arrow(values)
    if is_text(arrow_type):
        return _texts(values, column).cast(arrow_type)
    plain = plain_type(arrow_type)
    try:
        exact = pa.types.is_integer(plain)
        array = column.kind.type.to_arrow(values).cast(plain, safe=exact)
    except pa.ArrowInvalid:
        return column.kind.type.to_arrow(values)
    return array.dictionary_encode().cast(arrow_type) if pa.types.is_dictionary(arrow_type) else array


def _texts(values: pd.Series, column: Column) -> pa.Array:
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
    if text.startswith("time"):
        return (pa.time32 if text.startswith("time32") else pa.time64)(text[text.index("[") + 1 : -1])
    if text.startswith("date"):
        return pa.date64() if text.startswith("date64") else pa.date32()
    return pa.type_for_alias(text)
