"""Structure of linked tables and its problems."""

from __future__ import annotations

from collections.abc import Iterator

from hybrid.base.errors import Problem
from hybrid.linked.options import LinkOptions, TableOptions, ThroughOptions
from hybrid.table import Role

DEEPEST = 4
"""Tables below each other at most, the person table included."""


def structure_problems(links: LinkOptions) -> Iterator[Problem]:
    """Problems of keys, parents and references of a configuration."""
    person = links.tables.get(links.person)
    if person is None:
        yield Problem(
            f"person: there is no table {links.person!r} under tables", f"use one of: {', '.join(links.tables)}"
        )
    else:
        yield from _person_table(links.person, person)
    for name, table in links.tables.items():
        yield from _public(name, table) if table.public else _owned(links, name, table)
        yield from _references(links, name, table)
        yield from _keys(name, table)
    yield from _cycles(links)


def below(links: LinkOptions) -> list[str]:
    """Names of all tables about people, parents first."""
    found = [links.person]
    for name in found:
        found += [
            child
            for child, table in links.tables.items()
            if table.parent is not None and table.parent.table == name and child not in found
        ]
    return found


def key_columns(table: TableOptions) -> tuple[str, ...]:
    """Columns that link a table: its key and its parent's."""
    columns = (table.key, None if table.parent is None else table.parent.column)
    return tuple(column for column in columns if column is not None)


def _person_table(name: str, table: TableOptions) -> Iterator[Problem]:
    at = f"tables.{name}"
    if table.public:
        yield Problem(f"{at}.public: the person table cannot be public", "leave public out, or name another table")
    if table.parent is not None:
        yield Problem(f"{at}.parent: the person table has no parent", "leave it out, or name another person table")
    if table.key is None:
        yield Problem(f"{at}.key is missing: it names the person of every row", "set the column with the person number")
    if table.order is not None:
        yield Problem(f"{at}.order: a person has one row in the person table", "leave order out")


def _public(name: str, table: TableOptions) -> Iterator[Problem]:
    at = f"tables.{name}"
    if table.parent is not None:
        yield Problem(f"{at}.parent: a public table belongs to nobody", "leave parent out, or public")
    if table.constraints or table.order is not None:
        yield Problem(f"{at}: a public table is released as it is", "leave constraints and order out")


def _owned(links: LinkOptions, name: str, table: TableOptions) -> Iterator[Problem]:
    at, parent = f"tables.{name}", table.parent
    if parent is None:
        if name != links.person:
            yield Problem(
                f"{at}.parent is missing: nothing says whose its rows are",
                f"set parent: {{table: {links.person}, column: COLUMN}}, or public: true if it says nothing of people",
            )
        return
    if parent.table == name:
        yield Problem(
            f"{at}.parent: a table that refers to itself is not supported",
            "leave the column out of the file, or give it the role identifier and name another parent",
        )
    elif parent.table not in links.tables:
        yield Problem(f"{at}.parent: there is no table {parent.table!r}", f"use one of: {', '.join(links.tables)}")
    elif links.tables[parent.table].public:
        yield Problem(
            f"{at}.parent: {parent.table!r} is public, and owns no rows of people",
            f"write it as tables.{name}.references: {{{parent.column}: {parent.table}}}",
        )
    elif links.tables[parent.table].key is None:
        yield Problem(
            f"tables.{parent.table}.key is missing: {name} refers to it", "set the column that names its rows"
        )
    if parent.through is not None:
        yield from _through(links, name, table, parent.through)
    elif parent.column == table.key:
        yield Problem(
            f"{at}: {table.key!r} is its key and its parent column: at most one row belongs to each parent row",
            f"join its columns into {parent.table}, or leave key out if no table refers to {name}",
        )


def _through(links: LinkOptions, name: str, table: TableOptions, through: ThroughOptions) -> Iterator[Problem]:
    at, pairs = f"tables.{name}.parent", links.tables.get(through.table)
    if table.parent is not None and table.parent.column != table.key:
        yield Problem(f"{at}.column: with through it is the key of {name}", f"set column: {table.key}")
    if pairs is None:
        yield Problem(f"{at}.through: there is no table {through.table!r}", f"use one of: {', '.join(links.tables)}")
        return
    if pairs.parent is None or (pairs.parent.table, pairs.parent.column) != (name, through.column):
        yield Problem(
            f"tables.{through.table}.parent: its rows belong to those of {name}, which has its owner through it",
            f"set parent: {{table: {name}, column: {through.column}}}",
        )
    known = pairs.columns.get(through.owner)
    if known is None or known.role is not Role.IDENTIFIER:
        yield Problem(
            f"tables.{through.table}.columns.{through.owner}: it holds keys, which are never learned",
            f"set columns: {{{through.owner}: {{role: identifier}}}}",
        )


def _references(links: LinkOptions, name: str, table: TableOptions) -> Iterator[Problem]:
    for column, other in table.references.items():
        at = f"tables.{name}.references.{column}"
        if other not in links.tables:
            yield Problem(f"{at}: there is no table {other!r}", f"use one of: {', '.join(links.tables)}")
        elif not links.tables[other].public:
            yield Problem(
                f"{at}: {other!r} is not public; only parents are tables about people",
                "give the column the role identifier (its values are then drawn anew), or make the table public",
            )
        elif links.tables[other].key is None:
            yield Problem(f"tables.{other}.key is missing: {name} refers to it", "set the column that names its rows")
        if column in key_columns(table):
            yield Problem(f"{at}: the column links the table to its parent or is its key", "leave the reference out")


def _keys(name: str, table: TableOptions) -> Iterator[Problem]:
    for column in key_columns(table):
        known = table.columns.get(column)
        if known is not None and known.role is not Role.IDENTIFIER and not table.public:
            yield Problem(
                f"tables.{name}.columns.{column}: a key has the role identifier, not {known.role}",
                "set role: identifier, or leave the line out; surrogates take the place of its values",
            )


def _cycles(links: LinkOptions) -> Iterator[Problem]:
    """Tables in a circle, or too far below the person table."""
    parents = {name: table.parent.table for name, table in links.tables.items() if table.parent is not None}
    for name in parents:
        path = [name]
        while path[-1] in parents and parents[path[-1]] not in path:
            path.append(parents[path[-1]])
        last = path[-1]
        if last in parents and len(path) > 1 and parents[last] == name:
            yield Problem(
                f"tables.{name}.parent: the tables refer to each other in a circle: {' -> '.join([*path, name])}",
                "leave one of the parents out",
            )
        elif len(path) > DEEPEST:
            yield Problem(
                f"tables.{name}: it lies {len(path)} tables deep, and at most {DEEPEST} are supported",
                "join a table into its parent",
            )
