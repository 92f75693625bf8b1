"""Private domains of a table's columns, found by noisy counts where they are not declared, and what they cost.

The budget of one release goes into the number of rows (1 %), the domains that nobody declared (8 %) and the generator
(the rest). Where categories are searched for, a tenth of delta is theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes
from hybrid.base.errors import Problem
from hybrid.privacy.accounting import BudgetPart, gaussian_rho, rho_for, variance_for
from hybrid.privacy.domain import (
    CategoryDomain,
    Domain,
    KnownColumn,
    PrivacyOptions,
    ValueGrid,
    interval_domain,
    neutral_column,
    single_value_domain,
)
from hybrid.privacy.noise import Bits, discrete_gaussian, secure_bytes
from hybrid.table import Column, Kind, Schema, Table
from hybrid.table.persons import person_groups

FAN = 16
"""Parts that an interval is split into."""
_AT_ONCE = 512
"""Values that are all counted at once."""
DEVIATIONS = 5.0
"""Standard deviations of the noise that a count of an interval of its own exceeds."""


@dataclass(frozen=True)
class FoundKeys:
    """Categories that noisy counts of persons found, and the price."""

    states: tuple[str, ...]
    rho: float
    delta: float


def find_keys(values: pd.Series, persons: Codes, rows: int, rho: float, delta: float, bits: Bits) -> FoundKeys:
    """Find the categories that many persons have, missing ones too.

    Stability-based selection (Korolova et al. 2009; Bun, Nissim and Stemmer 2016) with Gaussian noise: only keys that
    occur are counted, each person once per key, and those whose noisy count reaches a threshold are found. A person has
    up to ``rows`` keys, so that the counts change by at most the root of ``rows``; a key of this person alone has count
    1 and passes with a probability of at most ``delta / rows``.
    """
    known = values.notna().to_numpy()
    codes, keys = pd.factorize(values[known].astype(str), sort=True)
    groups = person_groups(persons)[known]
    pairs = np.unique(np.stack([codes, groups]), axis=1) if len(codes) else np.empty((2, 0), dtype=np.int64)
    counts = np.bincount(pairs[0], minlength=len(keys))
    variance = variance_for(rho, rows)
    noisy = counts + discrete_gaussian(len(keys), variance, bits)
    found = tuple(str(key) for key in np.asarray(keys)[noisy >= threshold(variance, rows, delta)])
    return FoundKeys(found, gaussian_rho(variance, rows), delta)


def threshold(variance: int, rows: int, delta: float) -> int:
    """Noisy count that a key of one person reaches with a probability of at most ``delta / rows``.

    P(noise >= x) of the discrete Gaussian is at most that of the continuous one beyond x - 1 (Canonne, Kamath and
    Steinke 2020, Proposition 25).
    """
    return 2 + math.ceil(math.sqrt(variance) * -NormalDist().inv_cdf(delta / rows))


@dataclass(frozen=True)
class FoundIntervals:
    """Intervals of positions (first, last), ascending, and the price."""

    intervals: tuple[tuple[int, int], ...]
    rho: float


def find_intervals(
    positions: Array, last: int, rows: int, rho: float, bins: int, total: float, bits: Bits
) -> FoundIntervals:
    """Cut positions 0..last into intervals of about as many rows each; frequent values stay apart.

    Intervals whose noisy count is large are split, level by level, and small neighbours are joined in the end. A row is
    counted once per level; a person has up to ``rows`` rows, of ``total`` in all (noisy).
    """
    fan = last + 1 if last < _AT_ONCE else FAN
    levels = max(math.ceil(math.log(last + 1, fan) - 1e-9), 1)
    variance = variance_for(rho / levels, rows**2)
    limit = max(DEVIATIONS * math.sqrt(variance), total / bins)
    ordered, leaves, spent = np.sort(positions), [], 0.0
    waiting = [(0, last)]
    for _ in range(levels):
        parts = np.array([part for each in waiting for part in _parts(each, fan)], dtype=np.int64).reshape(-1, 2)
        if not len(parts):
            break
        counts = np.searchsorted(ordered, parts[:, 1], "right") - np.searchsorted(ordered, parts[:, 0], "left")
        noisy = counts + discrete_gaussian(len(parts), variance, bits)
        spent += gaussian_rho(variance, rows**2)
        split = (noisy > limit) & (parts[:, 1] > parts[:, 0])
        leaves += [(int(low), int(high), float(n)) for (low, high), n in zip(parts[~split], noisy[~split], strict=True)]
        waiting = [(int(low), int(high)) for low, high in parts[split]]
    leaves += [(low, high, limit) for low, high in waiting]
    return FoundIntervals(tuple(_joined(sorted(leaves), limit)), spent)


def _parts(interval: tuple[int, int], fan: int) -> Iterator[tuple[int, int]]:
    low, high = interval
    width = high - low + 1
    bounds = [low + width * at // fan for at in range(fan + 1)]
    yield from ((start, end - 1) for start, end in pairwise(bounds) if end > start)


def _joined(leaves: Sequence[tuple[int, int, float]], limit: float) -> Iterator[tuple[int, int]]:
    """Neighbours joined until their noisy counts reach the limit."""
    start, held = leaves[0][0], 0.0
    for low, high, count in leaves:
        if count >= limit and low > start:
            yield start, low - 1
            start, held = low, 0.0
        held += count
        if held >= limit:
            yield start, high
            start, held = high + 1, 0.0
    end = leaves[-1][1]
    if start <= end:
        yield start, end


ROWS_SHARE = 0.01
"""Share of rho for the number of rows."""
DOMAINS_SHARE = 0.08
"""Share of rho for the domains that are found."""
KEYS_SHARE = 0.1
"""Share of delta for categories that are found."""
LARGEST_GRID = 2**53
"""Values between two bounds, at most."""


@dataclass(frozen=True)
class EncodedTable:
    """A table as codes of private domains."""

    domains: tuple[Domain, ...]
    columns: tuple[Codes, ...]
    """States; shape (n_rows,), int32."""
    n_rows: int
    """Noisy number of rows, 1 or more."""
    parts: tuple[BudgetPart, ...]
    rho: float
    """What is left for the generator."""


def column_problems(schema: Schema, options: PrivacyOptions, listed: Mapping[str, Array]) -> Iterator[Problem]:
    """Public knowledge that private domains need and that is missing."""
    for name in options.columns:
        if name not in schema:
            yield Problem(
                f"privacy.columns names {name!r}, which is no column that is learned", f"use {', '.join(schema.names)}"
            )
    for column in schema:
        yield from _column_problems(column, options.columns.get(column.name, KnownColumn()), listed)


def _column_problems(column: Column, known: KnownColumn, listed: Mapping[str, Array]) -> Iterator[Problem]:
    key = f"privacy.columns.{column.name}"
    if not column.kind.is_continuous:
        if known.bounds is not None or known.decimals is not None:
            yield Problem(f"{key}: a {column.kind} column has no bounds and no decimals", "leave them out")
        if known.values is not None and column.kind is Kind.BOOLEAN:
            yield Problem(f"{key}: the values of a truth value are known", "leave values out")
        return
    if known.values is not None:
        yield Problem(f"{key}: a column of kind {column.kind} has bounds, not values", "set bounds: [LEAST, GREATEST]")
    bounds = bounds_of(column, known, listed)
    if bounds is None:
        yield Problem(
            f"{key}: a column of kind {column.kind} needs bounds that no record decides",
            "set bounds: [LEAST, GREATEST] from the meaning of the column, never from this data",
        )
    elif column.kind.type.bound(bounds[0], 1) is None:
        yield Problem(f"{key}: the bounds are not of the kind {column.kind}", "write them as values of the column")
    elif column.kind.type.has_decimals and known.decimals is None:
        yield Problem(f"{key}: a decimal column needs its digits after the point", "set decimals: NUMBER")
    elif ValueGrid.of(column.kind, bounds, known.decimals or 0).last >= LARGEST_GRID:
        yield Problem(f"{key}: more than 2 ** 53 values lie between the bounds", "set fewer decimals, or nearer bounds")


def bounds_of(column: Column, known: KnownColumn, listed: Mapping[str, Array]) -> tuple[Any, Any] | None:
    """Bounds of a number, date or time: declared, or of the values that a hierarchy file lists; None if unknown."""
    if known.bounds is not None or column.name not in listed or column.kind.type.has_decimals:
        return known.bounds
    values = listed[column.name]
    least, greatest = min(values), max(values)
    return column.kind.type.as_bound(least), column.kind.type.as_bound(greatest)


def encode_table(
    table: Table, options: PrivacyOptions, listed: Mapping[str, Array], rows: int, bits: Bits = secure_bytes
) -> EncodedTable:
    """Find the domains of training records (at most ``rows`` of a person, without identifiers), and encode them."""
    finder = _Finder(table, options, listed, rows, bits)
    domains = tuple(finder.domain(column) for column in table.schema)
    columns = tuple(domain.encode(table.frame[domain.column.name]) for domain in domains)
    left = finder.rho - math.fsum(part.rho for part in finder.parts)
    return EncodedTable(domains, columns, finder.n_rows, tuple(finder.parts), left)


def price_of_draw(options: PrivacyOptions, *, searches: bool) -> BudgetPart:
    """The most that one draw spends, by its options; ``searches`` for values of a category takes its share of delta."""
    delta = KEYS_SHARE * options.delta if searches else 0.0
    return BudgetPart("draw", rho_for(options.epsilon, options.delta - delta), delta)


class _Finder:
    def __init__(
        self, table: Table, options: PrivacyOptions, listed: Mapping[str, Array], rows: int, bits: Bits
    ) -> None:
        self.table, self.options, self.listed, self.rows, self.bits = table, options, listed, rows, bits
        self.parts: list[BudgetPart] = []
        self.keys = [column.name for column in table.schema if self._is_searched(column)]
        self.paid = [*self.keys, *(column.name for column in table.schema if self._is_cut(column))]
        whole = price_of_draw(options, searches=bool(self.keys))
        self.delta = whole.delta / len(self.keys) if self.keys else 0.0
        self.rho = whole.rho
        self.n_rows = self._count_rows()

    def domain(self, column: Column) -> Domain:
        known = self.options.columns.get(column.name, KnownColumn())
        if not column.kind.is_continuous:
            return CategoryDomain(neutral_column(column), self._states(column, known))
        bounds = bounds_of(column, known, self.listed)
        assert bounds is not None
        grid = ValueGrid.of(column.kind, bounds, known.decimals or 0)
        fixed = neutral_column(column, known.decimals)
        return single_value_domain(fixed, grid) if grid.last < self.options.bins else self._cut(fixed, grid)

    def _states(self, column: Column, known: KnownColumn) -> tuple[str, ...] | tuple[bool, ...]:
        if column.kind is Kind.BOOLEAN:
            return False, True
        if known.values is not None:
            return known.values
        if column.name in self.listed:
            return tuple(str(value) for value in self.listed[column.name])
        persons, values = self.table.persons, self.table.frame[column.name]
        found = find_keys(values, persons, self.rows, self._share, self.delta, self.bits)
        self.parts.append(BudgetPart(f"categories of {column.name}", found.rho, found.delta))
        return found.states

    def _cut(self, column: Column, grid: ValueGrid) -> Domain:
        values = self.table.frame[column.name]
        positions = grid.positions(values[values.notna()])
        found = find_intervals(positions, grid.last, self.rows, self._share, self.options.bins, self.n_rows, self.bits)
        self.parts.append(BudgetPart(f"intervals of {column.name}", found.rho))
        return interval_domain(column, grid, found.intervals)

    def _count_rows(self) -> int:
        variance = variance_for(ROWS_SHARE * self.rho, self.rows**2)
        self.parts.append(BudgetPart("number of rows", gaussian_rho(variance, self.rows**2)))
        return max(len(self.table) + int(discrete_gaussian(1, variance, self.bits)[0]), 1)

    @property
    def _share(self) -> float:
        return DOMAINS_SHARE * self.rho / len(self.paid)

    def _is_searched(self, column: Column) -> bool:
        known = self.options.columns.get(column.name, KnownColumn())
        return column.kind is Kind.CATEGORICAL and known.values is None and column.name not in self.listed

    def _is_cut(self, column: Column) -> bool:
        known = self.options.columns.get(column.name, KnownColumn())
        bounds = bounds_of(column, known, self.listed) if column.kind.is_continuous else None
        return bounds is not None and ValueGrid.of(column.kind, bounds, known.decimals or 0).last >= self.options.bins
