"""Uniqueness of rows and values, and functional dependencies between columns."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from hybrid.base.arrays import Array
from hybrid.table.holders import pair_numbers, sharing
from hybrid.table.persons import n_persons
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
    """Share of rows (0..1) of people who are alone in these columns.

    Missing is a value; without persons every row is one.
    """
    return small_share(table, names, 2)


def small_share(table: Table, names: Sequence[str], k: int) -> float:
    """Share of rows (0..1) whose values fewer than k persons have.

    Counted as :func:`hybrid.table.holders.sharing` does.
    """
    return float((sharing(table, names) < k).mean()) if names and len(table) else 0.0


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
        values have fewer than five people on average are left out: those tell everything by chance.
    """
    codes = {name: _codes(table.frame[name]) for name in {*of, *among}}
    size = {name: int(code.max()) + 1 for name, code in codes.items() if len(code)}
    tellers = [name for name in among if name in size and 1 < size[name] <= n_persons(table) / 5]
    return [
        (teller, told)
        for teller in tellers
        for told in of
        if teller != told
        and 1 < size[told] <= size[teller]
        and int(pair_numbers(codes[teller], codes[told]).max()) + 1 == size[teller]
    ]


def _codes(values: pd.Series) -> Array:
    codes: Array = pd.factorize(values, use_na_sentinel=False)[0]
    return codes
