"""Audit of any synthetic tables, ours or not: evaluated beside their originals, judged, reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from hybrid.base.atomic import write_json, write_text
from hybrid.base.errors import ConfigError
from hybrid.base.hashing import library_versions
from hybrid.base.language import language_of
from hybrid.base.manifest import PACKAGE
from hybrid.base.notebook import NotebookResult, Page
from hybrid.base.ownership import seal
from hybrid.base.progress import Progress, prefixed, silent
from hybrid.base.rng import fresh_seed, rng_for
from hybrid.base.sentence import sentence, stated
from hybrid.evaluation import REGISTRY, evaluate
from hybrid.evaluation.context import Making, Parentage, Share
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, Subject
from hybrid.evaluation.options import EvaluateOptions
from hybrid.evaluation.run_metrics import remembering
from hybrid.evaluation.trust import TrustLeague
from hybrid.jobs.audited import Audited, AuditedTables, File, read_audited, without_person
from hybrid.jobs.audited_folders import links_config, read_audited_links
from hybrid.jobs.places import staged
from hybrid.jobs.report_inputs import LIMITS, Named, editions, shown_page, table_page, two_pages
from hybrid.pipeline.config import SINGLE, RunConfig, load_config, refuse_linked
from hybrid.pipeline.display import compared_figure
from hybrid.pipeline.facts import page_of
from hybrid.pipeline.pipeline import BETWEEN
from hybrid.pipeline.power import judged_table, measure_power, n_people
from hybrid.pipeline.shared_sections import fitting
from hybrid.pipeline.side_tables import load_register
from hybrid.pipeline.stages import libraries
from hybrid.publication.asked import asked, not_asked
from hybrid.publication.criteria import Criterion
from hybrid.publication.finished_run import EVALUATION
from hybrid.publication.gate import confidence_of_each, judge
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.power import Power, worst_power
from hybrid.publication.rules import KINDS
from hybrid.publication.verdict import Check, Verdict
from hybrid.report import ReportedStage, ReportInputs, compare_tables, describe
from hybrid.report.charts.svg import Figure
from hybrid.report.run.sections import JOINT, JOINT_DETAILS
from hybrid.report.run.sections.tables import LinkedRow
from hybrid.table import Role, Table
from hybrid.table.cells import LEAST_CELL
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
    beside: Sequence[Path | None] = (),
) -> RunConfig:
    """Configuration of an audit.

    Of a file: that of ``config`` (or one without roles), with the given roles added. Of a folder of linked tables: that
    of ``config``; what is ``beside``, control and synthetic records, must be folders then.
    """
    if train.is_dir():
        has_roles = bool(targets or secrets or quasi_identifiers)
        return links_config(config, (train, *beside), has_roles=has_roles)
    return config_with_roles(config, train, targets, secrets, quasi_identifiers)


def config_with_roles(
    config: Path | RunConfig | None,
    train: Path | str,
    targets: Sequence[str] = (),
    secrets: Sequence[str] = (),
    quasi_identifiers: Sequence[str] = (),
) -> RunConfig:
    """Configuration of an audit of one table: that of ``config``, or one without roles, with the given roles added."""
    loaded = RunConfig(name="audit", data=DataOptions(path=str(train))) if config is None else config
    if isinstance(loaded, Path):
        path, loaded = loaded, load_config(loaded)
        refuse_linked(loaded, str(path))
    columns = dict(loaded.data.columns)

    def give(names: Sequence[str], **what: object) -> None:
        for name in names:
            columns[name] = columns.get(name, ColumnOptions()).model_copy(update=what)

    give(quasi_identifiers, role=Role.QUASI_IDENTIFIER)
    give(secrets, role=Role.SENSITIVE)
    give(targets, target=True)
    return loaded.model_copy(update={"data": loaded.data.model_copy(update={"columns": columns})})


def read_audit(train: Any, control: Any, synthetic: Any, config: RunConfig) -> AuditedTables:
    """Read the files of one table, or the folders of linked ones.

    Parameters and errors as for :func:`hybrid.jobs.audited.read_audited` and
    :func:`hybrid.jobs.audited_folders.read_audited_links`.
    """
    if config.is_linked:
        return read_audited_links(train, control, synthetic, config)
    return AuditedTables({SINGLE: read_audited(train, control, synthetic, config.data)}, {})


@dataclass(frozen=True, repr=False)
class Audit(NotebookResult):
    """Judgement of synthetic tables. Holds the original records: private."""

    LISTED = frozenset({"evaluation", "notes", "plot", "report", "save", "verdict"})

    audited: AuditedTables
    """What was read."""
    config: RunConfig
    evaluation: Evaluation
    """Privacy, utility and fidelity; ``.to_frame()`` has a row per metric.

    The stage ``original`` is the training table judged as if it were the synthetic one: the worst case.
    """
    power: Power | None
    verdict: Verdict
    """Verdict of the policy's rules about metrics; an audit sees no intermediate table."""
    left_out: Mapping[str, str]
    """What is said of metrics that were not asked for, of each table."""
    league: TrustLeague | None = None
    """Verdicts of a laboratory on metrics, which the report says beside their numbers."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the tables for readers of the results, with the names of linked tables; no cell values."""
        named = ((name, note) for name, one in self.audited.tables.items() for note in one.notes)
        return tuple(sentence("of_table", table=name, found=note) if name else note for name, note in named)

    def report(self, *, details: bool = False) -> Page:
        """Report, shown inline by a notebook; with ``details``, its second page: every check and every figure."""
        return shown_page("report of an audit", self.pages(), details=details)

    def plot(self, *columns: str) -> Figure:
        """Draw columns of a single table, real beside synthetic, without small groups; by default all."""
        found = self.audited.tables.get(SINGLE)
        if found is None:
            raise ConfigError("linked tables have charts in their reports", hint="audit.save(FOLDER)")
        return compared_figure(found.train, found.synthetic, found.control, columns)

    def __repr__(self) -> str:
        lines = [f"Audit: {self.verdict!r}", *(f"  {note}" for note in self.notes)]
        return "\n".join([*lines, "  .evaluation.to_frame()  .report()  .plot()  .save(folder)"])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"{self.verdict._repr_html_()}<ul>{notes}</ul>"

    def save(self, folder: Path | str) -> Path:
        """Write evaluation and report, in every language, of linked tables a page for each; gives the folder.

        As ``hybrid audit --out`` does: an earlier audit there is replaced, other files are refused.
        """
        out = Path(folder)
        measured = self.evaluation.metrics
        private = [(m.name, m.column) for m in measured if m.family == "privacy" and m.stage == "synthetic"]
        judged = {"power": None if self.power is None else self.power.to_json(), "verdict": self.verdict.to_json()}
        about = {"notes": self.notes, "trust": None if self.league is None else self.league.to_json(private)}
        with staged(out) as temporary:
            write_json(temporary / EVALUATION, stated(self.evaluation.to_json() | judged | about))
            for file, text in self.pages():
                write_text(temporary / file, text)
            seal(temporary, self.config.name, "audit")
        return out

    def pages(self) -> Iterator[tuple[str, str]]:
        """File and HTML of every page of the report; aggregates only."""
        created = datetime.now(UTC)
        pages = {name: self._page(name, one, created) for name, one in self.audited.tables.items()}
        for language, named in editions(language_of(self.config.publish.language)):
            if SINGLE in pages:
                yield from two_pages(pages[SINGLE], language=language, named=named)
            else:
                yield from (table_page(name, page, language, named) for name, page in pages.items())
                yield from two_pages(self._joint(created, named), JOINT, JOINT_DETAILS, language, named)

    def _page(self, name: str, one: Audited, created: datetime) -> ReportInputs:
        measured = self.evaluation.metrics
        own = Evaluation(tuple(metric for metric in measured if name == SINGLE or metric.table == name))
        files = {"train": one.train, "control": one.control, "synthetic": one.synthetic}
        return ReportInputs(
            name=self.config.name if name == SINGLE else f"{self.config.name}: {name}",
            created=created,
            guarantee=guarantee_sentence(None, {}, own),
            verdict=self.verdict.about(name),
            files=tuple(ReportedStage(file, len(table)) for file, table in files.items() if table is not None),
            comparison=compare_tables(one.train, one.synthetic, one.control, LEAST_CELL),
            evaluation=own,
            league=self.league,
            metric_texts=describe(REGISTRY.values()),
            limits=tuple(filter(None, (*one.notes, *LIMITS[1:], self.left_out[name]))),
            versions=library_versions(PACKAGE, *libraries()),
        )

    def _joint(self, created: datetime, named: Named) -> ReportInputs:
        parents = _parents(self.config)
        rows = [
            LinkedRow(name, len(one.synthetic), parents[name], named(page_of(name)), self.verdict.about(name))
            for name, one in self.audited.tables.items()
        ]
        return ReportInputs(
            name=self.config.name,
            created=created,
            guarantee=guarantee_sentence(None, {}, self.evaluation),
            verdict=self.verdict,
            evaluation=self.evaluation,
            limits=(*self.notes, *LIMITS[1:]),
            versions=library_versions(PACKAGE, *libraries()),
            collected={"tables": rows},
        )


def judge_tables(
    audited: AuditedTables,
    config: RunConfig,
    seed: int | None = None,
    progress: Progress = silent,
    league: TrustLeague | None = None,
) -> Audit:
    """Evaluate synthetic tables that were read against their originals, and judge them; nothing is written.

    The verdict is that of the policy's rules about metrics on all tables together; an audit sees no intermediate table.
    Stages are ``original`` (train itself, the worst case) and ``synthetic``. Rules with ``needs_trust`` ask the
    ``league`` of the laboratory (:func:`hybrid.evaluation.trust.load_trust`) where the policy names none of its own.
    """
    policy = rules_for_tables(load_policy(config.policy_path), league)
    seed = fresh_seed() if seed is None else seed
    subjects = {name: _Subject.of(name, one, config, seed, progress) for name, one in audited.tables.items()}
    found = {name: one.evaluated(policy, audited.parentage.get(name)) for name, one in subjects.items()}
    evaluation = Evaluation(tuple(metric for name, of in found.items() for metric in of.of_table(name).metrics))
    power: Power | None = None
    if config.evaluate.power and policy.plants_leaks:
        sure = confidence_of_each(policy, evaluation)
        people = max(n_people(one.train) + n_people(one.control) for one in audited.tables.values())
        planted = {name: one.power(found[name], policy, sure, people) for name, one in subjects.items()}
        power = worst_power(planted)
    lacking = next(iter(audited.tables.values())).without_person
    verdict = _with_persons(with_population(judge(policy, evaluation, None, power=power), evaluation), lacking)
    left_out = {name: not_asked(policy, one.options, one.audited.train) for name, one in subjects.items()}
    return Audit(audited, config, evaluation, power, verdict, left_out, league)


@dataclass(frozen=True)
class _Subject:
    audited: Audited
    options: EvaluateOptions
    seed: int
    progress: Progress
    share: Share
    register: Table | None

    @classmethod
    def of(cls, name: str, audited: Audited, config: RunConfig, seed: int, progress: Progress) -> _Subject:
        register = load_register(config, audited.train.schema) if name == config.links.person else None
        if name == SINGLE:
            return cls(audited, config.evaluate, seed, progress, remembering({}), register)
        own = int(rng_for(seed, "audit", name).integers(2**63))
        options = fitting(config, audited.train.schema).evaluate
        return cls(audited, options, own, prefixed(f"{name}{BETWEEN}", progress), remembering({}), register)

    def evaluated(self, policy: Policy, parentage: Mapping[Subject, Parentage] | None) -> Evaluation:
        tables: dict[Subject, Table] = {"original": self.audited.train, "synthetic": self.audited.synthetic}
        about = self.audited.train, self.audited.control, tables, self.options, rng_for(self.seed, "evaluate")
        metrics = asked(policy, self.options)
        above = parentage or {}
        making = {one: Making(parentage=above.get(one), register=self.register) for one in tables}
        return evaluate(*about, self.progress, self.share, making=making, metrics=metrics)

    def power(
        self, found: Evaluation, policy: Policy, confidence: Mapping[Criterion | None, float], people: int
    ) -> Power:
        tables = self.audited.train, self.audited.control, self.audited.synthetic
        judged = [judged_table(*tables, self.options, self.seed, self.share)]
        return measure_power(judged, found, policy, self.seed, self.progress, confidence, people)


def with_population(verdict: Verdict, evaluation: Evaluation) -> Verdict:
    """Add a review where train and control can be distinguished: attacks cannot be trusted then.

    Of linked tables, each is looked at.
    """
    checks = [_unlike(found) for found in evaluation.metrics if (found.name, found.stage) == _POPULATION]
    return Verdict.of(verdict.policy, (*(check for check in checks if check is not None), *verdict.checks))


def _unlike(found: MetricResult) -> Check | None:
    if not isinstance(found.outcome, Measure) or (found.outcome.low or 0.0) <= ONE_POPULATION:
        return None
    said = sentence("audit.unlike", auc=found.outcome.value, limit=ONE_POPULATION)
    about = said if found.table is None else sentence("about", place=found.table, found=said)
    hint = "split one table by chance before training"
    return Check("train and control alike", "review", about, hint, table=found.table)


def _with_persons(verdict: Verdict, lacking: Sequence[File]) -> Verdict:
    """Add a check that is not judged where files lack the persons that the configuration names.

    Attacks then count rows, and no rule about persons is judged.
    """
    if not lacking:
        return verdict
    said = sentence("audit.no_persons", reason=without_person(lacking))
    check = Check("persons", "not judged", said, "give the files the columns that data.person names")
    return Verdict.of(verdict.policy, (check, *verdict.checks))


def rules_for_tables(policy: Policy, league: TrustLeague | None = None) -> Policy:
    """Policy without the rules on the intermediate table and earlier releases.

    ``league`` counts for rules with ``needs_trust`` where the policy names none.
    """
    if not policy.rules:
        raise ConfigError(
            f"policy {policy.name!r} has no rules about metrics: it cannot judge an audit", hint="add rules"
        )
    asking = policy if league is None or policy.league is not None else policy.with_league(league)
    return asking.restricted([kind for kind in KINDS.values() if kind.judges_stage])


def _parents(config: RunConfig) -> dict[str, str]:
    found = {}
    for name, options in config.links.tables.items():
        parent = [] if options.parent is None else [options.parent.table]
        found[name] = ", ".join(dict.fromkeys([*parent, *options.references.values()]))
    return found
