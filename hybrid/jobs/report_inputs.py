"""Inputs of the report: from the stages of a run, the ledger of earlier releases, and statistics of the sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from hybrid.base.arrays import Array
from hybrid.base.hashing import library_versions
from hybrid.base.language import ENGLISH, Language, catalogue, language_of, languages
from hybrid.base.manifest import PACKAGE
from hybrid.base.notebook import Page
from hybrid.base.sentence import sentence
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Evaluation
from hybrid.operations.drift import Baseline, TableStatistics, keep_baseline
from hybrid.operations.drift import describe as describe_table
from hybrid.pipeline.config import SINGLE
from hybrid.pipeline.facts import joint_facts, joint_protection, page_of, stated_tables, table_facts
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.stages import libraries, stage_records
from hybrid.pipeline.table_run import TableRun
from hybrid.publication.asked import not_asked
from hybrid.publication.finished_run import DETAILS, PUBLIC_REPORT, REPORT, translated
from hybrid.publication.first_page import RunFacts, private_page
from hybrid.publication.gate import verdicts_by_stage
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.key import data_tag, record_secret, release_key
from hybrid.publication.ledger import LedgerEntry
from hybrid.publication.policy import Policy
from hybrid.publication.redact import public_config
from hybrid.publication.table_facts import StatedTable, TableFacts
from hybrid.publication.verdict import Verdict
from hybrid.report import LossCurve, ReportedStage, ReportInputs, TradeOffPoint, compare_tables, describe, render_report
from hybrid.report.public import render_public
from hybrid.report.run.inputs import HistoryPoint, MetricHistory, ReportedChange, title_of
from hybrid.report.run.sections import DETAILS as SECTIONS_OF_DETAILS
from hybrid.report.run.sections import FIRST_PAGE, JOINT, JOINT_DETAILS, collect_sections
from hybrid.report.run.sections.section import Section
from hybrid.report.run.sections.tables import LinkedRow
from hybrid.synthesize import availability
from hybrid.table import Table
from hybrid.table.cells import least_cell
from hybrid.table.holders import holders, row_persons, sharing

MOST_NIGHTS = 60
"""Number of newest releases that are drawn."""


def changes_since(earlier: Sequence[LedgerEntry], verdict: Verdict) -> tuple[ReportedChange, ...] | None:
    """Differences from the last release; None if there is none."""
    if not earlier:
        return None
    last = earlier[-1]
    pairs = (
        ("policy", last.policy, verdict.policy),
        ("what the gate said", last.status, verdict.status),
    )
    return tuple(ReportedChange(what, before, now) for what, before, now in pairs if before != now)


def tracks(
    policy: Policy, evaluation: Evaluation, earlier: Sequence[LedgerEntry], created: datetime
) -> tuple[MetricHistory, ...]:
    """Every judged metric from release to release, this run last."""
    if not earlier:
        return ()
    return tuple(_tracks(policy, evaluation, earlier[-MOST_NIGHTS:], created))


def _tracks(
    policy: Policy, evaluation: Evaluation, earlier: Sequence[LedgerEntry], created: datetime
) -> Iterator[MetricHistory]:
    judged = {(rule.metric, rule.stage, rule.column) for rule in policy.rules}
    now = [metric.to_json() for metric in evaluation.metrics]
    for metric in evaluation.metrics:
        key = (metric.name, metric.stage, metric.column)
        if not judged & {key, (*key[:2], None)}:
            continue
        sources = [(entry.created[:10], entry.metrics) for entry in earlier] + [(f"{created:%Y-%m-%d}", tuple(now))]
        nights = tuple(night for day, metrics in sources for night in _nights(day, metrics, key))
        if len(nights) > 1:
            of = f" of {metric.column}" if metric.column else ""
            yield MetricHistory(f"{title_of(metric.name)}{of}, {metric.stage}", metric.direction, nights)


def _nights(day: str, metrics: Sequence[dict[str, Any]], key: tuple[str, str, str | None]) -> Iterator[HistoryPoint]:
    for found in metrics:
        if (found["name"], found["stage"], found["column"]) == key and found["state"] == "ok":
            low, high = found["ci"] or (None, None)
            yield HistoryPoint(day, found["value"], low, high)


def source_tables(run: Pipeline) -> dict[str, Table]:
    """Tables that a run read, by name; public ones, too."""
    return {**run.sources.tables, **run.sources.public}


def source_statistics(
    run: Pipeline, secret: bytes, like: Mapping[str, TableStatistics] | None = None
) -> dict[str, TableStatistics]:
    """Statistics of every table that a run read, by name.

    ``secret`` is the key of the hashes of categories. With ``like``, its bins and categories are taken, so that the two
    can be compared.
    """
    known = like or {}
    return {name: describe_table(table, secret, known.get(name)) for name, table in source_tables(run).items()}


def keep_source_statistics(run: Pipeline, private_dir: Path) -> None:
    """Keep the statistics of the sources and the seconds of every stage, for later nights to compare with."""
    key = release_key(private_dir)
    tag = data_tag(key, {"data_fingerprint": run.data_fingerprint})
    seconds = {stage.name: stage.seconds for stage in run.stages}
    keep_baseline(private_dir, run.config.name, tag, Baseline(source_statistics(run, record_secret(key)), seconds))


def public_report(pipeline: TableRun, created: datetime, language: Language = ENGLISH) -> str:
    """Render what the readers of a private table may see.

    The run is finished, and has a budget: it claims differential privacy. Of ``created`` the day is stated.
    """
    budget, policy = pipeline.budget, pipeline.policy
    assert budget is not None
    config, day = pipeline.config.model_dump(mode="json"), created.date().isoformat()
    table = TableFacts.of(pipeline.table, pipeline.control, pipeline.synthetic, anonymized=False)
    facts = RunFacts(pipeline.config.name, day, policy.owner, config, table, private=True)
    method = _public_yaml(config)
    page = private_page(f"{policy.name} {policy.version}", facts)
    versions = library_versions(PACKAGE, *libraries())
    return render_public(
        pipeline.config.name, day, page, budget.to_json(), pipeline.synthetic, method, versions, language
    )


LIMITS = (
    "k-anonymity holds for the intermediate table, not for the synthetic one; "
    "what the synthetic table discloses is measured, not proven.",
    "Attacks that were not run may succeed where these did not.",
    "Each release adds to what earlier releases of the same people give away.",
)
LIMITS_OF_SAMPLE = (
    "k was counted on all rows of the source; among the drawn ones a combination of labels can be that of fewer "
    "people.",
    "The levels were chosen on all rows of the source, none kept apart, while protection, generator and evaluation "
    "saw the drawn ones alone: what the choice of levels gives away is not measured.",
    "Privacy, utility and fidelity were measured on the drawn records: a leak too small for so many to show passes "
    "unnoticed. Suppressed records were never drawn, so which groups lost most of them is not known here.",
)
"""Of a table that stayed in its source, but for a random sample."""
PERMISSIVE = "permissive (BSD, MIT, Apache-2.0)"


def report_pages(run: Pipeline, created: datetime, earlier: Sequence[LedgerEntry] = ()) -> Iterator[tuple[str, str]]:
    """File and HTML of every page of a run's report.

    Of one table: the page that people decide by, the details, and what readers may see under ``privacy.mode: dp``. Of
    linked tables: a page for each, and two for all together. No seed, no path, no record: the report is published.
    They are in the language that ``publish.language`` names, and beside these in every other one, for the desk.
    """
    own = language_of(run.config.publish.language)
    if run.config.is_linked:
        yield from _linked_pages(run, created, earlier, own)
        return
    inputs = run_report(run, SINGLE, created, earlier)
    for language, named in editions(own):
        yield from two_pages(inputs, language=language, named=named)
    if run.person.budget is not None and run.person.is_private:
        yield PUBLIC_REPORT, public_report(run.person, created, own)


Named = Callable[[str], str]
"""From the file of a page to that of the same page in a language."""


def editions(own: Language) -> Iterator[tuple[Language, Named]]:
    """The language of a report's pages, and every other, each with the files of its pages."""
    yield own, str
    for code in languages():
        if code != own.code:
            yield catalogue(code), partial(translated, code=code)


def _linked_pages(
    run: Pipeline, created: datetime, earlier: Sequence[LedgerEntry], own: Language
) -> Iterator[tuple[str, str]]:
    config, tables = run.config.model_dump(mode="json") | {"seed": None}, stated_tables(run)
    whole = joint_facts(run)
    result = run.anonymization
    said: dict[str, Any] = {
        "guarantee": guarantee_sentence(result, config, run.evaluation, private=run.person.is_private),
        "draw": "" if run.draw is None else run.draw.words,
        "config": _public_yaml(config),
    }
    about: dict[str, Any] = {
        "owner": run.policy.owner,
        "config": config,
        "anonymization": result,
        "private": run.person.is_private,
    }
    pages: dict[str, ReportInputs] = {}
    for name in run.tables:
        page = run_report(run, name, created)
        facts = replace(table_facts(run, name), generalized=whole.generalized)
        protected = page.collected["verdict"]["protected"]
        collected = {**page.collected, "verdict": about | {"table": facts, "protected": protected}}
        pages[name] = replace(page, name=f"{run.config.name}: {name}", collected=collected, **said)
    verdict = run.verdict
    rows = [_linked_row(run, table) for table in tables]
    joint = ReportInputs(
        name=run.config.name,
        created=created,
        verdict=verdict,
        evaluation=run.evaluation,
        limits=LIMITS,
        licences=licences(run.config.synthesize.generator),
        versions=library_versions(PACKAGE, *libraries()),
        changes=changes_since(earlier, verdict),
        collected={"verdict": about | {"table": whole, "tables": tuple(tables), "protected": joint_protection(run)}},
        **said,
    )
    for language, named in editions(own):
        for name, inputs in pages.items():
            yield table_page(name, inputs, language, named)
        listed = [replace(row, page=row.page and named(row.page)) for row in rows]
        inputs = replace(joint, collected={**joint.collected, "tables": listed})
        yield from two_pages(inputs, JOINT, JOINT_DETAILS, language, named)


def two_pages(
    inputs: ReportInputs,
    first: Sequence[Section] = FIRST_PAGE,
    others: Sequence[Section] = SECTIONS_OF_DETAILS,
    language: Language = ENGLISH,
    named: Named = str,
) -> Iterator[tuple[str, str]]:
    """File and HTML of the page that people decide by, and of the page with everything else."""
    report, details = named(REPORT), named(DETAILS)
    yield report, render_report(inputs, first, (details, "All checks, figures and the method"), language)
    yield details, render_report(inputs, others, (report, "The page to decide by"), language)


def shown_page(title: str, pages: Iterable[tuple[str, str]], *, details: bool) -> Page:
    """The page that people decide by, or the details, among the pages of a report."""
    wanted = DETAILS if details else REPORT
    return Page(title, next(page for name, page in pages if name == wanted))


def table_page(name: str, inputs: ReportInputs, language: Language = ENGLISH, named: Named = str) -> tuple[str, str]:
    """File and HTML of the page of one of several tables, with all sections."""
    return named(page_of(name)), render_report(inputs, other=(named(REPORT), "All tables together"), language=language)


def _linked_row(run: Pipeline, table: StatedTable) -> LinkedRow:
    verdict = None if table.public else run.verdict_of(table.name)
    return LinkedRow(table.name, table.rows, ", ".join(dict.fromkeys(table.references.values())), table.report, verdict)


def run_report(run: Pipeline, name: str, created: datetime, earlier: Sequence[LedgerEntry] = ()) -> ReportInputs:
    """The inputs of ``render_report`` for a table of a finished run.

    No seed, no path, no record: the report is published.
    """
    pipeline, verdict = run.tables[name], run.verdict_of(name)
    config, anonymized = pipeline.config, pipeline.anonymized
    result = None if anonymized is None else anonymized.result
    compared, control = pipeline.charted
    smallest = least_cell(0 if result is None else result.k)
    before, after = _sharing(pipeline)
    method = config.model_copy(update={"seed": None})
    return ReportInputs(
        name=config.name,
        created=created,
        guarantee=guarantee_sentence(
            result,
            method.model_dump(mode="json"),
            pipeline.evaluation,
            private=pipeline.is_private,
        ),
        verdict=verdict,
        draw="" if run.draw is None else run.draw.words,
        steps=tuple(ReportedStage(*step) for step in stage_records(pipeline)),
        anonymization=None if result is None else result.to_json(),
        top_levels={name: tree.n_levels - 1 for name, tree in pipeline.hierarchies.items()},
        sharing_before=before,
        sharing_after=after,
        trade_off=tuple(_trade_off(pipeline)),
        losses=tuple(LossCurve(name, tuple(points)) for name, points in _losses(pipeline).items()),
        fallbacks=dict(pipeline.generated.fallbacks),
        give_away=None if pipeline.give_away is None else pipeline.give_away.to_json(),
        comparison=compare_tables(compared, pipeline.generated.table, control, smallest),
        evaluation=pipeline.evaluation,
        stage_verdicts=verdicts_by_stage(pipeline.policy, pipeline.evaluation),
        metric_texts=describe(REGISTRY.values()),
        limits=tuple(_limits(pipeline)),
        licences=licences(config.synthesize.generator),
        versions=library_versions(PACKAGE, *libraries()),
        facts=dict(_group_shares(pipeline, smallest)),
        config=_public_yaml(config.model_dump(mode="json")),
        changes=changes_since(earlier, verdict),
        history=tracks(pipeline.policy, pipeline.evaluation, earlier, created),
        collected=collect_sections(pipeline, smallest),
    )


def _limits(pipeline: TableRun) -> Iterator[str]:
    yield from LIMITS[pipeline.anonymized is None :]
    yield from () if pipeline.inputs.whole is None else LIMITS_OF_SAMPLE
    if left_out := not_asked(pipeline.judged_by, pipeline.assessment.measured_alone, pipeline.train):
        yield left_out
    found = pipeline.all_rows
    if found is not None:
        yield sentence("limits.all_rows", n=found.judged, rows=found.rows)


def _losses(pipeline: TableRun) -> dict[str, list[tuple[int, float]]]:
    curves: dict[str, list[tuple[int, float]]] = {}
    for point in pipeline.generated.losses:
        for name, value in point.losses.items():
            curves.setdefault(name, []).append((point.done, value))
    return curves


def _trade_off(pipeline: TableRun) -> Iterator[TradeOffPoint]:
    before = pipeline.anonymization
    if before is None:
        return
    for point in pipeline.trade_off:
        if point.loss is not None and point.suppressed is not None:
            limit, share = point.suppression_limit, point.suppressed / len(before.coarsened)
            yield TradeOffPoint(limit, share, point.loss, chosen=limit == before.options.suppression_limit)


def _group_shares(pipeline: TableRun, smallest: int) -> Iterator[tuple[str, str]]:
    if pipeline.sampled is None:
        return
    for share in pipeline.sampled.shares:
        if share.people >= smallest:
            text = f"{100 * share.before:.1f} % before, {100 * share.after:.1f} % after sampling"
            yield f"group {share.column} = {share.group}", text


def _sharing(pipeline: TableRun) -> tuple[Array | None, Array | None]:
    """People in the class of each record before and after anonymization, of all rows, wherever they are.

    None where the rows of persons were counted in their source.
    """
    anonymized, whole = pipeline.anonymized, pipeline.inputs.whole
    if anonymized is None or (whole is not None and not whole.result.rows_are_persons):
        return None, None
    if whole is not None:
        return np.repeat(whole.sizes_before, whole.sizes_before), np.repeat(whole.sizes_after, whole.sizes_after)
    train, classes = pipeline.train, anonymized.class_ids
    people = holders(classes, int(classes.max(initial=-1)) + 1, row_persons(anonymized.originals))
    return sharing(train, train.schema.quasi_identifiers), people[classes]


def licences(generator: str) -> dict[str, str]:
    """Licences of this package and of a generator."""
    found = {entry.name: entry.licence for entry in availability()}
    return {"this package": "Apache-2.0", f"generator {generator}": found.get(generator, PERMISSIVE)}


def _public_yaml(config: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(public_config(config), sort_keys=False, allow_unicode=True, width=100)
    return text
