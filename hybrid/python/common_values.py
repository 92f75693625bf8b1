"""Values that enough people hold: learned from a table, and applied to any row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from hybrid.table.codings import numbers_of, written
from hybrid.table.holders import NOBODY, holders, row_holders

if TYPE_CHECKING:
    from hybrid.base.arrays import Array
    from hybrid.table import Column, Table


@dataclass(frozen=True)
class CommonValues:
    """Values of one column that at least some number of people hold.

    Categories and booleans stay or become missing. Numbers and dates are cut into groups of neighbouring values that
    so many people hold, and each becomes the mean of its group; a value that so many people hold alone stays as it is.
    """

    column: Column
    """Name and kind."""
    known: frozenset[object] = frozenset()
    """Categories that stay; of numbers and dates empty."""
    edges: Array | None = None
    """Least value of each group of numbers, ascending; of dates in microseconds; shape (m,)."""
    means: Array | None = None
    """Value of each group; shape (m,)."""

    @classmethod
    def of(cls, table: Table, name: str, least: int) -> CommonValues:
        """Learn the values of a column that at least ``least`` people hold."""
        column, values = table.schema[name], table.frame[name]
        codes, distinct = pd.factorize(values, sort=True)
        if not column.kind.is_continuous:
            people = holders(codes, len(distinct), row_holders(table))
            return cls(column, frozenset(one for one, count in zip(distinct, people, strict=True) if count >= least))
        numbers = numbers_of(pd.Series(distinct))
        counts = np.bincount(codes[codes >= 0], minlength=len(distinct))
        edges: list[float] = []
        means: list[float] = []
        start = 0
        for group in _groups(codes, row_holders(table), len(distinct), least):
            part = slice(start, start + group)
            edges.append(numbers[start])
            means.append(np.average(numbers[part], weights=counts[part]))
            start += group
        return cls(column, frozenset(), np.array(edges), np.array(means))

    def apply(self, values: pd.Series) -> pd.Series:
        """Values of the column, each replaced as it says above; shape and dtype stay."""
        if self.edges is None or self.means is None:
            return values.where(values.isin(list(self.known)))
        if not len(self.edges):
            return values.mask(values.notna())
        numbers = numbers_of(values)
        at = np.clip(np.searchsorted(self.edges, numbers, side="right") - 1, 0, None)
        found = written(np.where(np.isnan(numbers), np.nan, self.means[at]), self.column)
        return found.set_axis(values.index).astype(values.dtype)


def _groups(codes: Array, people: Array, n_values: int, least: int) -> list[int]:
    """Numbers of neighbouring values that belong together: at least ``least`` people hold each group.

    Parameters
    ----------
    codes, people : numpy.ndarray, shape (n,), int
        Number of each record's value in ascending order, -1 where missing; and its holder.
    """
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(n_values + 1))
    groups: list[int] = []
    size, held = 0, set[int]()
    for at in range(n_values):
        size += 1
        held.update(people[order[starts[at] : starts[at + 1]]].tolist())
        if len(held - {NOBODY}) >= least:
            groups.append(size)
            size, held = 0, set()
    if size and groups:
        groups[-1] += size
    return groups
