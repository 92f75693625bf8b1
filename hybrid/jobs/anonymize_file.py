"""Anonymization of tables larger than memory: files, which DuckDB reads, and tables that stay in a warehouse."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from hybrid.anonymize.decide import AnonymizationRequest
from hybrid.anonymize.warehouse.anonymize_files import FileTask, anonymize_files
from hybrid.anonymize.warehouse.anonymize_rows import WarehouseResult, anonymize_rows
from hybrid.base.arrays import Codes, Mask
from hybrid.base.atomic import write_json
from hybrid.base.errors import refuse
from hybrid.base.hashing import fingerprint
from hybrid.base.manifest import MANIFEST, Recorder, build_manifest
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import fresh_seed, rng_for
from hybrid.hierarchy import Hierarchy
from hybrid.jobs.places import LABELS, staged
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.inputs import opened_task
from hybrid.pipeline.placement import exceeds_memory
from hybrid.pipeline.privacy_statements import StatementBasis
from hybrid.pipeline.promises import explain_sampling
from hybrid.pipeline.refusals import FILES, STAYING, refused
from hybrid.pipeline.refusals import LABELS as IN_WAREHOUSE
from hybrid.pipeline.side_tables import load_population
from hybrid.publication.finished_run import ANONYMIZATION
from hybrid.table import Schema
from hybrid.table.file_formats import PARQUET_SUFFIXES
from hybrid.table.files import sha256_of, unchanged
from hybrid.table.parquet_files import PERSON, TRAINING, files_of, persons_beside, rows_of
from hybrid.table.persons import row_limit_mask
from hybrid.table.read_file import parquet_metadata
from hybrid.table.split import control_mask

_WORK = "work"
"""Folder beside the labels for copies and for what DuckDB has no memory for."""
logger = logging.getLogger(__name__)


MANY_ROWS = 500_000
"""Rows of a Parquet file from which DuckDB reads it where it can, in a third of the time; labels are the same bytes."""


def is_for_duckdb(config: RunConfig) -> bool:
    """True for files that DuckDB reads.

    They are larger than the memory limit, or a folder of files, or Parquet of :data:`MANY_ROWS` or more whose
    configuration needs nothing else and where DuckDB is installed.
    """
    file = config.data_file
    if file is None or config.anonymize is None:
        return False
    if exceeds_memory(config):
        return True
    if "more_than_memory" in config.data.accept or file.suffix not in PARQUET_SUFFIXES or not file.info().is_file:
        return False
    is_long = parquet_metadata(file).num_rows >= MANY_ROWS
    return is_long and find_spec("duckdb") is not None and not any(refused(config, FILES))


def write_from_files(config: RunConfig, folder: Path, seed: int | None, progress: Progress = silent) -> WarehouseResult:
    """As :func:`hybrid.jobs.run.write_anonymized`, for files that are larger than the memory limit.

    The configuration is one for which :func:`is_for_duckdb` is true; ``seed`` is that of the split. All of what the
    configuration asks for and needs the whole table in memory is refused at once. After an error, also of a file that
    was changed while it was read, there is no folder.
    """
    refuse(refused(config, FILES))
    assert config.anonymize is not None and config.data_file is not None
    seed = next(known for known in (seed, config.seed, fresh_seed()) if known is not None)
    created, recorder = datetime.now(UTC), Recorder()
    with staged(folder) as temporary:
        work = temporary / _WORK
        work.mkdir(mode=0o700)
        sources = files_of(config.data_file)
        with unchanged(*sources):
            with recorder.stage("copy"):
                rows = rows_of(config.data_file, config.data, work)
                beside = persons_beside(rows, config.data)
                beside |= _training(config, beside.get(PERSON, range(rows.n_rows)), seed)
            known = config.data, config.hierarchy_sources, config.anonymize, load_population(config)
            asked = AnonymizationRequest(rows.source, tuple(rows.schema.names), *known)
            task = FileTask(rows, asked, work, config.anonymize.memory_bytes, beside)
            done = anonymize_files(task, temporary / LABELS, recorder, progress)
        shutil.rmtree(work)
        _write_results(config, temporary, done, recorder, created, seed, sha256_of(sources))
    return done


def _training(config: RunConfig, persons: Sequence[int] | Codes, seed: int) -> dict[str, Mask]:
    """Mask of the training records; none where all are."""
    most, is_split = config.data.max_rows, bool(config.split.control_share)
    if most is None and not is_split:
        return {}
    persons = np.asarray(persons)
    mask = ~control_mask(persons, config.split, rng_for(seed, "split")) if is_split else np.ones(len(persons), bool)
    if most is not None:
        # As of a table in memory: drawn among the training records alone.
        mask[np.flatnonzero(mask)[~row_limit_mask(persons[mask], most, rng_for(seed, "max_rows"))]] = False
    return {TRAINING: mask}


def _write_results(
    config: RunConfig,
    folder: Path,
    done: WarehouseResult,
    recorder: Recorder,
    created: datetime,
    seed: int,
    content: object,
) -> None:
    """Write ``anonymization.json``, and the manifest with a fingerprint of ``content``."""
    decided = done.decided
    write_json(folder / ANONYMIZATION, done.to_json())
    manifest = build_manifest(
        name=config.name,
        config=config,
        seed=seed,
        data_fingerprint=fingerprint(content, decided.task.hierarchies),
        folder=folder,
        stages=recorder.stages,
        created=created,
        kind="anonymization",
    )
    explanation = explanation_of(config, decided.schema, decided.task.hierarchies, nameless=done.nameless)
    write_json(folder / MANIFEST, manifest | {"explanation": explanation})


def explanation_of(config: RunConfig, schema: Schema, hierarchies: Mapping[str, Hierarchy], *, nameless: bool) -> str:
    """Privacy statement about labels of records that are not in memory."""
    derived = [name for name in schema.quasi_identifiers if hierarchies[name].rule]
    seeded = config.seed is not None
    explanation = explain_sampling(StatementBasis(config, schema, derived, seeded=seeded, nameless=nameless))
    assert explanation is not None
    return explanation.text


def write_in_warehouse(config: RunConfig, folder: Path, progress: Progress = silent) -> WarehouseResult:
    """Write labels into the warehouse, and their aggregates into a folder.

    All of what is not done in a warehouse is refused at once. After an error there is no folder.
    """
    refuse(refused(config, STAYING, IN_WAREHOUSE))
    created, recorder = datetime.now(UTC), Recorder()
    with staged(folder) as temporary, opened_task(config, load_population(config)) as task:
        done = anonymize_rows(task, recorder, progress)
        for transfer in done.transfers:
            logger.info("%s: %s", done.engine, transfer.words)
        records = done.decided.task.records
        # Types count in a fingerprint: the same rows keep theirs.
        content = [records.leaves.astype(np.int32), records.counts]
        seed = config.seed if config.seed is not None else fresh_seed()
        _write_results(config, temporary, done, recorder, created, seed, content)
    return done
