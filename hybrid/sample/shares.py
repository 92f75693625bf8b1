"""Shares of declared groups before and after sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Rows
from hybrid.base.errors import DataError
from hybrid.sample.strata import require_columns
from hybrid.table import Table

MOST_GROUPS = 50
"""Largest number of groups a column may have for its shares to be reported."""


@dataclass(frozen=True)
class GroupShare:
    """Share of a group before and after sampling.

    Of the records, in [0, 1]. An aggregate for reports.
    """

    column: str
    group: str
    before: float
    after: float


def group_shares(table: Table, kept: Rows | None, columns: Sequence[str]) -> tuple[GroupShare, ...]:
    """Shares of every group of some columns.

    Parameters
    ----------
    table : Table
        The records before sampling.
    kept : numpy.ndarray, shape (n_kept,), int, or None
        Positions of the kept records; None: all.
    columns : sequence of str
        The declared columns.

    Raises
    ------
    ConfigError
        A column does not exist.
    DataError
        A column has more than :data:`MOST_GROUPS` groups.
    """
    require_columns(table, columns, "sample.groups")
    shares: list[GroupShare] = []
    for name in columns:
        codes, groups = pd.factorize(table.frame[name], sort=True, use_na_sentinel=True)
        codes = np.where(codes < 0, len(groups), codes)
        if len(groups) > MOST_GROUPS:
            raise DataError(
                f"sample.groups: column {name!r} has {len(groups)} groups; at most {MOST_GROUPS} can be reported",
                hint="declare columns with few groups",
            )
        before = np.bincount(codes, minlength=len(groups) + 1) / max(len(codes), 1)
        chosen = codes if kept is None else codes[kept]
        after = np.bincount(chosen, minlength=len(groups) + 1) / max(len(chosen), 1)
        names = [*map(str, groups), "(missing)"]
        shares.extend(
            GroupShare(name, group, float(b), float(a)) for group, b, a in zip(names, before, after, strict=True) if b
        )
    return tuple(shares)
