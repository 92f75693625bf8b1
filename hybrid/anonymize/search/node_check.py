"""Check of one lattice node.

Its classes, and which of them violate a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.models.protocol import ClassRule
from hybrid.anonymize.search.distinct_rows import DistinctRows
from hybrid.anonymize.search.group_cache import GroupCache, Grouping
from hybrid.anonymize.search.lattice import Lattice, Node
from hybrid.base.arrays import Codes, Mask, Numbers
from hybrid.base.keys import group_rows, group_sums

_FEW = 32
"""So many different values of a class are compared one with the other."""


@dataclass(frozen=True)
class NodeGroups:
    """The classes at one node."""

    bases: GroupCache
    """Bases of the table."""
    base: Grouping
    class_of: Codes
    """Class number of each row of the base; shape (len(base),), int64."""
    sizes: Numbers
    """Records per class number; 0 for numbers that are not taken and classes that only the population has."""

    @cached_property
    def of_distinct(self) -> Codes:
        """Class number of each distinct row; shape (n_distinct,), int64."""
        return self.class_of[self.base.of_distinct]

    @cached_property
    def size_of_row(self) -> Numbers:
        """Records in the class of each row; shape (len(base),), float64."""
        return self.sizes[self.class_of]

    def fewer_than(self, least: int) -> Mask:
        """Mask of the rows in classes with fewer persons; shape (len(base),).

        Records are counted, where each is another person.
        """
        if self.base.shown is None:
            return np.asarray(self.size_of_row < least)
        persons = self.bases.records.persons
        few = group_sums(self.class_of, self.base.shown, len(self.sizes)) < least
        return persons.fewer(few, self.sizes, least, lambda: self.of_distinct)[self.class_of]


@dataclass(frozen=True)
class NodeOutcome:
    """Classes of one node, and the records that are suppressed there."""

    groups: NodeGroups
    suppressed: Mask
    """Rows of the base in classes that violate a model; shape (len(groups.base),), bool."""
    certain: Mask
    """Rows that are suppressed at every node below this one too; the same array if all models are record-monotone;
    shape (len(groups.base),), bool."""

    @cached_property
    def n_suppressed(self) -> int:
        """Records in violating classes."""
        return int(self.counts @ self.suppressed)

    @cached_property
    def n_certain(self) -> int:
        """Records that are suppressed at every node below too."""
        return self.n_suppressed if self.certain is self.suppressed else int(self.counts @ self.certain)

    @property
    def counts(self) -> Numbers:
        return self.groups.base.counts

    @property
    def size_of_row(self) -> Numbers:
        return self.groups.size_of_row

    @cached_property
    def n_gone(self) -> int:
        """Persons all of whose records are suppressed; 0 where each record is another person, counted as one."""
        records = self.groups.bases.records
        return 0 if records.rows_are_persons else records.persons.gone(self.distinct(self.suppressed))

    def within(self, records: int, persons: float) -> bool:
        """True if the suppressed records, and the persons who lose all of theirs, are within limits."""
        return self.n_suppressed <= records and self.n_gone <= persons

    @cached_property
    def class_share(self) -> Numbers:
        """Part of its class that each row makes up, in sum the number of classes; (len(groups.base),)."""
        share: Numbers = self.counts / np.maximum(self.size_of_row, 1)
        return share

    @cached_property
    def n_groups(self) -> int:
        """Number of classes, violating ones included."""
        return round(float(self.class_share.sum()))

    @cached_property
    def n_kept(self) -> int:
        """Number of classes that hold."""
        return round(float(self.class_share @ ~self.suppressed))

    def leaf_counts(self, rows: Mask) -> Numbers:
        """Records of some rows of the base per leaf, all columns concatenated; float64."""
        return self.groups.bases.leaf_counts(self.groups.base, rows)

    def distinct(self, rows: Mask) -> Mask:
        """Expand a mask of base rows to a mask of distinct rows; shape (n_distinct,), bool."""
        result: Mask = rows[self.groups.base.of_distinct]
        return result


@dataclass(frozen=True)
class Checker:
    """Checker of lattice nodes: groups records and finds violating classes."""

    k: int
    """Least number of persons in a class; of records, where each is another person."""
    population_k: int
    """Least number of people of the population in a class (k-map); 0: not asked for."""
    rules: Sequence[ClassRule]
    """Models on sensitive columns."""
    bases: GroupCache
    """The table, and the lattice that nodes are positions in."""

    @property
    def records(self) -> DistinctRows:
        return self.bases.records

    @property
    def lattice(self) -> Lattice:
        return self.bases.lattice

    def check(self, node: Node, base: Grouping | None = None) -> NodeOutcome:
        """Group the records at a node, from a base at or below it, and find the violating classes."""
        return self.judge(self.group(node, base))

    def group(self, node: Node, base: Grouping | None = None) -> NodeGroups:
        base = base or self.bases.below(node)
        class_of, bound = self.bases.classes(base, node)
        return NodeGroups(self.bases, base, class_of, group_sums(class_of, base.counts, bound))

    def judge(self, groups: NodeGroups) -> NodeOutcome:
        certain = groups.fewer_than(self.k)
        if self.population_k and groups.base.population is not None:
            people = group_sums(groups.class_of, groups.base.population, len(groups.sizes))
            certain |= (people < self.population_k)[groups.class_of]
        for attribute, least in self._least_distinct.items():
            certain |= self._lacking(groups, attribute, least, ~certain)
        if not self.records.rows_are_persons:
            certain |= self._unmatched(groups, ~certain)
        suppressed = certain
        if not all(rule.record_monotone for rule in self.rules):
            suppressed = certain | self._violating(groups, ~certain)
        return NodeOutcome(groups, suppressed, certain)

    def _lacking(self, groups: NodeGroups, attribute: str, least: int, rows: Mask) -> Mask:
        """Those of these rows in classes with fewer than ``least`` different values; (len(base),), bool.

        A class that holds one row with enough values has enough; only the others are counted.
        """
        pairs, class_of = groups.base.sensitive[attribute], groups.class_of
        kernels = self.bases.kernels
        if kernels is not None and least <= _FEW:
            lacking: Mask = kernels.lacking(class_of, pairs.rows, pairs.values, len(groups.sizes), least)
            return np.asarray(rows & lacking[class_of])
        enough = np.zeros(len(groups.sizes), dtype=bool)
        enough[class_of[groups.base.richness(attribute) >= least]] = True
        asked = rows & ~enough[class_of]
        inside = np.flatnonzero(asked[pairs.rows])
        n_values = self.records.sensitive[attribute].n_values
        cells = pd.unique(class_of[pairs.rows[inside]] * n_values + pairs.values[inside])
        result: Mask = asked
        result[asked] = np.bincount(cells // n_values, minlength=len(enough))[class_of[asked]] < least
        return result

    @property
    def convex(self) -> bool:
        """True if a violating class leaves one at every finer node.

        Not with weights of persons, whose rows in two classes weigh less in their union.
        """
        return self.records.rows_are_persons or all(rule.record_monotone for rule in self.rules)

    def _unmatched(self, groups: NodeGroups, rows: Mask) -> Mask:
        """Mask of the rows in classes of too few persons with pairwise different values."""
        n_classes = len(groups.sizes)
        asked, lacking = np.zeros((2, n_classes), dtype=bool)
        asked[groups.class_of[rows]] = True
        for rule in self.rules:
            if rule.record_monotone and rule.least_distinct > 1:
                held = self.records.held[rule.attribute]
                lacking |= held.lacking(groups.of_distinct, asked & ~lacking, rule.least_distinct)
        result: Mask = rows & lacking[groups.class_of]
        return result

    @cached_property
    def _least_distinct(self) -> dict[str, int]:
        needed: dict[str, int] = {}
        for rule in self.rules:
            needed[rule.attribute] = max(rule.least_distinct, needed.get(rule.attribute, 1))
        return {attribute: least for attribute, least in needed.items() if least > 1}

    def _violating(self, groups: NodeGroups, rows: Mask) -> Mask:
        """Mask of the rows in classes that violate a non-record-monotone model."""
        inside = np.flatnonzero(rows & (groups.base.counts > 0))
        result = np.zeros(len(rows), dtype=bool)
        if not len(inside):
            return result
        number, chosen = group_rows(groups.class_of[inside], len(groups.sizes))
        class_of_row = np.full(len(rows), -1, dtype=np.int64)
        class_of_row[inside] = number
        holds = np.ones(len(chosen), dtype=bool)
        for rule in self.rules:
            if not rule.record_monotone:
                holds &= rule.holds(self.histogram(rule.attribute, groups.base, class_of_row, len(chosen)))
        result[inside] = ~holds[number]
        return result

    def histogram(self, attribute: str, base: Grouping, class_of_row: Codes, n_classes: int) -> Histogram:
        """Sensitive values per class of the rows of a base; rows of class -1 are left out.

        In records, or in persons where records share them.
        """
        reference = self.records.sensitive[attribute].reference
        if attribute in self.records.held:
            weights = self.records.held[attribute].weights(class_of_row[base.of_distinct])
            return Histogram.of(*weights, n_classes, reference)
        pairs = base.sensitive[attribute]
        classes = class_of_row[pairs.rows]
        inside = classes >= 0
        return Histogram.of(classes[inside], pairs.values[inside], pairs.counts[inside], n_classes, reference)
