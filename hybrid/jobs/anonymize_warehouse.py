"""Anonymization of tables that stay in a warehouse."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from hybrid.anonymize.models.protocol import SensitiveModel
from hybrid.anonymize.warehouse.anonymize_rows import PushedDown, TableTask, anonymize_rows
from hybrid.base.atomic import write_json
from hybrid.base.errors import ConfigError, Problem
from hybrid.base.hashing import fingerprint
from hybrid.base.manifest import MANIFEST, Recorder, build_manifest
from hybrid.base.progress import Progress, silent
from hybrid.base.rng import fresh_seed
from hybrid.jobs.anonymize_file import explanation_of, memory_limit
from hybrid.jobs.run import staged
from hybrid.pipeline.config import RunConfig
from hybrid.publication.finished_run import ANONYMIZATION
from hybrid.table.sources.sql import SqlOptions
from hybrid.table.warehouse import opened

_ENGINE_SHARE = 0.5
"""Share of the memory limit that an engine in this process (DuckDB) may take."""
logger = logging.getLogger(__name__)


def is_pushed_down(config: RunConfig) -> bool:
    """True if the rows stay in the warehouse."""
    place = config.data.place
    return isinstance(place, SqlOptions) and place.push_down


def write_in_warehouse(config: RunConfig, folder: Path, progress: Progress = silent) -> PushedDown:
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
    problems = list(_unsupported(config))
    if problems:
        raise ConfigError(problems)
    assert config.anonymize is not None
    created, recorder, memory = datetime.now(UTC), Recorder(), memory_limit(config.anonymize)
    with staged(folder) as temporary, opened(config.data.place.url_env, memory * _ENGINE_SHARE) as warehouse:
        task = TableTask(
            warehouse=warehouse,
            data=config.data,
            hierarchies=config.hierarchy_sources,
            options=config.anonymize,
            memory=memory * (1 - _ENGINE_SHARE),
            population=config.load_population(),
        )
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


def _unsupported(config: RunConfig) -> Iterator[Problem]:
    """Sections that need the records here."""
    options, data = config.anonymize, config.data
    rule = "data.sql.push_down"
    if options is None:
        yield Problem(f"{rule} needs an anonymize section", "add one, with k and the quasi-identifiers")
        return
    if not options.generalizes:
        yield Problem(f"{rule}: anonymize.technique looks at all records", "leave technique out")
    if options.engine != "exact":
        yield Problem(f"{rule}: engine {options.engine} needs the whole table", "use anonymize.engine: exact")
    if options.recoding != "global":
        yield Problem(f"{rule}: local recoding is not done in a warehouse", "use anonymize.recoding: global")
    if options.known_rows > 1:
        yield Problem(f"{rule}: anonymize.known_rows compares all rows of a person", "leave known_rows out")
    if data.person_columns and any(isinstance(model, SensitiveModel) for model in options.models):
        yield Problem(
            f"{rule}: models of sensitive columns compare the values of each person (data.person)",
            "leave anonymize.models out, or set data.person: none where each row is another person",
        )
    for key in ("max_rows", "household_columns", "order"):
        if getattr(data, key):
            name = key.removesuffix("_columns")
            yield Problem(f"{rule}: data.{name} compares all rows of a person", f"leave data.{name} out")
    if config.protection is not None:
        yield Problem(
            f"{rule}: protection compares the values of all records",
            "set protect: off: columns that are no quasi-identifiers are then copied as they are",
        )
    if config.split.control or config.split.release or config.split.rows:
        yield Problem(
            f"{rule}: every row of the table is anonymized", "set split.control: 0, and no other key of split"
        )
    if config.sample.effective.order == "pre":
        yield Problem(f"{rule}: sample.order: pre draws from the whole table", "leave sample.order out")
    if config.privacy is not None:
        yield Problem(f"{rule} is about labels, and privacy.mode: dp about none", "leave privacy out")
