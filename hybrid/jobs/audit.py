"""Audit of any synthetic table: three files in, an evaluation out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hybrid.base.errors import ConfigError
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import fresh_seed, rng_for
from hybrid.evaluation import evaluate
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, Subject
from hybrid.evaluation.run_metrics import remembering
from hybrid.evaluation.trust import TrustLeague, load_trust
from hybrid.jobs.audited_files import Audited, File, read_audited, without_person
from hybrid.jobs.run import write_audit
from hybrid.pipeline.config import RunConfig, load_config
from hybrid.pipeline.power import measure_power
from hybrid.publication.asked import asked, not_asked
from hybrid.publication.gate import judge
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.rules import KINDS
from hybrid.publication.verdict import Check, Verdict
from hybrid.table import Role, Table
from hybrid.table.data_options import DataOptions
from hybrid.table.read_options import ColumnOptions

ONE_POPULATION = 0.55
"""Lower bound of the AUC of a classifier of train against control, above which they differ."""
_POPULATION = ("discriminator", "original")


def audit_config(
    config: Path | None,
    train: Path,
    targets: Sequence[str] = (),
    secrets: Sequence[str] = (),
    quasi_identifiers: Sequence[str] = (),
) -> RunConfig:
    """Configuration of an audit.

    That of ``config`` (or one without roles), with the given roles added.
    """
    loaded = RunConfig(name="audit", data=DataOptions(path=str(train))) if config is None else load_config(config)
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
        As for :func:`hybrid.jobs.audited_files.read_audited`.
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
    left_out = not_asked(policy, options, audited.train)
    write_audit(tables, evaluation, power, verdict, config.name, out, audited.notes, league, left_out)
    return verdict


def with_population(verdict: Verdict, evaluation: Evaluation) -> Verdict:
    """Add a review where train and control can be distinguished.

    Attacks cannot be trusted then. Of linked tables, each is looked at.
    """
    checks = [_unlike(found) for found in evaluation.metrics if (found.name, found.stage) == _POPULATION]
    return Verdict.of(verdict.policy, (*(check for check in checks if check is not None), *verdict.checks))


def _unlike(found: MetricResult) -> Check | None:
    """Review of one table, or None if train and control are alike."""
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
    """Add a check that is not judged where persons are unknown.

    The configuration names them, but the files do not. Attacks then count rows, and no rule about persons is judged.
    """
    if not lacking:
        return verdict
    message = f"cannot tell what the table gives away of persons: {without_person(lacking)}"
    check = Check("persons", "not judged", message, "give the files the columns that data.person names")
    return Verdict.of(verdict.policy, (check, *verdict.checks))


def rules_for_tables(policy: Policy, league: TrustLeague | None = None) -> Policy:
    """Policy without the rules on the intermediate table and earlier releases.

    A league counts for its rules where the policy names none.

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
