"""Households of the persons of a table.

The members of a household know each other and are known together: split and samples keep them together, and who
recognizes one of them has recognized the household.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes
from hybrid.base.errors import ConfigError, DataError
from hybrid.table.persons import person_codes, person_groups
from hybrid.table.schema import Table


def with_households(table: Table, names: Sequence[str]) -> Table:
    """The table with the household of each row.

    Parameters
    ----------
    table : Table, n rows
        With the key columns, and with its persons where rows share them.
    names : sequence of str
        Columns whose values together name a household; none: the table stays as it is. Rows without a key are a
        household of their own, with all rows of their person.

    Raises
    ------
    ConfigError
        A column does not exist.
    DataError
        Persons are in more than one household.
    """
    if not names:
        return table
    unknown = [name for name in names if name not in table.schema]
    if unknown:
        raise ConfigError(
            f"data.household names columns that the data does not have: {', '.join(map(repr, unknown))}",
            hint=f"use some of: {', '.join(table.schema.names)}",
        )
    households = person_codes([pd.factorize(table.frame[name])[0].astype(np.int64) for name in names])
    if table.persons is not None:
        persons = person_groups(table.persons)
        households = np.where(households < 0, -1 - persons, households)
        pairs = pd.DataFrame({"person": persons, "household": households}).drop_duplicates()
        moved = int(pairs["person"].duplicated().sum())
        if moved:
            raise DataError(
                f"data.household: {moved:,} times a person is in another household than in its first row",
                hint="give every row of a person the household of one date, or leave data.household out",
            )
    return replace(table, households=households)


def kept_together(table: Table) -> Codes | None:
    """Group of each row whose rows are drawn together, 0..n_groups-1.

    Households, or else persons; None where each row stands alone.
    """
    codes = table.persons if table.households is None else table.households
    return None if codes is None else person_groups(codes)
