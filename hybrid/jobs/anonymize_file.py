"""Anonymization of tables larger than memory: Parquet files in a stream, and tables that stay in a warehouse."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from hybrid.anonymize.streaming.anonymize_batches import FileTask, StreamedResult, anonymize_file
from hybrid.anonymize.warehouse.anonymize_rows import WarehouseResult, anonymize_rows
from hybrid.base.arrays import Codes, Mask
from hybrid.base.atomic import write_json
from hybrid.base.errors import ConfigError, DataError
from hybrid.base.hashing import fingerprint
from hybrid.base.manifest import MANIFEST, Recorder, build_manifest
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import fresh_seed, rng_for
from hybrid.hierarchy import Hierarchy
from hybrid.jobs.run import LABELS, staged
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.guarantees import explain_sampling
from hybrid.pipeline.inputs import opened_task
from hybrid.pipeline.refusals import LABELS as IN_WAREHOUSE
from hybrid.pipeline.refusals import PUSHED, refused
from hybrid.publication.finished_run import ANONYMIZATION
from hybrid.table import Schema
from hybrid.table.persons import row_limit_mask
from hybrid.table.read_batches import is_parquet, open_parquet, person_column
from hybrid.table.split import control_mask


def why_not_streamed(config: RunConfig) -> str | None:
    """Reason to anonymize a table in memory; None if it is streamed."""
    file, options = config.data_file, config.anonymize
    if file is None or options is None or not is_parquet(file):
        return "only Parquet files are streamed"
    if not options.generalizes:
        return "anonymize.technique looks at all records"
    if options.engine != "exact":
        return f"engine {options.engine} needs the whole table"
    if config.protection is not None:
        return "protection compares the values of all records (protect: off streams, with every value as it is)"
    if config.split.control_share and (config.split.stable or (config.split.key and not config.data.person_columns)):
        return "split.key and split.stable compare all records"
    if config.data.household_columns:
        return "data.household compares all rows of a household"
    if config.sample.effective.order == "pre":
        return "sample.order: pre draws from the whole table"
    if options.loss.name == "association":
        return "anonymize.loss: association looks at all columns"
    if options.known_rows > 1:
        return "anonymize.known_rows compares all rows of a person"
    return None


def write_streamed(config: RunConfig, folder: Path, seed: int | None, progress: Progress = silent) -> StreamedResult:
    """As :func:`hybrid.jobs.run.write_anonymized`, for Parquet files, which are streamed.

    Parameters
    ----------
    config : RunConfig
        One for which :func:`why_not_streamed` is None.
    folder : Path
        For the labels, ``anonymization.json`` and the manifest.
    seed : int or None
        Seed of the split and of the records' order; None: the config's, or a fresh random one.
    progress : Progress
        Called as each pass advances.

    Raises
    ------
    HybridError
        As :func:`~hybrid.anonymize.streaming.anonymize_batches.anonymize_file`; the file was changed while it was
        read. Then there is no folder.
    """
    assert config.anonymize is not None and config.data_file is not None
    seed = next(known for known in (seed, config.seed, fresh_seed()) if known is not None)
    rows = open_parquet(config.data_file, config.data)
    before, created, recorder = rows.state(), datetime.now(UTC), Recorder()
    names = config.data.person_columns
    persons = person_column(rows, config.data, names) if names else np.empty(0, dtype=np.int64)
    task = FileTask(
        rows=rows,
        data=config.data,
        hierarchies=config.hierarchy_sources,
        options=config.anonymize,
        memory=config.anonymize.memory_bytes,
        training=_training(config, rows.n_rows, persons, seed),
        population=config.load_population(),
        persons=persons,
    )
    with staged(folder) as temporary:
        streamed = anonymize_file(task, temporary / LABELS, seed, recorder, progress)
        if rows.state() != before:
            raise DataError(
                f"{rows.source}: the file was changed while it was read", hint="run again when it is complete"
            )
        write_json(temporary / ANONYMIZATION, streamed.to_json())
        manifest = build_manifest(
            name=config.name,
            config=config,
            seed=seed,
            data_fingerprint=fingerprint(rows.sha256(), streamed.hierarchies),
            folder=temporary,
            stages=recorder.stages,
            created=created,
            kind="anonymization",
        )
        explanation = explanation_of(config, streamed.schema, streamed.hierarchies)
        write_json(temporary / MANIFEST, manifest | {"explanation": explanation})
    return streamed


def _training(config: RunConfig, n_rows: int, persons: Codes, seed: int) -> Mask | None:
    """Mask of the training records; None for all."""
    most, training = config.data.max_rows, None
    if config.split.control_share:
        training = ~control_mask(persons if len(persons) else np.arange(n_rows), config.split, rng_for(seed, "split"))
    if not len(persons) or most is None:
        return training
    mask = np.ones(n_rows, dtype=bool) if training is None else training
    # As of a table in memory: drawn among the training records alone.
    chosen = np.flatnonzero(mask)[row_limit_mask(persons[mask], most, rng_for(seed, "max_rows"))]
    limited = np.zeros(n_rows, dtype=bool)
    limited[chosen] = True
    return limited


def explanation_of(config: RunConfig, schema: Schema, hierarchies: Mapping[str, Hierarchy]) -> str:
    """Privacy statement about labels of records that are not in memory."""
    derived = [name for name in schema.quasi_identifiers if hierarchies[name].rule]
    explanation = explain_sampling(config, schema, derived, nameless=False, seeded=config.seed is not None)
    assert explanation is not None
    return explanation.text


logger = logging.getLogger(__name__)


def write_in_warehouse(config: RunConfig, folder: Path, progress: Progress = silent) -> WarehouseResult:
    """Write labels into the warehouse, and their aggregates into a folder.

    Parameters
    ----------
    config : RunConfig
        With ``data.sql.push_down``.
    folder : Path
        For ``anonymization.json`` and the manifest.
    progress : Progress
        Called as each stage begins.

    Raises
    ------
    ConfigError
        The configuration asks for what is not done in a warehouse; all problems at once.
    HybridError
        As :func:`~hybrid.anonymize.warehouse.anonymize_rows.anonymize_rows`. Then there is no folder.
    """
    problems = list(refused(config, PUSHED, IN_WAREHOUSE))
    if problems:
        raise ConfigError(problems)
    created, recorder = datetime.now(UTC), Recorder()
    with staged(folder) as temporary, opened_task(config, config.load_population()) as task:
        done = anonymize_rows(task, recorder, progress)
        for transfer in done.transfers:
            logger.info("%s: %s", done.engine, transfer.words)
        write_json(temporary / ANONYMIZATION, done.to_json())
        decided = done.decided
        manifest = build_manifest(
            name=config.name,
            config=config,
            seed=config.seed if config.seed is not None else fresh_seed(),
            data_fingerprint=fingerprint(decided.task.records.leaves, decided.task.records.counts),
            folder=temporary,
            stages=recorder.stages,
            created=created,
            kind="anonymization",
        )
        explanation = explanation_of(config, decided.schema, decided.task.hierarchies)
        write_json(temporary / MANIFEST, manifest | {"explanation": explanation})
    return done
