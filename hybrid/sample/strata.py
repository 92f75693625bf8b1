"""Strata: groups of records that are sampled separately."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybrid.base.arrays import Codes
from hybrid.base.errors import ConfigError
from hybrid.sample.options import SampleOptions
from hybrid.table import Table


def strata_of(table: Table, options: SampleOptions) -> Codes:
    """Stratum of each record by its columns, numbered from 0."""
    if options.method != "stratified":
        return np.zeros(len(table), dtype=np.int64)
    if options.by == "equivalence_class":
        raise ConfigError(
            "sample.by is equivalence_class, but the records are not anonymized and have no classes",
            hint="set sample.by to column names, or sample.method: beta",
        )
    require_columns(table, options.by, "sample.by")
    strata: Codes = table.frame.groupby(options.by, dropna=False, observed=True, sort=False).ngroup().to_numpy()
    return strata


def require_columns(table: Table, names: Sequence[str], key: str) -> None:
    """Raise ConfigError if a table lacks the columns of a key.

    ``key`` is the configuration key that names them.
    """
    unknown = [name for name in names if name not in table.schema]
    if unknown:
        raise ConfigError(
            f"{key} names columns that the data does not have (or that are identifiers): {', '.join(unknown)}",
            hint=f"use some of: {', '.join(table.schema.names)}",
        )
