"""Anonymization of tables that stay in a warehouse."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

from hybrid.anonymize.warehouse.anonymize_rows import WarehouseResult, anonymize_rows
from hybrid.base.atomic import write_json
from hybrid.base.errors import ConfigError
from hybrid.base.hashing import fingerprint
from hybrid.base.manifest import MANIFEST, Recorder, build_manifest
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import fresh_seed
from hybrid.jobs.anonymize_file import explanation_of
from hybrid.jobs.run import staged
from hybrid.pipeline.config import RunConfig
from hybrid.pipeline.refusals import LABELS, PUSHED, refused
from hybrid.pipeline.warehouse_inputs import opened_task
from hybrid.publication.finished_run import ANONYMIZATION

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
    problems = list(refused(config, PUSHED, LABELS))
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
