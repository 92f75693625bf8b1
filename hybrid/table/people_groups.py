"""Groups of people by one column, large enough to be named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.table.cells import OTHER, Cells, part
from hybrid.table.holders import holders, row_holders
from hybrid.table.schema import Column, Table

MOST_VALUES = 100
"""Categories of a column with a group of their own, at most; the rarer ones are one group."""


@dataclass(frozen=True)
class PeopleGroups:
    """Groups by one column, which have no row in common.

    Parameters
    ----------
    column : Column
        The column that they are made by.
    cells : Cells
        Its values, pooled so that no cell stands for few people.
    named : numpy.ndarray, shape (n_groups,), int64
        Cells that enough people are in, and not all; the last number stands for missing values.
    """

    column: Column
    cells: Cells
    named: Array

    def __len__(self) -> int:
        return len(self.named)

    @property
    def labels(self) -> list[str]:
        """Names of the groups.

        A category, an interval with round bounds, all rare values together, or missing.
        """
        names = [*self.cells.labels, "missing"]
        return ["rare values together" if names[at] == OTHER and self.cells.pooled else names[at] for at in self.named]

    def places(self, table: Table) -> Array:
        """Group of each row, -1 for none; shape (n,), int64."""
        group = np.full(len(self.cells) + 1, -1, dtype=np.int64)
        group[self.named] = np.arange(len(self.named))
        placed: Array = group[self.cells.assign(table.frame[self.column.name])]
        return placed

    def people(self, table: Table) -> Array:
        """People with a row in each group; shape (n_groups,), int64."""
        return holders(self.places(table), len(self), row_holders(table))


def people_groups(train: Table, names: Iterable[str], least: int) -> Iterator[PeopleGroups]:
    """Groups of at least ``least`` training people, column by column.

    Parameters
    ----------
    train : Table
        The real records.
    names : iterable of str
        Columns.
    least : int
        Fewest people of a group. Values that fewer people hold are one group, if that is large enough.

    Yields
    ------
    PeopleGroups
        One per column with any group that is not everybody.
    """
    for name in names:
        column = train.schema[name]
        cells = part(train, name, least, MOST_VALUES)
        if cells is None:
            continue
        places = cells.assign(train.frame[name])
        held = holders(places, len(cells) + 1, row_holders(train))
        rows = np.bincount(places, minlength=len(cells) + 1)
        named = np.flatnonzero((held >= least) & (rows < len(train)))
        if len(named):
            yield PeopleGroups(column, cells, named)
