"""The lattice of generalizations: one level per quasi-identifier, and what a table becomes at each of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hybrid.anonymize.grouping import first_of_group, mixed_code, total_of_group
from hybrid.anonymize.histogram import Histogram
from hybrid.anonymize.models import Model
from hybrid.anonymize.records import Records
from hybrid.arrays import Array

Node = tuple[int, ...]
"""Position on every axis of a lattice."""


@dataclass(frozen=True)
class Lattice:
    """All combinations of the levels that may be chosen.

    Parameters
    ----------
    axes : tuple of numpy.ndarray
        Allowed levels of each quasi-identifier, ascending.
    """

    axes: tuple[Array, ...]

    @classmethod
    def of(cls, records: Records, fixed: Mapping[str, int]) -> Lattice:
        """All levels of each hierarchy, or the fixed one."""
        return cls(
            tuple(
                np.array([fixed[name]]) if name in fixed else np.arange(hierarchy.n_levels)
                for name, hierarchy in zip(records.names, records.hierarchies, strict=True)
            )
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels on each axis."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of nodes."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def top(self) -> Node:
        """The node of the highest levels."""
        return tuple(n - 1 for n in self.shape)

    @property
    def bottom(self) -> Node:
        """The node of the lowest levels."""
        return (0,) * len(self.axes)

    def levels(self, node: Node) -> Node:
        """The level of each quasi-identifier at a node."""
        return tuple(int(axis[at]) for axis, at in zip(self.axes, node, strict=True))

    def order(self, node: Node) -> tuple[int, Node]:
        """Sort key among equally good nodes: the lower sum of levels, then the lexicographically smaller."""
        levels = self.levels(node)
        return sum(levels), levels


@dataclass(frozen=True)
class Found:
    """What became of the records at one node.

    Parameters
    ----------
    size_of_row : numpy.ndarray, shape (n_distinct,), int64
        Records in the class of each distinct row.
    suppressed : numpy.ndarray, shape (n_distinct,), bool
        Rows in classes that violate a model.
    certain : numpy.ndarray, shape (n_distinct,), bool
        Rows that are suppressed at every node below this one too.
    counts : numpy.ndarray, shape (n_distinct,), int64
        Records per distinct row.
    """

    size_of_row: Array
    suppressed: Array
    certain: Array
    counts: Array

    @cached_property
    def n_suppressed(self) -> int:
        """Records in violating classes."""
        return int(self.counts @ self.suppressed)

    @cached_property
    def n_certain(self) -> int:
        """Records that are suppressed at every node below too."""
        return int(self.counts @ self.certain)

    def classes(self, rows: Array | slice = slice(None)) -> float:
        """Number of classes that these rows (whole classes) form."""
        size = self.size_of_row[rows]
        return float(np.round((self.counts[rows] / np.maximum(size, 1)).sum()))


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

    @property
    def record_monotone(self) -> bool:
        """Whether all models are, so that ``suppressed`` and ``certain`` are the same."""
        return all(model.record_monotone for model in self.models)

    def codes(self, at: int, position: int) -> tuple[Array, int]:
        """Node number of each distinct row on one level of one quasi-identifier, and how many numbers there are."""
        if (at, position) not in self._codes:
            node_of = self.records.hierarchies[at].node_of[:, self.lattice.axes[at][position]]
            distinct, dense = np.unique(node_of, return_inverse=True)
            self._codes[at, position] = dense.reshape(-1)[self.records.leaves[at]], len(distinct)
        return self._codes[at, position]

    def code(self, node: Node) -> tuple[Array, int]:
        """Class code of each distinct row at a node, shape (n_distinct,), int64, and the codes' bound."""
        columns = (self.codes(at, position) for at, position in enumerate(node))
        return mixed_code(columns, self.records.n_distinct)

    def check(self, node: Node) -> Found:
        """Group the records at a node and find the violating classes."""
        records = self.records
        code, size = self.code(node)
        size_of_row = total_of_group(code, size, records.counts)
        certain = size_of_row < self.k
        if self.population_k and records.population is not None:
            certain |= total_of_group(code, size, records.population) < self.population_k
        suppressed = certain
        if self.models:
            suppressed, certain = self._check_models(code, size, certain)
        return Found(size_of_row, suppressed, certain, records.counts)

    def _check_models(self, code: Array, size: int, violating: Array) -> tuple[Array, Array]:
        """Rows violating any model, and rows that lack the distinct values any model needs."""
        inside = np.flatnonzero(~violating & (self.records.counts > 0))
        if not len(inside):
            return violating, violating
        group, rows = first_of_group(code[inside], size)
        n_classes = len(rows)
        class_of_row = np.full(self.records.n_distinct, -1, dtype=np.int64)
        class_of_row[inside] = group
        bad = np.zeros(n_classes, dtype=bool)
        lacking = np.zeros(n_classes, dtype=bool)
        for attribute in dict.fromkeys(model.attribute for model in self.models):
            histogram = self.histogram(attribute, class_of_row, n_classes)
            for model in self.models:
                if model.attribute == attribute:
                    lacks = histogram.distinct() < model.least_distinct
                    lacking |= lacks
                    bad |= lacks if model.record_monotone else ~model.holds(histogram)
        return self._spread(violating, inside, group, bad), self._spread(violating, inside, group, lacking)

    @staticmethod
    def _spread(violating: Array, inside: Array, group: Array, bad: Array) -> Array:
        rows = violating.copy()
        rows[inside] = bad[group]
        return rows

    def histogram(self, attribute: str, class_of_row: Array, n_classes: int) -> Histogram:
        """Sensitive values per class; rows of class -1 are left out."""
        column = self.records.sensitive[attribute]
        classes = class_of_row[column.rows]
        inside = classes >= 0
        return Histogram.of(classes[inside], column.values[inside], column.counts[inside], n_classes, column.reference)
