"""Folders of linked tables that are audited, read with the parents and the persons of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from hybrid.base.errors import ConfigError, DataError, Problem, refuse
from hybrid.evaluation.context import Parentage, Parents
from hybrid.evaluation.context import Role as Side
from hybrid.evaluation.measure import Subject
from hybrid.jobs.audited import Audited, AuditedTables, File, Source, audited_paths, notes_on, read_alike
from hybrid.pipeline.child_draw import own_names, with_columns_of
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.inputs import Sources
from hybrid.pipeline.links import collected, key_columns
from hybrid.pipeline.sources import broken_references, link_sources
from hybrid.table import Table
from hybrid.table.file_formats import OFFICE_SUFFIXES, PARQUET_SUFFIXES
from hybrid.table.typed_table import Frame

Folder: TypeAlias = Path | Mapping[str, Frame]
"""A folder of linked tables, or these in memory, by their names."""
SUFFIXES = (".csv", *PARQUET_SUFFIXES, *OFFICE_SUFFIXES)


def links_config(config: Path | None, folders: Sequence[Path | None], *, has_roles: bool = False) -> RunConfig:
    """Configuration of an audit of linked tables.

    Refused if it is missing or about a single table, if roles are given beside it (``has_roles``), or one of the places
    is no folder.
    """
    problems = [
        Problem(f"{folder} is no folder", "linked tables are audited as folders: --train, --control and --synthetic")
        for folder in folders
        if folder is not None and not folder.is_dir()
    ]
    if has_roles:
        hint = "set roles under tables.NAME.columns of --config"
        problems.append(Problem("--target, --secret and --quasi-identifier are for single tables", hint))
    if config is None:
        hint = f"hybrid init {folders[0]} --out config.yaml finds them; give it as --config"
        problems.append(Problem("the audit of linked tables needs their keys and parents", hint))
    loaded = None if config is None else load_config(config)
    if loaded is not None and not loaded.is_linked:
        problems.append(Problem(f"{config}: describes a single table", "give files, or a config with tables"))
    if problems or loaded is None:
        raise ConfigError(problems)
    return loaded


def read_audited_links(train: Folder, control: Folder | None, synthetic: Folder, config: RunConfig) -> AuditedTables:
    """Read the folders of an audit of linked tables.

    A table is the CSV or Parquet file with its name, or with the name of its file in the configuration, whose sources
    are not read. Public tables are read from the folder of training records where another folder lacks them.
    ``control`` has persons of the same population that the generator never saw, and all their rows.

    Synthetic rows whose parent does not exist are left out, and counted by the metric ``orphans``. Problems of all
    tables are named at once.
    """
    folders = audited_paths(train, control, synthetic)
    paths = _paths(folders, config)
    problems: list[Problem] = []
    read: dict[str, dict[File, Table]] = {}
    notes: dict[str, list[str]] = {}
    for name in (*config.views, *config.public):
        options = config.links.tables[name]
        keys = {*key_columns(options), *([options.order] if options.order else [])}
        with collected(problems, name):
            read[name], notes[name] = read_alike(paths[name], config.source(name), keys)
    refuse(problems, DataError)
    sources = {
        file: link_sources(config, {name: tables[file] for name, tables in read.items()}, made=file == "synthetic")
        for file in folders
    }
    joined = {file: _joined(config, found, sources["train"]) for file, found in sources.items()}
    return _audited(config, sources, joined, paths, notes)


def _paths(folders: Mapping[File, Folder], config: RunConfig) -> dict[str, dict[File, Source]]:
    problems: list[Problem] = []
    found: dict[str, dict[File, Source]] = {name: {} for name in (*config.views, *config.public)}
    for name, files in found.items():
        for file, folder in folders.items():
            is_missing = file != "train" and not _candidates(folder, name, config)
            if name in config.public and is_missing and "train" in files:
                files[file] = files["train"]
                continue
            known = _candidates(folder, name, config)
            if len(known) == 1:
                files[file] = known[0]
            else:
                several = ", ".join(one.name for one in known if isinstance(one, Path))
                what = f"several files: {several}" if known else "no file of this table"
                hint = f"call it {name}.csv or {name}.parquet, and let there be one"
                problems.append(
                    Problem(f"tables.{name}: {folder if isinstance(folder, Path) else file} has {what}", hint)
                )
    refuse(problems, DataError)
    return found


def _candidates(folder: Folder, name: str, config: RunConfig) -> Sequence[Source]:
    """Files of a table in a folder: by its name, else by that of its configured file."""
    if not isinstance(folder, Path):
        return [folder[name]] if name in folder else []
    own = [folder / f"{name}{suffix}" for suffix in SUFFIXES]
    known = [path for path in own if path.is_file()]
    configured = config.source(name).path
    other = folder / Path(configured).name if configured else None
    return known or ([other] if other is not None and other.is_file() else [])


def _joined(config: RunConfig, found: Sources, train: Sources) -> dict[str, Table]:
    person = config.links.person
    people, named = found.tables[person], train.tables[person]
    return {
        name: table
        if name == person
        else with_columns_of(table, people, table.persons, own_names(named, train.tables[name], person))
        for name, table in found.tables.items()
    }


def _audited(
    config: RunConfig,
    sources: Mapping[File, Sources],
    joined: Mapping[File, Mapping[str, Table]],
    paths: Mapping[str, Mapping[File, Source]],
    notes: Mapping[str, list[str]],
) -> AuditedTables:
    schemas = {name: table.schema.without_identifiers() for name, table in joined["train"].items()}
    same = {
        file: {
            name: Table(table.frame[schemas[name].names], schemas[name], table.named_persons)
            for name, table in of.items()
        }
        for file, of in joined.items()
    }
    tables: dict[str, Audited] = {}
    parentage: dict[str, Mapping[Subject, Parentage]] = {}
    for name in schemas:
        each = {file: same[file][name] for file in same}
        said = (*notes[name], *notes_on(each, paths[name]))
        tables[name] = Audited(each["train"], each.get("control"), each["synthetic"], said)
        parent = config.links.tables[name].parent
        if parent is None:
            continue
        own = tuple(column for column in sources["train"].tables[name].schema.names if column in schemas[name])
        parents = {
            file: Parents(of[parent.table], sources[file].owners[name], own, _broken(config, name, sources[file]))
            for file, of in same.items()
        }
        real: dict[Side, Parents] = {"train": parents["train"]}
        if "control" in parents:
            real["control"] = parents["control"]
        parentage[name] = {
            "original": {**real, "table": parents["train"]},
            "synthetic": {**real, "table": parents["synthetic"]},
        }
    return AuditedTables(tables, parentage)


def _broken(config: RunConfig, name: str, found: Sources) -> int:
    return found.orphans.get(name, 0) + int(broken_references(config, name, found).sum())
