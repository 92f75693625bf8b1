"""Section ``tables`` of a configuration: tables, keys and parents, and the section ``data`` of each table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from hybrid.base.errors import HybridError, Problem
from hybrid.base.options import Options
from hybrid.base.sentence import Sentence, sentence
from hybrid.constraints import AnyConstraint
from hybrid.table import Kind, Role
from hybrid.table.data_options import DataOptions, SourceOptions
from hybrid.table.read_options import ReadOptions

TableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
"""Name of a table; its output file has it, too."""


class ThroughOptions(Options):
    """A table with one row for each pair, such as the rights of clients on accounts: one of them is the owner."""

    table: TableName
    """The table of pairs. Its parent is this table. A release has the owner's key in one pair of each row, and keys of
    other, random parents in its other pairs."""
    column: str = Field(min_length=1)
    """Its column with the key of this table."""
    owner: str = Field(min_length=1)
    """Its column with the key of the parent; it has the role identifier."""
    prefer: str | None = None
    """Condition that the owner's pair meets, such as type = 'OWNER'. Of several such pairs, or where none meets it, the
    first one counts."""


class ParentOptions(Options):
    """Reference of every row to one row of the parent."""

    table: TableName
    """The parent: a table that is not public, and has a key."""
    column: str = Field(min_length=1)
    """The column of this table that holds the parent's key; with `through` this table's own key."""
    through: ThroughOptions | None = None
    """Where a row may belong to several parents, the table of these pairs, and which of them owns it."""
    orphans: Literal["refuse", "drop"] = "refuse"
    """Rows whose parent is missing or unknown: the configuration is refused, or these rows are left out."""


class TableOptions(ReadOptions, SourceOptions):
    """Options of one linked table: source, reading, references."""

    key: str | None = Field(default=None, min_length=1)
    """The column with a different value in every row, never missing; needed where other tables refer to this one. Keys
    and parent columns are identifiers, and need no line under ``columns``."""
    parent: ParentOptions | None = None
    """The table whose rows own the rows of this one. Every table but the person table and public ones has one."""
    household: str | tuple[Annotated[str, Field(min_length=1)], ...] | None = None
    """Of the person table: the identifier column, or columns, that name the household of a person. Its members are on
    one side of the split, and protection counts households, in all tables. null: there are none."""
    order: str | None = Field(default=None, min_length=1)
    """The date, time or number by which the rows of one parent are ordered. null: the order of the file."""
    references: dict[str, TableName] = Field(default_factory=dict)
    """Columns that hold the key of a public table, and that table: {hospital: hospitals}. Such a column is an ordinary
    one, with a role under ``columns``; its values must be keys of the public table."""
    public: bool = False
    """Whether the table says nothing about people: it is released as it is."""
    constraints: tuple[AnyConstraint, ...] = ()
    """Constraints between columns of this table that every row of it keeps; each is a mapping with one key."""


class LinkOptions(Options):
    """Tables that belong together, and the one whose rows are the persons."""

    person: TableName
    """The person table: each row is one person, named by its key. Every other table that is not public descends from it
    over its parents."""
    tables: dict[TableName, TableOptions] = Field(min_length=1)
    """The tables by their names; no more than four below each other."""


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


def tables_about_people(links: LinkOptions) -> list[str]:
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
    if table.constraints or table.order is not None or table.household is not None:
        yield Problem(f"{at}: a public table is released as it is", "leave constraints, order and household out")


def _owned(links: LinkOptions, name: str, table: TableOptions) -> Iterator[Problem]:
    at, parent = f"tables.{name}", table.parent
    if table.household is not None and name != links.person:
        yield Problem(
            f"{at}.household: persons have households, and each is a row of {links.person}",
            f"set tables.{links.person}.household",
        )
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


LINKS = tuple(LinkOptions.model_fields)
"""Keys of a configuration of linked tables that a single table's does not have."""
_DATA = set(DataOptions.model_fields) & set(TableOptions.model_fields) - {"order"}


def is_linked(content: Mapping[str, Any]) -> bool:
    """True if a configuration's content is about linked tables."""
    return "tables" in content


def in_table(name: str, problem: Problem) -> Problem:
    """A problem of one table, with keys under ``tables``."""

    def renamed(text: str) -> str:
        if isinstance(text, Sentence):
            said = {place: renamed(fact) if isinstance(fact, str) else fact for place, fact in text.facts.items()}
            return sentence(text.template, **said)
        return text.replace("data.", f"tables.{name}.")

    return Problem(renamed(problem.message), renamed(problem.hint), problem.values)


@contextmanager
def naming(table: str) -> Iterator[None]:
    """Name the table in errors of the block, if it is one of several."""
    try:
        yield
    except HybridError as error:
        if not table:
            raise
        raise type(error)(in_table(table, problem) for problem in error.problems) from None


@contextmanager
def collected(problems: list[Problem], name: str) -> Iterator[None]:
    """Collect the problems of one table instead of raising them."""
    try:
        yield
    except HybridError as error:
        problems += [in_table(name, problem) for problem in error.problems]


def reading(table: TableOptions) -> dict[str, Any]:
    """Section ``data`` of one table (JSON types): keys are identifiers, and references are categories."""
    data = table.model_dump(mode="json", include=_DATA, exclude_unset=True)
    columns = dict(data.get("columns", {}))
    for column in key_columns(table):
        columns[column] = columns.get(column, {}) | {"role": Role.IDENTIFIER.value}
    for column in [*table.references, *([table.key] if table.public and table.key else [])]:
        columns[column] = columns.get(column, {}) | {"kind": Kind.CATEGORICAL.value}
    return data | {"columns": columns}


def view_of(links: LinkOptions, name: str, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Content of the configuration of one table, with the sections that all tables share.

    Those of the person table are as they are set. The others are not anonymized and sampled again, since their persons
    are those of the person table.
    """
    table = links.tables[name]
    data = reading(table)
    if table.public:
        return {"data": data, "name": shared.get("name", "run")}
    constraints = table.model_dump(mode="json", include={"constraints"}, exclude_unset=True)
    if name == links.person:
        return {**shared, **constraints, "data": data | {"person": table.key, "max_rows": 1}}
    person = _person_column(links, name)
    columns = {person: {"role": Role.IDENTIFIER.value}} | data["columns"]
    order = {} if table.order is None else {"order": table.order}
    off: dict[str, Any] = {"anonymize": None, "transition": None, "sample": {"method": "none"}, "stages": None}
    off["margins"] = None
    if isinstance(shared.get("synthesize"), Mapping):
        off["synthesize"] = {**shared["synthesize"], "where": None, "balance": None, "filter": None}
    return {**shared, **off, **constraints, "data": data | {"columns": columns, "person": person} | order}


def _person_column(links: LinkOptions, name: str) -> str:
    """Column of a view that names the person.

    The parent column of a child of the person table, or an added one.
    """
    parent = links.tables[name].parent
    assert parent is not None
    if parent.table == links.person and parent.through is None:
        return parent.column
    return f"{links.person}.{links.tables[links.person].key}"
