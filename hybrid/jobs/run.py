"""The folder of a run: every file the contract names, all of them or none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.atomic import atomic_folder, make_private, write_json, write_text
from hybrid.base.errors import ConfigError, HybridError
from hybrid.base.manifest import MANIFEST, build_manifest
from hybrid.base.ownership import check_replaceable, seal
from hybrid.base.rng import rng_for
from hybrid.evaluation.measure import Evaluation
from hybrid.jobs.report_inputs import audit_report, run_report
from hybrid.pipeline.pipeline import Pipeline
from hybrid.publication.finished_run import ANONYMIZATION, EVALUATION, POLICY, REPORT, read_run
from hybrid.publication.key import record_secret, release_key
from hybrid.publication.ledger import Entry, Ledger
from hybrid.publication.pending_membership import keep_membership
from hybrid.publication.verdict import Verdict
from hybrid.report import ReportInputs, render_report
from hybrid.table import Table
from hybrid.table.write import write_table

LABELS = "anonymized.parquet"


def new_folder(name: str, runs: Path = Path("runs")) -> Path:
    """The folder of a run that starts now; not made yet."""
    return runs / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Yield a hidden private folder to fill, which takes the place of ``folder`` when the block ends without an error.

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


def write_run(walk: Pipeline, folder: Path, earlier: Sequence[Entry] = ()) -> None:
    """Walk to the end and write the run's folder: tables, evaluation, report, policy, manifest.

    Parameters
    ----------
    walk : Pipeline
        Computed as far as it is not yet.
    folder : Path
        An earlier run there is replaced as a whole.
    earlier : sequence of Entry
        Earlier releases of the data set, oldest first, which the report shows beside this run.

    Raises
    ------
    HybridError
        Of any stage; then there is no folder.
    """
    walk.check()
    created = datetime.now(UTC)
    inputs = run_report(walk, created, earlier)
    with staged(folder) as temporary:
        data = walk.config.data
        target = temporary / walk.synthetic_name
        write_table(walk.synthetic, target, data.separator, data.encoding, walk.layout)
        _write_labels(walk, temporary)
        write_json(temporary / EVALUATION, _results(walk))
        write_text(temporary / REPORT, render_report(inputs))
        write_json(temporary / POLICY, walk.policy.model_dump(mode="json"))
        _write_manifest(walk, temporary, created)


def write_candidate(walk: Pipeline, folder: Path, private_dir: Path) -> None:
    """As :func:`write_run`, with the history of the data set in the report, and what publishing asks for kept aside.

    Parameters
    ----------
    walk, folder
        As for :func:`write_run`.
    private_dir : Path
        The private zone, with the ledger.
    """
    write_run(walk, folder, Ledger(private_dir).entries(walk.config.name))
    if walk.anonymized is not None:
        found = walk.membership(record_secret(release_key(private_dir)))
        keep_membership(private_dir, read_run(folder).id, found)


def write_anonymized(walk: Pipeline, folder: Path) -> AnonymizationResult:
    """Write the results of the first stage alone.

    Raises
    ------
    ConfigError
        The configuration has no ``anonymize`` section.
    """
    if walk.anonymized is None:
        raise ConfigError("the config has no anonymize section", hint="add one, with k and the quasi-identifiers")
    with staged(folder) as temporary:
        _write_labels(walk, temporary)
        _write_manifest(walk, temporary, datetime.now(UTC), "anonymization")
    return walk.anonymized.result


def write_audit(
    tables: tuple[Table, Table | None, Table],
    evaluation: Evaluation,
    verdict: Verdict,
    name: str,
    folder: Path,
    notes: tuple[str, ...] = (),
) -> None:
    """Write an audit's evaluation and report; ``notes`` are about the files."""
    inputs: ReportInputs = audit_report(tables, evaluation, verdict, name, datetime.now(UTC), notes)
    with staged(folder) as temporary:
        write_json(temporary / EVALUATION, evaluation.to_json() | {"verdict": verdict.to_json(), "notes": notes})
        write_text(temporary / REPORT, render_report(inputs))
        seal(temporary, name, "audit")


def summary(walk: Pipeline) -> str:
    """The verdict and its checks as Markdown, for orchestrators."""
    verdict = walk.verdict
    lines = [f"# {verdict.status.upper()}: {walk.config.name}", "", "| | check |", "|---|---|"]
    lines += [f"| {check.status} | {check.message} |" for check in verdict.checks]
    return "\n".join(lines)


def keep_private_details(error: HybridError, private: Path) -> None:
    """Write an error with the cell values that help to fix it into the private zone (mode 0600)."""
    details = [f"{problem}\nvalues: {problem.values}" for problem in error.problems if problem.values]
    if not details:
        return
    make_private(private)
    path = private / f"error-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.txt"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write("\n\n".join(details))


def _results(walk: Pipeline) -> dict[str, Any]:
    """The metrics, what the transition gives away, and the verdict."""
    give_away = None if walk.give_away is None else walk.give_away.to_json()
    return walk.evaluation.to_json() | {"give_away": give_away, "verdict": walk.verdict.to_json()}


def _write_labels(walk: Pipeline, folder: Path) -> None:
    """The labels of the kept records, in an order that says nothing about the source's."""
    if walk.anonymized is None:
        return
    labels = walk.anonymized.labels.to_table()
    order = rng_for(walk.seed, "order", "labels").permutation(len(labels))
    write_table(labels.take(order), folder / LABELS)
    write_json(folder / ANONYMIZATION, walk.anonymized.result.to_json())


def _write_manifest(walk: Pipeline, folder: Path, created: datetime, kind: str = "run") -> None:
    manifest = build_manifest(
        name=walk.config.name,
        config=walk.config,
        seed=walk.seed,
        data_fingerprint=walk.data_fingerprint,
        folder=folder,
        stages=walk.recorder.stages,
        created=created,
        kind=kind,
    )
    said = {
        "explanation": walk.explanation.text if walk.explanations else None,
        "differential_privacy": any(one.holds for one in walk.explanations),
    }
    write_json(folder / MANIFEST, manifest | said)
