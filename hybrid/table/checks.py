"""Uniqueness of rows and values, and functional dependencies between columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.keys import by_first_row, pack
from hybrid.table.schema import Column, Kind, Table

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_FEW = 20
"""In tables with fewer rows every column may be unique by chance."""


def never_repeats(column: Column, values: pd.Series) -> bool:
    """True if every value of a column belongs to one row.

    Parameters
    ----------
    column : Column
        Its kind: decimals, dates and booleans measure, and do not name.
    values : pandas.Series, shape (n,)
        The column.

    Returns
    -------
    bool
        True for texts and integers that never repeat in 20 rows or more.
    """
    if column.kind not in (Kind.CATEGORICAL, Kind.INTEGER):
        return False
    known = int(values.notna().sum())
    return known >= _FEW and int(values.nunique()) == known


def formulas(column: Column, values: pd.Series) -> int:
    """Count the values that a spreadsheet would run as a formula.

    Parameters
    ----------
    column : Column
        Only texts can be formulas.
    values : pandas.Series, shape (n,)
        The column.

    Returns
    -------
    int
        Rows whose text begins with =, +, -, @, a tab or a carriage return (the list of OWASP, "CSV Injection").
    """
    if column.kind is not Kind.CATEGORICAL:
        return 0
    levels = values.value_counts()
    texts = levels.index.astype(str)
    return int(levels[texts.str.startswith(_FORMULA)].sum())


def unique_share(table: Table, names: Sequence[str]) -> float:
    """Share of rows (0..1) unique in these columns; missing is a value."""
    if not names or not len(table):
        return 0.0
    return float((np.bincount(_groups(table, names)) == 1).sum() / len(table))


def small_share(table: Table, names: Sequence[str], k: int) -> float:
    """Share of rows (0..1) in groups of fewer than k persons.

    A group has equal values in these columns. Missing is a value; without persons every row is one. Rows without a
    person count as nobody.
    """
    if not names or not len(table):
        return 0.0
    group = _groups(table, names)
    counted = group
    if table.persons is not None:
        pairs = _numbered(group, pd.factorize(table.persons)[0])
        first = np.unique(pairs, return_index=True)[1]
        counted = group[first[table.persons[first] >= 0]]
    sizes = np.bincount(counted, minlength=int(group.max()) + 1)
    return float((sizes[group] < k).mean())


def giveaways(table: Table, of: Sequence[str], among: Sequence[str]) -> list[tuple[str, str]]:
    """Determined and determining columns (functional dependencies).

    Parameters
    ----------
    table : Table
        The records.
    of : sequence of str
        Columns that should not be told.
    among : sequence of str
        Columns that might tell.

    Returns
    -------
    list of (str, str)
        Pairs (teller, told): equal values of the first always go with equal values of the second. Columns whose
        values occur less than five times on average are left out: those tell everything by chance.
    """
    codes = {name: _codes(table.frame[name]) for name in {*of, *among}}
    size = {name: int(code.max()) + 1 for name, code in codes.items() if len(code)}
    tellers = [name for name in among if name in size and 1 < size[name] <= len(table) / 5]
    return [
        (teller, told)
        for teller in tellers
        for told in of
        if teller != told
        and 1 < size[told] <= size[teller]
        and int(_numbered(codes[teller], codes[told]).max()) + 1 == size[teller]
    ]


def _groups(table: Table, names: Sequence[str]) -> Array:
    """Numbers 0.. of the rows' combinations of values."""
    group: Array = np.zeros(len(table), dtype=np.int64)
    for name in names:
        group = _numbered(group, _codes(table.frame[name]))
    return group


def _codes(values: pd.Series) -> Array:
    codes: Array = pd.factorize(values, use_na_sentinel=False)[0]
    return codes


def _numbered(group: Array, codes: Array) -> Array:
    """Numbers 0.. of the pairs that occur."""
    keys, _ = pack(((column, int(column.max()) + 1) for column in (group, codes)), len(group))
    return by_first_row(keys)[0]
