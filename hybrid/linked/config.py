"""Configuration of linked tables, compiled into one configuration per table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hybrid.base.config_files import ConfigSource, YamlMapping, read_yaml, validated
from hybrid.base.errors import ConfigError, HybridError, Problem
from hybrid.linked.options import LinkOptions, TableOptions
from hybrid.linked.structure import below, key_columns, structure_problems
from hybrid.pipeline.config import IN_MEMORY, NightlyOptions, RunConfig, configured
from hybrid.pipeline.overrides import overridden
from hybrid.pipeline.refusals import LINKED, refusal, refused
from hybrid.table import Kind, Role, Table
from hybrid.table.data_options import DataOptions, load_table
from hybrid.table.typed_table import Frame, read_frame

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
        """Configuration of the person table.

        Its sections but ``data`` are those of the whole run.
        """
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

    def model_dump(self) -> dict[str, Any]:
        """As resolved, every default filled in (JSON types)."""
        shared = self.person.model_dump(mode="json", exclude={"data", "constraints", "risk", "stages"})
        first = {key: shared.pop(key) for key in ("version", "name", "seed")}
        return first | self.links.model_dump(mode="json") | shared


def is_linked(content: Mapping[str, Any]) -> bool:
    """True if a configuration's content is about linked tables."""
    return "tables" in content


def load_any(path: Path, overrides: Mapping[str, Any] | None = None) -> RunConfig | LinkedConfig:
    """Read the configuration of a table or of linked tables.

    Arguments and errors as for :func:`hybrid.pipeline.config.load_config`.
    """
    return configured_any(read_yaml(path), overrides or {}, path)


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
    for name in [*below(links), *(name for name, table in links.tables.items() if table.public)]:
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
    """Section ``data`` of one table (JSON types).

    Keys are identifiers, and references are categories.
    """
    data = table.model_dump(mode="json", include=_DATA, exclude_unset=True)
    columns = dict(data.get("columns", {}))
    for column in key_columns(table):
        columns[column] = columns.get(column, {}) | {"role": Role.IDENTIFIER.value}
    for column in [*table.references, *([table.key] if table.public and table.key else [])]:
        columns[column] = columns.get(column, {}) | {"kind": Kind.CATEGORICAL.value}
    return data | {"columns": columns}


def _view(links: LinkOptions, name: str, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Content of the configuration of one table."""
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
    off = {"anonymize": None, "transition": None, "sample": {"method": "none"}}
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
    """Sections that have another place beside ``tables``."""
    if "data" in content:
        yield refusal(LINKED, "data beside tables")
    if content.get("constraints"):
        yield refusal(LINKED, "constraints beside tables")
    synthesize = content.get("synthesize")
    own = synthesize if isinstance(synthesize, Mapping) else {}
    single = {key: content.get(key) for key in ("risk", "stages")}
    single |= {f"synthesize.{key}": own.get(key) for key in ("filter", "where", "part_rows")}
    yield from (refusal(LINKED, key) for key, value in single.items() if value is not None)


def _unsupported(config: LinkedConfig) -> Iterator[Problem]:
    """Options of single tables that linked tables do not have."""
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
    """Privacy models about columns of other tables than the person table."""
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
