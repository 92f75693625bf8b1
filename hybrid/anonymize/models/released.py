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
    """A check that holds if every class reaches the threshold, as without classes."""
    worst = float(reached.min()) if len(reached) else threshold
    return ModelCheck(name, worst, threshold, worst >= threshold - _SLACK * max(1.0, threshold))


def at_most(name: str, reached: pd.Series, threshold: float) -> ModelCheck:
    """A check that holds if no class exceeds the threshold, as without classes."""
    worst = float(reached.max()) if len(reached) else threshold
    return ModelCheck(name, worst, threshold, worst <= threshold + _SLACK * max(1.0, threshold))


def below(name: str, reached: pd.Series, threshold: float) -> ModelCheck:
    """A check that holds if every class stays below the threshold, as without classes."""
    worst = float(reached.max()) if len(reached) else threshold
    return ModelCheck(name, worst, threshold, not len(reached) or worst < threshold)


def frame_of(table: Table | pd.DataFrame) -> pd.DataFrame:
    return table.frame if isinstance(table, Table) else table


def equivalence_classes(table: Table | pd.DataFrame, quasi_identifiers: Sequence[str]) -> tuple[Codes, int]:
    """Class of each record, 0..n_classes-1, and n_classes: records with equal quasi-identifiers.

    A missing value is a category of its own. Without quasi-identifiers all records are alike.
    """
    frame = frame_of(table)
    if not len(frame) or not quasi_identifiers:
        return np.zeros(len(frame), dtype=np.int64), min(len(frame), 1)
    groups = frame.groupby(list(quasi_identifiers), dropna=False, observed=True, sort=False)
    classes = groups.ngroup().to_numpy()
    return classes, int(classes.max()) + 1


@dataclass(frozen=True)
class ClassCounts:
    """Records per class and sensitive value of a released table."""

    cells: pd.DataFrame
    """One row per class and value that occurs: ``class`` and ``value`` (numbers), ``records``, ``size`` (records of the
    class), ``share`` (records / size, in (0, 1]) and ``overall`` (share of the value in the whole table)."""
    overall: pd.Series
    """Share of each value in the whole table, by value number; values are numbered in their order, a missing one last;
    length n."""
    hierarchy: Hierarchy | None = None
    """Of the sensitive column."""
    leaves: Leaves | None = None
    """Leaf of each value in the hierarchy; shape (n_values,), int."""
    held: pd.DataFrame | None = None
    """Where records share persons: ``class``, ``person`` and ``value`` of each person with a key, each once. Then
    ``records`` and ``size`` count persons, of whom every record is a part."""

    @classmethod
    def of(
        cls, records: pd.DataFrame, overall: pd.Series, hierarchy: Hierarchy | None = None, leaves: Leaves | None = None
    ) -> ClassCounts:
        """Add up rows of ``class``, ``value`` and ``records``, with ``person`` where records share persons."""
        held = None
        if "person" in records:
            counted = records.groupby(["class", "person"])["records"].transform("sum")
            held = records.loc[records["person"] >= 0, ["class", "person", "value"]].drop_duplicates()
            records = records.assign(records=records["records"] / counted)
        cells = records.groupby(["class", "value"], sort=True)["records"].sum().reset_index()
        cells["size"] = cells.groupby("class")["records"].transform("sum")
        cells["share"] = cells["records"] / cells["size"]
        cells["overall"] = cells["value"].map(overall)
        return cls(cells, overall, hierarchy, leaves, held)

    def per_class(self, column: pd.Series) -> pd.core.groupby.SeriesGroupBy:
        """One column of numbers per cell, grouped by class."""
        return column.groupby(self.cells["class"])

    def different(self) -> pd.Series:
        """Number of different values of each class; where records share persons, of persons that differ in pairs.

        Those are counted by a maximum flow from persons to values, each of capacity one (Dinic's algorithm): as many as
        the largest matching (König's theorem).
        """
        if self.held is None:
            return self.per_class(self.cells["value"]).nunique()
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        held, classes = self.held, self.cells["class"].unique()
        member = held.groupby(["class", "person"]).ngroup().to_numpy()
        value = held.groupby(["class", "value"]).ngroup().to_numpy()
        n, m = int(member.max(initial=-1)) + 1, int(value.max(initial=-1)) + 1
        source, sink = n + m, n + m + 1
        start = np.concatenate([np.full(n, source), member, n + np.arange(m)])
        end = np.concatenate([np.arange(n), n + value, np.full(m, sink)])
        graph = csr_array((np.ones(len(start), dtype=np.int32), (start, end)), shape=(n + m + 2, n + m + 2))
        flow = maximum_flow(graph, source, sink, method="dinic").flow.tocoo()
        leaves = (flow.row == source) & (flow.data > 0)
        matched = pd.Series(held["class"].to_numpy(), index=member).groupby(level=0).first()[flow.col[leaves]]
        return matched.value_counts().reindex(classes, fill_value=0)
