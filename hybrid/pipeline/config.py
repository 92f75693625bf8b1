"""Configuration of a run: the table, the stages, and the options of each.

A section's options are defined in the room that uses them (``hybrid/table/data_options.py``,
``hybrid/anonymize/options.py``, ...); this module composes them, reads YAML and turns every mistake into a message.
``hybrid check CONFIG --show`` prints a configuration with all its defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import (
    Field,
    PrivateAttr,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.anonymize.techniques.registry import gives_k, steps_on, unlabelled
from hybrid.base.config_files import ConfigSource, YamlMapping, validated
from hybrid.base.errors import ConfigError, Problem, refuse
from hybrid.base.manifest import StageName
from hybrid.base.options import Options
from hybrid.constraints import AnyConstraint
from hybrid.evaluation.options import EvaluateOptions
from hybrid.hierarchy.load import HierarchySource
from hybrid.pipeline.config_file import overridden, read_config_file
from hybrid.pipeline.contradictions import (
    NO_TRANSITION,
    contradictions_of_links,
    contradictions_of_sections,
    located,
    refuse_contradictions,
)
from hybrid.pipeline.decided_roles import RolesOptions
from hybrid.pipeline.links import (
    LINKS,
    LinkOptions,
    TableOptions,
    collected,
    is_linked,
    reading,
    structure_problems,
    tables_about_people,
    view_of,
)
from hybrid.pipeline.private_mode import with_private_defaults
from hybrid.pipeline.published_totals import MarginsOptions
from hybrid.pipeline.refusals import LINKED, refused
from hybrid.pipeline.risk import AnyRisk
from hybrid.pipeline.section_options import MockOptions, NightlyOptions, OutputOptions
from hybrid.pipeline.stages import section_order
from hybrid.pipeline.transition_options import TransitionOptions, default_transition
from hybrid.privacy.domain import PrivacyOptions
from hybrid.protect import ProtectOptions
from hybrid.protect.options import ProtectChoice
from hybrid.publication.description.description import PublishOptions
from hybrid.publication.policy import packaged_policy
from hybrid.sample import SampleOptions
from hybrid.synthesize import SynthesizeOptions
from hybrid.table import Role, Table
from hybrid.table.data_options import DataOptions, load_table
from hybrid.table.files import File
from hybrid.table.persons import with_households, with_order, with_persons
from hybrid.table.sources import SOURCES
from hybrid.table.sources.sql import SqlOptions
from hybrid.table.split import SplitOptions
from hybrid.table.typed_table import DATA_FRAME, Frame, read_frame
from hybrid.table.weights import refuse_unusable_weights

IN_MEMORY: dict[str, Any] = {source.key: source.unset for source in SOURCES.values()} | {"path": DATA_FRAME}
"""Keys of the section ``data`` where the table is a DataFrame."""
SUPPRESSION_LIMITS = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Limits of the trade-off curve beside the configured one."""


SINGLE = ""
"""Name of the only table of a run."""
_ONE_TABLE = LinkOptions.model_construct(person=SINGLE, tables={SINGLE: TableOptions.model_construct()})
OF_ONE_TABLE = ("data", "constraints")
"""Sections that a configuration of linked tables does not have: each table has its own source and constraints."""

_SAMPLE_ROWS = 100_000


class RunConfig(Options):
    """Everything one run needs to know: of one table, or of linked tables.

    Where tables are linked, ``data`` and ``constraints`` are those of the person table, and ``views`` holds one
    configuration for each table, compiled from the section ``tables``.
    """

    version: Literal[1] = 1
    """Version of this format."""
    name: str = Field(default="run", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Names the run's folder and release."""
    seed: int | None = Field(default=None, ge=0, lt=2**63)
    """Makes every draw repeatable. Leave it out for a real release, so that the draws cannot be repeated."""
    data: DataOptions
    """The table."""
    roles: RolesOptions | None = None
    """Who decided the roles of the columns; null: nobody yet, and nothing can be released."""
    constraints: tuple[AnyConstraint, ...] = ()
    """Constraints between columns that every row of the synthetic table keeps; each is a mapping with one key."""
    privacy: PrivacyOptions | None = None
    """A differentially private table: its budget, and what is known of the columns. null: no such claim."""
    split: SplitOptions = SplitOptions()
    """Training and control records."""
    protect: ProtectChoice = ProtectOptions()
    """Protection of values that few training records hold, before anything learns. off: they go in as they are."""
    anonymize: AnonymizeOptions | None = None
    """k-anonymity and more; null: skip."""
    sample: SampleOptions = SampleOptions()
    """Sampling of the anonymized records."""
    transition: TransitionOptions | None = None
    """From labels back to values; null with anonymize set: the default strategy. Cannot be off with anonymize set."""
    synthesize: SynthesizeOptions = SynthesizeOptions()
    """The generator."""
    risk: AnyRisk | None = None
    """A table with a known leak in the place of the generator's, or training without outliers, for `hybrid lab`:
    metrics are tried on it, and nothing of such a run is written or released. null: none."""
    evaluate: EvaluateOptions = EvaluateOptions()
    """Targets, secrets and metrics."""
    margins: MarginsOptions | None = None
    """Published totals of the population, to which sampling weights are raked. null: to those of the records."""
    mock: MockOptions | None = None
    """What is public about the columns, for tables that `hybrid mock` makes without the records. Of linked tables,
    columns are called TABLE.COLUMN. null: the kinds of the columns alone."""
    policy: str | None = None
    """Name of a packaged policy (`hybrid policies` lists them), or the path of a policy file, relative to the config
    file. A path has a folder or a suffix: policies/own.yaml. null: the packaged policy `default`."""
    output: OutputOptions = OutputOptions()
    """The synthetic table's file."""
    nightly: NightlyOptions = NightlyOptions()
    """Releases night after night."""
    publish: PublishOptions = PublishOptions()
    """Texts for the readers of a release."""
    stages: tuple[StageName, ...] | None = None
    """The order of the stages, for those who want to state it; must be the one the other sections describe."""

    _folder: Path = PrivateAttr(default=Path())
    _frame: Frame | None = PrivateAttr(default=None)
    _rows_there: bool = PrivateAttr(default=False)
    _described: dict[str, HierarchySource] = PrivateAttr(default_factory=dict)
    _links: LinkOptions | None = PrivateAttr(default=None)
    _below: dict[str, RunConfig] = PrivateAttr(default_factory=dict)
    _public: dict[str, RunConfig] = PrivateAttr(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _with_derived(cls, content: Any) -> Any:
        if not isinstance(content, Mapping):
            return content
        for derived in (_with_register, with_private_defaults, _with_use, _with_transition):
            content = derived(content)
        return content

    @field_validator("anonymize", "transition", mode="before")
    @classmethod
    def _off(cls, value: Any) -> Any:
        return None if value is False else value

    @property
    def protection(self) -> ProtectOptions | None:
        """Options of the protection of values; None where it is off."""
        return self.protect if isinstance(self.protect, ProtectOptions) else None

    @property
    def record_key(self) -> tuple[str, ...]:
        """Columns that identify the person of a record.

        Those of ``data.person``, or ``split.key``; none where neither is set.
        """
        return self.data.person_columns or (() if self.split.key is None else (self.split.key,))

    @property
    def draws_persons(self) -> bool:
        """True if the generator learns and draws persons with all their rows."""
        return self.data.several_rows and self.synthesize.learns_sequences

    @property
    def k(self) -> int:
        """Of the anonymization; 0 without one."""
        return 0 if self.anonymize is None else self.anonymize.k

    @property
    def promised_k(self) -> int:
        """Persons of every class; 0 where no k-anonymity is promised."""
        names, options = self.data.having(Role.QUASI_IDENTIFIER), self.anonymize
        return 0 if options is None or not gives_k(steps_on(options, names), names) else options.k

    @property
    def required_transition(self) -> TransitionOptions:
        """The transition of a configuration that anonymizes.

        Raises
        ------
        ConfigError
            It is off.
        """
        if self.transition is None:
            raise ConfigError([NO_TRANSITION])
        return self.transition

    @property
    def described_stages(self) -> tuple[StageName, ...]:
        """Stages that this configuration switches on, in their order."""
        post = self.transition is not None and self.transition.order == "post"
        on: dict[StageName, bool] = {
            "anonymize": self.anonymize is not None,
            "sample": self.sample.method != "none",
            "transition": self.transition is not None,
            "synthesize": not self.synthesize.is_off,
        }
        first = self.sample.effective.order == "pre"
        return tuple(stage for stage in section_order(transition_last=post, sample_first=first) if on[stage])

    @property
    def has_tradeoff(self) -> bool:
        """True if information loss is computed at several suppression limits.

        That is so where the whole lattice is searched, but not for a sample of rows that stay in their source.
        """
        options = self.anonymize
        searched = options is not None and options.engine == "exact" and options.recoding == "global"
        return searched and not self.rows_stay and options is not None and options.generalizes

    @property
    def unlabelled(self) -> frozenset[str]:
        """Quasi-identifiers whose values are masked, not generalized, and which need no hierarchy."""
        names = self.data.having(Role.QUASI_IDENTIFIER)
        return frozenset() if self.anonymize is None else unlabelled(self.anonymize, names)

    def generalized_below(self, name: str) -> tuple[str, ...]:
        """Quasi-identifiers of a table below the person table; none where nothing is anonymized."""
        if self.anonymize is None or name == self.links.person:
            return ()
        return self.links.tables[name].having(Role.QUASI_IDENTIFIER)

    @property
    def suppression_limits(self) -> list[float]:
        """Limits of the trade-off curve, ascending, with the configured one; empty without anonymization."""
        return [] if self.anonymize is None else sorted({*SUPPRESSION_LIMITS, self.anonymize.suppression_limit})

    @property
    def has_baseline(self) -> bool:
        """True if the generator is also trained on the original records, for comparison."""
        return self.anonymize is not None and not self.synthesize.is_off and self.evaluate.baseline

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        content: dict[str, Any] = handler(self)
        if not self.is_linked:
            return content
        first = {key: content[key] for key in ("version", "name", "seed") if key in content}
        links = self.links.model_dump(mode=info.mode, exclude_unset=info.exclude_unset)
        left_out = {*first, *OF_ONE_TABLE, *(["risk"] if self.risk is None else [])}
        return first | links | {key: about for key, about in content.items() if key not in left_out}

    @property
    def is_linked(self) -> bool:
        """True of linked tables, false of a single one."""
        return self._links is not None

    @property
    def links(self) -> LinkOptions:
        """The tables by their names, with keys and parents; a single table has neither."""
        return self._links or _ONE_TABLE

    @property
    def views(self) -> Mapping[str, RunConfig]:
        """Configuration of every table about people, by its name, parents first; the first one is this one.

        Tables below the person table are not sampled again, since their persons are those of the person table; what is
        generalized in them says :meth:`generalized_below`.
        """
        return {self.links.person: self, **self._below}

    @property
    def public(self) -> Mapping[str, RunConfig]:
        """Configuration of every table that says nothing about people: where it is read from."""
        return self._public

    @property
    def sources(self) -> dict[str, DataOptions]:
        """Source of every table, public ones too, and its reading options."""
        return {name: self.source(name) for name in (*self.views, *self.public)}

    def source(self, name: str) -> DataOptions:
        """Source of a table, and the options of reading it."""
        return DataOptions.model_validate(reading(self.links.tables[name])) if self.is_linked else self.data

    def config_of(self, name: str) -> RunConfig:
        """Configuration of a table about people, or of a public one."""
        return self.public[name] if name in self.public else self.views[name]

    def with_sections(self, sections: Mapping[str, Any]) -> RunConfig:
        """Copy with other sections that all tables share, such as ``split``."""
        return self._each(lambda _, config: config.model_copy(update=dict(sections)))

    def _each(self, changed: Callable[[str, RunConfig], RunConfig]) -> RunConfig:
        """Copy whose tables about people have changed configurations, each made from its name and the one before."""
        copied = changed(self.links.person, self)
        copied._below = {name: changed(name, config) for name, config in self._below.items()}
        return copied

    def path(self, relative: str) -> Path:
        """A path of this configuration, seen from where the program runs."""
        return self._folder / Path(relative).expanduser()

    @property
    def folder(self) -> Path:
        """Base folder of relative paths."""
        return self._folder

    @property
    def data_file(self) -> File | None:
        """File of the input table; None if its source is not a file."""
        return None if self._frame is not None else self.data.source.file(self.data.place, self._folder)

    @property
    def frame(self) -> Frame | None:
        """DataFrame in the place of a source; None without one."""
        return self._frame

    def with_frame(self, frame: Frame) -> RunConfig:
        """Copy of the configuration with a DataFrame as its input table."""
        copied = self.model_copy(update={"data": self.data.model_copy(update=IN_MEMORY)})
        copied._frame = frame
        return copied

    def with_rows_there(self) -> RunConfig:
        """Copy of the configuration whose rows stay in their source."""
        copied = self.model_copy()
        copied._rows_there = True
        return copied

    def with_frames(self, frames: Mapping[str, Frame]) -> RunConfig:
        """Copy of the configuration with DataFrames in the place of some sources, by the names of the tables.

        Raises
        ------
        ConfigError
            A name is not under ``tables``.
        """
        tables = self.links.tables
        unknown = [name for name in frames if name not in tables]
        if unknown:
            raise ConfigError(
                Problem(f"data: there is no table {name!r} under tables", f"use {', '.join(tables)}")
                for name in unknown
            )

        def given(name: str, config: RunConfig) -> RunConfig:
            return config.with_frame(frames[name]) if name in frames else config.model_copy()

        copied = self._each(given)
        if self.is_linked:
            read = {name: tables[name].model_copy(update=IN_MEMORY) for name in frames}
            copied._links = self.links.model_copy(update={"tables": {**tables, **read}})
            copied._public = {name: given(name, config) for name, config in self._public.items()}
        return copied

    def load_source(self, name: str) -> Table:
        """Read a table as its source has it, without persons.

        Raises
        ------
        HybridError
            As :func:`hybrid.table.data_options.load_table` and :func:`hybrid.table.typed_table.read_frame`.
        """
        frame = self.config_of(name).frame
        return load_table(self.source(name), self.folder) if frame is None else read_frame(frame, self.source(name))

    def load_table(self) -> Table:
        """Read the input table without the columns whose role is undecided.

        Errors as :meth:`load_all_columns`.
        """
        return self.load_all_columns().without_left_out()

    def load_all_columns(self) -> Table:
        """Read all columns of the input table, for checks.

        Raises
        ------
        HybridError
            The table, or its persons, households, order or weights cannot be used.
        """
        found = load_table(self.data, self._folder) if self._frame is None else read_frame(self._frame, self.data)
        return self.prepared(found)

    def prepared(self, found: Table) -> Table:
        """Rows with their persons, households and order.

        Errors as :meth:`load_all_columns`.
        """
        refuse_unusable_weights(found)
        known = with_households(with_persons(found, self.data.person_columns), self.data.household_columns)
        return with_order(known, self.data.order)

    @property
    def rows_stay(self) -> bool:
        """True if the rows stay in their source; where their size decides, after :func:`~.placement.placed`."""
        place = self.data.place
        return self.frame is None and (self._rows_there or (isinstance(place, SqlOptions) and bool(place.stays)))

    @property
    def sample_size(self) -> int:
        """Rows that are drawn where the others stay in their source."""
        place = self.data.place
        asked = place.sample_rows if isinstance(place, SqlOptions) else None
        return asked or self.split.rows or _SAMPLE_ROWS

    @property
    def policy_path(self) -> Path:
        """File of the policy.

        Raises
        ------
        ConfigError
            There is no packaged policy of this name.
        """
        return packaged_policy(self.policy or "default") or self.path(str(self.policy))

    @property
    def hierarchy_sources(self) -> dict[str, HierarchySource]:
        """File of each column's hierarchy, or its description in memory."""
        named = {name: column.hierarchy for name, column in self.data.columns.items() if column.hierarchy is not None}
        return {name: self._described.get(path, self.path(path)) for name, path in named.items()}

    def with_values(self, values: Mapping[str, Any]) -> RunConfig:
        """Copy of the configuration with other values for dotted keys, about the same files and tables.

        Raises
        ------
        ConfigError
            The values are wrong, or contradict the others.
        """
        changed = parse_config(overridden(self.model_dump(mode="json", exclude_unset=True), values))
        for name in (*changed.views, *changed.public):
            config, before = changed.config_of(name), self.config_of(name)
            config._folder, config._frame, config._described = before._folder, before._frame, before._described
        return changed

    def with_hierarchies(self, described: Mapping[str, HierarchySource]) -> RunConfig:
        """Copy of the configuration with hierarchies in memory, by the relative paths of the files they replace."""

        def given(_: str, config: RunConfig) -> RunConfig:
            copied = config.model_copy()
            copied._described = dict(described)
            return copied

        return self._each(given)

    def to_yaml(self) -> str:
        """All options, defaults included, as YAML."""
        text: str = yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
        return text


def _with_register(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """An attacker may hold the population of k-map."""
    anonymize, evaluate = content.get("anonymize"), content.get("evaluate", {})
    if not isinstance(anonymize, Mapping) or not isinstance(evaluate, Mapping):
        return content
    path = anonymize.get("population")
    if path is None or evaluate.get("attacker_register") is not None:
        return content
    return {**content, "evaluate": {**evaluate, "attacker_register": {"path": path}}}


def _with_use(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The loss of associations is that with the targets."""
    anonymize, evaluate = content.get("anonymize"), content.get("evaluate")
    if not isinstance(anonymize, Mapping) or not isinstance(evaluate, Mapping):
        return content
    loss, targets = anonymize.get("loss"), evaluate.get("targets")
    if not targets or not isinstance(loss, Mapping) or loss.get("name") != "association" or loss.get("use"):
        return content
    return {**content, "anonymize": {**anonymize, "loss": {**loss, "use": targets}}}


def _with_transition(content: Mapping[str, Any]) -> Mapping[str, Any]:
    if content.get("anonymize") in (None, False) or content.get("transition") is not None:
        return content
    return {**content, "transition": {"method": default_transition(content["anonymize"])}}


def load_config(path: Path | str, overrides: Mapping[str, Any] | None = None) -> RunConfig:
    """Read and check a configuration.

    Parameters
    ----------
    path : Path or str
        A YAML file.
    overrides : mapping of str to value, optional
        Values for dotted keys, such as ``{"anonymize.k": 10}``; they win over the file.

    Returns
    -------
    RunConfig
        With relative paths anchored at the file's folder.

    Raises
    ------
    ConfigError
        The file is missing or no YAML, has a key twice, an unknown key or a wrong value, or stages that make
        no sense together; all problems at once.
    """
    if not isinstance(path, str | Path):
        raise ConfigError(f"path is a {type(path).__name__}, not a path", hint='hybrid.load_config("config.yaml")')
    return configured(read_config_file(Path(path)), overrides or {}, Path(path))


def configured(content: Mapping[str, Any], overrides: Mapping[str, Any], path: Path) -> RunConfig:
    """The content of a configuration file with other values for some keys; errors as :func:`load_config`.

    Another ``transition.method`` or ``synthesize.generator`` than the file's leaves behind the options that belong to
    the file's.
    """
    source = content.source if isinstance(content, YamlMapping) else ConfigSource(str(path))
    return parse_config(overridden(content, overrides), source.with_changes(overrides), path.parent)


def refuse_linked(config: RunConfig, what: str) -> None:
    """Refuse linked tables where one table is needed."""
    if config.is_linked:
        raise ConfigError(
            f"{what}: tables describes linked tables, and single tables alone are supported here",
            hint="commands about runs take linked tables: hybrid check, run, release, tune, compare, lab",
        )


def parse_config(
    content: Mapping[str, Any],
    source: ConfigSource = ConfigSource("config"),  # noqa: B008 - frozen
    folder: Path = Path(),
) -> RunConfig:
    """Check a configuration given as a mapping; relative paths start at ``folder``; errors as :func:`load_config`."""
    if is_linked(content):
        return _of_linked(content, source, folder)
    config = validated(RunConfig, content, source)
    refuse_contradictions(config, source)
    config._folder = folder
    return config


def _of_linked(content: Mapping[str, Any], source: ConfigSource, folder: Path) -> RunConfig:
    shared = {key: value for key, value in content.items() if key not in LINKS}
    links = validated(LinkOptions, {key: content[key] for key in LINKS if key in content}, source)
    _refuse([*contradictions_of_sections(content), *structure_problems(links)], source)
    found: dict[str, RunConfig] = {}
    problems: list[Problem] = []
    for name in [*tables_about_people(links), *(name for name, table in links.tables.items() if table.public)]:
        with collected(problems, name):
            found[name] = parse_config(view_of(links, name, shared), _shifted(source, name), folder)
    person = found.get(links.person)
    if person is not None:
        person._links = links
        about = (name for name in found if name != links.person and not links.tables[name].public)
        person._below = {name: found[name] for name in about}
        _refuse(refused(person, LINKED), source)
    if problems or person is None:
        raise ConfigError({problem.message: problem for problem in problems}.values())
    person._public = {name: one for name, one in found.items() if links.tables[name].public}
    _refuse(contradictions_of_links(person), source)
    return person


def _refuse(problems: Iterable[Problem], source: ConfigSource) -> None:
    found = located(problems, source)
    refuse(found)


def _shifted(source: ConfigSource, name: str) -> ConfigSource:
    """Source of one table's configuration: the lines of its keys under ``data``."""
    lines = {("data", *path[2:]): line for path, line in source.lines.items() if path[:2] == ("tables", name)}
    own = {path: line for path, line in source.lines.items() if path[0] not in LINKS}
    return ConfigSource(source.name, own | lines, source.changed)
