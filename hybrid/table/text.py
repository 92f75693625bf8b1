"""Columns of texts: kind and format inferred, values parsed, and written again the way the source writes them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hybrid.base.arrays import Array
from hybrid.base.errors import Problem
from hybrid.table.kinds.registry import DTYPES, Kind, recognized
from hybrid.table.kinds.value_type import ParsedTexts
from hybrid.table.read_options import ColumnOptions
from hybrid.table.schema import Column


def as_text(values: pd.Series, column: Column) -> pd.Series:
    """The values as the source would have written them, shape (n,), object.

    Texts with the column's padding; missing values are its missing marker.
    """
    codes, texts = encode_texts(values, column)
    return pd.Series(np.array(texts, dtype=object)[codes], dtype=object)


def encode_texts(values: pd.Series, column: Column) -> tuple[Array, list[str]]:
    """Number of each row's text, shape (n,), int64, and the texts of distinct values, that of missing ones last."""
    codes, distinct = pd.factorize(values, use_na_sentinel=True)
    padding = column.format.padding
    texts = [padding + column.kind.type.text(value, column.format) for value in distinct]
    return np.where(codes < 0, len(texts), codes), [*texts, column.format.missing]


@dataclass(frozen=True, kw_only=True)
class Parsed(ParsedTexts):
    """The distinct texts of a column as typed values of a kind."""

    kind: Kind


def parse(texts: Sequence[str], kind: Kind | None = None, date_format: str | None = None, mark: str = ".") -> Parsed:
    """Parse the distinct non-missing texts of one column, stripped; their kind and format are guessed if not given.

    Whole numbers with leading zeros (codes) and beyond 64 bits are categorical. None is bad where the kind was guessed.
    """
    texts = list(texts)
    kind = kind or recognized(texts, date_format, mark)
    found = kind.type.parse(texts, date_format, mark)
    return Parsed(kind=kind, **vars(found))


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
    """Parse one column; how its texts were written is in its format.

    ``markers`` are texts that mean "missing"; ``counts``, shape (n_rows,): records that each row represents. The
    problem is about texts that are not of the wanted kind, whose values are missing.
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
