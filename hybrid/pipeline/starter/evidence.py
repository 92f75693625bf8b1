"""Evidence that a column names persons.

It comes from the column's name, from the form of its values, and from their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from hybrid.pipeline.starter.column_names import Identity, identity_of, vocabulary
from hybrid.pipeline.starter.person_numbers import FEWEST_NUMBERED, FEWEST_PERSONS
from hybrid.pipeline.starter.value_patterns import NAMES, pattern_of
from hybrid.table import Column, Kind
from hybrid.table.dependencies import never_repeats

_MEANING: dict[Identity, str] = {
    "number": "a number of a person, a visit or a contract",
    "name": "a name of a person",
    "contact": "a contact such as e-mail or phone",
    "address": "an address",
}


@dataclass(frozen=True)
class Evidence:
    """Reason to take a column for an identifier.

    Parameters
    ----------
    reason : str
        For messages; holds no cell value.
    identity : str or None
        What the column's name denotes; None where it denotes nothing of a person.
    strong : bool
        Whether name or form of the values say so, not just that values do not repeat.
    partial : bool
        Whether only parts of some values identify, as in remarks.
    """

    reason: str
    identity: Identity | None = None
    strong: bool = True
    partial: bool = False


def evidence_of(column: Column, values: pd.Series) -> Evidence | None:
    """Find the strongest evidence that a column identifies persons.

    Parameters
    ----------
    column : Column
        Texts and integers may identify; decimals, dates and booleans measure.
    values : pandas.Series, shape (n,)
        The column.

    Returns
    -------
    Evidence or None
        By name (however often values repeat), then by form, then by uniqueness; None if there is none.
    """
    if column.kind not in (Kind.CATEGORICAL, Kind.INTEGER):
        return None
    identity = identity_of(column.name)
    pattern = pattern_of(column, values)
    if identity == "number" and pattern is not None and pattern.what == NAMES:
        # A column "patient" may hold numbers or names.
        identity = "name"
    if identity == "number" and _is_counter(column, values):
        identity = None
    if identity is not None:
        return Evidence(f"its name says: {_MEANING[identity]}", identity)
    if pattern is not None and not pattern.inside:
        return Evidence(f"its values are {pattern.what}")
    known, distinct = int(values.notna().sum()), int(values.nunique())
    words = vocabulary().split(column.name)
    if words and distinct > FEWEST_NUMBERED and vocabulary().people.issuperset(words):
        return Evidence("its name says: people, and it has many values", "number")
    if never_repeats(column, values):
        return Evidence("no value occurs twice", strong=False)
    if ends_in_number(column.name) and distinct > known / 2 and known > 1:
        return Evidence("its name says: a number, and most values occur once", strong=False)
    return None if pattern is None else Evidence(f"some of its values hold {pattern.what}", partial=True)


def _is_counter(column: Column, values: pd.Series) -> bool:
    """True for numbers that count visits: 1, 2, 3.

    Not for numbers of people: few patients of many rows may be numbered so.
    """
    if column.kind is not Kind.INTEGER or vocabulary().people & set(vocabulary().split(column.name)):
        return False
    known = values.dropna()
    distinct = int(known.nunique())
    if not 1 < distinct <= FEWEST_PERSONS or len(known) < FEWEST_PERSONS * distinct:
        return False
    first, last = int(known.min()), int(known.max())
    return first in (0, 1) and last - first + 1 == distinct


def ends_in_number(name: str) -> bool:
    """True if a column's name ends in a number word.

    That is a word for a number or key, as in ``vendor_id``.
    """
    words = vocabulary().split(name)
    return len(words) > 1 and words[-1] in vocabulary().numbers


def repeats(values: pd.Series) -> bool:
    """True if some value belongs to two rows or more."""
    return bool(values.dropna().duplicated().any())
