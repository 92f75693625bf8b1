"""Run of linked tables: one folder with all tables and their report, or none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from hybrid.base.account import account
from hybrid.base.atomic import write_json, write_text
from hybrid.base.hashing import file_sha256, library_versions
from hybrid.base.manifest import MANIFEST, PACKAGE, build_manifest
from hybrid.jobs.report_inputs import LIMITS, changes_since, keep_source_statistics, licences, run_report
from hybrid.jobs.run import staged, write_labels
from hybrid.linked.facts import file_of, joint_facts, page_of, stated_tables, table_facts
from hybrid.linked.run import LinkedRun
from hybrid.pipeline.stages import libraries
from hybrid.publication.approvals import RAN_BY
from hybrid.publication.draws import count_draw, sealed
from hybrid.publication.finished_run import EVALUATION, POLICY, PROTECTION, REPORT, joint_sha256, read_run
from hybrid.publication.guarantee import guarantee_sentence
from hybrid.publication.key import record_secret, release_key
from hybrid.publication.ledger import Ledger, LedgerEntry
from hybrid.publication.pending_membership import keep_membership
from hybrid.publication.rare_values import RareValues
from hybrid.publication.redact import public_config
from hybrid.publication.table_facts import StatedTable, TableFacts
from hybrid.report import ReportInputs, render_report
from hybrid.report.run.sections import JOINT
from hybrid.report.run.sections.tables import LinkedRow
from hybrid.table.cells import least_cell
from hybrid.table.file_formats import OFFICE_SUFFIXES
from hybrid.table.write import layout_of, write_table


def linked_pages(run: LinkedRun, created: datetime, earlier: Sequence[LedgerEntry]) -> Iterator[tuple[str, str]]:
    """File and HTML of every table's page; last the joint one, whose file is not named.

    No seed, no path, no record: the report is published.
    """
    config, tables = run.config.model_dump() | {"seed": None}, stated_tables(run)
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


def write_linked_draw(run: LinkedRun, folder: Path, private_dir: Path) -> None:
    """Write a linked run's folder and count its one draw.

    Parameters and errors as for :func:`hybrid.jobs.run.write_draw`.
    """
    earlier = Ledger(private_dir).entries(run.config.name)
    run.check()
    created = datetime.now(UTC)
    _ = run.evaluation
    with staged(folder) as temporary:
        _write_tables(run, temporary)
        files = {table.file: file_sha256(temporary / table.file) for table in stated_tables(run)}
        digest = joint_sha256(files)
        run.draw = count_draw(private_dir, run.config.name, run.data_fingerprint, run.policy, digest, run.evaluation)
        _write_anonymization(run, temporary)
        secret = record_secret(release_key(private_dir))
        RareValues.of(run.sources.tables, least_cell(run.person.config.k), secret).write(temporary)
        write_json(temporary / EVALUATION, _results(run))
        _write_report(run, temporary, created, earlier)
        write_json(temporary / POLICY, run.policy.model_dump(mode="json"))
        write_json(temporary / MANIFEST, sealed(_manifest(run, temporary, created), private_dir))
    if run.person.anonymized is not None:
        found = run.person.membership(secret)
        keep_membership(private_dir, read_run(folder).id, found)
    keep_source_statistics(run, private_dir)


def _write_tables(run: LinkedRun, folder: Path) -> None:
    """Write the released tables in their sources' conventions; public ones as they are."""
    for name, table in run.released.items():
        config, pipeline = run.config.views[name], run.tables[name]
        where = folder / file_of(name, config)
        drawn = not pipeline.is_unsynthesized
        write_table(table, where, config.data.separator, config.data.encoding, pipeline.layout, drawn)
    for name, table in run.sources.public.items():
        config = run.config.public[name]
        file, data, where = config.data_file, config.data, folder / file_of(name, config)
        # Files of other programs hold notes, and labels of what does not occur: they are written anew.
        is_plain = file is not None and file.suffix not in OFFICE_SUFFIXES
        if file is not None and is_plain and run.config.person.output.format == "same":
            with file.open() as source, where.open("wb") as target:
                shutil.copyfileobj(source, target)
        else:
            layout = None if file is None else layout_of(file, data.separator, data.encoding, data.sheet)
            write_table(table, where, data.separator, data.encoding, layout)


def _write_anonymization(run: LinkedRun, folder: Path) -> None:
    protected = {name: table.protected for name, table in run.tables.items()}
    found = {name: one.result.to_json() for name, one in protected.items() if one is not None}
    if found:
        write_json(folder / PROTECTION, found)
    write_labels(run.person, folder)


def _write_report(run: LinkedRun, folder: Path, created: datetime, earlier: Sequence[LedgerEntry]) -> None:
    for name, page in linked_pages(run, created, earlier):
        write_text(folder / (name or REPORT), page)


def _results(run: LinkedRun) -> dict[str, Any]:
    give_away = None if run.person.give_away is None else run.person.give_away.to_json()
    power = None if run.power is None else run.power.to_json()
    judged = {"power": power, "verdict": run.verdict.to_json(), "draw": None if run.draw is None else run.draw.number}
    return run.evaluation.to_json() | {"give_away": give_away} | judged


def _manifest(run: LinkedRun, folder: Path, created: datetime) -> dict[str, Any]:
    manifest = build_manifest(
        name=run.config.name,
        config=run.config.model_dump(),
        seed=run.seed,
        data_fingerprint=run.data_fingerprint,
        folder=folder,
        libraries=libraries(),
        stages=run.stages,
        created=created,
    )
    tables = stated_tables(run)
    return manifest | {
        "draw": None if run.draw is None else run.draw.number,
        RAN_BY: account(),
        "roles": run.roles.to_json(),
        "explanation": run.person.explanation.text if run.person.explanations else None,
        "differential_privacy": run.person.is_private,
        "table": joint_facts(run).to_json(),
        "columns": list(tables[0].columns),
        "tables": [table.to_json() for table in tables],
    }
