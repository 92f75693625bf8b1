"""Person table, parents and public tables among linked tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybrid.base.errors import DataError
from hybrid.pipeline.starter.column_names import has_phrase, vocabulary
from hybrid.pipeline.starter.reference_names import denotes_events, denotes_people
from hybrid.pipeline.starter.references import Reference, find_pairs
from hybrid.pipeline.starter.value_patterns import NAMES, pattern_of
from hybrid.table import Table

MOST_PUBLIC_ROWS = 1_000
"""Rows of the largest table that is proposed as public."""


@dataclass(frozen=True)
class Tree:
    """Tables below the table of persons.

    Parameters
    ----------
    person : str
        The person table.
    parents : mapping of str to Reference
        Reference to its parent of every table below the person table, parents before children.
    public : tuple of str
        Tables that seem to hold no person, to which these or other public tables refer.
    others : tuple of Reference
        References of the person table and those below it, besides those to parents.
    left_out : tuple of str
        Tables from whose rows no references lead to the person table.
    """

    person: str
    parents: Mapping[str, Reference]
    public: tuple[str, ...]
    others: tuple[Reference, ...]
    left_out: tuple[str, ...]

    @property
    def private(self) -> tuple[str, ...]:
        """The person table and all below it, parents before children."""
        return (self.person, *self.parents)

    def lookups(self, table: str) -> dict[str, str]:
        """Columns that refer to a public table, and that table."""
        return {one.column: one.parent for one in self.others if one.table == table and one.parent in self.public}

    def detours(self, table: str) -> tuple[Reference, ...]:
        """Further references of a table to tables of persons."""
        return tuple(one for one in self.others if one.table == table and one.parent not in self.public)


def find_tree(tables: Mapping[str, Table], references: Sequence[Reference]) -> Tree:
    """Arrange tables by their references.

    Parameters
    ----------
    tables : mapping of str to Table
    references : sequence of Reference
        As :func:`~hybrid.pipeline.starter.references.find_references` gives them.

    Returns
    -------
    Tree
        The person table is one that is named after persons, or else the one with most tables below it. Of several
        possible parents a table has the lowest one, and preferably one that all of its rows refer to. A table that no
        reference leads to the person table may belong to it over a table of pairs. Public are small
        tables that others refer to, with fewer rows than these, without traits of persons and dates, not named after
        persons, visits or contracts, that refer to public tables only.

    Raises
    ------
    DataError
        No table refers to a table that could hold persons.
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
    return Tree(
        person,
        parents,
        tuple(name for name in tables if name in reached),
        tuple(one for one in others if one.parent in private | reached),
        tuple(name for name in tables if name not in private | reached),
    )


def _public(tables: Mapping[str, Table], references: Sequence[Reference]) -> set[str]:
    """Small tables without persons that others refer to."""
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
    """True if a column has dates, or traits or names of persons.

    Lookup tables rarely have dates.
    """
    known = vocabulary()
    return any(
        column.kind.is_temporal
        or has_phrase(known.without_fillers(known.split(column.name)), known.personal)
        or ((found := pattern_of(column, table.frame[column.name])) is not None and found.what == NAMES)
        for column in table.schema
    )


def _below(person: str, links: Sequence[Reference]) -> set[str]:
    """Tables that refer to a table, directly or over others."""
    found, new = {person}, {person}
    while new := {one.table for one in links if one.parent in new} - found:
        found |= new
    return found - {person}


def _parents(person: str, links: Sequence[Reference]) -> dict[str, Reference]:
    """Each table below the person table and its reference, parents first."""
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
    """Public tables that private ones refer to, directly or over others."""
    found: set[str] = set()
    while new := {one.parent for one in to_public if one.table in private | found} - found:
        found |= new
    return found


def _no_person_table(tables: Mapping[str, Table], public: set[str]) -> DataError:
    names = [name for name in tables if name not in public]
    shared = sorted({column for name in names for column in tables[name].schema.names if _is_shared(column, tables)})
    which = f" ({', '.join(shared)} is in several tables)" if shared else ""
    return DataError(
        f"no table refers to a table with one row per person: looked for references between {', '.join(tables)}{which}",
        hint="add a table of persons with a key that is different in every row and never missing, or run `hybrid init` "
        "on a single file and set data.person there",
    )


def _is_shared(column: str, tables: Mapping[str, Table]) -> bool:
    return denotes_people(column) and sum(column in table.schema for table in tables.values()) > 1
