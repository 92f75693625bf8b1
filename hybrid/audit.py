"""Audit any synthetic table, ours or not: three files in, an evaluation out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hybrid.config import RunConfig, load_config
from hybrid.errors import DataError, Problem
from hybrid.evaluate import evaluate
from hybrid.evaluate.measure import Stage
from hybrid.progress import Progress, silent
from hybrid.randomness import fresh_seed, stream
from hybrid.release.policy import load_policy
from hybrid.release.verdict import Verdict
from hybrid.run_folder import write_audit
from hybrid.table import Kind, Table
from hybrid.table.options import ColumnOptions, DataOptions
from hybrid.table.read import read_table


def read_audited(
    train: Path, control: Path | None, synthetic: Path, options: DataOptions
) -> tuple[Table, Table | None, Table]:
    """Read the files of an audit, with the same kind for the same column in all of them.

    Parameters
    ----------
    train, synthetic : Path
        The records the generator learned from, and those it made.
    control : Path, optional
        Records of the same population that it never saw.
    options : DataOptions
        How to read the files, and what their columns are (``options.path`` is not used).

    Returns
    -------
    train, control, synthetic : Table
        Columns in the order of train, without identifiers. A column that was read as whole numbers in one file
        and decimals in another is decimal; other disagreements make it categorical.

    Raises
    ------
    DataError
        A file cannot be read, or lacks a column of train; all problems at once.
    """
    paths = {"train": train, "synthetic": synthetic} | ({} if control is None else {"control": control})
    tables = {name: read_table(path, options) for name, path in paths.items()}
    wanted = tables["train"].schema.without_identifiers().names
    problems = [
        Problem(f"{paths[name]}: the column {column!r} of {train} is missing", "give all files the same columns")
        for name, table in tables.items()
        for column in wanted
        if column not in table.schema
    ]
    if problems:
        raise DataError(problems)
    unified = _unified(tables, wanted, options)
    if unified is not options:
        tables = {name: read_table(path, unified) for name, path in paths.items()}
    schema = tables["train"].schema.only(wanted)
    same = {name: Table(table.frame[wanted], schema) for name, table in tables.items()}
    return same["train"], same.get("control"), same["synthetic"]


def _unified(tables: Mapping[str, Table], names: list[str], options: DataOptions) -> DataOptions:
    """The options with the kind stated for every column on which the files disagree."""
    columns = dict(options.columns)
    for name in names:
        kinds = {table.schema[name].kind for table in tables.values()}
        if len(kinds) > 1:
            common = Kind.DECIMAL if kinds == {Kind.INTEGER, Kind.DECIMAL} else Kind.CATEGORICAL
            columns[name] = columns.get(name, ColumnOptions()).model_copy(update={"kind": common})
    return options if columns == options.columns else options.model_copy(update={"columns": columns})


def audit_config(config: Path | None, train: Path) -> RunConfig:
    """The configuration of an audit: the one at ``config``, or one that knows no roles."""
    return RunConfig(name="audit", data=DataOptions(path=str(train))) if config is None else load_config(config)


def audit_files(
    train: Path,
    control: Path | None,
    synthetic: Path,
    config: RunConfig,
    out: Path,
    seed: int | None = None,
    progress: Progress = silent,
) -> Verdict:
    """Evaluate a synthetic table against the records it was made from, judge it, and write the report.

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
        Told about every metric.

    Returns
    -------
    Verdict
        What the policy says. Stages are ``original`` (train itself, the worst case) and ``synthetic``.
    """
    tables = read_audited(train, control, synthetic, config.data)
    stages: dict[Stage, Table] = {"original": tables[0], "synthetic": tables[2]}
    rng = stream(fresh_seed() if seed is None else seed, "evaluate")
    evaluation = evaluate(tables[0], tables[1], stages, config.evaluate, rng, progress)
    return write_audit(tables, evaluation, load_policy(config.policy_path), config.name, out)
