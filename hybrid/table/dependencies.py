"""Uniqueness of rows and values, and functional dependencies between columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.sentence import sentence
from hybrid.table.holders import all_differ, combination_numbers, sharing
from hybrid.table.kinds.registry import Kind
from hybrid.table.persons import first_rows
from hybrid.table.schema import Column, Table

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_FEW = 20
"""In tables with fewer rows every column may be unique by chance."""
_FEW_NUMBERS, _TOGETHER = 10, 0.97
"""Values of a number up to which its rank says little, and rank correlation from which two numbers tell each other."""
_SCREENED = 1_000
"""Rows on which most pairs of columns show that neither tells the other."""
_CONFIRMED = 5
"""People who must confirm that a column tells another: beyond one for each of its values, and without those who have
the most frequent of the told values."""


def never_repeats(column: Column, values: pd.Series) -> bool:
    """True for texts and integers that never repeat in 20 rows or more; other kinds measure, and do not name."""
    if column.kind not in (Kind.CATEGORICAL, Kind.INTEGER):
        return False
    known = int(values.notna().sum())
    return known >= _FEW and int(values.nunique()) == known


def formulas(column: Column, values: pd.Series) -> int:
    """Count the values that a spreadsheet would run as a formula.

    They begin with =, +, -, @, a tab or a carriage return (the list of OWASP, "CSV Injection").
    """
    if column.kind is not Kind.CATEGORICAL:
        return 0
    levels = values.value_counts()
    texts = levels.index.astype(str)
    return int(levels[texts.str.startswith(_FORMULA)].sum())


def unique_share(table: Table, names: Sequence[str]) -> float:
    """Share of rows (0..1) of people who are alone in these columns; missing is a value."""
    return small_share(table, names, 2)


def small_share(table: Table, names: Sequence[str], k: int) -> float:
    """Share of rows (0..1) whose values fewer than k persons have (:func:`hybrid.table.holders.sharing`)."""
    return float((sharing(table, names) < k).mean()) if names and len(table) else 0.0


def functional_dependencies(table: Table, of: Sequence[str], among: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of columns: equal values of the first always go with equal values of the second.

    The first are ``among`` these columns, the second some of those that should not be known by them. Columns whose
    values have fewer than five people on average are left out: those tell everything by chance.
    """
    codes = {name: _codes(table.frame[name]) for name in {*of, *among}}
    size = {name: int(code.max()) + 1 for name, code in codes.items() if len(code)}
    tellers = [name for name in among if name in size and 1 < size[name] <= _held(table, codes[name]) / 5]
    return [
        (teller, told)
        for teller in tellers
        for told in of
        if teller != told and 1 < size[told] <= size[teller] and _tells(codes[teller], codes[told])
    ]


def rank_correlated(table: Table, of: Sequence[str], among: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of numbers of which the first nearly determines the second, such as years of work the age.

    Of more than ten values each; their rank correlation (Spearman 1904) over the rows that know both is at least 0.97
    or at most -0.97.
    """
    ranks = {
        name: table.frame[name].astype("float64").rank()
        for name in dict.fromkeys((*of, *among))
        if table.schema[name].kind.is_number and table.frame[name].nunique() > _FEW_NUMBERS
    }
    return [
        (teller, told)
        for teller in among
        for told in of
        if {teller, told} <= ranks.keys() and abs(ranks[teller].corr(ranks[told])) >= _TOGETHER
    ]


def no_secrets(table: Table, of: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """Columns that cannot be secrets, each with the reason.

    Nothing is left to learn of a column with one value, or of one that a ``known`` column, which an attacker may know,
    tells (:func:`functional_dependencies`; of columns that tell one another the first stays). Rows of a person count
    once. Nor does a value tell by chance what few people have: at least five must confirm it.
    """
    found = {name: "constant" for name in of if table.frame[name].nunique(dropna=False) < 2}
    people = first_rows(table)
    for teller, told in functional_dependencies(people, [name for name in of if name not in found], known):
        codes = [(_codes(part.frame[teller]), _codes(part.frame[told])) for part in (people, table)]
        if told in found or teller in found or not _is_confirmed(*codes[0]) or not _tells(*codes[1]):
            continue
        found[told] = sentence("role.told", column=teller)
    return found


def _held(table: Table, codes: Array) -> int:
    """Number of values of a column, each counted once for everybody who holds it."""
    if all_differ(table.persons):
        return len(table)
    return int(combination_numbers([codes, pd.factorize(table.persons)[0]]).max()) + 1


def _tells(teller: Array, told: Array) -> bool:
    return all(
        int(combination_numbers([teller[rows], told[rows]]).max()) + 1 == len(np.unique(teller[rows]))
        for rows in (slice(_SCREENED), slice(None))
    )


def _is_confirmed(teller: Array, told: Array) -> bool:
    """True if enough rows repeat a pair of values, of which the second is not the most frequent one."""
    unusual = told != np.bincount(told).argmax()
    return int(unusual.sum()) - len(np.unique(teller[unusual])) >= _CONFIRMED


def _codes(values: pd.Series) -> Array:
    return np.asarray(pd.factorize(values, use_na_sentinel=False)[0])
