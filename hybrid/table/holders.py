"""Number of people who hold each value.

The one place where holders are counted: charts, gates, protection, checks and descriptions of a table ask here how
many people are behind a value. The members of a household are known together, so that what only they hold is what one
household holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes, Mask
from hybrid.base.keys import by_first_row, pack
from hybrid.table.schema import Table

NOBODY = int(np.iinfo(np.int64).min)
"""Holder of a row whose person is not known: it may be anybody's, so nobody is counted on its account."""
_WIDEST = 100
"""Numbers of persons per row up to which they are counted in an array; others are not asked whether they differ."""


def row_persons(table: Table) -> Codes:
    """Person of each row, as k counts them; one number for all rows without a key."""
    return np.where(table.persons < 0, NOBODY, table.persons)


def row_holders(table: Table) -> Codes:
    """Holder of each row, for counting who holds a value.

    Its household where the table has any, or else its person; :data:`NOBODY` for rows without a person.
    """
    return np.where(table.persons < 0, NOBODY, table.households)


def all_differ(persons: Array) -> bool:
    """True where each row is another person with a key, so that counts of people are counts of rows."""
    if not len(persons) or (persons[0] >= 0 and (persons[1:] > persons[:-1]).all()):
        return True
    return bool(persons.min() >= 0 and persons.max() < _WIDEST * len(persons) and np.bincount(persons).max() == 1)


def row_weights(persons: Array, known: Mask) -> Array:
    """Weight of each row, 1 / (rows of its person), and 0 where that is not ``known``; shape (n,)."""
    codes = pd.factorize(persons)[0]
    return np.where(known, 1 / np.bincount(codes)[codes], 0.0)


def n_distinct(persons: Array) -> int:
    """Number of different persons."""
    return len(persons) if all_differ(persons) else len(pd.unique(persons))


def n_with_key(persons: Array) -> int:
    """Number of different persons with a key."""
    return n_distinct(persons[persons >= 0])


def holders(codes: Array, n_codes: int, persons: Array) -> Array:
    """Count the distinct people who hold each value 0..n_codes - 1; shape (n_codes,), int64.

    ``codes`` has each record's value, -1 where it is missing, and ``persons`` its holder (:func:`row_holders`).
    """
    known = codes >= 0
    if all_differ(persons):
        return np.bincount(codes[known].astype(np.int64), minlength=n_codes)
    known &= persons != NOBODY
    pairs = pd.DataFrame({"value": codes[known].astype(np.int64), "person": persons[known]}).drop_duplicates()
    return np.bincount(pairs["value"].to_numpy(), minlength=n_codes)


def value_holders(table: Table, name: str) -> pd.Series:
    """Number of people who hold each value of a column, by value in the order of appearance, without missing ones."""
    codes, distinct = pd.factorize(table.frame[name])
    return pd.Series(holders(codes, len(distinct), row_holders(table)), index=pd.Index(distinct), name=name)


def sharing(table: Table, names: Sequence[str]) -> Array:
    """Number of people who share each row's values in these columns: 1 where a person is alone; shape (n_rows,).

    As k counts them: persons, and nobody for a row without one. Missing is a value.
    """
    group = combination_numbers(
        [pd.factorize(table.frame[name])[0] for name in names] or [np.zeros(len(table), np.int64)]
    )
    return holders(group, int(group.max(initial=-1)) + 1, row_persons(table))[group]


def combination_numbers(columns: Sequence[Array]) -> Array:
    """Numbers 0.. of the combinations of codes (-1 or more) that occur, by their first row; shape (n,), int64."""
    sized = ((column + 1, int(column.max(initial=-1)) + 2) for column in columns)
    return by_first_row(pack(sized, len(columns[0]))[0])[0]


def people_bounds(codes: Array, least: int, persons: Array) -> tuple[int, int] | None:
    """Codes of the values of the ``least``-th smallest and largest person; None where too few have a value.

    ``codes`` are numbers of the values by size, -1 where missing. Persons are as for :func:`holders`; of a person with
    several values the outermost counts.
    """
    known = np.flatnonzero((codes >= 0) & (persons != NOBODY))
    table = pd.DataFrame({"person": persons[known], "value": codes[known]}).groupby("person")["value"]
    lowest, highest = np.sort(table.min().to_numpy()), np.sort(table.max().to_numpy())
    if len(lowest) < least or highest[-least] < lowest[least - 1]:
        return None
    return int(lowest[least - 1]), int(highest[-least])
