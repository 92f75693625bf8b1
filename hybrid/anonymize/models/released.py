"""Counts of a released table by pandas group-bys, independent of the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes, Leaves
from hybrid.hierarchy import Hierarchy
from hybrid.table import Table

_SLACK = 1e-9
"""Rounding that comparisons with a threshold forgive, relative to thresholds above 1."""


@dataclass(frozen=True)
class ModelCheck:
    """Level that a table reaches under one privacy model."""

    name: str
    """Such as ``"distinct 2-diversity of 'occupation'"``."""
    reached: float
    """Of the least protected class."""
    threshold: float
    """What was asked for."""
    holds: bool


def at_least(name: str, reached: pd.Series, threshold: float) -> ModelCheck:
    """A check that holds if every class reaches the threshold.

    So it does without classes.
    """
    worst = float(reached.min()) if len(reached) else threshold
    return ModelCheck(name, worst, threshold, worst >= threshold - _SLACK * max(1.0, threshold))


def at_most(name: str, reached: pd.Series, threshold: float) -> ModelCheck:
    """A check that holds if no class exceeds the threshold.

    So it does without classes.
    """
    worst = float(reached.max()) if len(reached) else threshold
    return ModelCheck(name, worst, threshold, worst <= threshold + _SLACK * max(1.0, threshold))


def below(name: str, reached: pd.Series, threshold: float) -> ModelCheck:
    """A check that holds if every class stays below the threshold.

    So it does without classes.
    """
    worst = float(reached.max()) if len(reached) else threshold
    return ModelCheck(name, worst, threshold, not len(reached) or worst < threshold)


def frame_of(table: Table | pd.DataFrame) -> pd.DataFrame:
    """The records of a table as a data frame."""
    return table.frame if isinstance(table, Table) else table


def equivalence_classes(table: Table | pd.DataFrame, quasi_identifiers: Sequence[str]) -> tuple[Codes, int]:
    """Records with equal quasi-identifiers.

    Parameters
    ----------
    table : Table or pandas.DataFrame, n records
        Any table. A missing value is a category of its own.
    quasi_identifiers : sequence of str
        Columns that an attacker knows. None: all records are alike.

    Returns
    -------
    classes : numpy.ndarray, shape (n,), int64
        Class of each record, 0..n_classes-1.
    n_classes : int
        How many there are.
    """
    frame = frame_of(table)
    if not len(frame) or not quasi_identifiers:
        return np.zeros(len(frame), dtype=np.int64), min(len(frame), 1)
    groups = frame.groupby(list(quasi_identifiers), dropna=False, observed=True, sort=False)
    classes = groups.ngroup().to_numpy()
    return classes, int(classes.max()) + 1


@dataclass(frozen=True)
class ClassCounts:
    """Records per class and sensitive value of a released table.

    Parameters
    ----------
    cells : pandas.DataFrame
        One row per class and value that occurs: ``class`` and ``value`` (numbers), ``records``, ``size`` (records of
        the class), ``share`` (records / size, in (0, 1]) and ``overall`` (share of the value in the whole table).
    overall : pandas.Series, length n_values
        Share of each value in the whole table, by value number; values are numbered in their order, a missing one
        last.
    hierarchy : Hierarchy or None
        Of the sensitive column.
    leaves : numpy.ndarray, shape (n_values,), int, or None
        Leaf of each value in the hierarchy.
    """

    cells: pd.DataFrame
    overall: pd.Series
    hierarchy: Hierarchy | None = None
    leaves: Leaves | None = None

    @classmethod
    def of(
        cls, records: pd.DataFrame, overall: pd.Series, hierarchy: Hierarchy | None = None, leaves: Leaves | None = None
    ) -> ClassCounts:
        """Add up rows of ``class``, ``value`` and ``records``."""
        cells = records.groupby(["class", "value"], sort=True)["records"].sum().reset_index()
        cells["size"] = cells.groupby("class")["records"].transform("sum")
        cells["share"] = cells["records"] / cells["size"]
        cells["overall"] = cells["value"].map(overall)
        return cls(cells, overall, hierarchy, leaves)

    def per_class(self, column: pd.Series) -> pd.core.groupby.SeriesGroupBy:
        """One column of numbers per cell, grouped by class."""
        return column.groupby(self.cells["class"])
