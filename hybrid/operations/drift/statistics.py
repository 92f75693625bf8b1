"""Coarse statistics of a table, from which no record can be read.

They stay in the private zone. Numbers and dates are counted between rounded deciles, categories under keyed hashes;
what fewer than :data:`LEAST_ROWS` rows share is counted as "other". Of identifiers only the missing are counted.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.table.schema import Column, Kind, Role, Table

LEAST_ROWS = 5
MOST_CATEGORIES = 50
_DECILES = np.arange(0.1, 0.95, 0.1)
_DIGITS = 50
"""Edges are rounded to about this part of the distance between the outer deciles."""
_TAG_BYTES = 8


@dataclass(frozen=True)
class ColumnStatistics:
    """Distribution of the rows of one column.

    Parameters
    ----------
    kind : Kind
        Of the column.
    missing : int
        Rows without a value.
    edges : tuple of float
        Of numbers (dates: microseconds since 1970): bin i holds edges[i-1] < x <= edges[i]; empty for categories.
    categories : tuple of str
        Keyed hashes of the frequent categories; empty for numbers.
    counts : tuple of int
        Rows in each bin: len(edges) + 1 of them; or of each category, and the others last.
    """

    kind: Kind
    missing: int
    edges: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()


@dataclass(frozen=True)
class TableStatistics:
    """The columns of a table and how its rows spread over them."""

    rows: int
    columns: dict[str, ColumnStatistics]

    def to_json(self) -> dict[str, Any]:
        """As a dictionary of JSON types."""
        columns = {name: vars(column) | {"kind": str(column.kind)} for name, column in self.columns.items()}
        return {"rows": self.rows, "columns": columns}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> TableStatistics:
        """Build from the content of :meth:`to_json`."""
        return cls(int(content["rows"]), {name: _column(about) for name, about in content["columns"].items()})


def describe(table: Table, secret: bytes, like: TableStatistics | None = None) -> TableStatistics:
    """Count the rows of every column.

    Parameters
    ----------
    table : Table
        n rows.
    secret : bytes
        Key of the hashes (HMAC-SHA256) that replace categories.
    like : TableStatistics, optional
        Take its bins and categories, so that the two can be compared; columns it lacks get their own.
    """
    known = {} if like is None else like.columns
    columns = {column.name: _describe(table.frame[column.name], column, secret, known) for column in table.schema}
    return TableStatistics(len(table), columns)


def _describe(
    values: pd.Series, column: Column, secret: bytes, known: Mapping[str, ColumnStatistics]
) -> ColumnStatistics:
    like = known.get(column.name)
    if like is not None and like.kind is not column.kind:
        like = None
    missing = int(values.isna().sum())
    present = values.dropna()
    if column.role is Role.IDENTIFIER:
        return ColumnStatistics(column.kind, missing)
    if column.kind.is_continuous:
        numbers = _numbers(present, column.kind)
        edges = _edges(numbers) if like is None else np.asarray(like.edges)
        counts = np.bincount(np.searchsorted(edges, numbers, side="left"), minlength=len(edges) + 1)
        return ColumnStatistics(column.kind, missing, edges=tuple(edges.tolist()), counts=tuple(counts.tolist()))
    sizes = {_tag(secret, str(value)): int(size) for value, size in present.value_counts().items()}
    if like is None:
        frequent = [tag for tag, size in sizes.items() if size >= LEAST_ROWS]
        tags = tuple(sorted(frequent, key=lambda tag: (-sizes[tag], tag))[:MOST_CATEGORIES])
    else:
        tags = like.categories
    found = [sizes.get(tag, 0) for tag in tags]
    return ColumnStatistics(column.kind, missing, categories=tags, counts=(*found, len(present) - sum(found)))


def _numbers(values: pd.Series, kind: Kind) -> Array:
    if kind.is_temporal:
        values = pd.Series(values.to_numpy("datetime64[us]").astype(np.int64))
    numbers: Array = values.to_numpy(float)
    return numbers


def _edges(numbers: Array) -> Array:
    """Deciles, rounded so that none is the value of a person.

    As many as leave enough rows in every bin.
    """
    if len(numbers) < LEAST_ROWS * (len(_DECILES) + 1):
        return np.empty(0)
    edges = np.quantile(numbers, _DECILES)
    span = edges[-1] - edges[0]
    step = 10.0 ** math.floor(math.log10(span / _DIGITS)) if span > 0 else 0.0
    rounded = np.round(edges / step) * step if step > 0 else np.round(edges[:1])
    distinct: Array = np.unique(rounded)
    return distinct


def _tag(secret: bytes, text: str) -> str:
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()[: 2 * _TAG_BYTES]


def _column(about: Mapping[str, Any]) -> ColumnStatistics:
    return ColumnStatistics(
        Kind(about["kind"]),
        int(about["missing"]),
        tuple(about["edges"]),
        tuple(about["categories"]),
        tuple(about["counts"]),
    )
