"""Common encoding of all compared tables, fitted on their union."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.keys import by_first_row, pack
from hybrid.table import Column, Kind, Table
from hybrid.table.codings import numbers_of

_SECOND = 1e6
"""Microseconds."""
ID_SPAN = 10
"""Integers, distinct in train and in control, are identifiers if they lie within this many times the rows there."""


@dataclass(frozen=True)
class Encoded:
    """The rows of one table in the shared coding."""

    ranks: Array
    """Position of each value in the column's vocabulary; -1 where missing. Equal ranks are equal values. Numbers and
    dates are ranked by size, categories by how frequent they are (so names do not matter); shape (n, p), int32."""
    numbers: Array
    """Numbers as they are, dates and times in seconds; NaN where missing or infinite, and in categorical columns; shape
    (n, p), float64."""

    def __len__(self) -> int:
        return len(self.ranks)

    def take(self, rows: Array) -> Encoded:
        return Encoded(self.ranks[rows], self.numbers[rows])

    def join(self, other: Encoded) -> Encoded:
        return Encoded(np.concatenate([self.ranks, other.ranks]), np.concatenate([self.numbers, other.numbers]))

    @cached_property
    def order(self) -> Array:
        """Row positions sorted by content, shape (n,): samples must not depend on the order in the file."""
        return np.lexsort(self.ranks.T[::-1]) if self.ranks.shape[1] else np.arange(len(self))


@dataclass(frozen=True)
class Encoding:
    """Common vocabulary of the tables."""

    columns: tuple[Column, ...]
    """The p columns that are compared, by name (so that the order in the file does not matter)."""
    excluded: dict[str, str]
    """Columns that are not compared, and why."""
    tables: tuple[Encoded, ...]
    """In the order given to :func:`encode`."""
    cardinality: Array
    """Distinct non-missing values in all tables together; shape (p,), int64."""

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @cached_property
    def continuous(self) -> Array:
        """True for columns with a distance, shape (p,), bool."""
        return np.array([column.kind.is_continuous for column in self.columns], dtype=bool)

    def positions(self, names: Sequence[str]) -> Array:
        """Positions of the named columns that are compared, ascending, int64."""
        wanted = set(names)
        return np.array([i for i, name in enumerate(self.names) if name in wanted], dtype=np.int64)


def encode(tables: Sequence[Table], *, every: bool = False) -> Encoding:
    """Code several tables of one schema together.

    Columns that are constant (or all missing) in all tables carry nothing and are left out; so are categorical columns
    with a different text in nearly every row and dense all-distinct integers, which only name a row. The first two
    (train, control) decide what is an identifier; ``every``: no column is left out.
    """
    columns, excluded, ranks, numbers, cardinality = [], {}, [], [], []
    real = [len(table) for table in tables[:2]]
    for column in sorted(tables[0].schema, key=lambda column: column.name):
        series = [table.frame[column.name] for table in tables]
        rank, count = coded_ranks(series, column.kind)
        number = np.concatenate([coded_numbers(values, column.kind) for values in series])
        reason = _why_not(column, rank, number, count, real)
        if reason and not every:
            excluded[column.name] = reason
            continue
        columns.append(column)
        ranks.append(rank)
        numbers.append(number)
        cardinality.append(count)
    total = sum(map(len, tables))
    bounds = np.cumsum([len(table) for table in tables])[:-1]
    rank_parts = np.split(np.column_stack(ranks) if ranks else np.empty((total, 0), np.int32), bounds)
    number_parts = np.split(np.column_stack(numbers) if numbers else np.empty((total, 0)), bounds)
    parts = tuple(Encoded(r, x) for r, x in zip(rank_parts, number_parts, strict=True))
    return Encoding(tuple(columns), excluded, parts, np.array(cardinality, dtype=np.int64))


def _why_not(column: Column, rank: Array, number: Array, count: int, real: Sequence[int]) -> str:
    if count + int((rank < 0).any()) <= 1:
        return "constant"
    n = sum(real)
    known = rank[:n][rank[:n] >= 0]
    distinct = np.count_nonzero(np.bincount(known))
    if column.kind is Kind.CATEGORICAL and len(known) >= 50 and distinct > 0.95 * len(known):
        return "identifier or free text"
    if column.kind is Kind.INTEGER and n >= 50 and all(_distinct(part) for part in np.split(rank[:n], [real[0]])):
        files = np.split(number[:n], [real[0]])
        if all(len(np.unique(file)) == len(file) for file in files) and all(map(_dense, filter(len, files))):
            return "identifier"
    return ""


def _distinct(ranks: Array) -> bool:
    return int(np.bincount(ranks + 1).max(initial=0)) <= 1


def _dense(numbers: Array) -> bool:
    """True if numbers lie as closely as a row counter's, which may start anywhere."""
    return bool(np.ptp(numbers) < ID_SPAN * len(numbers))


def coded_ranks(series: Sequence[pd.Series], kind: Kind) -> tuple[Array, int]:
    """Ranks of a column of several tables, and the number of values."""
    if kind.is_continuous:
        codes, distinct = pd.factorize(pd.concat(series, ignore_index=True), sort=True)
        return codes.astype(np.int32), len(distinct)
    coded = [_categories(values) for values in series]
    vocabulary = pd.Index(sorted(set().union(*(map(str, values) for _, values in coded))))
    lookups = [vocabulary.get_indexer(pd.Index([str(v) for v in values], dtype=object)) for _, values in coded]
    parts = [np.append(lookup, -1)[codes] for (codes, _), lookup in zip(coded, lookups, strict=True)]
    counts = np.array([np.bincount(part[part >= 0], minlength=len(vocabulary)) for part in parts])
    # Of what the first two tables hold, no other table decides: people are coded alike beside every table. Both count
    # together: codes in the order of train alone would tell an attack whose values only control has.
    others = np.where(counts[:2].any(axis=0), 0, counts[2:])
    by_frequency = np.lexsort([np.arange(len(vocabulary)), *-others[::-1], -counts[:2].sum(axis=0)])
    by_frequency = by_frequency[counts.sum(axis=0)[by_frequency] > 0]
    new = np.full(len(vocabulary) + 1, -1, dtype=np.int32)
    new[by_frequency] = np.arange(len(by_frequency), dtype=np.int32)
    return np.concatenate([new[part] for part in parts]), len(by_frequency)


def _categories(values: pd.Series) -> tuple[Array, pd.Index]:
    """Codes (-1 missing) and distinct values of a categorical or boolean column."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.codes.to_numpy(), values.cat.categories
    codes, distinct = pd.factorize(values)
    return codes, pd.Index(distinct)


def coded_numbers(values: pd.Series, kind: Kind) -> Array:
    """Numbers of a column, dates and times in seconds; NaN where missing or infinite, and in categorical columns."""
    if not kind.is_continuous:
        return np.full(len(values), np.nan)
    numbers = numbers_of(values) / (1 if kind.is_number else _SECOND)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def part_edges(values: Array, parts: int) -> Array:
    """Bounds of parts of as many known numbers each, where they are so different; none where no number is known."""
    known = values[~np.isnan(values)]
    return np.unique(np.quantile(known, np.linspace(0, 1, parts + 1)[1:-1])) if len(known) else np.empty(0)


def in_parts(values: Array, edges: Array) -> Array:
    """Part of each number between the edges, from 0; -1 where missing."""
    return np.where(np.isnan(values), -1, np.searchsorted(edges, values, side="right"))


def ranks_of(tables: Sequence[Table], names: Sequence[str]) -> list[Array]:
    """Ranks of some columns, none left out, in one coding of their own: shape (n_i, len(names)) each, int32."""
    columns = [tables[0].schema[name] for name in sorted(names)]
    ranks = [coded_ranks([table.frame[column.name] for table in tables], column.kind)[0] for column in columns]
    total = sum(map(len, tables))
    stacked = np.column_stack(ranks) if ranks else np.empty((total, 0), np.int32)
    return np.split(stacked, np.cumsum([len(table) for table in tables])[:-1])


def row_keys(ranks: Sequence[Array]) -> list[Array]:
    """Number the distinct rows of several rank matrices of the same coding together; equal keys are equal rows."""
    stacked = np.concatenate(ranks).astype(np.int64)
    columns = ((column + 1, int(column.max(initial=0)) + 2) for column in stacked.T)
    keys, _ = by_first_row(pack(columns, len(stacked))[0])
    return np.split(keys, np.cumsum([len(part) for part in ranks])[:-1])
