"""Checks of a configuration and its data before a run."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.base.errors import ConfigError, Finding, HybridError, Problem
from hybrid.base.manifest import Recorder
from hybrid.base.progress import silent
from hybrid.base.rng import fresh_seed, rng_for
from hybrid.base.sentence import sentence, sentences
from hybrid.evaluation.options import TORCH_HINT, RetrainOptions
from hybrid.evaluation.run_metrics import check_options
from hybrid.hierarchy.load import load_hierarchies
from hybrid.operations.deliver import Deliveries, DeliverOptions
from hybrid.pipeline.child_run import ChildRun
from hybrid.pipeline.column_findings import column_findings, constraint_findings, small_sample
from hybrid.pipeline.conditions import refuse_misfit, selection
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.contradictions import refuse_contradictions
from hybrid.pipeline.decided_roles import (
    CHOICES,
    person_problem,
    refuse_undecided,
    second_persons,
    without_person,
)
from hybrid.pipeline.early_refusals import too_great_k
from hybrid.pipeline.evaluation_price import foreseen_evaluation, repeated_seconds, trainings_of, untried
from hybrid.pipeline.identifying_texts import identifying_problems, kept_columns
from hybrid.pipeline.inputs import SampledInputs
from hybrid.pipeline.level_findings import columns_of, level_findings, put_back, technique_findings
from hybrid.pipeline.links import in_table
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.placement import placed
from hybrid.pipeline.private_mode import refuse_undeclared
from hybrid.pipeline.starter.guessed_roles import repeats
from hybrid.pipeline.table_run import TableRun
from hybrid.protect import text_problems
from hybrid.publication.approvers import unproven_problem
from hybrid.publication.asked import asked
from hybrid.publication.policy import Policy, load_policy
from hybrid.publication.rules import KINDS
from hybrid.publication.table_facts import few
from hybrid.store import Store
from hybrid.synthesize.estimate import foreseen, in_words, slowness
from hybrid.synthesize.registry import REGISTRY, require, sequence_generators
from hybrid.table import Role, Table
from hybrid.table.data_options import EACH_ROW
from hybrid.table.persons import constant_within, person_groups
from hybrid.table.sources.sql import SqlOptions
from hybrid.table.split import split
from hybrid.table.sql_connection import is_superuser
from hybrid.table.text import as_text

T = TypeVar("T")
_EXAMPLES = 5
_LONGEST_EXAMPLE = 60


def diagnose(config: RunConfig, store: Store | None = None) -> list[Finding]:
    """All findings about a configuration and its data that need no run, not only the first problem.

    What is fine, then errors, then notes; messages hold no cell values. Of linked tables: of the references, then of
    every table about people, each with the name of its table. What a run will protect and search is taken from
    ``store``, or left there for it.
    """
    found = _of_linked(config) if config.is_linked else diagnose_table(config, store=store)
    return _in_order([*found, *_signature(config)])


def _signature(config: RunConfig) -> Iterator[Finding]:
    try:
        refuse_undecided(config)
    except ConfigError as error:
        yield from (Finding("note", problem.message, problem.hint) for problem in error.problems)


def _in_order(findings: list[Finding]) -> list[Finding]:
    order = {"ok": 0, "error": 1, "note": 2}
    return sorted(findings, key=lambda finding: order[finding.level])


def diagnose_table(
    config: RunConfig,
    table: Table | None = None,
    store: Store | None = None,
    above: Mapping[str, str] = MappingProxyType({}),
) -> list[Finding]:
    """Findings about one table.

    ``table`` is given where it was read already; ``above`` are columns of the person table that stand beside it, and
    what constraints call them.
    """
    findings: list[Finding] = []
    config = _attempt(findings, lambda: placed(config)) or config if table is None else config
    _attempt(findings, lambda: refuse_contradictions(config))
    seed = fresh_seed() if config.seed is None else config.seed
    there = SampledInputs(config, Recorder(), silent, lambda: seed) if config.rows_stay else None
    read = config.load_all_columns if there is None else lambda: there.table
    whole = _attempt(findings, read) if table is None else table
    policy = _attempt(findings, lambda: load_policy(config.policy_path))
    findings += [] if policy is None else _policy(policy)
    _attempt(findings, Deliveries(config.nightly.deliver, config.sources, config.folder).check)
    if not config.synthesize.is_off:
        _attempt(findings, lambda: require(config.synthesize.engine))
    if whole is not None:
        table = whole.without_left_out()
        findings = [_size(config, whole, above), *findings]
        findings += _stages(config, table, whole, store, policy, above, elsewhere=there is not None)
        findings += [] if there is None else _labels(there)
        findings += _attempt(findings, lambda: list(_rights(config))) or []
        findings += _roles(config, whole, above)
        if config.privacy is None:
            found = identifying_problems({"": table}, kept_columns(config))
            findings += [Finding.error(problem) for _, problem in found]
        findings += column_findings(table, above)
        findings += _retrainings(config, table, policy)
        findings += untried_findings(config, policy, table.without_identifiers())
        findings += _encoder(config)
        findings += _filter(config)
    return findings


def _rights(config: RunConfig) -> Iterator[Finding]:
    place = config.data.place
    if isinstance(place, SqlOptions) and is_superuser(place.url_env):
        yield Finding(
            "note",
            sentence("check.superuser", key="data.sql", variable=place.url_env),
            "read with a role that may connect, and SELECT from these tables alone",
        )


def _policy(policy: Policy) -> Iterator[Finding]:
    unproven = unproven_problem(policy.approvers, policy.approvals, policy.signed_approvals)
    if unproven is not None:
        yield Finding("note", unproven.message, unproven.hint)
    if any(rule.detects for rule in policy.all_rules):
        return
    sections = [kind.section for kind in KINDS.values() if getattr(policy, kind.section)]
    yield Finding(
        "note",
        sentence("check.no_excess", policy=policy.name, sections=tuple(sections)),
        "take these rules from a packaged policy: `hybrid policies` lists them",
    )


def _retrainings(config: RunConfig, table: Table, policy: Policy | None) -> Iterator[Finding]:
    options = config.evaluate.retrain
    count, rows = trainings_of(config, policy, table)
    if options is None or not count:
        return
    trained = sentence("check.retrain", generator=config.synthesize.generator, n=count, rows=rows)
    yield Finding(
        "note",
        trained if options.seconds is None else sentence("check.retrain.limit", trained=trained, s=options.seconds),
        "fewer evaluate.retrain.canaries, shadows, tests or halves; more canaries together; a limit in seconds",
    )


def untried_findings(config: RunConfig, policy: Policy | None, *tables: Table) -> Iterator[Finding]:
    """An attacker who repeats the whole process, where that takes too long.

    ``policy`` as for :func:`hybrid.publication.asked.asked`, ``tables`` as for
    :func:`hybrid.pipeline.evaluation_price.untried`.
    """
    repeats = any("trainings" in metric.needs for metric in asked(policy, config.evaluate))
    reason = untried(config, *tables)
    if repeats and reason and config.evaluate.retrain is None:
        yield Finding(
            "note",
            sentence("check.untried", reason=reason),
            "evaluate.retrain: {} tries it, with all attacks that train again; name evaluate.metrics for fewer",
        )


def _filter(config: RunConfig) -> Iterator[Finding]:
    if config.synthesize.filter is not None:
        yield Finding(
            "note",
            "synthesize.filter reads the training records again and half of the control records: no differential "
            "privacy is claimed, and rows that keep away from training records reveal them, too",
            "keep the limit low: the gate judges both sides",
        )


def _encoder(config: RunConfig) -> Iterator[Finding]:
    options = config.evaluate.encoder
    if options is not None and options.engine == "contrastive" and find_spec("torch") is None:
        yield Finding("note", "evaluate.encoder: torch is missing, so no metric cl_* will have a number", TORCH_HINT)


def _attempt(findings: list[Finding], work: Callable[[], T]) -> T | None:
    """Result of the work; None, and its problems as findings, on failure."""
    try:
        return work()
    except HybridError as error:
        findings += [Finding.error(problem) for problem in error.problems]
        return None


def _size(config: RunConfig, table: Table, above: Container[str]) -> Finding:
    schema = table.schema.only(name for name in table.schema.names if name not in above)
    left_out = {name for name, column in config.data.columns.items() if not column.role.enters_runs}
    counts: list[str] = [
        sentence(
            "check.size",
            rows=len(table),
            columns=len(left_out.union(schema.names)),
            identifiers=len(schema.identifiers),
            quasi=len(schema.quasi_identifiers),
            sensitive=len(schema.sensitive),
        )
    ]
    seldom = {"check.size.targets": schema.targets, "check.size.undecided": config.data.having(Role.UNDECIDED)}
    counts += [sentence(template, n=len(names)) for template, names in seldom.items() if names]
    return Finding("ok", sentences(*counts, between="listed"))


def _roles(config: RunConfig, whole: Table, above: Container[str]) -> Iterator[Finding]:
    for name in config.data.having(Role.UNDECIDED):
        yield Finding(
            "note",
            sentence("check.undecided", column=name),
            _decide(name),
            _examples(whole, name),
        )
    table = whole.without_left_out()
    if table.schema.quasi_identifiers and config.anonymize is None and config.privacy is None and not above:
        yield Finding(
            "note",
            sentence("check.not_anonymized", names=tuple(table.schema.quasi_identifiers)),
            "anonymize: {k: 5, recoding: local} and transition: {method: tree, order: pre}; hierarchies are written by "
            "`hybrid hierarchy make CONFIG`",
        )
    names = without_person(config, table)
    if names:
        yield Finding.error(person_problem(names))
    yield from _persons(config, table, above)


def _decide(column: str) -> str:
    return sentence("check.decide", key=f"data.columns.{column}.role", choices=CHOICES)


def _persons(config: RunConfig, table: Table, above: Container[str]) -> Iterator[Finding]:
    own = [name for name in table.schema.identifiers if name not in config.data.household_columns]
    repeating = [name for name in own if repeats(table.frame[name])]
    if config.data.person == EACH_ROW and repeating:
        yield Finding(
            "note",
            sentence("check.repeats", key="data.person", names=tuple(repeating)),
            "name the column that says whose a row is, unless that is so",
        )
    if table.has_households:
        pairs = np.unique(np.stack([person_groups(table.households), person_groups(table.persons)]), axis=1)
        sizes = np.bincount(pairs[0])
        yield Finding("ok", sentence("check.households", n=len(sizes), most=int(sizes.max(initial=0))))
        if config.data.household_columns:
            yield Finding("note", sentence("check.household_numbers", key="data.household"))
    if table.rows_are_persons:
        return
    if second := second_persons(config, table):
        yield Finding(
            "note",
            sentence("check.second", names=tuple(second), person=str(config.data.person), key="data.person"),
            "leave out the columns about the second person, or write a row for each of the two",
        )
    rows = np.bincount(person_groups(table.persons))
    yield Finding("ok", sentence("check.persons", n=len(rows), most=int(rows.max(initial=0))))
    nameless = int((table.persons < 0).sum())
    if nameless:
        yield Finding(
            "note",
            sentence("check.nameless", n=nameless, names=tuple(config.data.person_columns)),
            "fill the column in, or leave these rows out of the file",
        )
    static = constant_within(table, [name for name in table.schema.without_identifiers().names if name not in above])
    if static:
        yield Finding("note", sentence("check.static", names=tuple(static)))
    if config.draws_persons:
        drawn = sentence("check.draws_persons", generator=config.synthesize.generator)
        order = table.schema.order
        of_file = sentence("check.order.file", drawn=drawn)
        yield Finding("ok", of_file if order is None else sentence("check.order", drawn=drawn, column=order))
        if config.data.order is not None and table.schema.order is None:
            yield Finding(
                "note",
                sentence("check.order.undecided", key="data.order", column=config.data.order),
                _decide(config.data.order),
            )
    elif config.data.several_rows and not config.synthesize.is_off:
        yield Finding(
            "note",
            sentence("check.draws_rows", generator=config.synthesize.generator),
            sentence("check.draws_rows.hint", generators=" or ".join(sequence_generators())),
        )


def _examples(table: Table, name: str) -> str:
    """Some values of a column, for the terminal alone; none of one that is not there."""
    if name not in table.schema:
        return ""
    distinct = table.frame[name].dropna().drop_duplicates().head(_EXAMPLES)
    return ", ".join(as_text(distinct, table.schema[name]).str.strip().str.slice(0, _LONGEST_EXAMPLE))


def _stages(
    config: RunConfig,
    table: Table,
    whole: Table,
    store: Store | None,
    policy: Policy | None,
    above: Mapping[str, str],
    *,
    elsewhere: bool,
) -> list[Finding]:
    """Findings about the ability of each stage to run; not of anonymization that was decided ``elsewhere``."""
    findings: list[Finding] = []
    _attempt(findings, lambda: check_options(config.evaluate, table.schema))
    _attempt(findings, lambda: refuse_undeclared(config, table.schema))
    findings += constraint_findings(config, whole, above)
    findings += [Finding.error(problem) for problem in _unknown_columns(config, table)]
    whose = config.data.person_columns, config.data.household_columns
    parts = _attempt(findings, lambda: split(table, config.split, rng_for(0, "split"), *whose))
    if parts is not None:
        findings += _protection(config, parts.train.without_identifiers())
    if parts is not None and not config.synthesize.is_off:
        people = parts.train.without_identifiers()
        among = sequence_generators() if above else tuple(REGISTRY)
        findings += _attempt(findings, lambda: list(foreseen(people, config.synthesize, among))) or []
        findings += _condition(config, whole, people)
    if parts is not None:
        findings += [] if policy is None else foreseen_evaluation(config, policy, parts.train, parts.control)
        findings += [] if policy is None or not elsewhere else [*small_sample(policy, len(table))]
    options = config.anonymize
    if options is None or elsewhere:
        return findings
    hierarchies = _attempt(findings, lambda: load_hierarchies(table, config.hierarchy_sources, config.unlabelled))
    if hierarchies is not None:
        findings.append(Finding("ok", sentence("check.hierarchies", n=len(hierarchies))))
    train = table if parts is None else parts.train
    findings += [Finding.error(problem) for problem in _impossible(config, options, train)]
    if not options.generalizes:
        steps = _attempt(findings, lambda: technique_findings(options, train.schema.without_identifiers()))
        return findings + (steps or [])
    if hierarchies is not None and not any(finding.level == "error" for finding in findings):
        findings += _attempt(findings, lambda: list(level_findings(config, table, store))) or []
    return findings


def _labels(there: SampledInputs) -> Iterator[Finding]:
    whole, place = there.whole, there.config.data.place
    result = whole.result
    yield Finding(
        "ok",
        sentence(
            "check.labels",
            engine=whole.engine,
            n=result.records,
            least=result.smallest,
            unit=result.unit,
            left_out=result.suppressed,
            loss=str(result.loss["name"]),
            value=f"{result.loss['value']:.3f}",
        ),
    )
    if isinstance(place, SqlOptions):
        labels = place.labels_table
        asked = sentence("warehouse.labels.none") if labels is None else sentence("warehouse.labels", table=labels)
        yield Finding("ok", asked)


def _condition(config: RunConfig, whole: Table, people: Table) -> list[Finding]:
    findings: list[Finding] = []
    if not config.synthesize.chooses:
        return findings
    _attempt(findings, lambda: refuse_misfit(config, whole.schema))
    if not findings:
        _attempt(findings, lambda: selection(config, people, by_person=config.draws_persons, decided=False))
    if config.synthesize.balance is not None:
        said = "synthesize.balance: enough training persons have each value that comes out"
        return findings or [Finding("ok", said)]
    return findings or [Finding("ok", "synthesize.where: enough training persons meet the condition")]


def _protection(config: RunConfig, people: Table) -> list[Finding]:
    options = config.protection
    if options is None:
        return [
            Finding(
                "note",
                "protect is off: values of single people enter everything that learns, and may come out",
                "remove protect: off, unless the table is never released",
            )
        ]
    kept = [name for name, choice in options.columns.items() if choice == "keep"]
    generalized = set(people.schema.quasi_identifiers) - config.unlabelled if config.anonymize is not None else set()
    note = Finding("note", sentence("check.kept", names=tuple(kept)))
    return [
        *map(Finding.error, text_problems(people, options, config.k, generalized)),
        *([note] if kept else []),
    ]


def _unknown_columns(config: RunConfig, table: Table) -> Iterator[Problem]:
    by = config.sample.by if isinstance(config.sample.by, list) else []
    described = list(config.publish.columns)
    for key, names in (("sample.by", by), ("sample.groups", config.sample.groups), ("publish.columns", described)):
        unknown = [name for name in names if name not in table.schema]
        if unknown:
            yield Problem(f"{key}: no such column: {', '.join(unknown)}", f"one of: {', '.join(table.schema.names)}")


def _impossible(config: RunConfig, options: AnonymizeOptions, train: Table) -> Iterator[Problem]:
    too_great = too_great_k(config, train)
    if too_great is not None:
        yield too_great
    for model in options.models:
        wanted = getattr(model, "l", 1)
        name = getattr(model, "attribute", None)
        if name in train.schema.names and train.frame[name].nunique() < wanted:
            yield Problem(
                f"{model.model}: {wanted:g} different values of {name!r} are wanted in every class, and the column "
                f"has {train.frame[name].nunique()}",
                "use a smaller l, or another sensitive column",
            )


def _of_linked(config: RunConfig) -> list[Finding]:
    run = Pipeline(config, seed=0)
    try:
        tables = run.tables
    except HybridError as error:
        return [Finding.error(problem) for problem in error.problems]
    findings = list(_references(run))
    _attempt(findings, Deliveries(config.nightly.deliver, config.sources, config.folder).check)
    findings += _repetition(run) if len(tables) > 1 else ()
    identifying = [in_table(*found) for found in run.identifying]
    findings += map(Finding.error, identifying)
    joint, said = {one.message for one in identifying}, set[str]()
    for name, table in tables.items():
        own, settled = _own_part(name, table)
        static = table.link.static if isinstance(table, ChildRun) else {}
        above = {new: f"{config.links.person}.{old}" for old, new in static.items()}
        for finding in diagnose_table(own, table.table, above=above):
            one = in_table(name, Problem(finding.message, finding.hint, finding.values))
            if one.message.startswith(settled) or one.message in joint:
                continue
            if one.message not in said or finding.level == "error":
                of_table = sentence("of_table", table=name, found=one.message)
                findings.append(replace(finding, message=of_table, hint=one.hint))
            said.add(one.message)
        if isinstance(table, ChildRun) and table.generalized and not any(one.level == "error" for one in findings):
            findings += _attempt(findings, lambda table=table: list(_labels_below(table))) or []  # type: ignore[misc]
    return findings


def _labels_below(table: ChildRun) -> Iterator[Finding]:
    found, name = table.anonymized, table.name
    assert found is not None
    result = found.result
    yield from columns_of(found.labels, table.train, put_back(table.link.people.config), f"{name}.")
    yield Finding(
        "ok",
        sentence(
            "check.labels.below",
            table=name,
            least=result.smallest,
            left_out=few(result.suppressed),
            rows=few(result.records),
        ),
    )


def _own_part(name: str, table: TableRun) -> tuple[RunConfig, tuple[str, ...]]:
    """Configuration to check a table by, and findings on columns of persons.

    A view is split as the person table is, and columns of its persons are protected there. Delivery is of all tables,
    and so are attacks that repeat the whole process.
    """
    nightly = table.config.nightly.model_copy(update={"deliver": DeliverOptions()})
    policy, evaluate = _attempt([], lambda: table.policy), table.assessment.measured_alone
    if table.is_one_of_several:
        alone = tuple(one.name for one in asked(policy, evaluate) if "trainings" not in one.needs)
        evaluate = evaluate.model_copy(update={"metrics": alone, "also": ()})
    config = table.config.model_copy(update={"nightly": nightly, "evaluate": evaluate})
    if not isinstance(table, ChildRun):
        return config, ()
    split = config.split.model_copy(update={"stable": False, "rows": None})
    settled = (f"tables.{name}.columns.{column}:" for column in (*table.link.static.values(), *table.generalized))
    return config.model_copy(update={"split": split}), tuple(settled)


def _repetition(run: Pipeline) -> Iterator[Finding]:
    config, policy = run.config, _attempt([], lambda: run.person.policy)
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
    yield Finding("note", sentence("check.repetition", time=in_words(seconds)))


def _references(run: Pipeline) -> Iterator[Finding]:
    for name, table in run.tables.items():
        if isinstance(table, ChildRun):
            parent = table.link.parent
            counts = np.bincount(table.link.owners, minlength=len(parent.table))
            empty = int((counts == 0).sum())
            yield Finding(
                "ok",
                sentence(
                    "check.references",
                    table=name,
                    rows=len(table.table),
                    having=len(counts) - empty,
                    above=len(counts),
                    parent=table.link.parent_name,
                    most=int(counts.max(initial=0)),
                ),
            )
    for name, rows in run.rows_there.items():
        read = len(run.sources.tables[name])
        yield Finding(
            "note",
            sentence("check.some_rows", table=name, read=read, rows=rows, people=len(run.person.table)),
            "a larger split.rows reads more people; so does anonymize.memory_limit on a machine with more memory",
        )
    for name, lost in run.sources.orphans.items():
        yield Finding("note", sentence("check.orphans", table=name, n=lost))
    for name, public in run.sources.public.items():
        yield Finding("ok", sentence("check.public", table=name, n=len(public)))
