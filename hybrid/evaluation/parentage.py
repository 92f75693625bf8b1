"""Parents of the rows of a linked table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hybrid.base.arrays import Rows
from hybrid.table import Table


@dataclass(frozen=True)
class Parents:
    """Parent of each row of a table.

    Parameters
    ----------
    table : Table, m rows
        The parent table, without identifiers.
    owners : numpy.ndarray, shape (n,), int64
        Row of the parent table that each row belongs to; -1 for orphans.
    own : tuple of str
        Columns of the table that are not its parent's or person's.
    broken : int
        Rows without a parent, or with a reference to a row of a public table that does not exist.
    """

    table: Table
    owners: Rows
    own: tuple[str, ...]
    broken: int = 0


Parentage = Mapping[Literal["train", "control", "table"], Parents]
"""Parents of the rows of train, of control where there is one, and of the judged table."""
