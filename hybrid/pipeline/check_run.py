"""Checks of linked tables before a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hybrid.base.errors import Finding, HybridError, Problem
from hybrid.evaluation.options import RetrainOptions
from hybrid.operations.deliver import DeliverOptions, check_targets
from hybrid.pipeline.check import diagnose, untried_findings
from hybrid.pipeline.child_run import ChildRun
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.evaluation_price import repeated_seconds, untried
from hybrid.pipeline.links import in_table
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.asked import asked
from hybrid.publication.policy import Policy
from hybrid.store import Store
from hybrid.synthesize.estimate import in_words, slowness


def diagnose_any(config: RunConfig, store: Store | None = None) -> list[Finding]:
    """Check everything that can be checked without running.

    Parameters
    ----------
    config : RunConfig or RunConfig
    store : Store, optional
        As for :func:`hybrid.pipeline.check.diagnose`; not used for linked tables.

    Returns
    -------
    list of Finding
        As :func:`hybrid.pipeline.check.diagnose`. Of linked tables: of the references, then of every table about
        people, each with the name of its table; what is fine, then errors, then notes. Messages hold no cell values.
    """
    return _of_linked(config) if config.is_linked else diagnose(config, store=store)


def _of_linked(config: RunConfig) -> list[Finding]:
    run = Pipeline(config, seed=0)
    try:
        tables = run.tables
    except HybridError as error:
        return [Finding.error(problem) for problem in error.problems]
    findings = [*_references(run), *_targets(config), *_repetition(run)]
    identifying = [in_table(*found) for found in run.identifying]
    findings += map(Finding.error, identifying)
    joint, said = {one.message for one in identifying}, set[str]()
    for name, table in tables.items():
        own, settled = _own_part(name, table)
        for finding in diagnose(own, table.table):
            one = in_table(name, Problem(finding.message, finding.hint, finding.values))
            if one.message.startswith(settled) or one.message in joint:
                continue
            if one.message not in said or finding.level == "error":
                findings.append(replace(finding, message=f"{name}: {one.message}", hint=one.hint))
            said.add(one.message)
    order = {"ok": 0, "error": 1, "note": 2}
    return sorted(findings, key=lambda finding: order[finding.level])


def _own_part(name: str, table: TableRun) -> tuple[RunConfig, tuple[str, ...]]:
    """Configuration to check a table by, and findings on columns of persons.

    A view is split as the person table is, and columns of its persons are protected there. Delivery is of all tables,
    and so are attacks that repeat the whole process.
    """
    nightly = table.config.nightly.model_copy(update={"deliver": DeliverOptions()})
    policy = _policy(table)
    alone = tuple(one.name for one in asked(policy, table.measured_alone) if "trainings" not in one.needs)
    evaluate = table.measured_alone.model_copy(update={"metrics": alone, "also": ()})
    config = table.config.model_copy(update={"nightly": nightly, "evaluate": evaluate})
    if not isinstance(table, ChildRun):
        return config, ()
    split = config.split.model_copy(update={"stable": False})
    settled = (f"tables.{name}.columns.{column}:" for column in table.link.static.values())
    return config.model_copy(update={"split": split}), tuple(settled)


def _policy(table: TableRun) -> Policy | None:
    try:
        return table.policy
    except HybridError:
        return None


def _repetition(run: Pipeline) -> Iterator[Finding]:
    config, policy = run.config, _policy(run.person)
    if not any("trainings" in metric.needs for metric in asked(policy, config.evaluate)):
        return
    try:
        tables = [table.train for table in run.tables.values()]
    except HybridError:
        return  # Findings of the tables say why.
    retrain = config.evaluate.retrain
    if retrain is None and untried(config, *tables):
        yield from untried_findings(config, policy, *tables)
        return
    seconds = repeated_seconds(config, retrain or RetrainOptions(), *tables) * slowness()
    yield Finding("note", f"evaluate: at most {in_words(seconds)} of one core to repeat the making of all tables")


def _targets(config: RunConfig) -> Iterator[Finding]:
    try:
        check_targets(config.nightly.deliver, config.sources, config.folder)
    except HybridError as error:
        yield from map(Finding.error, error.problems)


def _references(run: Pipeline) -> Iterator[Finding]:
    for name, table in run.tables.items():
        if isinstance(table, ChildRun):
            parent = table.link.parent
            counts = np.bincount(table.link.owners, minlength=len(parent.table))
            empty = int((counts == 0).sum())
            yield Finding(
                "ok",
                f"{name}: {len(table.table):,} rows belong to {len(counts) - empty:,} of {len(counts):,} rows of "
                f"{table.link.parent_name}, up to {counts.max(initial=0):,} to one",
            )
    for name, lost in run.sources.orphans.items():
        yield Finding("note", f"{name}: {lost:,} rows without a parent are left out (orphans: drop)")
    for name, public in run.sources.public.items():
        yield Finding("ok", f"{name}: {len(public):,} rows, public: they are released as they are")
