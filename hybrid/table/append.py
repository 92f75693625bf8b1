"""Rows of one table after those of another."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes
from hybrid.table.schema import Table


def together(table: Table, other: Table) -> Table:
    """Records of two tables that have no person in common.

    Where only one of them names persons, each row of the other is another person.
    """
    return Table(appended(table.frame, other.frame), table.schema, _persons(table, other))


def _persons(table: Table, other: Table) -> Codes | None:
    if table.persons is None and other.persons is None:
        return None
    mine, its = (np.arange(len(each)) if each.persons is None else each.persons for each in (table, other))
    both: Codes = np.concatenate([mine, np.where(its < 0, its + min(int(mine.min()), 0), its + int(mine.max()) + 1)])
    return both


def appended(frame: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """The rows of both, in columns that are :func:`alike`.

    Parameters
    ----------
    frame, other : pandas.DataFrame, n and m rows
        With the same columns.
    """
    return pd.DataFrame({name: pd.concat(alike(old, other[name]), ignore_index=True) for name, old in frame.items()})


def alike(old: pd.Series, new: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Two columns in one dtype.

    Categories that only the second has come last.
    """
    if not isinstance(old.dtype, pd.CategoricalDtype) or old.dtype == new.dtype:
        return old, new
    known = set(old.cat.categories)
    whole = old.cat.add_categories([value for value in new.cat.categories if value not in known])
    return whole, new.astype(whole.dtype)
