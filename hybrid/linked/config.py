"""Configuration of linked tables: its keys, its structure, and one configuration per table compiled from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import yaml
from pydantic import Field, StringConstraints

from hybrid.base.config_files import ConfigSource, YamlMapping, validated
from hybrid.base.errors import ConfigError, HybridError, Problem
from hybrid.base.options import Options
from hybrid.constraints import AnyConstraint
from hybrid.pipeline.config import IN_MEMORY, NightlyOptions, RunConfig, configured, overridden
from hybrid.pipeline.config_file import read_config_file
from hybrid.pipeline.refusals import LINKED, refusal, refused
from hybrid.table import Kind, Role, Table
from hybrid.table.data_options import DataOptions, SourceOptions, load_table
from hybrid.table.read_options import ReadOptions
from hybrid.table.typed_table import Frame, read_frame

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
"""Top-level keys of a configuration of linked tables that a single table's does not have."""
_DATA = set(DataOptions.model_fields) & set(TableOptions.model_fields) - {"order"}


@dataclass(frozen=True)
class LinkedConfig:
    """Configuration of a run of linked tables.

    Parameters
    ----------
    links : LinkOptions
        The tables and the person table.
    views : mapping of str to RunConfig
        Configuration of the person table and of every table below it, parents first. That of the person table has all
        sections as they are set; the others are not anonymized and sampled again, since their persons are those of the
        person table.
    public : mapping of str to RunConfig
        Where public tables are read from.
    """

    links: LinkOptions
    views: Mapping[str, RunConfig]
    public: Mapping[str, RunConfig]

    @property
    def person(self) -> RunConfig:
        """Configuration of the person table, whose sections but ``data`` are those of the whole run."""
        return self.views[self.links.person]

    @property
    def name(self) -> str:
        """Names the run's folder and release."""
        return self.person.name

    def to_yaml(self) -> str:
        """All options, defaults included, as YAML."""
        text: str = yaml.safe_dump(self.model_dump(), sort_keys=False, allow_unicode=True)
        return text

    def config_of(self, name: str) -> RunConfig:
        """Configuration of a table about people, or of a public one."""
        return self.public[name] if name in self.public else self.views[name]

    @property
    def nightly(self) -> NightlyOptions:
        """Options of nights."""
        return self.person.nightly

    @property
    def folder(self) -> Path:
        """Base folder of relative paths."""
        return self.person.folder

    @property
    def sources(self) -> dict[str, DataOptions]:
        """Source of every table, public ones too, and its reading options."""
        return {name: self.source(name) for name in (*self.views, *self.public)}

    def source(self, name: str) -> DataOptions:
        """Source of a table, and the options of reading it."""
        return DataOptions.model_validate(reading(self.links.tables[name]))

    def load_table(self, name: str) -> Table:
        """Read a table from its source, or from its DataFrame.

        Raises
        ------
        HybridError
            As :func:`hybrid.table.data_options.load_table` and :func:`hybrid.table.typed_table.read_frame`.
        """
        frame = self.config_of(name).frame
        return load_table(self.source(name), self.folder) if frame is None else read_frame(frame, self.source(name))

    def with_frames(self, frames: Mapping[str, Frame]) -> LinkedConfig:
        """Copy of the configuration with DataFrames in the place of some sources.

        Raises
        ------
        ConfigError
            A name is not under ``tables``.
        """
        unknown = [name for name in frames if name not in self.links.tables]
        if unknown:
            raise ConfigError(
                Problem(f"data: there is no table {name!r} under tables", f"use {', '.join(self.links.tables)}")
                for name in unknown
            )
        tables = self.links.tables
        read = {name: tables[name].model_copy(update=IN_MEMORY) for name in frames}

        def given(configs: Mapping[str, RunConfig]) -> dict[str, RunConfig]:
            return {name: one.with_frame(frames[name]) if name in frames else one for name, one in configs.items()}

        links = self.links.model_copy(update={"tables": {**tables, **read}})
        return LinkedConfig(links, given(self.views), given(self.public))

    def with_sections(self, sections: Mapping[str, Any]) -> LinkedConfig:
        """Copy with other sections that all tables share, such as ``split``."""
        views = {name: one.model_copy(update=dict(sections)) for name, one in self.views.items()}
        return LinkedConfig(self.links, views, self.public)

    def model_dump(self, *, mode: Literal["json"] = "json", exclude_unset: bool = False) -> dict[str, Any]:
        """As resolved, every default filled in (JSON types), or what was set alone."""
        how: dict[str, Any] = {"mode": mode, "exclude_unset": exclude_unset}
        shared = self.person.model_dump(exclude={"data", "constraints", "risk"}, **how)
        first = {key: shared.pop(key) for key in ("version", "name", "seed") if key in shared}
        return first | self.links.model_dump(**how) | shared


AnyConfig: TypeAlias = RunConfig | LinkedConfig
"""Configuration of one table, or of linked tables: both have ``views``, ``public`` and ``person``."""


def is_linked(content: Mapping[str, Any]) -> bool:
    """True if a configuration's content is about linked tables."""
    return "tables" in content


def load_any(path: Path, overrides: Mapping[str, Any] | None = None) -> RunConfig | LinkedConfig:
    """Read the configuration of a table or of linked tables.

    Arguments and errors as for :func:`hybrid.pipeline.config.load_config`.
    """
    return configured_any(read_config_file(path), overrides or {}, path)


def configured_any(content: Mapping[str, Any], overrides: Mapping[str, Any], path: Path) -> RunConfig | LinkedConfig:
    """The configuration of a table, or of linked tables.

    Arguments and errors as for :func:`hybrid.pipeline.config.configured`.
    """
    if not is_linked(content):
        return configured(content, overrides, path)
    source = content.source if isinstance(content, YamlMapping) else ConfigSource(str(path))
    return linked_config(overridden(content, overrides), source.with_changes(overrides), path)


def linked_config(content: Mapping[str, Any], source: ConfigSource, path: Path) -> LinkedConfig:
    """Check the content of a configuration of linked tables.

    Raises
    ------
    ConfigError
        Unknown keys and wrong values; or tables, keys and sections that do not fit together; all problems at once.
    """
    shared = {key: value for key, value in content.items() if key not in LINKS}
    links = validated(LinkOptions, {key: content[key] for key in LINKS if key in content}, source)
    problems = [*_beside(content), *structure_problems(links)]
    if problems:
        raise ConfigError(_located(problems, source))
    views: dict[str, RunConfig] = {}
    public: dict[str, RunConfig] = {}
    for name in [*tables_about_people(links), *(name for name, table in links.tables.items() if table.public)]:
        try:
            config = configured(YamlMapping(_view(links, name, shared), _shifted(source, name)), {}, path)
        except HybridError as error:
            problems += [in_table(name, problem) for problem in error.problems]
            continue
        if name == links.person and not config.synthesize.learns_sequences:
            raise ConfigError(
                _located([refusal(LINKED, "generators of single rows", config.synthesize.generator)], source)
            )
        (public if links.tables[name].public else views)[name] = config
    if problems:
        raise ConfigError({problem.message: problem for problem in problems}.values())
    found = LinkedConfig(links, views, public)
    problems = list(_unsupported(found))
    if problems:
        raise ConfigError(_located(problems, source))
    return found


def in_table(name: str, problem: Problem) -> Problem:
    """A problem of one table, with keys under ``tables``."""

    def renamed(text: str) -> str:
        return text.replace("data.", f"tables.{name}.")

    return Problem(renamed(problem.message), renamed(problem.hint), problem.values)


def reading(table: TableOptions) -> dict[str, Any]:
    """Section ``data`` of one table (JSON types): keys are identifiers, and references are categories."""
    data = table.model_dump(mode="json", include=_DATA, exclude_unset=True)
    columns = dict(data.get("columns", {}))
    for column in key_columns(table):
        columns[column] = columns.get(column, {}) | {"role": Role.IDENTIFIER.value}
    for column in [*table.references, *([table.key] if table.public and table.key else [])]:
        columns[column] = columns.get(column, {}) | {"kind": Kind.CATEGORICAL.value}
    return data | {"columns": columns}


def _view(links: LinkOptions, name: str, shared: Mapping[str, Any]) -> dict[str, Any]:
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


def _beside(content: Mapping[str, Any]) -> Iterator[Problem]:
    if "data" in content:
        yield refusal(LINKED, "data beside tables")
    if content.get("constraints"):
        yield refusal(LINKED, "constraints beside tables")
    synthesize = content.get("synthesize")
    own = synthesize if isinstance(synthesize, Mapping) else {}
    single = {key: content.get(key) for key in ("risk", "privacy")}
    single["synthesize.part_rows"] = own.get("part_rows")
    yield from (refusal(LINKED, key) for key, value in single.items() if value is not None)


def _unsupported(config: LinkedConfig) -> Iterator[Problem]:
    person, links = config.person, config.links
    yield from refused(person, LINKED)
    for name, view in config.views.items():
        for column in links.tables[name].references:
            if view.protection is not None and view.protection.choice(column) == "other":
                yield refusal(LINKED, "references protected by the category other", name, column)
        for column, about in links.tables[name].columns.items():
            if name != links.person and about.role in (Role.QUASI_IDENTIFIER, Role.WEIGHT):
                yield refusal(LINKED, "roles outside of the person table", name, column, about.role, links.person)
    if person.anonymize is not None:
        yield from _models(config)


def _models(config: LinkedConfig) -> Iterator[Problem]:
    own = config.links.tables[config.links.person].columns
    others = {name for table in config.links.tables.values() for name in table.columns if name not in own}
    for model in config.person.anonymize.models if config.person.anonymize else ():
        attribute = getattr(model, "attribute", None)
        if attribute in others:
            yield refusal(LINKED, "anonymize.models of other tables", repr(attribute), config.links.person)


def _located(problems: list[Problem], source: ConfigSource) -> list[Problem]:
    return [Problem(f"{source.at_key_of(one.message)}: {one.message}", one.hint) for one in problems]


def _shifted(source: ConfigSource, name: str) -> ConfigSource:
    """Source of one table's configuration: the lines of its keys under ``data``."""
    lines = {("data", *path[2:]): line for path, line in source.lines.items() if path[:2] == ("tables", name)}
    own = {path: line for path, line in source.lines.items() if path[0] not in LINKS}
    return ConfigSource(source.name, own | lines, source.changed)
