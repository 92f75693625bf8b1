"""Decision whether the rows of a table stay in their source, a warehouse or a file: the memory limit makes it."""

from __future__ import annotations

import logging
from importlib.util import find_spec

from hybrid.anonymize.options import AnonymizeOptions
from hybrid.pipeline.config import RunConfig
from hybrid.table import Role
from hybrid.table.parquet_files import files_below
from hybrid.table.read_file import memory_need, reads_parts
from hybrid.table.sources.sql import SqlOptions, memory_there
from hybrid.table.warehouse import ENGINE_SHARE, open_warehouse, warehouse_of

logger = logging.getLogger(__name__)


def placed(config: RunConfig) -> RunConfig:
    """Copy of a configuration that says whether the rows stay where they are; itself, where they are read.

    They stay where the table takes more memory than ``anonymize.memory_limit``, and where something is anonymized.

    Raises
    ------
    HybridError
        As :func:`hybrid.table.warehouse.open_warehouse` and :func:`hybrid.table.read_file.memory_need`.
    """
    options, place = config.anonymize, config.data.place
    if options is None or config.is_linked or config.frame is not None or config.rows_stay:
        return config
    if config.data_file is not None:
        stay = exceeds_memory(config) and (find_spec("duckdb") is not None or not config.data_file.info().is_file)
    else:
        stay = isinstance(place, SqlOptions) and _exceeds_memory(place, config, options)
    return config.with_rows_there() if stay else config


def exceeds_memory(config: RunConfig) -> bool:
    """True for CSV and Parquet that take more memory than the limit, and for a folder of Parquet files."""
    file, options = config.data_file, config.anonymize
    if file is None or options is None or not reads_parts(file):
        return False
    if "more_than_memory" in config.data.accept or not file.info().is_file:
        return bool(files_below(file))
    need = memory_need(file, config.data, _quasi_identifiers(config))
    return _is_more(str(file), need, options)


def _exceeds_memory(place: SqlOptions, config: RunConfig, options: AnonymizeOptions) -> bool:
    if place.stays is not None or warehouse_of(place.url_env) is None or find_spec("ibis") is None:
        return False
    assert place.table is not None
    with open_warehouse(place.url_env, options.memory_bytes * ENGINE_SHARE, minutes=place.timeout_minutes) as warehouse:
        need = memory_there(warehouse, place.table, _quasi_identifiers(config))
    return _is_more(place.table, need, options)


def _quasi_identifiers(config: RunConfig) -> int:
    return len(config.data.having(Role.QUASI_IDENTIFIER))


def _is_more(source: str, need: float, options: AnonymizeOptions) -> bool:
    if need <= options.memory_bytes:
        return False
    logger.info("%s: about %.1f GiB of memory; the rows stay there", source, need / 2**30)
    return True
