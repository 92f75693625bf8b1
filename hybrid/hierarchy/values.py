"""Conversion between column values and their texts in hierarchy files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.errors import HierarchyError, Problem
from hybrid.hierarchy.tree import MOST_LISTED, PLAIN_DTYPES
from hybrid.table import DTYPES, Column
from hybrid.table.text import Parsed, as_text, parse


def distinct_values(values: pd.Series, column: Column) -> Array:
    """Distinct non-missing values of a column, ascending.

    In the plain dtype of its kind.
    """
    distinct = np.asarray(values.dropna().unique(), dtype=np.dtype(PLAIN_DTYPES[column.kind]))
    ordered: Array = np.sort(distinct)
    return ordered


def texts_of(leaves: Array, column: Column) -> list[str]:
    """Texts of these values as the column writes them, stripped."""
    return [text.strip() for text in as_text(pd.Series(leaves, dtype=DTYPES[column.kind]), column)]


def parse_texts(texts: Sequence[str], column: Column) -> Parsed:
    """Parse texts of values.

    In the column's format, else as ISO dates and with decimal points.
    """
    shape = column.format
    date_format = shape.date_format if column.kind.is_temporal else None
    parsed = parse(texts, column.kind, date_format, shape.decimal_mark)
    return parse(texts, column.kind) if parsed.bad else parsed


def from_texts(texts: Sequence[str], column: Column, source: str) -> Array:
    """Values of a hierarchy file; shape (n_texts,).

    In the plain dtype of the column's kind.

    Raises
    ------
    HierarchyError
        Texts that are not of the column's kind.
    """
    parsed = parse_texts(texts, column)
    if parsed.bad:
        bad = [texts[i] for i in parsed.bad]
        raise HierarchyError(
            Problem(
                f"{source}: hierarchy of {column.name!r}: {len(bad)} values are not {column.kind}, as the column is",
                "correct them; a hierarchy file has no header line",
                values=", ".join(bad[:MOST_LISTED]),
            )
        )
    plain: Array = np.asarray(parsed.values, dtype=np.dtype(PLAIN_DTYPES[column.kind]))
    return plain
