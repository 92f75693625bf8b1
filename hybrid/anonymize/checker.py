"""What a table becomes at a node of the lattice: its classes, and which of them violate a privacy model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hybrid.anonymize.grouping import Tally, first_of_group, mixed_code
from hybrid.anonymize.histogram import Histogram
from hybrid.anonymize.lattice import Lattice, Node
from hybrid.anonymize.models import Model
from hybrid.anonymize.records import Records
from hybrid.arrays import Array

_KEPT = 1 << 22
"""Codes of half the columns that are kept for reuse, in rows of all together (32 MiB)."""
_WITHOUT_HOLES = 64
"""More codes than this are numbered without holes."""


@dataclass(frozen=True)
class Found:
    """What became of the records at one node.

    Parameters
    ----------
    sizes : numpy.ndarray, shape (n_classes or n_distinct,)
        Class sizes, as :attr:`size_of_row` looks them up.
    code : numpy.ndarray, shape (n_distinct,), int64, or None
        Where in ``sizes`` the class of each distinct row is; None: at the row.
    suppressed : numpy.ndarray, shape (n_distinct,), bool
        Rows in classes that violate a model.
    certain : numpy.ndarray, shape (n_distinct,), bool
        Rows that are suppressed at every node below this one too; the same array if all models are record-monotone.
    counts : numpy.ndarray, shape (n_distinct,), float64
        Records per distinct row.
    """

    sizes: Array
    code: Array | None
    suppressed: Array
    certain: Array
    counts: Array

    @cached_property
    def size_of_row(self) -> Array:
        """Records in the class of each distinct row; shape (n_distinct,)."""
        return self.sizes if self.code is None else self.sizes[self.code]

    @cached_property
    def suppressed_counts(self) -> Array:
        """Suppressed records per distinct row; shape (n_distinct,), float64."""
        return self.counts * self.suppressed

    @cached_property
    def certain_counts(self) -> Array:
        """Records per distinct row that are suppressed at every node below too; shape (n_distinct,), float64."""
        return self.suppressed_counts if self.certain is self.suppressed else self.counts * self.certain

    @cached_property
    def n_suppressed(self) -> int:
        """Records in violating classes."""
        return int(self.suppressed_counts.sum())

    @cached_property
    def n_certain(self) -> int:
        """Records that are suppressed at every node below too."""
        return self.n_suppressed if self.certain is self.suppressed else int(self.certain_counts.sum())

    @cached_property
    def class_share(self) -> Array:
        """Part of its class that each distinct row makes up; sums to the number of classes. Shape (n_distinct,)."""
        share: Array = self.counts / np.maximum(self.size_of_row, 1)
        return share

    @cached_property
    def n_groups(self) -> int:
        """Number of classes, violating ones included."""
        return round(float(self.class_share.sum()))

    @cached_property
    def n_kept(self) -> int:
        """Number of classes that hold."""
        return round(float(self.class_share.sum() - self.class_share @ self.suppressed.astype(np.float64)))


@dataclass(frozen=True)
class Checker:
    """Groups the records at a node and finds the classes that violate a model.

    Parameters
    ----------
    records : Records
        The table.
    lattice : Lattice
        Nodes are positions in it.
    k : int
        Least class size.
    population_k : int
        Least number of people of the population in a class (k-map); 0: not asked for.
    models : sequence of Model
        Models on sensitive columns.
    """

    records: Records
    lattice: Lattice
    k: int
    population_k: int = 0
    models: Sequence[Model] = ()
    _codes: dict[tuple[int, int], tuple[Array, int]] = field(default_factory=dict, repr=False)
    _halves: OrderedDict[tuple[int, Node], tuple[Array, int]] = field(default_factory=OrderedDict, repr=False)
    _rich: dict[str, Array] = field(default_factory=dict, repr=False)
    _tally: Tally = field(default_factory=Tally, repr=False)

    def codes(self, at: int, position: int) -> tuple[Array, int]:
        """Node number of each distinct row on one level of one quasi-identifier, and how many numbers there are."""
        if (at, position) not in self._codes:
            node_of = self.records.hierarchies[at].node_of[:, self.lattice.axes[at][position]]
            distinct, dense = np.unique(node_of, return_inverse=True)
            self._codes[at, position] = dense.reshape(-1)[self.records.leaves[at]], len(distinct)
        return self._codes[at, position]

    def code(self, node: Node) -> tuple[Array, int]:
        """Class code of each distinct row at a node, shape (n_distinct,), int64, and the codes' bound."""
        middle = (len(node) + 1) // 2
        halves = self._half(0, node[:middle]), self._half(middle, node[middle:])
        return mixed_code(halves, self.records.n_distinct)

    def _half(self, first: int, positions: Node) -> tuple[Array, int]:
        """The same for some columns; the latest ones are kept."""
        key = first, positions
        if key in self._halves:
            self._halves.move_to_end(key)
            return self._halves[key]
        n = self.records.n_distinct
        columns = (self.codes(first + at, position) for at, position in enumerate(positions))
        code, size = mixed_code(columns, n)
        if size > _WITHOUT_HOLES:
            code, rows = first_of_group(code, size)
            size = len(rows)
        self._halves[key] = code, size
        while len(self._halves) > max(2, _KEPT // n):
            self._halves.popitem(last=False)
        return code, size

    def check(self, node: Node) -> Found:
        """Group the records at a node and find the violating classes."""
        records = self.records
        code, size = self.code(node)
        if size <= 16 * records.n_distinct:
            sizes = np.bincount(code, weights=self.counts, minlength=size)
            found_at, certain = code, (sizes < self.k)[code]
        else:
            sizes = self._tally.totals(code, size, records.counts)
            found_at, certain = None, sizes < self.k
        if self.population_k and records.population is not None:
            certain |= self._tally.totals(code, size, records.population) < self.population_k
        for attribute, least in self._least_distinct.items():
            certain |= self._lacking(attribute, least, code, size, ~certain)
        suppressed = certain
        if not all(model.record_monotone for model in self.models):
            suppressed = certain | self._violating(code, size, ~certain)
        return Found(sizes, found_at, suppressed, certain, self.counts)

    @cached_property
    def counts(self) -> Array:
        """Records per distinct row; shape (n_distinct,), float64."""
        return self.records.counts.astype(np.float64)

    @cached_property
    def _least_distinct(self) -> dict[str, int]:
        """How many different values every class needs, per sensitive column."""
        needed: dict[str, int] = {}
        for model in self.models:
            needed[model.attribute] = max(model.least_distinct, needed.get(model.attribute, 1))
        return {attribute: least for attribute, least in needed.items() if least > 1}

    def _lacking(self, attribute: str, least: int, code: Array, size: int, rows: Array) -> Array:
        """Those of these rows in classes with fewer than ``least`` different values; shape (n_distinct,), bool.

        A class that holds one distinct row with enough values has enough; only the others are counted.
        """
        column = self.records.sensitive[attribute]
        enough = self._tally.any(code, size, np.flatnonzero(self._richness(attribute) >= least))
        open_rows = rows & ~enough
        pairs = np.flatnonzero(open_rows[column.rows])
        cells = np.unique(code[column.rows[pairs]] * column.n_values + column.values[pairs])
        result: Array = open_rows
        result[open_rows] = self._tally.counts(cells // column.n_values, size, code[open_rows]) < least
        return result

    def _richness(self, attribute: str) -> Array:
        """Number of different values in each distinct row; shape (n_distinct,), int64."""
        if attribute not in self._rich:
            rows = self.records.sensitive[attribute].rows
            self._rich[attribute] = np.bincount(rows, minlength=self.records.n_distinct)
        return self._rich[attribute]

    def _violating(self, code: Array, size: int, rows: Array) -> Array:
        """Those of these rows in classes that violate a model that is not record-monotone."""
        inside = np.flatnonzero(rows & (self.records.counts > 0))
        result = np.zeros(len(code), dtype=bool)
        if not len(inside):
            return result
        group, chosen = first_of_group(code[inside], size)
        class_of_row = np.full(len(code), -1, dtype=np.int64)
        class_of_row[inside] = group
        holds = np.ones(len(chosen), dtype=bool)
        for model in self.models:
            if not model.record_monotone:
                holds &= model.holds(self.histogram(model.attribute, class_of_row, len(chosen)))
        result[inside] = ~holds[group]
        return result

    def histogram(self, attribute: str, class_of_row: Array, n_classes: int) -> Histogram:
        """Sensitive values per class; rows of class -1 are left out."""
        column = self.records.sensitive[attribute]
        classes = class_of_row[column.rows]
        inside = classes >= 0
        return Histogram.of(classes[inside], column.values[inside], column.counts[inside], n_classes, column.reference)
