"""Run a configuration.

Write the folder of a run as a whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from hybrid.anonymize.result import AnonymizationResult
from hybrid.base.atomic import atomic_folder, make_private, write_json, write_text
from hybrid.base.errors import ConfigError, HybridError
from hybrid.base.hashing import file_sha256
from hybrid.base.manifest import MANIFEST, build_manifest
from hybrid.base.ownership import check_replaceable, seal
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import rng_for
from hybrid.evaluation.measure import Evaluation
from hybrid.evaluation.trust import TrustLeague
from hybrid.jobs.origins import keep_origin
from hybrid.jobs.report_inputs import audit_report, run_report
from hybrid.operations.drift import Baseline, describe, keep_baseline
from hybrid.pipeline.config import IN_MEMORY, RunConfig, configured, load_config
from hybrid.pipeline.pipeline import Pipeline
from hybrid.pipeline.stages import libraries
from hybrid.publication.approvals import RAN_BY, account
from hybrid.publication.count_draws import count_draw
from hybrid.publication.description.columns import stated_columns
from hybrid.publication.finished_run import ANONYMIZATION, EVALUATION, POLICY, PROTECTION, REPORT, read_run
from hybrid.publication.first_page import folded
from hybrid.publication.key import data_tag, record_secret, release_key
from hybrid.publication.known_leak import refuse_known_leak
from hybrid.publication.ledger import Entry, Ledger
from hybrid.publication.pending_membership import keep_membership
from hybrid.publication.power import Power
from hybrid.publication.seal import sealed
from hybrid.publication.table_facts import TableFacts
from hybrid.publication.verdict import Verdict
from hybrid.report import ReportInputs, render_report
from hybrid.store import Store, StorePlace
from hybrid.table import Table
from hybrid.table.write import write_table

LABELS = "anonymized.parquet"


def run(
    config: RunConfig | Mapping[str, Any] | Path | str,
    data: pd.DataFrame | None = None,
    *,
    out: Path | str | None = None,
    seed: int | None = None,
    store: Path | str | None = None,
    work: Path | str = "work",
    overrides: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Pipeline:
    """Run the whole pipeline: anonymize, sample, restore, synthesize, evaluate, judge.

    Parameters
    ----------
    config : RunConfig, mapping, Path or str
        The configuration, or the path of its YAML file. Relative paths in a mapping start at the working directory.
    data : pandas.DataFrame, optional
        The input table, instead of ``data.path`` or ``data.sql`` (which may then be left out). It passes the checks
        of a table that is read; the index is ignored.
    out : Path or str, optional
        Folder for tables, evaluation, report and manifest; by default nothing is written, and nothing is counted.
    seed : int, optional
        Repeats every draw; by default the configuration's, or a fresh one.
    store : Path or str, optional
        Folder or address where stage results are kept; by default nowhere.
    work : Path or str
        The private zone, where a run that is written to ``out`` is counted as a draw of the data under the policy,
        and what :func:`hybrid.jobs.release.release` needs to publish it is kept.
    overrides : mapping of str to value, optional
        Values for dotted keys, such as ``{"anonymize.k": 10}``; they win over ``config``. Not with a ``RunConfig``.
    progress : Progress
        Called as the work advances.

    Returns
    -------
    Pipeline
        Every stage computed: ``pipeline.synthetic.frame`` is the synthetic table as a DataFrame,
        ``pipeline.evaluation`` its metrics, ``pipeline.verdict`` what the policy says.

    Raises
    ------
    ConfigError, DataError, HierarchyError
        The configuration, the table or a hierarchy is wrong; all problems at once.
    InfeasibleError
        No generalization meets the privacy models.
    HybridError
        Of any stage; then nothing is written.

    Examples
    --------
    >>> hybrid.run("config.yaml", data=frame).verdict.status  # doctest: +SKIP
    'pass'
    """
    loaded = configuration(config, data, overrides)
    folder = None if out is None else Path(out)
    if folder is not None:
        check_replaceable(folder)
    kept = Store(None) if store is None else StorePlace(str(store)).open()
    pipeline = Pipeline(loaded, seed, kept, progress)
    if folder is None:
        pipeline.check()
        _ = pipeline.verdict
    else:
        write_draw(pipeline, folder, Path(work))
    return pipeline


def configuration(
    config: RunConfig | Mapping[str, Any] | Path | str,
    data: pd.DataFrame | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> RunConfig:
    """Read a configuration in any form, with a DataFrame as its table.

    Arguments and errors as for :func:`run`.
    """
    if isinstance(config, RunConfig):
        if overrides:
            raise ConfigError(
                "overrides were given beside a RunConfig", hint="give the path of the file or a mapping instead"
            )
        return config if data is None else config.with_frame(data)
    changes = dict(overrides or {})
    if data is not None:
        changes |= {f"data.{key}": value for key, value in IN_MEMORY.items()}
    if isinstance(config, Mapping):
        loaded = configured(config, changes, Path("config"))
    else:
        loaded = load_config(Path(config), changes)
    return loaded if data is None else loaded.with_frame(data)


def new_folder(name: str, runs: Path = Path("runs")) -> Path:
    """Name the folder of a run that starts now.

    It is not made yet.
    """
    return runs / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Yield a hidden private folder that replaces ``folder`` on success.

    It replaces ``folder`` when the block ends without an error.

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
    """Write a run's folder and count its draw.

    Keeps in the private zone the data that the gate and later nights need.

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
    if pipeline.anonymized is not None:
        found = pipeline.membership(record_secret(release_key(private_dir)))
        keep_membership(private_dir, run_id, found)
    keep_source_statistics(pipeline, private_dir)


def keep_source_statistics(pipeline: Pipeline, private_dir: Path) -> None:
    """Keep the statistics of the source and the seconds of every stage.

    Later nights compare with them.
    """
    key = release_key(private_dir)
    tag = data_tag(key, {"data_fingerprint": pipeline.data_fingerprint})
    seconds = {stage.name: stage.seconds for stage in pipeline.recorder.stages}
    statistics = describe(pipeline.table, record_secret(key))
    keep_baseline(private_dir, pipeline.config.name, tag, Baseline(statistics, seconds))


def write_run(pipeline: Pipeline, folder: Path, earlier: Sequence[Entry] = (), private_dir: Path | None = None) -> None:
    """Compute every stage and write the run's folder.

    Tables, evaluation, report, policy, manifest.

    Parameters
    ----------
    pipeline : Pipeline
        Computed as far as it is not yet.
    folder : Path
        An earlier run there is replaced as a whole.
    earlier : sequence of Entry
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
    pipeline.check()
    created = datetime.now(UTC)
    _ = pipeline.evaluation
    with staged(folder) as temporary:
        data = pipeline.config.data
        target = temporary / pipeline.synthetic_name
        write_table(pipeline.synthetic, target, data.separator, data.encoding, pipeline.layout)
        if private_dir is not None:
            sha256 = file_sha256(target)
            pipeline.draw = count_draw(
                private_dir, pipeline.data_fingerprint, pipeline.policy, sha256, pipeline.evaluation
            )
        _write_labels(pipeline, temporary)
        _write_protection(pipeline, temporary)
        write_json(temporary / EVALUATION, _results(pipeline))
        write_text(temporary / REPORT, render_report(run_report(pipeline, created, earlier)))
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
        _write_labels(pipeline, temporary)
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
) -> None:
    """Write an audit's evaluation and report; ``notes`` are about the files."""
    inputs: ReportInputs = audit_report(tables, evaluation, verdict, name, datetime.now(UTC), notes, league)
    measured = [(m.name, m.column) for m in evaluation.metrics if m.family == "privacy" and m.stage == "synthetic"]
    trust = None if league is None else league.to_json(measured)
    with staged(folder) as temporary:
        judged = {"power": None if power is None else power.to_json(), "verdict": verdict.to_json()}
        write_json(temporary / EVALUATION, evaluation.to_json() | judged | {"notes": notes, "trust": trust})
        write_text(temporary / REPORT, render_report(inputs))
        seal(temporary, name, "audit")


def summary(pipeline: Pipeline) -> str:
    """Verdict and open checks as Markdown, for orchestrators."""
    verdict = pipeline.verdict
    lines = [f"# {verdict.status.upper()}: {pipeline.config.name}", "", "| | check | |", "|---|---|---|"]
    lines += [f"| {check.status} | {check.rule} | {check.message} |" for check in verdict.open_checks]
    return "\n".join([*lines, "", folded(verdict)])


def keep_private_details(error: HybridError, private: Path) -> None:
    """Write an error with its cell values into the private zone.

    File mode 0600; the values help to fix it.
    """
    details = [f"{problem}\nvalues: {problem.values}" for problem in error.problems if problem.values]
    if not details:
        return
    make_private(private)
    path = private / f"error-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.txt"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write("\n\n".join(details))


def _results(pipeline: Pipeline) -> dict[str, Any]:
    """Metrics, disclosure by the transition, power and verdict as JSON."""
    give_away = None if pipeline.give_away is None else pipeline.give_away.to_json()
    power = None if pipeline.power is None else pipeline.power.to_json()
    judged = {"power": power, "verdict": pipeline.verdict.to_json(), "draw": _number(pipeline)}
    return pipeline.evaluation.to_json() | {"give_away": give_away} | judged


def _number(pipeline: Pipeline) -> int | None:
    return None if pipeline.draw is None else pipeline.draw.number


def _write_protection(pipeline: Pipeline, folder: Path) -> None:
    """Write what the protection of values changed, in aggregates."""
    if pipeline.protected is not None:
        write_json(folder / PROTECTION, pipeline.protected.result.to_json())


def _write_labels(pipeline: Pipeline, folder: Path) -> None:
    """Write the labels of the kept records, in random order."""
    if pipeline.anonymized is None:
        return
    labels = pipeline.anonymized.labels.to_table()
    order = rng_for(pipeline.seed, "order", "labels").permutation(len(labels))
    write_table(labels.take(order), folder / LABELS)
    write_json(folder / ANONYMIZATION, pipeline.anonymized.result.to_json())


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
        "explanation": pipeline.explanation.text if pipeline.explanations else None,
        "differential_privacy": pipeline.is_private,
    }
    if kind == "run":
        anonymized = pipeline.anonymized is not None
        facts = TableFacts.of(pipeline.table, pipeline.control, pipeline.synthetic, anonymized=anonymized)
        said["table"] = facts.to_json()
        said["columns"] = stated_columns(pipeline.synthetic.schema)
    whole = manifest | said
    write_json(folder / MANIFEST, whole if private_dir is None else sealed(whole, private_dir))
