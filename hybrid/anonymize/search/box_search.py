"""Search of one box of lattice nodes by compiled loops.

Its rows are grouped at its lowest node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hybrid.anonymize.search.lattice import Node
from hybrid.anonymize.search.losses import Loss, RowCosts
from hybrid.anonymize.search.merged_tables import MergedTables
from hybrid.base.keys import group_rows, group_sums

if TYPE_CHECKING:
    from hybrid.anonymize.search.box_kernels import Table

_WORK = 1 << 24
"""Rows to read in one box before what is left is given back: some ten milliseconds."""
_READS = 64
"""Times that the rows of a box may be read at least, so that merging them pays."""
_MEMORY = 1 << 28
"""Bytes for the rows of all boxes on a path."""
_LEFT = 1 << 12
"""Boxes that one search gives back at most, beside those on its path."""
_DEEPER = 0.25
"""Part of the gap by which a box's bound may rise before it is given back, for others of less bound."""


@dataclass(frozen=True)
class Box:
    """Nodes from ``low`` to ``high``; none has a smaller loss than ``least``."""

    low: Node
    high: Node
    least: float


@dataclass(frozen=True)
class BoxSearch:
    """Search of the boxes of one lattice.

    Parameters
    ----------
    tables : MergedTables
        Table, lattice and k. Its other models are not looked at: what they suppress comes on top.
    costs : RowCosts
        Bound of the loss by suppressed rows.
    work : int
        Rows to read per box, at least; 0: it is cut once.
    allowed : int
        Records that may be suppressed.
    reads : int
        Times that the rows of a box may be read at least, where ``work`` is not 0.
    """

    tables: MergedTables
    costs: RowCosts
    work: int
    allowed: int
    reads: int = _READS

    @classmethod
    def of(cls, tables: MergedTables, loss: Loss, allowed: int) -> BoxSearch:
        """Search for a loss.

        One that is no sum over columns is bounded by its nodes alone, after each cut.
        """
        costs = loss.by_row()
        if costs is not None:
            return cls(tables, costs, _WORK, allowed)
        starts = np.cumsum([0, *tables.whole.lattice.shape])
        return cls(tables, RowCosts.of(np.zeros(starts[-1]), starts, 0.0, []), 0, allowed)

    def explore(self, box: Box, value: float, forbidden: Sequence[Node]) -> tuple[list[Box], int]:
        """Cut a box until little is left.

        Parameters
        ----------
        box : Box
            More than a single node.
        value : float
            Nodes of this loss or more are of no use.
        forbidden : sequence of Node
            No node at or below one of these is feasible.

        Returns
        -------
        boxes : list of Box
            They hold each feasible node of a smaller loss.
        n_grouped : int
            How many nodes were grouped.
        """
        from hybrid.anonymize.search import box_kernels

        table, n_columns = self._table(box.low), len(box.low)
        depth = max(1, min(sum(box.high) - sum(box.low), _MEMORY // (8 * len(table.weights))))
        stack = box_kernels.make_stack(
            len(table.weights), n_columns, len(self.costs.terms), int(table.sizes.max()), depth
        )
        ends = np.empty((2, _LEFT + depth, n_columns), np.int64)
        left = box_kernels.Boxes(ends[0], ends[1], np.empty(_LEFT + depth))
        deeper = box.least + _DEEPER * (value - box.least)
        limits = box_kernels.Limits(
            k=float(self.tables.whole.k),
            allowed=float(self.allowed),
            value=self.costs.joined(value),
            deeper=self.costs.joined(deeper),
            work=float(max(self.work, self.reads * len(table.weights)) if self.work else 0),
        )
        costs = box_kernels.Costs(
            self.costs.terms, self.costs.starts, self.costs.more, self.costs.more_starts, self.costs.root > 0
        )
        never = np.array(forbidden, dtype=np.int64).reshape(-1, n_columns)
        never = never[(never >= box.low).all(axis=1)]
        n, n_grouped = box_kernels.explore(
            table, costs, limits, never, np.array(box.low), np.array(box.high), stack, left
        )
        found = zip(left.low[:n].tolist(), left.high[:n].tolist(), left.least[:n].tolist(), strict=True)
        boxes = [Box(tuple(low), tuple(high), max(box.least, self.costs.loss(one))) for low, high, one in found]
        return boxes, n_grouped

    def _table(self, low: Node) -> Table:
        """The rows that differ at the lowest node."""
        from hybrid.anonymize.search.box_kernels import Table

        bases = self.tables.at(low).bases
        whole = bases.whole
        if bases.keeps_apart(low):
            return Table(whole.leaves, whole.counts, *bases.tables)
        row_of, first = group_rows(*bases.classes(whole, low))
        weights = group_sums(row_of, whole.counts, len(first))
        return Table(np.ascontiguousarray(whole.leaves[:, first]), weights, *bases.tables)
