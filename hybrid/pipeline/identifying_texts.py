"""Identifiers inside of other columns, and contacts in names of columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes, Mask
from hybrid.base.errors import DataError, Problem, refuse
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.starter.value_patterns import contact_in
from hybrid.publication.rare_values import words_of
from hybrid.publication.table_facts import few
from hybrid.table import Column, Kind, Role, Table
from hybrid.table.holders import value_holders
from hybrid.table.text import as_text

SHARED_BY = 5
"""People who share a value of an identifier, such as "not known", from which it names nobody."""
LEAST_LENGTH = 3
"""Characters of an identifier's value that is looked for."""
LEAST_OWN = 3
"""Rows with their own word from which it is not by chance, and three times as many as with the word of another row."""
MOST_WORDS = 5
"""Words of an identifier's value that is looked for."""


@dataclass
class _Sought:
    telling: set[str] = field(default_factory=set)
    """Names of several words, and numbers with letters: wherever they stand they name somebody."""
    own: list[pd.Series] = field(default_factory=list)
    """Single words and plain numbers of each row: as any other word, but in the row of their own person."""


def refuse_identifying(config: RunConfig, table: Table) -> None:
    """Refuse a table whose other columns, or names of columns, identify people."""
    problems = [problem for _, problem in identifying_problems({"": table}, kept_columns(config))]
    refuse(problems, DataError)


def kept_columns(config: RunConfig) -> set[str]:
    """Columns that a person decided to release as they are (``protect.columns.NAME: keep``)."""
    options = config.protection
    return set() if options is None else {name for name, choice in options.columns.items() if choice == "keep"}


def identifying_problems(tables: Mapping[str, Table], kept: Collection[str]) -> Iterator[tuple[str, Problem]]:
    """Columns that hold values of identifiers, or are named by a contact.

    Exact, word by word: a name of several words or a number with letters (P00005) of any identifier, in any text; a
    single word or a plain number, in the text of its own row, where that is more often than by chance and fewer than
    five people have this text: a colour is not the name of those who are called so.

    Identifiers of each table are looked for in all. ``kept`` are columns that a person decided to release as they are.
    With each problem comes the table's name; the messages hold no value.
    """
    sought = {name: _sought(table) for name, table in tables.items()}
    telling = set[str]().union(*(one.telling for one in sought.values()))
    for name, table in tables.items():
        for at, column in enumerate(table.schema, start=1):
            what = contact_in(column.name)
            if what is not None:
                yield name, _named_by(at, what, column.name)
            if column.kind is not Kind.CATEGORICAL or column.role is Role.IDENTIFIER or column.name in kept:
                continue
            rows = int(_naming(table, column.name, telling, sought[name].own).sum())
            if rows:
                yield name, _problem(column.name, rows)


def _named_by(at: int, what: str, name: str) -> Problem:
    return Problem(
        f"the name of column {at} of the table holds {what}; names of columns are published",
        "give it another name in the source",
        values=name,
    )


def _problem(name: str, rows: int) -> Problem:
    return Problem(
        f"data.columns.{name}: {few(rows)} rows hold a value of an identifier, which names people",
        "take it out of the texts in the source, or set role: identifier; if it names no person there, "
        f"protect.columns.{name}: keep releases the column as it is",
    )


def _sought(table: Table) -> _Sought:
    found = _Sought()
    for column in table.schema:
        if column.role is not Role.IDENTIFIER or column.kind not in (Kind.CATEGORICAL, Kind.INTEGER):
            continue
        held = value_holders(table, column.name)
        values = _plain(pd.Series(held.index[held < SHARED_BY]), column)
        texts = set(values[values.str.len() >= LEAST_LENGTH])
        telling = {text for text in texts if _is_telling(text)}
        found.telling |= telling
        single = {text for text in texts - telling if " " not in text}
        if single:
            own = _plain(table.frame[column.name], column)
            found.own.append(own.where(own.isin(single)))
    return found


def _plain(values: pd.Series, column: Column) -> pd.Series:
    """Values as :func:`hybrid.publication.rare_values.words_of` reads them, one space between words."""
    texts = as_text(values, column)
    codes, distinct = pd.factorize(texts)
    plain = np.array([*(" ".join(words_of(text)) for text in distinct), None], dtype=object)
    return pd.Series(plain[codes], dtype=object)


def _is_telling(text: str) -> bool:
    words = text.count(" ") + 1
    letters, digits = any(map(str.isalpha, text)), any(map(str.isdigit, text))
    return letters and (digits or words > 1) and words <= MOST_WORDS


def _naming(table: Table, name: str, telling: set[str], own: list[pd.Series]) -> Mask:
    codes, distinct = pd.factorize(table.frame[name])
    words = [words_of(str(text)) for text in distinct]
    named = np.array([not telling.isdisjoint(_runs(one)) for one in words], dtype=bool)
    found: Mask = np.append(named, False)[codes]
    held = value_holders(table, name).reindex(distinct, fill_value=0)
    sets = [frozenset(one) if people < SHARED_BY else frozenset[str]() for one, people in zip(words, held, strict=True)]
    sets.append(frozenset())
    for values in own:
        hits = _hits(sets, codes, values)
        by_chance = int(_hits(sets, np.roll(codes, len(codes) // 2 + 1), values).sum())
        if int(hits.sum()) >= max(LEAST_OWN, 3 * by_chance):
            found |= hits
    return found


def _hits(sets: Sequence[frozenset[str]], codes: Codes, values: pd.Series) -> Mask:
    found = [word in sets[code] for code, word in zip(codes.tolist(), values, strict=True)]
    return np.array(found, dtype=bool)


def _runs(words: list[str]) -> Iterator[str]:
    for first in range(len(words)):
        for end in range(first + 1, min(first + MOST_WORDS, len(words)) + 1):
            yield " ".join(words[first:end])
