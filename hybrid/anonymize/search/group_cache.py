"""Cache of groupings, from which coarser nodes are grouped at less cost."""

from __future__ import annotations

import importlib
import sys
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType

import numpy as np

from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.search.distinct_rows import DistinctRows
from hybrid.anonymize.search.lattice import Lattice, Node
from hybrid.base.arrays import Codes, Counts, Leaves, Mask, Numbers, Rows
from hybrid.base.keys import by_first_row, fits, group_rows, group_sums, pack

_KEPT = 1 << 20
"""Rows of all kept bases of one table together, where there are more than two."""
_LONG = 1 << 24
"""Reading so many rows takes about as long as loading the compiled loops."""
_SPARSE = 16
"""Class numbers may have holes: counting in a table of so many places per row is faster than numbering them anew."""


@dataclass(frozen=True)
class SensitivePairs:
    """Combinations of row and value of one sensitive column in the rows of a base, and their counts."""

    rows: Rows
    values: Codes
    counts: Counts | Numbers

    def joined(self, row_of: Rows, n_rows: int, reference: Numbers) -> SensitivePairs:
        """The pairs when rows become the rows ``row_of``, numbered 0..n_rows-1."""
        joined = Histogram.of(row_of[self.rows], self.values, self.counts, n_rows, reference)
        return SensitivePairs(joined.classes, joined.values, joined.counts)


@dataclass(frozen=True)
class Grouping:
    """Records grouped at a node, to check any node at or above it."""

    leaves: Leaves
    """Leaf ids of one representative record per group; shape (n_qi, n), uint16 or int32."""
    counts: Numbers
    """Records per row; shape (n,), float64."""
    population: Numbers | None
    """People of the population per row; shape (n,), float64."""
    sensitive: Mapping[str, SensitivePairs]
    """Sensitive values per row."""
    shown: Numbers | None
    """Persons whom this row stands for (:class:`~hybrid.anonymize.search.person_rows.PersonRows`); None: each record is
    another person; shape (n,), float64."""
    parent: Grouping | None
    """The finer base that this one was made from; None: its rows are the distinct rows."""
    row_of: Rows
    """Row here of each row of the parent; shape (n of the parent or of the distinct rows,), int64."""
    _columns: dict[tuple[int, int], Codes] = field(default_factory=dict, repr=False)
    _richness: dict[str, Counts] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def of_distinct(self) -> Rows:
        """Row here of each distinct row; shape (n_distinct,), int64."""
        return self.row_of if self.parent is None else self.row_of[self.parent.of_distinct]

    def column(self, at: int, position: int, number_of: Codes) -> Codes:
        """Node number of each row in one column and position, cached, from that of each leaf."""
        if (at, position) not in self._columns:
            self._columns[at, position] = number_of[self.leaves[at]]
        return self._columns[at, position]

    def forget_columns(self) -> None:
        """Free what :meth:`column` cached: the compiled loops do not read it."""
        self._columns.clear()

    def richness(self, attribute: str) -> Counts:
        """Number of different sensitive values in each row; shape (n,), int64."""
        if attribute not in self._richness:
            self._richness[attribute] = np.bincount(self.sensitive[attribute].rows, minlength=len(self))
        return self._richness[attribute]


class GroupCache:
    """Bases of one table, made when they are asked for; the latest are kept."""

    def __init__(self, records: DistinctRows, lattice: Lattice) -> None:
        self.records, self.lattice = records, lattice
        self._kept: OrderedDict[Node, Grouping] = OrderedDict()
        self._numbers: dict[tuple[int, int], tuple[Codes, int]] = {}
        self._rows_read = 0

    def _number_of(self, column: int, position: int) -> tuple[Codes, int]:
        """Node number of each leaf in one column, without holes in this table, and their count."""
        if (column, position) not in self._numbers:
            hierarchy = self.records.hierarchies[column]
            node_of = hierarchy.node_of[:, self.lattice.axes[column][position]]
            occurs = np.zeros(hierarchy.n_nodes, dtype=np.int64)
            occurs[node_of[self.records.occurring[column]]] = 1
            numbers = np.cumsum(occurs) - 1
            self._numbers[column, position] = numbers[node_of], int(numbers[-1]) + 1
        return self._numbers[column, position]

    @property
    def kernels(self) -> ModuleType | None:
        """Compiled loops, if loading them pays, once enough rows were read, or they are loaded anyway.

        A thread waits while another one loads them.
        """
        name = "hybrid.anonymize.search.kernels"
        return importlib.import_module(name) if name in sys.modules or self._rows_read > _LONG else None

    @cached_property
    def tables(self) -> tuple[Codes, Codes, Counts]:
        """Node number of each leaf, for one column and position after the other; where each starts; how many each has.

        Starts and numbers are of shape (n_qi, n_positions).
        """
        shape = len(self.lattice.axes), max(self.lattice.shape)
        starts, sizes = np.zeros(shape, dtype=np.int64), np.ones(shape, dtype=np.int64)
        parts, at = [], 0
        for column, axis in enumerate(self.lattice.axes):
            for position in range(len(axis)):
                number_of, sizes[column, position] = self._number_of(column, position)
                starts[column, position] = at
                parts.append(number_of)
                at += len(number_of)
        return np.concatenate(parts), starts, sizes

    @cached_property
    def _small(self) -> bool:
        """True if the compiled loop can pack all columns into one key."""
        return fits(self._number_of(column, 0)[1] for column in range(len(self.lattice.axes)))

    def leaf_counts(self, base: Grouping, rows: Mask) -> Numbers:
        """Records of some rows of a base per leaf, all columns concatenated."""
        leaves, counts = self.whole.leaves, self.whole.counts
        if self.kernels is not None:
            result: Numbers = self.kernels.leaf_counts(leaves, self.records.leaf_starts, counts, base.of_distinct, rows)
            return result
        chosen = np.flatnonzero(rows[base.of_distinct])
        weights = counts[chosen]
        sizes = np.diff(self.records.leaf_starts)
        return np.concatenate(
            [group_sums(leaf[chosen], weights, size) for leaf, size in zip(leaves, sizes, strict=True)]
        )

    def keeps_apart(self, node: Node) -> bool:
        """True if all values stay different at a node."""
        return all(axis[position] == 0 for axis, position in zip(self.lattice.axes, node, strict=True))

    @cached_property
    def whole(self) -> Grouping:
        records = self.records
        return Grouping(
            leaves=records.leaves,
            counts=records.counts.astype(np.float64),
            population=None if records.population is None else records.population.astype(np.float64),
            sensitive={
                name: SensitivePairs(one.rows, one.values, one.counts) for name, one in records.sensitive.items()
            },
            shown=None if records.rows_are_persons else records.persons.shown,
            parent=None,
            row_of=np.arange(records.n_distinct),
        )

    @cached_property
    def order(self) -> list[int]:
        """Columns, the most diverse first: generalizing those joins most rows."""
        diversity = []
        for counts in self.records.leaf_counts:
            share = counts[counts > 0] / max(counts.sum(), 1)
            diversity.append(float(share @ np.log(share)))
        return list(np.argsort(diversity, kind="stable"))

    def below(self, node: Node) -> Grouping:
        """A base at or below a node: the most diverse column is as there, the others as they came.

        With more columns it would be smaller, but fewer nodes would share it.
        """
        low = list(self.lattice.bottom)
        low[self.order[0]] = node[self.order[0]]
        return self._coarser(self.whole, tuple(low)) if any(low) else self.whole

    def at(self, node: Node) -> Grouping:
        return self._coarser(self.below(node), node)

    def _coarser(self, base: Grouping, low: Node) -> Grouping:
        """Base at ``low``, cached or made from a finer one."""
        if low in self._kept:
            self._kept.move_to_end(low)
            return self._kept[low]
        made = self._kept[low] = self._grouped(base, low)
        while len(self._kept) > 2 and sum(map(len, self._kept.values())) > _KEPT:
            self._kept.popitem(last=False)
        return made

    def _grouped(self, base: Grouping, low: Node) -> Grouping:
        row_of, first = group_rows(*self.classes(base, low))
        n = len(first)
        return Grouping(
            leaves=base.leaves[:, first],
            counts=group_sums(row_of, base.counts, n),
            population=None if base.population is None else group_sums(row_of, base.population, n),
            sensitive={
                name: pairs.joined(row_of, n, self.records.sensitive[name].reference)
                for name, pairs in base.sensitive.items()
            },
            shown=None if base.shown is None else group_sums(row_of, base.shown, n),
            parent=base,
            row_of=row_of,
        )

    def classes(self, base: Grouping, node: Node) -> tuple[Codes, int]:
        """Class of each row of a base at a node at or above it, and a bound of these numbers.

        It is at most :data:`_SPARSE` times the number of rows, or 1024.
        """
        self._rows_read += len(base)
        if self.kernels is not None and self._small:
            base.forget_columns()
            class_of, n_classes = self.kernels.number(base.leaves, np.array(node), *self.tables)
            return class_of, n_classes
        keys, bound = pack(self._columns(base, node), len(base))
        return (keys, bound) if bound <= max(_SPARSE * len(base), 1024) else by_first_row(keys)

    def _columns(self, base: Grouping, node: Node) -> Iterator[tuple[Codes, int]]:
        """Node numbers of each row in columns that vary there, with the number of nodes of each."""
        for column, position in enumerate(node):
            number_of, size = self._number_of(column, position)
            if size > 1:
                yield base.column(column, position, number_of), size
