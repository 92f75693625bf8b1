"""Audit of any synthetic table: three files in, read with equal columns and kinds, an evaluation out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from hybrid.base.arrays import Codes
from hybrid.base.errors import ConfigError, DataError, Problem
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import fresh_seed, rng_for
from hybrid.evaluation import evaluate
from hybrid.evaluation.engine.encoding import ranks_of, row_keys
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, Subject
from hybrid.evaluation.run_metrics import remembering
from hybrid.evaluation.trust import TrustLeague, load_trust
from hybrid.jobs.run import write_audit
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.power import measure_power
from hybrid.pipeline.starter.reading import guess_frame_reading, guess_reading
from hybrid.publication.asked import asked, not_asked
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.power import Power
from hybrid.publication.rules import KINDS
from hybrid.publication.verdict import Check, Verdict
from hybrid.table import Kind, Role, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.persons import with_persons
from hybrid.table.read_file import read_table
from hybrid.table.read_options import ColumnOptions
from hybrid.table.typed_table import DATA_FRAME, Frame, read_frame

File = Literal["train", "synthetic", "control"]
Source: TypeAlias = Path | Frame
"""A file, or a table in memory."""
READING = frozenset({"separator", "encoding", "decimal", "missing"})
"""Options about the format of a file."""
OVERLAP_NOTED, OVERLAP_REFUSED = 0.05, 0.5
"""Share of control records found in train, beyond what duplicates within train explain."""
NO_CONTROL = "no --control file: what needs people the generator never saw cannot be computed"
FEW_ROWS = 200
"""Rows below which only frequent success of an attack can be distinguished from chance."""


@dataclass(frozen=True)
class Audited:
    """Tables of an audit, without identifiers, in the columns and kinds of train.

    ``notes`` say what a reader of the results must know about the files; no cell values. ``without_person``: original
    files that lack columns of ``data.person``.
    """

    train: Table
    control: Table | None
    synthetic: Table
    notes: tuple[str, ...] = ()
    without_person: tuple[File, ...] = ()


def read_audited(train: Source, control: Source | None, synthetic: Source, options: DataOptions) -> Audited:
    """Read the files of an audit with equal kinds per column.

    Parameters
    ----------
    train, synthetic : Path or table in memory
        The records the generator learned from, and those it made. CSV or Parquet, columns in any order.
    control : Path or table in memory, optional
        Records of the same population that it never saw.
    options : DataOptions
        What the columns are, and how to read the files (``options.path`` is not used). If it states none of
        :data:`READING`, these are guessed for each file.

    Returns
    -------
    Audited
        Columns as :func:`read_alike` reads them. Those that train does not have are not compared, and noted.

    Raises
    ------
    DataError
        As :func:`read_alike` and :func:`notes_on`.
    """
    paths = audited_paths(train, control, synthetic)
    tables, notes = read_alike(paths, options)
    schema = tables["train"].schema.without_identifiers()
    people, lacking = _persons(tables, options.person_columns)
    same = {name: Table(table.frame[schema.names], schema, people.get(name)) for name, table in tables.items()}
    unknown = [without_person(lacking)] if lacking else []
    notes = [*unknown, *notes, *notes_on(same, paths)]
    return Audited(same["train"], same.get("control"), same["synthetic"], tuple(notes), tuple(lacking))


def audited_paths(train: Source, control: Source | None, synthetic: Source) -> dict[File, Any]:
    """Files, folders or tables of an audit; control only where there is one."""
    found: dict[File, Any] = {"train": train, "synthetic": synthetic}
    return found if control is None else {**found, "control": control}


def read_alike(
    paths: Mapping[File, Source], options: DataOptions, keys: Collection[str] = ()
) -> tuple[dict[File, Table], list[str]]:
    """Read the files of one table with equal kinds per column.

    Parameters
    ----------
    paths : mapping of str to Path or table in memory
        The files.
    options : DataOptions
        As for :func:`read_audited`.
    keys : collection of str
        Identifiers that every file must have.

    Returns
    -------
    tables : dict of str to Table
        With all columns that each file has. A column that was read as whole numbers in one file and decimals in another
        is decimal; other disagreements make it categorical.
    notes : list of str
        What a reader must know about the columns.

    Raises
    ------
    DataError
        A file cannot be read or lacks columns of train; all problems at once.
    """
    reading = {name: _reading(name, path, options) for name, path in paths.items()}
    tables = {name: _read(path, reading[name]) for name, path in paths.items()}
    schema = tables["train"].schema
    wanted = [column for column in schema.names if column in keys or column in schema.without_identifiers()]
    problems = list(_lacking(paths, tables, wanted))
    if problems:
        raise DataError(problems)
    kinds = _common_kinds(tables, wanted)
    disagreeing = {name: kinds[name] for name in wanted if len(_kinds(tables, name)) > 1}
    for name, path in paths.items():
        if any(tables[name].schema[column].kind is not kind for column, kind in kinds.items()):
            tables[name] = _read(path, _with_kinds(reading[name], kinds))
    return tables, [*_extra_columns(tables, keys), *_kind_notes(disagreeing)]


def _read(source: Source, options: DataOptions) -> Table:
    return read_table(source, options) if isinstance(source, Path) else read_frame(source, options)


def _called(source: Source, name: File) -> str:
    return str(source) if isinstance(source, Path) else name


def notes_on(tables: Mapping[File, Table], paths: Mapping[File, Source]) -> list[str]:
    """Notes on the number of rows and on the control records.

    Raises
    ------
    DataError
        The control records are those of train.
    """
    notes = list(_few_rows(tables))
    overlap = _overlap(tables["train"], tables["control"], paths) if "control" in tables else [NO_CONTROL]
    return [*notes, *overlap]


def _persons(tables: Mapping[File, Table], names: Sequence[str]) -> tuple[dict[File, Codes], list[File]]:
    """Person of each record, and the original files that lack it; then of no record.

    Of synthetic records as far as their file has it.
    """
    sides: tuple[File, ...] = ("train", "control")
    originals = [name for name in sides if name in tables]
    lacking = [name for name in originals if not set(names) <= set(tables[name].schema.names)]
    if not names or lacking:
        return {}, lacking
    known = [name for name in tables if set(names) <= set(tables[name].schema.names)]
    return {name: with_persons(tables[name], names).persons for name in known}, []


def without_person(lacking: Sequence[File]) -> str:
    """Note on files without the columns of ``data.person``."""
    return f"rows are counted, not persons: data.person is not in the file of {' and '.join(lacking)}"


def _reading(name: File, path: Source, options: DataOptions) -> DataOptions:
    """Reading options of one file; only train must have the identifiers."""
    columns = options.columns
    if name != "train":
        columns = {column: wanted for column, wanted in columns.items() if wanted.role.is_learned}
        options = options.model_copy(update={"columns": columns, "unlisted": "insensitive"})
    if options.model_fields_set & READING:
        return options
    guessed = guess_reading(path, options.sheet) if isinstance(path, Path) else guess_frame_reading(path)
    return guessed.model_copy(update={"columns": {**guessed.columns, **columns}})


def _lacking(paths: Mapping[File, Source], tables: Mapping[File, Table], wanted: list[str]) -> Iterator[Problem]:
    for name, table in tables.items():
        absent = [column for column in wanted if column not in table.schema]
        if absent:
            listed = ", ".join(map(repr, absent))
            yield Problem(
                f"{_called(paths[name], name)}: columns of {_called(paths['train'], 'train')} are missing: {listed}",
                "give all files the same columns; what the generator was never shown (a name, a number) has "
                "role: identifier in --config, or is left out of the training file too",
            )


def _kinds(tables: Mapping[File, Table], name: str) -> set[Kind]:
    return {table.schema[name].kind for table in tables.values() if table.frame[name].notna().any()}


def _common_kinds(tables: Mapping[File, Table], names: list[str]) -> dict[str, Kind]:
    common = {}
    for name in names:
        kinds = _kinds(tables, name) or {tables["train"].schema[name].kind}
        whole_and_decimal = Kind.DECIMAL if kinds == {Kind.INTEGER, Kind.DECIMAL} else Kind.CATEGORICAL
        common[name] = kinds.pop() if len(kinds) == 1 else whole_and_decimal
    return common


def _with_kinds(options: DataOptions, kinds: Mapping[str, Kind]) -> DataOptions:
    changed = {
        name: options.columns.get(name, ColumnOptions()).model_copy(update={"kind": kind})
        for name, kind in kinds.items()
    }
    return options.model_copy(update={"columns": {**options.columns, **changed}})


def _extra_columns(tables: Mapping[File, Table], keys: Collection[str]) -> Iterator[str]:
    for name, table in tables.items():
        extra = [column for column in table.schema.names if column not in tables["train"].schema]
        if extra:
            yield (
                f"columns of the {name} file that the train file does not have were not examined, and may hold "
                f"anything: {', '.join(extra)}"
            )
        known = [c for c in tables["train"].schema.identifiers if c not in keys]
        identifiers = [c for c in known if c in table.schema and name == "synthetic"]
        if identifiers:
            yield f"identifiers were not examined, also where the synthetic file has them: {', '.join(identifiers)}"


def _kind_notes(kinds: Mapping[str, Kind]) -> Iterator[str]:
    for name, kind in kinds.items():
        yield f"{name}: the files disagree on what it holds; compared as {kind.value} in all of them"


def _few_rows(tables: Mapping[File, Table]) -> Iterator[str]:
    few = [f"{name} {len(table):,}" for name, table in tables.items() if len(table) < FEW_ROWS]
    if few:
        yield (
            f"few rows ({', '.join(few)}): intervals are wide, and that no leak was found says little; "
            f"from some {FEW_ROWS} rows on they become informative"
        )


def _overlap(train: Table, control: Table, paths: Mapping[File, Source]) -> Iterator[str]:
    mine, its = row_keys(ranks_of([train, control], train.schema.names))
    twice = np.bincount(mine)[mine] > 1
    overlap = float(np.isin(its, mine).mean() - twice.mean())
    if overlap > OVERLAP_REFUSED:
        raise DataError(
            f"{_called(paths['control'], 'control')}: {100 * np.isin(its, mine).mean():.0f} % of its rows are in "
            f"{_called(paths['train'], 'train')} too: "
            "control records must be people the generator never saw, or every leak looks like chance",
            hint="keep records apart before training and give them as --control, or leave --control out",
        )
    if overlap > OVERLAP_NOTED:
        yield (
            f"{100 * overlap:.0f} % more of the control rows than duplicates explain are in the train file: "
            "this hides leaks"
        )


ONE_POPULATION = 0.55
"""Lower bound of the AUC of a classifier of train against control, above which they differ."""
_POPULATION = ("discriminator", "original")


def audit_config(
    config: Path | RunConfig | None,
    train: Source,
    targets: Sequence[str] = (),
    secrets: Sequence[str] = (),
    quasi_identifiers: Sequence[str] = (),
) -> RunConfig:
    """Configuration of an audit: that of ``config`` (or one without roles), with the given roles added."""
    path = str(train) if isinstance(train, Path) else DATA_FRAME
    loaded = RunConfig(name="audit", data=DataOptions(path=path)) if config is None else config
    loaded = load_config(loaded) if isinstance(loaded, Path) else loaded
    columns = dict(loaded.data.columns)

    def give(names: Sequence[str], **what: object) -> None:
        for name in names:
            columns[name] = columns.get(name, ColumnOptions()).model_copy(update=what)

    give(quasi_identifiers, role=Role.QUASI_IDENTIFIER)
    give(secrets, role=Role.SENSITIVE)
    give(targets, target=True)
    return loaded.model_copy(update={"data": loaded.data.model_copy(update={"columns": columns})})


def audit_files(
    train: Path,
    control: Path | None,
    synthetic: Path,
    config: RunConfig,
    out: Path,
    seed: int | None = None,
    progress: Progress = silent,
    trust: Path | None = None,
) -> Verdict:
    """Evaluate a synthetic table against its originals, judge it, report it.

    Parameters
    ----------
    train, control, synthetic : Path
        As for :func:`read_audited`.
    config : RunConfig
        Its sections ``data`` (how to read, roles), ``evaluate`` and ``policy`` count.
    out : Path
        Gets evaluation.json and report.html.
    seed : int, optional
        Repeats every draw; a fresh one by default.
    progress : Progress
        Called after every metric.
    trust : Path, optional
        A league of the laboratory (:func:`hybrid.evaluation.trust.load_trust`): the report says beside each number how
        far its metric can be trusted. Rules with ``needs_trust`` ask it where the policy names no league of its own.

    Returns
    -------
    Verdict
        What the policy's rules about metrics say; an audit sees no intermediate table. Stages are ``original``
        (train itself, the worst case) and ``synthetic``.
    """
    league = None if trust is None else load_trust(trust)
    return audit_tables(read_audited(train, control, synthetic, config.data), config, out, seed, progress, league)


def audit_tables(
    audited: Audited,
    config: RunConfig,
    out: Path,
    seed: int | None = None,
    progress: Progress = silent,
    league: TrustLeague | None = None,
) -> Verdict:
    """As :func:`audit_files`, for files that were read."""
    judged = judge_tables(audited, config, seed, progress, league)
    tables = (audited.train, audited.control, audited.synthetic)
    about = judged.evaluation, judged.power, judged.verdict, config.name, out
    write_audit(tables, *about, audited.notes, league, judged.left_out)
    return judged.verdict


@dataclass(frozen=True)
class JudgedTables:
    """Result of an audit.

    ``left_out`` says which metrics were not asked for; no cell values.
    """

    evaluation: Evaluation
    power: Power | None
    verdict: Verdict
    left_out: str


def judge_tables(
    audited: Audited,
    config: RunConfig,
    seed: int | None = None,
    progress: Progress = silent,
    league: TrustLeague | None = None,
) -> JudgedTables:
    """Evaluate and judge tables that were read; nothing is written. Arguments as for :func:`audit_tables`."""
    policy = rules_for_tables(load_policy(config.policy_path), league)
    stages: dict[Subject, Table] = {"original": audited.train, "synthetic": audited.synthetic}
    seed, share = fresh_seed() if seed is None else seed, remembering({})
    rng, options = rng_for(seed, "evaluate"), config.evaluate
    metrics = asked(policy, options)
    evaluation = evaluate(audited.train, audited.control, stages, options, rng, progress, share, metrics=metrics)
    tables = (audited.train, audited.control, audited.synthetic)
    power = None
    if options.power and policy.plants_leaks:
        power = measure_power(*tables, evaluation, policy, options, seed, progress, share)
    judged = judge(policy, evaluation, None, power=power)
    verdict = _with_persons(with_population(judged, evaluation), audited.without_person)
    return JudgedTables(evaluation, power, verdict, not_asked(policy, options, audited.train))


def with_population(verdict: Verdict, evaluation: Evaluation) -> Verdict:
    """Add a review where train and control can be distinguished: attacks cannot be trusted then.

    Of linked tables, each is looked at.
    """
    checks = [_unlike(found) for found in evaluation.metrics if (found.name, found.stage) == _POPULATION]
    return Verdict.of(verdict.policy, (*(check for check in checks if check is not None), *verdict.checks))


def _unlike(found: MetricResult) -> Check | None:
    if not isinstance(found.outcome, Measure) or (found.outcome.low or 0.0) <= ONE_POPULATION:
        return None
    message = (
        f"{'' if found.table is None else f'About {found.table}: '}"
        f"a classifier separates train and control with an AUC of {found.outcome.value:.4g} "
        f"(limit: {ONE_POPULATION:g}). "
        "They are no samples of one population: what attacks find on one and not on the other may be that difference"
    )
    hint = "split one table by chance before training"
    return Check("train and control alike", "review", message, hint, table=found.table)


def _with_persons(verdict: Verdict, lacking: Sequence[File]) -> Verdict:
    """Add a check that is not judged where files lack the persons that the configuration names.

    Attacks then count rows, and no rule about persons is judged.
    """
    if not lacking:
        return verdict
    message = f"cannot tell what the table gives away of persons: {without_person(lacking)}"
    check = Check("persons", "not judged", message, "give the files the columns that data.person names")
    return Verdict.of(verdict.policy, (check, *verdict.checks))


def rules_for_tables(policy: Policy, league: TrustLeague | None = None) -> Policy:
    """Policy without the rules on the intermediate table and earlier releases.

    ``league`` counts for rules with ``needs_trust`` where the policy names none.

    Raises
    ------
    ConfigError
        No rule is left.
    """
    if not policy.rules:
        raise ConfigError(
            f"policy {policy.name!r} has no rules about metrics: it cannot judge an audit", hint="add rules"
        )
    asking = policy if league is None or policy.league is not None else policy.with_league(league)
    return asking.restricted([kind for kind in KINDS.values() if kind.judges_stage])
