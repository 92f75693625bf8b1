"""Columns that number a second person of each row, as in matches."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.pipeline.starter.column_names import identity_of
from hybrid.pipeline.starter.evidence import ends_in_number
from hybrid.pipeline.starter.person_numbers import FEWEST_NUMBERED
from hybrid.table import Kind, Table

_SHARED = 0.9
"""Share of the values of the shorter list that stand in the other, too."""
_DENSE = 0.5
"""Share of a range that is used, from which whole numbers of different things are the same by chance."""
_MUTUAL = 0.5
"""Share of the rows whose two numbers stand the other way round in another row."""
_SAME_ROW = 0.5
"""Share of the rows with the same value in both columns, from which they number the same person."""


def second_people(table: Table, person: str) -> tuple[str, ...]:
    """Columns whose values are those of the person's column, in other rows.

    Parameters
    ----------
    table : Table
        One row per record.
    person : str
        The column that names the person of a row.

    Returns
    -------
    tuple of str
        Texts with the same values; whole numbers with the name of a number that are particular, or stand the other way
        round in other rows.
    """
    kind = table.schema[person].kind
    if kind not in (Kind.CATEGORICAL, Kind.INTEGER) or int(table.frame[person].nunique()) <= FEWEST_NUMBERED:
        return ()
    others = [column.name for column in table.schema if column.kind is kind and column.name != person]
    named = [name for name in others if kind is Kind.CATEGORICAL or _is_number(name)]
    return tuple(name for name in named if _same_people(table, person, name))


def _is_number(name: str) -> bool:
    return ends_in_number(name) or identity_of(name) == "number"


def _same_people(table: Table, person: str, name: str) -> bool:
    both = table.frame[[person, name]].dropna().astype(object)
    if not len(both) or float((both[person] == both[name]).mean()) >= _SAME_ROW:
        return False
    first, second = both[person].unique(), both[name].unique()
    if len(np.intersect1d(first, second)) < _SHARED * min(len(first), len(second)):
        return False
    return table.schema[name].kind is Kind.CATEGORICAL or not _dense(first, second) or _mutual(both)


def _dense(first: Array, second: Array) -> bool:
    """True if the longer list uses most of its range."""
    longer = max(first, second, key=len)
    return len(longer) > _DENSE * (int(longer.max()) - int(longer.min()) + 1)


def _mutual(both: pd.DataFrame) -> bool:
    """True if most pairs of values occur both ways."""
    codes, values = pd.factorize(both.to_numpy().ravel())
    pairs = codes.reshape(-1, 2).astype(np.int64)
    there, back = (pairs[:, at] * len(values) + pairs[:, 1 - at] for at in (0, 1))
    return float(np.isin(back, there).mean()) >= _MUTUAL
