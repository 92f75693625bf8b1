"""Persons behind the distinct rows of a table, counted in classes.

A person with several rows in a class is one member of it. Rows without a key belong to an unknown person, who may be
any of the others: they are counted as no member at all.

Counting distinct persons is record-monotone: under a finer generalization a class only loses rows, so it never gains a
person. Nor can persons be matched with more different values there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes, Counts, Mask, Numbers, Rows
from hybrid.base.keys import pack_small

_SHOWN = 1 << 17
"""Persons with whose rarest values classes are shown to be diverse, before the others are looked at."""


@dataclass(frozen=True)
class Members:
    """Persons of some collected rows."""

    rows: Rows
    persons: Codes
    """Collected row and person (:func:`hybrid.table.persons.person_codes`) of each entry; shape (n,), int64."""
    counts: Counts | None = None
    """Records that each entry stands for; one if not given; shape (n,), int64."""


@dataclass(frozen=True)
class PersonRows:
    """Distinct pairs of a row and a person with a key."""

    rows: Rows
    persons: Codes
    """Ordered by row, then by person, 0..n_persons-1; shape (n_pairs,), int64."""
    starts: Rows
    """Where the pairs of each row start; shape (n_rows + 1,), int64."""
    shown: Numbers
    """Persons of whom this is the one row that stands for them all. As their sum over rows, it is a lower bound of the
    persons of a class; shape (n_rows,), float64."""
    n_persons: int
    """Persons with a key."""

    @classmethod
    def of(cls, rows: Rows, persons: Codes, n_rows: int) -> PersonRows:
        """Find the distinct pairs of rows and persons.

        Rows are 0..n_rows-1, persons are numbered without gaps; negative ones are left out.
        """
        known, n_persons = persons >= 0, int(persons.max(initial=-1)) + 1
        keys = _distinct(rows[known] * n_persons + persons[known])
        rows, persons = keys // max(n_persons, 1), keys % max(n_persons, 1)
        one_row = np.zeros(n_persons, dtype=np.int64)
        one_row[persons] = rows
        shown = np.bincount(one_row, minlength=n_rows).astype(np.float64)
        return cls(rows, persons, np.searchsorted(rows, np.arange(n_rows + 1)), shown, n_persons)

    @cached_property
    def of_row(self) -> Numbers:
        """Persons of each row; shape (n_rows,), float64."""
        return np.diff(self.starts).astype(np.float64)

    def fewer(self, few: Mask, sizes: Numbers, least: int, classes: Callable[[], Codes]) -> Mask:
        """Mask of the classes with fewer than ``least`` persons: of ``few``, for which :attr:`shown` shows fewer.

        ``sizes`` are the records of each class, which has no more persons; ``classes`` gives the class of each distinct
        row, -1 for none.
        """
        in_doubt = few & (sizes >= least)
        if not in_doubt.any():
            return few
        class_of = classes()
        rows = np.flatnonzero(np.append(in_doubt, False)[class_of])
        pairs = _places(self.starts, rows)
        members = _distinct(class_of[self.rows[pairs]] * self.n_persons + self.persons[pairs]) // self.n_persons
        result: Mask = few & ~(in_doubt & (np.bincount(members, minlength=len(few)) >= least))
        return result

    def in_classes(self, class_of: Codes, n_classes: int) -> Numbers:
        """Persons of each class; shape (n_classes,), float64. Rows of class -1 are in none."""
        classes = class_of[self.rows].astype(np.int64)
        inside = classes >= 0
        members = _distinct(classes[inside] * self.n_persons + self.persons[inside]) // max(self.n_persons, 1)
        return np.bincount(members, minlength=n_classes).astype(np.float64)

    def gone(self, left_out: Mask) -> int:
        """Number of persons all of whose rows are left out."""
        stays = np.zeros(self.n_persons, dtype=bool)
        stays[self.persons[~left_out[self.rows]]] = True
        return self.n_persons - int(np.count_nonzero(stays))


def _distinct(keys: Codes) -> Codes:
    keys = np.sort(keys)
    distinct: Codes = keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
    return distinct


def _places(starts: Rows, rows: Rows) -> Rows:
    """Positions of the entries of some rows; ``starts`` has the first entry of each row."""
    counts = starts[rows + 1] - starts[rows]
    before = np.cumsum(counts) - counts
    places: Rows = np.arange(int(counts.sum())) + np.repeat(starts[rows] - before, counts)
    return places


@dataclass(frozen=True)
class Holdings:
    """Sensitive values of each person in each distinct row."""

    rows: Rows
    persons: Codes
    values: Codes
    counts: Counts
    """Row, person, value number and number of records of every combination that occurs, ordered by row. Persons are
    numbered 0..n_persons-1, those without a key last; shape (n,), int64."""
    starts: Rows
    """Where the combinations of each row start; shape (n_rows + 1,), int64."""
    n_known: int
    n_persons: int
    n_values: int
    """Persons with a key, all persons, values."""

    @classmethod
    def of(cls, members: Members, groups: Codes, values: Codes, shape: tuple[int, int, int]) -> Holdings:
        """Add up entries given in any order; ``shape``: distinct rows, persons with a key, values.

        ``groups`` are numbers of persons (:func:`hybrid.table.persons.person_groups`).
        """
        n_rows, n_known, n_values = shape
        n_persons = int(groups.max(initial=-1)) + 1
        columns = ((members.rows, n_rows), (groups, n_persons), (values, n_values))
        number, distinct = pd.factorize(pack_small(columns, len(groups))[0])
        first = np.empty(len(distinct), dtype=np.int64)
        first[number] = np.arange(len(number))
        first = first[np.argsort(members.rows[first], kind="stable")]
        summed = np.bincount(number, members.counts, len(distinct)).astype(np.int64)
        rows = members.rows[first]
        starts = np.searchsorted(rows, np.arange(n_rows + 1))
        return cls(rows, groups[first], values[first], summed[number[first]], starts, n_known, n_persons, n_values)

    @cached_property
    def _rarest(self) -> Rows:
        """Combination of the rarest value of each of some persons with a key."""
        some = np.flatnonzero(self.persons < min(self.n_known, _SHOWN))
        rarity = np.bincount(self.values, self.counts, self.n_values)[self.values[some]]
        ranked = some[np.lexsort((rarity, self.persons[some]))]
        persons = self.persons[ranked]
        first: Rows = ranked[np.append(True, persons[1:] != persons[:-1])] if len(ranked) else ranked
        return first

    def overall(self) -> Numbers:
        """Persons per value in the whole table; shape (n_values,), float64."""
        _, values, weights = self.weights(np.zeros(len(self.starts) - 1, dtype=np.int64))
        return np.asarray(np.bincount(values, weights, self.n_values), dtype=np.float64)

    def lacking(self, class_of: Codes, asked: Mask, least: int) -> Mask:
        """Mask of those asked classes with fewer than ``least`` persons with pairwise different values, one each."""
        # The rarest values are of different persons, so the different ones among them are a matching: often enough.
        n_classes, chosen = len(asked), self._rarest
        classes = class_of[self.rows[chosen]]
        cells = pd.unique(classes[classes >= 0] * self.n_values + self.values[chosen[classes >= 0]])
        in_doubt = asked & (np.bincount(cells // self.n_values, minlength=n_classes) < least)
        if not in_doubt.any():
            return in_doubt
        places = _places(self.starts, np.flatnonzero(np.append(in_doubt, False)[class_of]))
        places = places[self.persons[places] < self.n_known]
        classes, persons = class_of[self.rows[places]], self.persons[places]
        result: Mask = in_doubt & (matching_sizes(classes, persons, self.values[places], n_classes) < least)
        return result

    def weights(self, class_of: Codes) -> tuple[Codes, Codes, Numbers]:
        """Classes, values and weights of persons: a record weighs 1 / (records of the person in the class).

        Rows of class -1 are left out. A class's weights sum to its persons.
        """
        classes = class_of[self.rows]
        inside = np.flatnonzero(classes >= 0)
        classes, counts = classes[inside], self.counts[inside]
        number, distinct = pd.factorize(classes * self.n_persons + self.persons[inside])
        total = np.bincount(number, counts, len(distinct))
        return classes, self.values[inside], counts / total[number]


def matching_sizes(classes: Codes, persons: Codes, values: Codes, n_classes: int) -> Counts:
    """Largest number of persons of each class with pairwise different values, from the holdings (class, person, value).

    The size of a maximum matching between persons and the values they hold (Hopcroft and Karp 1973, doi
    10.1137/0202019), for all classes at once.
    """
    if not len(classes):
        return np.zeros(n_classes, dtype=np.int64)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    left, members = pd.factorize(classes * (int(persons.max()) + 1) + persons)
    right, _ = pd.factorize(classes * (int(values.max()) + 1) + values)
    shape = len(members), int(right.max()) + 1
    graph = csr_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=shape)
    partner = maximum_bipartite_matching(graph, perm_type="column")
    class_of_member = np.asarray(members) // (int(persons.max()) + 1)
    return np.bincount(class_of_member[partner >= 0], minlength=n_classes)
