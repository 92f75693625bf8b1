"""Audit of linked tables: folders in, one verdict out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from hybrid.base.atomic import write_json, write_text
from hybrid.base.errors import ConfigError, DataError, HybridError, Problem
from hybrid.base.hashing import library_versions
from hybrid.base.manifest import PACKAGE
from hybrid.base.ownership import seal
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import fresh_seed, rng_for
from hybrid.evaluation import evaluate
from hybrid.evaluation.context import Parentage, Parents
from hybrid.evaluation.context import Role as Side
from hybrid.evaluation.measure import Evaluation, Subject
from hybrid.evaluation.run_metrics import remembering
from hybrid.evaluation.trust import TrustLeague, load_trust
from hybrid.jobs.audit import (
    Audited,
    File,
    JudgedTables,
    Source,
    audited_paths,
    notes_on,
    read_alike,
    rules_for_tables,
    with_population,
)
from hybrid.jobs.report_inputs import LIMITS, audit_report
from hybrid.jobs.run import staged
from hybrid.linked.config import LinkedConfig, in_table, key_columns, load_any
from hybrid.linked.draw import own_names, with_columns_of
from hybrid.linked.facts import page_of
from hybrid.linked.run import BETWEEN, fitting, worst_power
from hybrid.linked.sources import broken_references, link_sources
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.inputs import Sources
from hybrid.pipeline.power import measure_power, n_people
from hybrid.pipeline.stages import libraries
from hybrid.publication.asked import asked, not_asked
from hybrid.publication.finished_run import EVALUATION, REPORT
from hybrid.publication.gate import confidence_of_each, judge
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.policy import load_policy
from hybrid.publication.power import Power
from hybrid.publication.verdict import Verdict
from hybrid.report import ReportInputs, render_report
from hybrid.report.run.sections import JOINT
from hybrid.report.run.sections.tables import LinkedRow
from hybrid.table import Table
from hybrid.table.file_formats import OFFICE_SUFFIXES
from hybrid.table.schema import PARQUET_SUFFIXES
from hybrid.table.typed_table import Frame

Folder: TypeAlias = Path | Mapping[str, Frame]
"""A folder of linked tables, or these in memory, by their names."""
SUFFIXES = (".csv", *PARQUET_SUFFIXES, *OFFICE_SUFFIXES)


@dataclass(frozen=True)
class AuditedLinks:
    """Linked tables of an audit, without identifiers.

    Parameters
    ----------
    tables : mapping of str to Audited
        The person table, and tables below it with the columns of their persons beside; parents first.
    parentage : mapping of str to Parentage by judged table
        Parents of the rows; not of the person table.
    """

    tables: Mapping[str, Audited]
    parentage: Mapping[str, Mapping[Subject, Parentage]]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the files, with the names of tables."""
        return tuple(f"{name}: {note}" for name, one in self.tables.items() for note in one.notes)


def links_config(
    config: Path | None,
    folders: Sequence[Path | None],
    targets: Sequence[str] = (),
    secrets: Sequence[str] = (),
    quasi_identifiers: Sequence[str] = (),
) -> LinkedConfig:
    """Configuration of an audit of linked tables.

    Raises
    ------
    ConfigError
        It is missing or about a single table, roles are given beside it, or one of the places is no folder.
    """
    problems = [
        Problem(f"{folder} is no folder", "linked tables are audited as folders: --train, --control and --synthetic")
        for folder in folders
        if folder is not None and not folder.is_dir()
    ]
    if targets or secrets or quasi_identifiers:
        hint = "set roles under tables.NAME.columns of --config"
        problems.append(Problem("--target, --secret and --quasi-identifier are for single tables", hint))
    if config is None:
        hint = f"hybrid init {folders[0]} --out config.yaml finds them; give it as --config"
        problems.append(Problem("the audit of linked tables needs their keys and parents", hint))
    loaded = None if config is None else load_any(config)
    if isinstance(loaded, RunConfig):
        problems.append(Problem(f"{config}: describes a single table", "give files, or a config with tables"))
    if problems or not isinstance(loaded, LinkedConfig):
        raise ConfigError(problems)
    return loaded


def read_audited_links(train: Folder, control: Folder | None, synthetic: Folder, config: LinkedConfig) -> AuditedLinks:
    """Read the folders of an audit of linked tables.

    Parameters
    ----------
    train, synthetic : Path, or mapping of str to tables in memory
        Folders with the records the generator learned from, and those it made. A table is the CSV or Parquet file with
        its name, or with the name of its file in the configuration. Public tables are read from the folder of
        training records where another folder lacks them.
    control : Path or mapping, optional
        Folder with persons of the same population that it never saw, and all their rows.
    config : LinkedConfig
        Keys, parents and roles; its sources are not read.

    Returns
    -------
    AuditedLinks
        As :func:`hybrid.jobs.audit.read_audited` for every table. Synthetic rows whose parent does not exist
        are left out, and counted by the metric ``orphans``.

    Raises
    ------
    DataError, ConfigError
        Files are missing or lack columns, keys are missing or repeat, real rows have no parent, or the control records
        are those of train; problems of all tables at once.
    """
    folders = audited_paths(train, control, synthetic)
    paths = _paths(folders, config)
    problems: list[Problem] = []
    read: dict[str, dict[File, Table]] = {}
    notes: dict[str, list[str]] = {}
    for name in (*config.views, *config.public):
        options = config.links.tables[name]
        keys = {*key_columns(options), *([options.order] if options.order else [])}
        try:
            read[name], notes[name] = read_alike(paths[name], config.source(name), keys)
        except HybridError as error:
            problems += [in_table(name, problem) for problem in error.problems]
    if problems:
        raise DataError(problems)
    sources = {
        file: link_sources(config, {name: tables[file] for name, tables in read.items()}, made=file == "synthetic")
        for file in folders
    }
    joined = {file: _joined(config, found, sources["train"]) for file, found in sources.items()}
    return _audited(config, sources, joined, paths, notes)


def _paths(folders: Mapping[File, Folder], config: LinkedConfig) -> dict[str, dict[File, Source]]:
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
    if problems:
        raise DataError(problems)
    return found


def _candidates(folder: Folder, name: str, config: LinkedConfig) -> Sequence[Source]:
    """Files of a table in a folder: by its name, else by that of its configured file."""
    if not isinstance(folder, Path):
        return [folder[name]] if name in folder else []
    own = [folder / f"{name}{suffix}" for suffix in SUFFIXES]
    known = [path for path in own if path.is_file()]
    configured = config.source(name).path
    other = folder / Path(configured).name if configured else None
    return known or ([other] if other is not None and other.is_file() else [])


def _joined(config: LinkedConfig, found: Sources, train: Sources) -> dict[str, Table]:
    person = config.links.person
    people, named = found.tables[person], train.tables[person]
    return {
        name: table
        if name == person
        else with_columns_of(table, people, table.persons, own_names(named, train.tables[name], person))
        for name, table in found.tables.items()
    }


def _audited(
    config: LinkedConfig,
    sources: Mapping[File, Sources],
    joined: Mapping[File, Mapping[str, Table]],
    paths: Mapping[str, Mapping[File, Source]],
    notes: Mapping[str, list[str]],
) -> AuditedLinks:
    """Tables in the columns of train, with the parents of their rows."""
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
    return AuditedLinks(tables, parentage)


def _broken(config: LinkedConfig, name: str, found: Sources) -> int:
    return found.orphans.get(name, 0) + int(broken_references(config, name, found).sum())


def audit_folders(
    train: Path,
    control: Path | None,
    synthetic: Path,
    config: LinkedConfig,
    out: Path,
    seed: int | None = None,
    progress: Progress = silent,
    trust: Path | None = None,
) -> Verdict:
    """Read and audit the folders of linked tables.

    Parameters and errors as for :func:`read_audited_links`, :func:`audit_links` and
    :func:`hybrid.jobs.audit.audit_files`.
    """
    league = None if trust is None else load_trust(trust)
    return audit_links(read_audited_links(train, control, synthetic, config), config, out, seed, progress, league)


def audit_links(
    audited: AuditedLinks,
    config: LinkedConfig,
    out: Path,
    seed: int | None = None,
    progress: Progress = silent,
    league: TrustLeague | None = None,
) -> Verdict:
    """Evaluate linked tables against their originals, judge them, report them.

    Parameters
    ----------
    audited : AuditedLinks
        The tables.
    config : LinkedConfig
        Its sections ``evaluate`` and ``policy`` count.
    out : Path
        Gets evaluation.json, report.html and a page for every table.
    seed : int, optional
        Repeats every draw; a fresh one by default.
    progress : Progress
        Called after every metric, with the table.
    league : TrustLeague, optional
        As for :func:`hybrid.jobs.audit.audit_files`.

    Returns
    -------
    Verdict
        What the policy's rules about metrics say of all tables together.
    """
    judged, left_out = judge_links(audited, config, seed, progress, league)
    write_links(audited, config, judged, out, league, left_out)
    return judged.verdict


def judge_links(
    audited: AuditedLinks,
    config: LinkedConfig,
    seed: int | None = None,
    progress: Progress = silent,
    league: TrustLeague | None = None,
) -> tuple[JudgedTables, dict[str, str]]:
    """Evaluate and judge linked tables that were read; nothing is written. Arguments as for :func:`audit_links`.

    Returns
    -------
    tuple of JudgedTables and dict of str to str
        Of all tables together; and for each, which metrics were not asked for.
    """
    policy = rules_for_tables(load_policy(config.person.policy_path), league)
    seed = fresh_seed() if seed is None else seed
    seeds = {name: int(rng_for(seed, "audit", name).integers(2**63)) for name in audited.tables}
    options = {name: fitting(config.person, one.train.schema).evaluate for name, one in audited.tables.items()}
    shares = {name: remembering({}) for name in audited.tables}
    found: dict[str, Evaluation] = {}
    for name, one in audited.tables.items():
        stages: dict[Subject, Table] = {"original": one.train, "synthetic": one.synthetic}
        rng, how = rng_for(seeds[name], "evaluate"), (_named(name, progress), shares[name])
        parents = audited.parentage.get(name)
        chosen = asked(policy, options[name])
        known = (one.train, one.control, stages, options[name], rng, *how)
        found[name] = evaluate(*known, parentage=parents, metrics=chosen)
    whole = Evaluation(tuple(metric for name, of in found.items() for metric in of.of_table(name).metrics))
    power: Power | None = None
    if config.person.evaluate.power and policy.plants_leaks:
        sure = confidence_of_each(policy, whole)
        trials = {}
        people = max(n_people(one.train) + n_people(one.control) for one in audited.tables.values())
        for name, one in audited.tables.items():
            trials[name] = measure_power(
                *(one.train, one.control, one.synthetic, found[name], policy, options[name], seeds[name]),
                progress=_named(name, progress),
                share=shares[name],
                confidence=sure,
                people=people,
            )
        power = worst_power(trials)
    verdict = with_population(judge(policy, whole, None, power=power), whole)
    left_out = {name: not_asked(policy, options[name], one.train) for name, one in audited.tables.items()}
    return JudgedTables(whole, power, verdict, ""), left_out


def _named(name: str, progress: Progress) -> Progress:
    def told(step: str, done: int, total: int | None = None, **values: float) -> None:
        progress(f"{name}{BETWEEN}{step}", done, total, **values)

    return told


def write_links(
    audited: AuditedLinks,
    config: LinkedConfig,
    judged: JudgedTables,
    out: Path,
    league: TrustLeague | None,
    left_out: Mapping[str, str],
) -> None:
    """Write the evaluation and the pages of an audit."""
    evaluation, power = judged.evaluation, judged.power
    measured = [(m.name, m.column) for m in evaluation.metrics if m.family == "privacy" and m.stage == "synthetic"]
    said = {"power": None if power is None else power.to_json(), "verdict": judged.verdict.to_json()}
    about = {"notes": audited.notes, "trust": None if league is None else league.to_json(measured)}
    with staged(out) as temporary:
        write_json(temporary / EVALUATION, evaluation.to_json() | said | about)
        for name, page in audit_pages(audited, config, judged, league, left_out):
            write_text(temporary / name, page)
        seal(temporary, config.name, "audit")


def audit_pages(
    audited: AuditedLinks,
    config: LinkedConfig,
    judged: JudgedTables,
    league: TrustLeague | None,
    left_out: Mapping[str, str],
) -> Iterator[tuple[str, str]]:
    """File and HTML of every page: one for all tables together, and one for each."""
    created, name, evaluation, verdict = datetime.now(UTC), config.name, judged.evaluation, judged.verdict
    parts = {one: verdict.about(one) for one in audited.tables}
    joint = ReportInputs(
        name=name,
        created=created,
        guarantee=guarantee_sentence(None, {}, evaluation),
        verdict=verdict,
        evaluation=evaluation,
        limits=(*audited.notes, *LIMITS[1:]),
        versions=library_versions(PACKAGE, *libraries()),
        collected={"tables": list(_rows(audited, config, parts))},
    )
    yield REPORT, render_report(joint, JOINT)
    for one, tables in audited.tables.items():
        of_table = Evaluation(tuple(metric for metric in evaluation.metrics if metric.table == one))
        three = tables.train, tables.control, tables.synthetic
        said = f"{name}: {one}", created, tables.notes, league, left_out[one]
        yield page_of(one), render_report(audit_report(three, of_table, parts[one], *said))


def _rows(audited: AuditedLinks, config: LinkedConfig, parts: Mapping[str, Verdict]) -> Iterator[LinkedRow]:
    for name, one in audited.tables.items():
        options = config.links.tables[name]
        parent = [] if options.parent is None else [options.parent.table]
        belongs = ", ".join(dict.fromkeys([*parent, *options.references.values()]))
        yield LinkedRow(name, len(one.synthetic), belongs, page_of(name), parts[name])
