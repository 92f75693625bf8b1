"""Keys of tables, and columns of other tables that refer to them.

A key has another value in every row. A column refers to a key if its values are among those of the key (an inclusion
dependency) and its name says so, or if its values are too particular to be there by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes
from hybrid.base.errors import DataError
from hybrid.pipeline.starter.column_names import (
    denotes_events,
    denotes_people,
    has_phrase,
    is_number_name,
    name_likeness,
    named_after,
    vocabulary,
)
from hybrid.pipeline.starter.value_patterns import NAMES, pattern_of
from hybrid.table import Column, Kind, Table
from hybrid.table.text import encode_texts

KNOWN = 0.9
"""Share of the rows with a value whose value must be a key, where the names are alike."""
PARTICULAR = 20
"""Distinct values from which values alone say that a column refers to a key, if all are keys."""
REPEATED = 0.7
"""Likeness of a bare ``id`` that repeats to the ``id`` of a table: it does not number the rows of its own one."""
_LONG = 5
"""Characters of a text that is hardly a key by chance."""
MOST_RIGHTS = 10
"""Values of a column of pairs below which one of them may mark the owner."""
_SPARSE = 10
"""Width of the range of whole numbers, in keys, from which a number is hardly a key by chance."""


@dataclass(frozen=True)
class Declared:
    """Keys and references that a database declares."""

    keys: Mapping[str, str] = field(default_factory=dict)
    """Table -> the one column of its primary key."""
    references: frozenset[tuple[str, str, str, str]] = frozenset()
    """Table, column, table referred to, its column."""


@dataclass(frozen=True)
class Pairs:
    """A table whose rows pair rows of two tables, such as the rights of clients on accounts."""

    table: str
    column: str
    owner: str
    """The table, its column with the key of the owned row, and that with the key of its owner."""
    prefer: str | None
    """Condition that one pair of every owned row meets; None where no value occurs so."""
    shared: int
    """Owned rows with several pairs."""


@dataclass(frozen=True)
class Reference:
    """A column that refers to the key of another table."""

    table: str
    column: str
    """The referring column."""
    parent: str
    key: str
    """The table referred to, and its key."""
    likeness: float
    """Of the names, 0..1; 1 for a declared reference."""
    unknown: int
    """Rows whose value is no key."""
    missing: int
    """Rows without a value."""
    childless: int
    """Keys that no row refers to."""
    most: int
    """Rows that refer to one key, at most."""
    declared: bool = False
    """Whether the database declares it."""
    through: Pairs | None = None
    """Where the column is the table's own key, and pairs say which row of the parent owns each of its rows."""

    @property
    def whole(self) -> bool:
        """True if every row refers to a key."""
        return not self.unknown and not self.missing


class Values:
    """Distinct texts of a column, and the rows of each."""

    def __init__(self, column: Column, values: pd.Series) -> None:
        codes, texts = encode_texts(values, column)
        padded = np.bincount(codes, minlength=len(texts))
        self.texts = pd.Index([text.strip() for text in texts[:-1]], dtype=object)
        self.rows: Codes = padded[:-1]
        """Rows of each text; shape (n_texts,)."""
        self.missing = int(padded[-1])

    @property
    def are_key(self) -> bool:
        """True if every row has a value that no other row has."""
        return not self.missing and bool(len(self.texts)) and bool((self.rows == 1).all())

    @cached_property
    def particular(self) -> bool:
        """True if such values rarely meet in two tables by chance."""
        if len(self.texts) < PARTICULAR:
            return False
        numbers = pd.to_numeric(pd.Series(self.texts), errors="coerce").to_numpy(dtype=float)
        if not np.isnan(numbers).any():
            return float(np.ptp(numbers)) >= _SPARSE * len(numbers) and float(np.median(np.abs(numbers))) >= 10**_LONG
        return float(np.median([len(text) for text in self.texts])) >= _LONG


def find_references(tables: Mapping[str, Table], declared: Declared = Declared()) -> list[Reference]:
    """Find the columns that refer to the key of another table.

    Texts and whole numbers may be keys and references; what a database declares wins over what is found. At most one
    per column, to one key per table; in the order of tables and columns. A column that has another value in every row,
    too, refers to the table that its name names, or that has more rows.
    """
    values = {
        name: {
            column.name: Values(column, table.frame[column.name])
            for column in table.schema
            if column.kind in (Kind.CATEGORICAL, Kind.INTEGER)
        }
        for name, table in tables.items()
    }
    candidates = [
        found
        for table, columns in values.items()
        for column in columns
        for parent, keys in values.items()
        if parent != table
        for key in keys
        if keys[key].are_key and (found := _reference(values, (table, column), (parent, key), declared)) is not None
    ]
    chosen = {name: _chosen(name, list(columns), candidates, values, declared) for name, columns in values.items()}
    to_keys = [one for one in candidates if one.key == chosen[one.parent]]
    best = {(one.table, one.column): one for one in sorted(to_keys, key=_rank)}
    return [best[name, column] for name in tables for column in tables[name].schema.names if (name, column) in best]


def find_key(name: str, table: Table, references: Sequence[Reference], declared: Declared = Declared()) -> str | None:
    """Key of a table; None where there is none.

    The column that others refer to, or that the database declares, or that is named like a number and has another value
    in every row.
    """
    referred = next((one.key for one in references if one.parent == name), declared.keys.get(name))
    if referred is not None:
        return referred
    for column in table.schema:
        counted = column.kind in (Kind.CATEGORICAL, Kind.INTEGER) and is_number_name(column.name)
        if counted and Values(column, table.frame[column.name]).are_key:
            return column.name
    return None


def find_pairs(tables: Mapping[str, Table], references: Sequence[Reference]) -> list[Reference]:
    """References over tables of pairs, in both directions: either side could own the other.

    At most half of the owned rows have several pairs.
    """
    found = []
    for to_owned in references:
        for to_owner in references:
            if to_owned.table == to_owner.table and to_owned.parent != to_owner.parent and to_owned.whole:
                pairs = _pairs(tables[to_owned.table], to_owned, to_owner)
                if 2 * pairs.shared > len(tables[to_owned.parent]):
                    continue  # Doctors and their visits: nobody owns a doctor.
                key = to_owned.parent, to_owned.key
                ends = to_owner.parent, to_owner.key
                counts = to_owner.childless, to_owner.most
                found.append(Reference(*key, *ends, 0.0, to_owned.childless, 0, *counts, through=pairs))
    return found


def _pairs(table: Table, to_owned: Reference, to_owner: Reference) -> Pairs:
    owned = table.frame[to_owned.column].astype("string")
    names = [
        column.name
        for column in table.schema
        if column.kind is Kind.CATEGORICAL and column.name not in (to_owned.column, to_owner.column)
    ]
    n, prefer = owned.nunique(), None
    for name in names:
        values = table.frame[name].astype("string")
        for value in sorted(values.dropna().unique()) if values.nunique() < MOST_RIGHTS else ():
            rows = owned[(values == value).to_numpy()]
            if prefer is None and len(rows) == rows.nunique() == n:
                prefer = f"{name if name.isidentifier() else f'`{name}`'} = {str(value)!r}"
    return Pairs(to_owned.table, to_owned.column, to_owner.column, prefer, int((owned.value_counts() > 1).sum()))


def _reference(
    values: Mapping[str, Mapping[str, Values]], child: tuple[str, str], parent: tuple[str, str], declared: Declared
) -> Reference | None:
    (table, column), (parent_table, key) = child, parent
    is_declared = (*child, *parent) in declared.references
    one, keys = values[table][column], values[parent_table][key]
    likeness = 1.0 if is_declared else name_likeness(column, parent_table, key)
    if not likeness and column == key and not one.are_key and one.texts.isin(keys.texts).all():
        likeness = REPEATED
    if not len(one.texts) or (not likeness and not (one.particular and keys.particular)):
        return None
    known = one.texts.isin(keys.texts)
    rows, unknown = int(one.rows.sum()), int(one.rows[~known].sum())
    enough = is_declared or (rows - unknown >= KNOWN * rows if likeness else not unknown)
    if not enough or (one.are_key and not is_declared and not _belongs(values, child, parent)):
        return None
    return Reference(
        *child,
        *parent,
        likeness=likeness,
        unknown=unknown,
        missing=one.missing,
        childless=len(keys.texts) - int(known.sum()),
        most=int(one.rows[known].max(initial=0)),
        declared=is_declared,
    )


def _belongs(values: Mapping[str, Mapping[str, Values]], child: tuple[str, str], parent: tuple[str, str]) -> bool:
    """True if one of two unique columns refers to the other one.

    The table that only one of the names names is the parent, else the one with more rows, else the earlier one.
    """
    own, other = named_after(child[1], child[0]), named_after(parent[1], parent[0])
    if own != other:
        return other
    sizes = [len(values[table][column].texts) for table, column in (child, parent)]
    order = list(values)
    return sizes[1] > sizes[0] or (sizes[0] == sizes[1] and order.index(parent[0]) < order.index(child[0]))


def _chosen(
    name: str,
    columns: Sequence[str],
    candidates: Sequence[Reference],
    values: Mapping[str, Mapping[str, Values]],
    declared: Declared,
) -> str | None:
    here = [one for one in candidates if one.parent == name]
    referring = Counter(one.key for one in here)
    alike = {one.key: one.likeness for one in sorted(here, key=lambda one: one.likeness)}
    firm = {one.key for one in here if one.declared}

    def rank(column: str) -> tuple[float, ...]:
        return (
            column in firm,
            declared.keys.get(name) == column,
            is_number_name(column) and column in referring,
            alike.get(column, -1.0),
            named_after(column, name),
        )

    keys = [column for column in columns if values[name][column].are_key]
    return max(keys, key=lambda column: (rank(column), referring[column]), default=None)


def _rank(one: Reference) -> tuple[bool, float, bool, int]:
    return one.declared, one.likeness, named_after(one.key, one.parent), -one.childless


MOST_PUBLIC_ROWS = 1_000
"""Rows of the largest table that is proposed as public."""


@dataclass(frozen=True)
class ReferenceTree:
    """Tables below the table of persons."""

    person: str
    parents: Mapping[str, Reference]
    """Reference to its parent of every table below the person table, parents before children."""
    public: tuple[str, ...]
    """Tables that seem to hold no person, to which these or other public tables refer."""
    others: tuple[Reference, ...]
    """References of the person table and those below it, besides those to parents."""
    left_out: tuple[str, ...]
    """Tables from whose rows no references lead to the person table."""

    @property
    def private(self) -> tuple[str, ...]:
        """The person table and all below it, parents before children."""
        return (self.person, *self.parents)

    def lookups(self, table: str) -> dict[str, str]:
        """Columns that refer to a public table, and that table."""
        return {one.column: one.parent for one in self.others if one.table == table and one.parent in self.public}

    def further_references(self, table: str) -> tuple[Reference, ...]:
        """Further references of a table to tables of persons."""
        return tuple(one for one in self.others if one.table == table and one.parent not in self.public)


def find_tree(tables: Mapping[str, Table], references: Sequence[Reference]) -> ReferenceTree:
    """Arrange tables by their references.

    The person table is one that is named after persons, or else the one with most tables below it. Of several possible
    parents a table has the lowest one, and preferably one that all of its rows refer to. A table that no reference
    leads to the person table may belong to it over a table of pairs. Public are small tables that others refer to, with
    fewer rows than these, without traits of persons and dates, not named after persons, visits or contracts, that refer
    to public tables only.
    """
    public = _public(tables, references)
    links = [one for one in references if one.parent not in public and one.table not in public]
    roots = {one.parent: _below(one.parent, links) for one in links}

    def rank(name: str) -> tuple[bool, int, bool]:
        key = next(one.key for one in links if one.parent == name)
        people = denotes_people(name, staff=False) or denotes_people(key, staff=False)
        return people, len(roots[name]), not any(one.table == name for one in links)

    if not roots:
        raise _no_person_table(tables, public)
    person = max(roots, key=rank)
    parents = _parents(person, links)
    over_pairs = [one for one in find_pairs(tables, references) if one.table not in public]
    while found := [
        one for one in over_pairs if one.parent in (person, *parents) and one.table not in (person, *parents)
    ]:
        links.append(found[0])
        parents = _parents(person, links)
    private = {person, *parents}
    reached = _reached(private, [one for one in references if one.parent in public])
    others = (one for one in references if one.table in private and parents.get(one.table) is not one)
    return ReferenceTree(
        person,
        parents,
        tuple(name for name in tables if name in reached),
        tuple(one for one in others if one.parent in private | reached),
        tuple(name for name in tables if name not in private | reached),
    )


def _public(tables: Mapping[str, Table], references: Sequence[Reference]) -> set[str]:
    found: set[str] = set()
    for name, table in tables.items():
        referring = {one.table for one in references if one.parent == name}
        key = next((one.key for one in references if one.parent == name), "")
        largest = max((len(tables[other]) for other in referring), default=0)
        small = len(table) <= MOST_PUBLIC_ROWS and len(table) < largest
        private = any(denotes_people(text) or denotes_events(text) for text in (name, key)) or _holds_persons(table)
        if referring and small and not private:
            found.add(name)
    while refers := {one.table for one in references if one.table in found and one.parent not in found}:
        found -= refers
    return found


def _holds_persons(table: Table) -> bool:
    """True if a column has traits or names of persons, or dates, which lookup tables rarely have."""
    known = vocabulary()
    return any(
        column.kind.is_temporal
        or has_phrase(known.without_fillers(known.split(column.name)), known.personal)
        or ((found := pattern_of(column, table.frame[column.name])) is not None and found.what == NAMES)
        for column in table.schema
    )


def _below(person: str, links: Sequence[Reference]) -> set[str]:
    found, new = {person}, {person}
    while new := {one.table for one in links if one.parent in new} - found:
        found |= new
    return found - {person}


def _parents(person: str, links: Sequence[Reference]) -> dict[str, Reference]:
    below = _below(person, links)
    inside = [one for one in links if one.table in below and one.parent in below | {person}]
    depth = {person: 0}
    chosen: dict[str, Reference] = {}
    while len(chosen) < len(below):
        # A table waits until the tables it refers to are placed; a circle is broken where somebody can be placed.
        ready = {one.table for one in inside if one.table not in depth and one.parent in depth}
        waiting = {one.table for one in inside if one.table in ready and one.parent not in depth}
        for name in [name for name in dict.fromkeys(one.table for one in inside) if name in ready - waiting] or [
            next(one.table for one in inside if one.table in ready)
        ]:
            possible = [one for one in inside if one.table == name and one.parent in depth and one.parent != name]
            chosen[name] = max(possible, key=lambda one: (one.whole, depth[one.parent], one.likeness))
        depth |= {name: depth[one.parent] + 1 for name, one in chosen.items()}
    return chosen


def _reached(private: set[str], to_public: Sequence[Reference]) -> set[str]:
    found: set[str] = set()
    while new := {one.parent for one in to_public if one.table in private | found} - found:
        found |= new
    return found


def _no_person_table(tables: Mapping[str, Table], public: set[str]) -> DataError:
    names = [name for name in tables if name not in public]
    shared = sorted({column for name in names for column in tables[name].schema.names if _is_shared(column, tables)})
    return DataError(
        f"no table refers to a table with one row per person: looked for references between {', '.join(tables)}"
        + (f" ({', '.join(shared)} is in several tables)" if shared else ""),
        hint="add a table of persons with a key that is different in every row and never missing, or run `hybrid init` "
        "on a single file and set data.person there",
    )


def _is_shared(column: str, tables: Mapping[str, Table]) -> bool:
    return denotes_people(column) and sum(column in table.schema for table in tables.values()) > 1
