"""Label table: quasi-identifiers as nodes of their hierarchies; levels in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hybrid.base.arrays import Mask, Nodes, Rows
from hybrid.hierarchy.intervals import plain
from hybrid.hierarchy.spec import DatesSpec, IntervalsSpec, MaskSpec
from hybrid.hierarchy.tree import Hierarchy
from hybrid.table import Column, ColumnFormat, Kind, Schema, Table


@dataclass(frozen=True)
class LabelTable:
    """Records with generalized quasi-identifiers."""

    nodes: Nodes
    """The hierarchy node of every quasi-identifying cell; columns in the order of ``schema.quasi_identifiers``. Nodes
    of different levels may occur in one column (local recoding); shape (n_rows, n_qi), int32."""
    rest: Table
    """All other columns, as they were; and columns beside the schema that a transition reads, too."""
    schema: Schema
    """All columns in the order and the kinds of the original table, without identifiers."""
    hierarchies: Mapping[str, Hierarchy]
    """One per quasi-identifier."""

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def quasi_identifiers(self) -> list[str]:
        """Names of the generalized columns, in the order of :attr:`nodes`' columns."""
        return self.schema.quasi_identifiers

    def take(self, positions: Rows | Mask) -> LabelTable:
        return replace(self, nodes=self.nodes[positions], rest=self.rest.take(positions))

    def to_table(self) -> Table:
        """Records with label texts, as people read them and generators learn them.

        Every quasi-identifier is categorical; its categories are the labels that occur, those of numbers and dates in
        the order of their bounds (``dtype.ordered`` is then True).
        """
        frame: dict[str, pd.Series] = {}
        columns: list[Column] = []
        for column in self.schema:
            if column.name in self.hierarchies:
                at = self.quasi_identifiers.index(column.name)
                frame[column.name] = self._texts(column.name, self.nodes[:, at])
                shape = ColumnFormat(padding=column.format.padding)
                columns.append(replace(column, kind=Kind.CATEGORICAL, format=shape))
            else:
                frame[column.name] = self.rest.frame[column.name]
                columns.append(column)
        return Table(
            pd.DataFrame(frame, index=pd.RangeIndex(len(self))), Schema(tuple(columns)), self.rest.named_persons
        )

    def from_table(self, table: Table) -> LabelTable:
        """Read label texts back, each of which occurs in this table: the inverse of :meth:`to_table`."""
        nodes = np.empty((len(table), len(self.quasi_identifiers)), dtype=np.int32)
        for at, name in enumerate(self.quasi_identifiers):
            present = np.unique(self.nodes[:, at])
            lookup = dict(zip(self._names(name, present), present, strict=True))
            codes, distinct = pd.factorize(table.frame[name], use_na_sentinel=False)
            nodes[:, at] = np.array([lookup[text] for text in distinct], dtype=np.int32)[codes]
        return replace(self, nodes=nodes, rest=table.only(self.rest.schema.names))

    def _texts(self, name: str, nodes: Nodes) -> pd.Series:
        hierarchy = self.hierarchies[name]
        present, codes = np.unique(nodes, return_inverse=True)
        if hierarchy.kind.is_continuous:
            missing = present == (-1 if hierarchy.missing_node is None else hierarchy.missing_node)
            order = np.lexsort((hierarchy.high[present], hierarchy.low[present], missing))
        else:
            order = np.argsort(np.array(self._names(name, present), dtype=object), kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return pd.Series(
            pd.Categorical.from_codes(
                rank[codes.reshape(-1)],
                categories=self._names(name, present[order]),
                ordered=hierarchy.kind.is_continuous,
            )
        )

    def _names(self, name: str, nodes: Nodes) -> list[str]:
        """Label texts of these nodes; nodes that share a text are distinguished by their level."""
        hierarchy = self.hierarchies[name]
        texts = [hierarchy.labels[node] for node in nodes]
        shared = {text for text, n in Counter(texts).items() if n > 1}
        if not shared:
            return texts
        level = hierarchy.level_of()
        return [
            f"{text} (level {level[node]})" if text in shared else text for text, node in zip(texts, nodes, strict=True)
        ]


LEFT_OUT = "left out"
"""At the root: every value reads the same, so that nothing of the column is left."""


def level_words(hierarchy: Hierarchy, level: int, unit: str = "") -> str:
    """Name the groups that a level makes of the values.

    Such as "kept as it is", "groups of 10", "first 3 characters", "by month", "4 groups", "left out". Holds no cell
    value: a width, a number of characters, a period, or a number of groups. With ``unit`` whole numbers are "10-year
    groups" instead of "groups of 10"; ages of 0.2 are not in years.
    """
    if level == hierarchy.n_levels - 1:
        return LEFT_OUT
    if level == 0:
        return "kept as it is"
    rule = hierarchy.rule
    if isinstance(rule, IntervalsSpec) and len(rule.widths) == hierarchy.n_levels - 2:
        width, members = plain(rule.widths[level - 1]), np.bincount(hierarchy.node_of[: hierarchy.missing_leaf, level])
        if width == "1" and (rule.bottom, rule.top) != (None, None) and (members > 1).sum() <= 2:
            return "kept within the ends"  # Whole numbers, of which those beyond an end are one group.
        return f"{width}-{unit} groups" if unit and "." not in width else f"groups of {width}"
    if isinstance(rule, DatesSpec) and len(rule.levels) == hierarchy.n_levels - 2:
        return f"by {rule.levels[level - 1]}"
    if isinstance(rule, MaskSpec) and len(rule.keep) == hierarchy.n_levels - 2:
        kept = rule.keep[level - 1]
        return f"first {kept} characters" if kept > 1 else "first character"
    count = len(set(hierarchy.node_of[: hierarchy.missing_leaf, level].tolist()))
    return f"{count:,} group{'s' if count > 1 else ''}"
