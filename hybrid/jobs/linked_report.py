"""Report of a linked run: a joint page, one per table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import yaml

from hybrid.base.hashing import library_versions
from hybrid.base.manifest import PACKAGE
from hybrid.jobs.earlier_releases import changes_since
from hybrid.jobs.report_inputs import LIMITS, licences, run_report
from hybrid.linked.facts import joint_facts, page_of, stated, table_facts
from hybrid.linked.run import LinkedRun
from hybrid.pipeline.stages import libraries
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.ledger import LedgerEntry
from hybrid.publication.redact import public_config
from hybrid.publication.table_facts import StatedTable, TableFacts
from hybrid.report import ReportInputs, render_report
from hybrid.report.run.sections import JOINT
from hybrid.report.run.sections.tables import LinkedRow


def linked_pages(run: LinkedRun, created: datetime, earlier: Sequence[LedgerEntry]) -> Iterator[tuple[str, str]]:
    """File and HTML of every table's page; last the joint one.

    The file of the joint one is not named.

    No seed, no path, no record: the report is published.
    """
    config, tables = run.config.model_dump() | {"seed": None}, stated(run)
    whole = joint_facts(run)
    result = None if run.person.anonymized is None else run.person.anonymized.result
    guarantee = guarantee_sentence(result, config, run.evaluation, private=run.person.is_private)
    method = yaml.safe_dump(public_config(config), sort_keys=False, allow_unicode=True, width=100)
    said: dict[str, Any] = {
        "guarantee": guarantee,
        "draw": "" if run.draw is None else run.draw.words,
        "config": method,
    }
    for name, pipeline in run.tables.items():
        pipeline.judged = run.verdict_of(name)
        page = run_report(pipeline, created)
        facts = replace(table_facts(run, name), generalized=whole.generalized)
        collected = {**page.collected, "verdict": _facts(run, config, facts)}
        own = replace(page, name=f"{run.config.name}: {name}", collected=collected, **said)
        yield page_of(name), render_report(own)
    verdict = run.verdict
    joint = ReportInputs(
        name=run.config.name,
        created=created,
        verdict=verdict,
        evaluation=run.evaluation,
        limits=LIMITS,
        licences=licences(run.config.person.synthesize.generator),
        versions=library_versions(PACKAGE, *libraries()),
        changes=changes_since(earlier, verdict),
        collected={
            "verdict": _facts(run, config, whole) | {"tables": tuple(tables)},
            "tables": [_row(run, table) for table in tables],
        },
        **said,
    )
    yield "", render_report(joint, JOINT)


def _facts(run: LinkedRun, config: dict[str, Any], table: TableFacts) -> dict[str, Any]:
    """Facts beside the verdict of a page."""
    return {
        "owner": run.policy.owner,
        "config": config,
        "table": table,
        "anonymization": None if run.person.anonymized is None else run.person.anonymized.result,
        "private": run.person.is_private,
    }


def _row(run: LinkedRun, table: StatedTable) -> LinkedRow:
    verdict = None if table.public else run.verdict_of(table.name)
    return LinkedRow(table.name, table.rows, ", ".join(dict.fromkeys(table.references.values())), table.report, verdict)
