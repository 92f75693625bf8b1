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
from hybrid.table.holders import holders, row_holders

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
    people: int
    """People of the group, before or after sampling, whichever is fewer."""


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
    whose = row_holders(table)
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
        there = holders(chosen, len(names), whose if whose is None or kept is None else whose[kept])
        people = np.minimum(holders(codes, len(names), whose), there)
        found = zip(names, before.tolist(), after.tolist(), people.tolist(), strict=True)
        shares.extend(GroupShare(name, *one) for one in found if one[1])
    return tuple(shares)
