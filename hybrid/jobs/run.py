"""Folder of a run, written as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hybrid.anonymize.result import AnonymizationResult, json_with_left_out
from hybrid.base.account import account
from hybrid.base.atomic import atomic_folder, make_private, write_json, write_text
from hybrid.base.errors import ConfigError, HybridError
from hybrid.base.hashing import file_sha256
from hybrid.base.manifest import MANIFEST, build_manifest
from hybrid.base.ownership import check_replaceable, seal
from hybrid.base.rng import rng_for
from hybrid.evaluation.measure import Evaluation
from hybrid.evaluation.trust import TrustLeague
from hybrid.jobs.origins import keep_origin
from hybrid.jobs.report_inputs import audit_report, keep_source_statistics, public_report, run_report
from hybrid.linked.run import LinkedRun
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.stages import libraries
from hybrid.publication.approvals import RAN_BY
from hybrid.publication.description.description import stated_columns
from hybrid.publication.draws import count_draw, sealed
from hybrid.publication.finished_run import (
    ANONYMIZATION,
    EVALUATION,
    POLICY,
    PROTECTION,
    PUBLIC_REPORT,
    REPORT,
    read_run,
    refuse_known_leak,
)
from hybrid.publication.first_page import promise
from hybrid.publication.key import record_secret, release_key
from hybrid.publication.lamps import lamps
from hybrid.publication.ledger import Ledger, LedgerEntry
from hybrid.publication.pending_membership import keep_membership
from hybrid.publication.power import Power, accepted_sentences, not_tried
from hybrid.publication.rare_values import RareValues
from hybrid.publication.table_facts import TableFacts
from hybrid.publication.verdict import Verdict, folded
from hybrid.report import ReportInputs, render_report
from hybrid.table import Table
from hybrid.table.cells import least_cell
from hybrid.table.write import write_table

LABELS = "anonymized.parquet"


def new_folder(name: str, runs: Path = Path("runs")) -> Path:
    """Name of the folder of a run that starts now; it is not made yet."""
    return runs / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Yield a hidden private folder that replaces ``folder`` when the block ends without an error.

    Raises
    ------
    ConfigError
        What is in ``folder`` by then must not be replaced (:func:`~hybrid.base.ownership.check_replaceable`).
    OutputError
        It cannot be written; nothing was changed.
    """
    with atomic_folder(folder, private=True) as temporary:
        yield temporary
        check_replaceable(folder)


def write_draw(pipeline: Pipeline, folder: Path, private_dir: Path) -> None:
    """Write a run's folder and count its draw; what the gate and later nights need goes to the private zone.

    Parameters
    ----------
    pipeline : Pipeline
        Computed as far as it is not yet.
    folder : Path
        An earlier run there is replaced as a whole; its draw stays counted.
    private_dir : Path
        The private zone: the ledger that counts the draw, the membership in equivalence classes, the statistics of
        the source.

    Raises
    ------
    HybridError
        Of any stage; then there is no folder.
    """
    write_run(pipeline, folder, Ledger(private_dir).entries(pipeline.config.name), private_dir)
    run_id = read_run(folder).id
    keep_origin(private_dir, run_id, pipeline)
    if pipeline.anonymized is not None and pipeline.inputs.whole is None:
        found = pipeline.membership(record_secret(release_key(private_dir)))
        keep_membership(private_dir, run_id, found)
    keep_source_statistics(pipeline, private_dir)


def write_run(
    pipeline: Pipeline, folder: Path, earlier: Sequence[LedgerEntry] = (), private_dir: Path | None = None
) -> None:
    """Compute every stage and write the run's folder: tables, evaluation, report, policy, manifest.

    Parameters
    ----------
    pipeline : Pipeline
        Computed as far as it is not yet.
    folder : Path
        An earlier run there is replaced as a whole.
    earlier : sequence of LedgerEntry
        Earlier releases of the data set, oldest first, which the report shows beside this run.
    private_dir : Path, optional
        The private zone whose ledger counts the draw, once all stages are computed, and whose key seals the run. Not
        given: the run is a trial of a comparison, judged as a first draw; it is not counted and cannot be published.

    Raises
    ------
    HybridError
        Of any stage; then there is no folder.
    """
    refuse_known_leak(pipeline.config.model_dump(mode="json"))
    pipeline.refuse_spent()
    pipeline.check()
    created = datetime.now(UTC)
    _ = pipeline.evaluation
    with staged(folder) as temporary:
        target = pipeline.write_synthetic(temporary)
        if private_dir is not None:
            sha256 = file_sha256(target)
            pipeline.draw = count_draw(
                private_dir,
                pipeline.config.name,
                pipeline.data_fingerprint,
                pipeline.policy,
                sha256,
                pipeline.evaluation,
            )
        write_labels(pipeline, temporary)
        _write_protection(pipeline, temporary)
        if private_dir is not None and pipeline.config.privacy is None:
            least, secret = least_cell(pipeline.config.k), record_secret(release_key(private_dir))
            RareValues.of({"": pipeline.table}, least, secret).write(temporary)
        write_json(temporary / EVALUATION, _results(pipeline))
        write_text(temporary / REPORT, render_report(run_report(pipeline, created, earlier)))
        if pipeline.budget is not None and pipeline.is_private:
            write_text(temporary / PUBLIC_REPORT, public_report(pipeline, created))
        write_json(temporary / POLICY, pipeline.policy.model_dump(mode="json"))
        _write_manifest(pipeline, temporary, created, private_dir=private_dir)


def write_anonymized(pipeline: Pipeline, folder: Path) -> AnonymizationResult:
    """Write the results of the first stage alone.

    Raises
    ------
    ConfigError
        The configuration has no ``anonymize`` section.
    """
    if pipeline.anonymized is None:
        raise ConfigError("the config has no anonymize section", hint="add one, with k and the quasi-identifiers")
    with staged(folder) as temporary:
        write_labels(pipeline, temporary)
        _write_protection(pipeline, temporary)
        _write_manifest(pipeline, temporary, datetime.now(UTC), "anonymization")
    return pipeline.anonymized.result


def write_audit(
    tables: tuple[Table, Table | None, Table],
    evaluation: Evaluation,
    power: Power | None,
    verdict: Verdict,
    name: str,
    folder: Path,
    notes: tuple[str, ...] = (),
    league: TrustLeague | None = None,
    left_out: str = "",
) -> None:
    """Write an audit's evaluation and report; ``notes`` are about the files, ``left_out`` about metrics."""
    said = datetime.now(UTC), notes, league, left_out
    inputs: ReportInputs = audit_report(tables, evaluation, verdict, name, *said)
    measured = [(m.name, m.column) for m in evaluation.metrics if m.family == "privacy" and m.stage == "synthetic"]
    trust = None if league is None else league.to_json(measured)
    with staged(folder) as temporary:
        judged = {"power": None if power is None else power.to_json(), "verdict": verdict.to_json()}
        write_json(temporary / EVALUATION, evaluation.to_json() | judged | {"notes": notes, "trust": trust})
        write_text(temporary / REPORT, render_report(inputs))
        seal(temporary, name, "audit")


def summary(pipeline: Pipeline | LinkedRun) -> str:
    """Verdict and open checks as Markdown, for orchestrators."""
    verdict = pipeline.verdict
    lines = [f"# {verdict.status.upper()}: {pipeline.config.name}", *(f"\n{said}" for said in promise_of(pipeline))]
    lines += ["", "| | check | |", "|---|---|---|"]
    lines += [f"| {check.status} | {check.rule} | {check.message} |" for check in verdict.open_checks]
    lines += [
        "",
        folded(verdict),
        *(f"\n{said}" for said in (*accepted_sentences(verdict.checks), not_tried(verdict.checks)) if said),
    ]
    lines += ["", "| | risk | |", "|---|---|---|"]
    lines += [f"| {lamp.status} | {lamp.question} | {lamp.sentence} |" for lamp in lamps(verdict)]
    return "\n".join(lines)


def promise_of(run: Pipeline | LinkedRun) -> tuple[str, ...]:
    """Terms of differential privacy of a run; empty without ``privacy.mode: dp``."""
    if isinstance(run, LinkedRun):  # linked tables have no such mode
        return ()
    return promise(run.config.model_dump(mode="json"), run.is_private)


def keep_private_details(error: HybridError, private: Path) -> None:
    """Write an error with its cell values, which help to fix it, into the private zone; file mode 0600."""
    details = [f"{problem}\nvalues: {problem.values}" for problem in error.problems if problem.values]
    if not details:
        return
    make_private(private)
    path = private / f"error-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.txt"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write("\n\n".join(details))


def _results(pipeline: Pipeline) -> dict[str, Any]:
    give_away = None if pipeline.give_away is None else pipeline.give_away.to_json()
    power = None if pipeline.power is None else pipeline.power.to_json()
    judged = {"power": power, "verdict": pipeline.verdict.to_json(), "draw": _number(pipeline)}
    return pipeline.evaluation.to_json() | {"give_away": give_away} | judged


def _number(pipeline: Pipeline) -> int | None:
    return None if pipeline.draw is None else pipeline.draw.number


def _write_protection(pipeline: Pipeline, folder: Path) -> None:
    if pipeline.protected is not None:
        write_json(folder / PROTECTION, pipeline.protected.result.to_json())


def write_labels(pipeline: Pipeline, folder: Path) -> None:
    """Write labels in random order, and how they were reached.

    Dates that are tied to a quasi-identifier are times from it: the date itself would show what the label hides.
    """
    if pipeline.anonymization is None:
        return
    labels = pipeline.anonymization.with_gaps(pipeline.anonymization.anonymized).to_table()
    order = rng_for(pipeline.seed, "order", "labels").permutation(len(labels))
    write_table(labels.take(order), folder / LABELS)
    whole, found = pipeline.inputs.whole, pipeline.anonymization.anonymized
    content = json_with_left_out(found) if whole is None else found.result.to_json() | {"warehouse": whole.to_json()}
    write_json(folder / ANONYMIZATION, content)


def _write_manifest(
    pipeline: Pipeline, folder: Path, created: datetime, kind: str = "run", private_dir: Path | None = None
) -> None:
    """Write the manifest, sealed where there is a private zone."""
    manifest = build_manifest(
        name=pipeline.config.name,
        config=pipeline.config,
        seed=pipeline.seed,
        data_fingerprint=pipeline.data_fingerprint,
        folder=folder,
        libraries=libraries(),
        stages=pipeline.recorder.stages,
        created=created,
        kind=kind,
    )
    said: dict[str, Any] = {
        "draw": _number(pipeline),
        RAN_BY: account(),
        "roles": pipeline.roles.to_json(),
        "explanation": pipeline.statement,
        "differential_privacy": pipeline.is_private,
    }
    if kind == "run" and pipeline.budget is not None:
        said["privacy_budget"] = pipeline.budget.to_json()
    if kind == "run":
        tables = pipeline.table, pipeline.control, pipeline.synthetic
        generalized = pipeline.anonymized is not None
        said["table"] = TableFacts.of(*tables, anonymized=generalized, rows=pipeline.released_rows).to_json()
        said["columns"] = stated_columns(pipeline.synthetic.schema)
    whole = manifest | said
    write_json(folder / MANIFEST, whole if private_dir is None else sealed(whole, private_dir))
