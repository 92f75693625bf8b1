"""Decision whether the rows of a table stay in their warehouse: the memory limit makes it."""

from __future__ import annotations

import logging
from importlib.util import find_spec

from hybrid.pipeline.config import RunConfig
from hybrid.table import Role
from hybrid.table.sources.sql import SqlOptions, memory_there
from hybrid.table.warehouse import ENGINE_SHARE, open_warehouse, warehouse_of

logger = logging.getLogger(__name__)


def placed(config: RunConfig) -> RunConfig:
    """Copy of a configuration that says whether the rows stay where they are.

    They do where the table takes more memory than ``anonymize.memory_limit``. The configuration itself, where nothing
    is to be decided: it says so already, its rows are not in a warehouse, or nothing is anonymized.

    Raises
    ------
    HybridError
        As :func:`hybrid.table.warehouse.open_warehouse`.
    """
    place, options = config.data.place, config.anonymize
    if options is None or config.is_linked or config.frame is not None or not isinstance(place, SqlOptions):
        return config
    if place.stays is not None or warehouse_of(place.url_env) is None or find_spec("ibis") is None:
        return config
    assert place.table is not None
    most = options.memory_bytes
    n_quasi = sum(column.role is Role.QUASI_IDENTIFIER for column in config.data.columns.values())
    with open_warehouse(place.url_env, most * ENGINE_SHARE, minutes=place.timeout_minutes) as warehouse:
        need = memory_there(warehouse, place.table, n_quasi)
    if need > most:
        logger.info("%s: about %.1f GiB of memory; the rows stay in the warehouse", place.table, need / 2**30)
    known = config.data.model_copy(update={"sql": place.model_copy(update={"push_down": need > most})})
    return config.model_copy(update={"data": known})
