"""Columns that number persons, found by traits that persons keep, and those that number a second person of each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.keys import pack
from hybrid.pipeline.starter.column_names import denotes_people, ends_in_number, has_phrase, identity_of, vocabulary
from hybrid.table import Kind, Role, Table
from hybrid.table.dependencies import never_repeats

FEWEST_PERSONS = 20
"""Values of a column below which it numbers categories, not persons, in a table of many rows each."""
FEWEST_NUMBERED = 50
"""Values of a column up to which its name or form has to say that it numbers persons."""
_SAME = 0.95
"""Share of the repeated rows whose traits are those of the first row of the same value."""
_KNOWN = 0.8
"""Share of the rows that have a number of their person."""
_CHANCE = 0.35
"""Probability that two rows agree on all traits, above which agreement says nothing."""
_ROWS_EACH = 1.5
"""Mean rows of a value from which agreement can be seen."""
_DIFFERENT = 0.05
"""Share of the repeated rows with another trait, above which a column does not name one person by each value."""
_AGAIN = 0.05
"""Share of the rows with the names and traits of an earlier row, from which rows seem to share persons."""
_BY_CHANCE = 10
"""Times that this share has to be what independent columns explain."""
_MOST_TRAITS = 10
"""Values of a trait beyond which it is taken for a birth, and all of these for one: a year goes with a date."""


def lasting_traits(table: Table, among: Sequence[str] | None = None) -> Array | None:
    """Combinations of the traits that a person keeps (sex, birth, names).

    Equal numbers for equal traits; None where there are no such columns (``among``: all of them if not given), or two
    persons often share all of them.
    """
    names = _lasting(table) if among is None else among
    if not names or not len(table):
        return None
    traits = _codes(table, names)
    _, counts = np.unique(traits, return_counts=True)
    return traits if float(((counts / len(table)) ** 2).sum()) <= _CHANCE else None


def _lasting(table: Table) -> list[str]:
    return [column.name for column in table.schema if column.kind is not Kind.DECIMAL and _is_lasting(column.name)]


def _is_lasting(name: str) -> bool:
    words = vocabulary().split(name)
    return has_phrase(words, vocabulary().lasting) and not vocabulary().staff & set(words)


def is_part_of_name(name: str) -> bool:
    """True for names of columns with first names or surnames alone, which many persons share."""
    return identity_of(name) == "name" and _is_lasting(name)


def _names(table: Table) -> list[str]:
    """Columns of names, whole or in part, but those of staff."""
    staff = vocabulary().staff
    return [
        name for name in table.schema.names if identity_of(name) == "name" and not staff & set(vocabulary().split(name))
    ]


def people_again(table: Table) -> tuple[str, ...]:
    """Names and lasting traits by which rows seem to share persons.

    Their values together recur in more rows than chance explains: at least 5 % of the rows have those of an earlier
    one, and ten times as many as names, births and other traits would give were they independent.

    Empty where nothing says so, or there is too little to tell people apart: no whole name and one trait only.
    """
    varying = {name for name in table.schema.names if table.frame[name].nunique() > 1}
    names = [name for name in _names(table) if name in varying]
    others = [name for name in _lasting(table) if name in varying and name not in names]
    groups = _groups(table, names, others)
    whole = len(names) > 1 or any(not _is_lasting(name) for name in names)
    if not groups or (len(groups) == 1 and not whole):
        return ()
    coded = np.column_stack([_codes(table, group) for group in groups])
    people = np.unique(coded, axis=0)
    again = 1 - len(people) / len(table)
    chance = (len(people) - 1) * float(np.prod([_collisions(codes) for codes in people.T]))
    return tuple(name for group in groups for name in group) if again >= max(_AGAIN, _BY_CHANCE * chance) else ()


def _groups(table: Table, names: Sequence[str], others: Sequence[str]) -> list[list[str]]:
    """Traits that say different things: names, births, and each of the others; of a code and its text only one."""
    births = [name for name in others if table.frame[name].nunique() > _MOST_TRAITS]
    few = list[str]()
    for name in others:
        if name not in births and not any(_are_one(table, name, other) for other in few):
            few.append(name)
    return [group for group in (list(names), births, *([name] for name in few)) if group]


def _are_one(table: Table, first: str, second: str) -> bool:
    sizes = {len(np.unique(_codes(table, names))) for names in ([first], [second], [first, second])}
    return len(sizes) == 1


def _codes(table: Table, names: Sequence[str]) -> Array:
    coded = (pd.factorize(table.frame[name], use_na_sentinel=False) for name in names)
    return pack(((codes, len(levels)) for codes, levels in coded), len(table))[0]


def _collisions(codes: Array) -> float:
    _, counts = np.unique(codes, return_counts=True)
    return float((counts * (counts - 1)).sum()) / max(len(codes) * (len(codes) - 1), 1)


def agreement(values: pd.Series, traits: Array) -> float | None:
    """Share (0..1) of a column's repeated rows that keep their value's traits; None where too few rows repeat."""
    known = values.notna().to_numpy()
    codes = pd.factorize(values[known])[0]
    if not len(codes) or len(codes) < _ROWS_EACH * (int(codes.max()) + 1):
        return None
    _, first = np.unique(codes, return_index=True)
    kept = traits[known]
    return float((kept == kept[first][codes]).sum() - len(first)) / (len(codes) - len(first))


def person_numbers(table: Table, among: Sequence[str]) -> tuple[str, ...]:
    """Columns with many values, each with the lasting traits of one person.

    Two traits that say different things are enough: a row may tell about a second person, who has others.

    Only texts and whole numbers ``among`` the asked columns that repeat can number persons, and no weights or traits.
    Without columns of lasting traits nothing is found.
    """
    lasting, named = _lasting(table), set(_names(table))
    groups = _groups(
        table, [name for name in lasting if name in named], [name for name in lasting if name not in named]
    )
    traits = [(group, _codes(table, group)) for group in groups]
    return tuple(name for name in among if _numbers_persons(table, name, traits))


def _numbers_persons(table: Table, name: str, traits: Sequence[tuple[list[str], Array]]) -> bool:
    column, values = table.schema[name], table.frame[name]
    if column.kind not in (Kind.CATEGORICAL, Kind.INTEGER) or column.role is Role.WEIGHT or _is_lasting(name):
        return False
    if int(values.nunique()) <= FEWEST_NUMBERED or values.notna().mean() < _KNOWN:
        return False
    kept = [group for group, codes in traits if (agreement(values, codes) or 0.0) >= _SAME]
    if not kept or len(kept) < min(len(traits), 2):
        return False
    together = lasting_traits(table, [trait for group in kept for trait in group])
    return together is not None and (agreement(values, together) or 0.0) >= _SAME


def contradiction(table: Table, name: str) -> float:
    """Share (0..1) of a column's repeated rows whose traits differ.

    Only known traits are compared, and for a column of names other names; 0 where no value repeats, and without columns
    of lasting traits.
    """
    traits = dict.fromkeys((*_lasting(table), *(_names(table) if identity_of(name) == "name" else ())))
    known = table.frame[table.frame[name].notna()]
    codes = pd.factorize(known[name])[0]
    different = np.zeros(len(known), dtype=bool)
    for trait in traits:
        if trait != name:
            values = pd.Series(pd.factorize(known[trait])[0], dtype="Int64").replace(-1, pd.NA)
            first = values.groupby(codes).transform("first")
            different |= (values != first).fillna(False).to_numpy(dtype=bool)
    return float(different.sum()) / max(len(codes) - len(np.unique(codes)), 1)


def may_name_persons(table: Table, name: str) -> bool:
    """False for a column whose values cannot name one person each.

    They are too few in a table of many rows, or their rows have different traits: people with the same name, a number
    that is given anew in every place. Traits of a second person may differ where those of one are kept.
    """
    values = table.frame[name]
    distinct = int(values.nunique())
    few = distinct <= FEWEST_PERSONS and len(values) > FEWEST_PERSONS * distinct
    return not few and (contradiction(table, name) <= _DIFFERENT or bool(person_numbers(table, [name])))


def rows_are_numbered(table: Table, names: Sequence[str]) -> bool:
    """True where one of these columns numbers people, as patient_id, and has another value in each row."""
    return any(_numbers_people(name) and never_repeats(table.schema[name], table.frame[name]) for name in names)


def _numbers_people(name: str) -> bool:
    return identity_of(name) == "number" and denotes_people(name, staff=False)


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

    ``person`` names the person of a row. Texts have the same values; whole numbers have the name of a number, and are
    particular or stand the other way round in other rows.
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
    if len(second) <= FEWEST_NUMBERED or len(np.intersect1d(first, second)) < _SHARED * min(len(first), len(second)):
        return False
    return table.schema[name].kind is Kind.CATEGORICAL or not _dense(first, second) or _mutual(both)


def _dense(first: Array, second: Array) -> bool:
    longer = max(first, second, key=len)
    return len(longer) > _DENSE * (int(longer.max()) - int(longer.min()) + 1)


def _mutual(both: pd.DataFrame) -> bool:
    codes, values = pd.factorize(both.to_numpy().ravel())
    pairs = codes.reshape(-1, 2).astype(np.int64)
    there, back = (pairs[:, at] * len(values) + pairs[:, 1 - at] for at in (0, 1))
    return float(np.isin(back, there).mean()) >= _MUTUAL
