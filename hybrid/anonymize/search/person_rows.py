"""Persons behind the distinct rows of a table, counted in classes.

A person with several rows in a class is one member of it. Rows without a key belong to an unknown person, who may be
any of the others: they are counted as no member at all.

Counting distinct persons is record-monotone: under a finer generalization a class only loses rows, so it never gains a
person. Nor can persons be matched with more different values there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from hybrid.base.arrays import Codes, Counts, Mask, Numbers, Rows
from hybrid.base.keys import pack_small


@dataclass(frozen=True)
class PersonRows:
    """Pairs of a row and a person with a key, each once.

    Parameters
    ----------
    rows, persons : numpy.ndarray, shape (n_pairs,), int64
        Ordered by person, 0..n_persons-1.
    n_persons : int
        Persons with a key.
    """

    rows: Rows
    persons: Codes
    n_persons: int

    @classmethod
    def of(cls, rows: Rows, persons: Codes, n_rows: int) -> PersonRows:
        """Distinct pairs of rows 0..n_rows-1 and persons, of whom negative ones are left out."""
        known = persons >= 0
        keys = np.sort(persons[known] * n_rows + rows[known])
        keys = keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
        return cls(keys % n_rows, keys // n_rows, int(persons.max(initial=-1)) + 1)

    def joined(self, row_of: Rows, n_rows: int) -> PersonRows:
        """The pairs when rows become the rows ``row_of``, numbered 0..n_rows-1."""
        return replace(PersonRows.of(row_of[self.rows], self.persons, n_rows), n_persons=self.n_persons)

    def per_class(self, class_of: Codes, n_classes: int, kernels: ModuleType | None) -> Numbers:
        """Number of persons in each class.

        Parameters
        ----------
        class_of : numpy.ndarray, shape (n_rows,), int64
            Class of each row, 0..n_classes-1; -1 for rows that are in none.
        n_classes : int
            How many numbers there are.
        kernels : module or None
            Compiled loops, where they are loaded.

        Returns
        -------
        numpy.ndarray, shape (n_classes,), float64
        """
        if kernels is not None:
            counted: Numbers = kernels.persons_per_class(class_of, self.rows, self.persons, n_classes)
            return counted
        classes, persons = class_of[self.rows], self.persons
        inside = classes >= 0
        if not inside.all():
            classes, persons = classes[inside], persons[inside]
        # Of most persons one pair is left; only the others may be in a class twice.
        same = persons[1:] == persons[:-1]
        several = np.zeros(len(persons), dtype=bool)
        several[1:] |= same
        several[:-1] |= same
        keys = np.sort(persons[several] * n_classes + classes[several])
        keys = keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
        members = np.append(classes[~several], keys % n_classes)
        return np.bincount(members, minlength=n_classes).astype(np.float64)

    def gone(self, left_out: Mask) -> int:
        """Number of persons all of whose rows are left out.

        Parameters
        ----------
        left_out : numpy.ndarray, shape (n_rows,), bool
        """
        stays = np.zeros(self.n_persons, dtype=bool)
        stays[self.persons[~left_out[self.rows]]] = True
        return self.n_persons - int(np.count_nonzero(stays))


@dataclass(frozen=True)
class Holdings:
    """Values of one sensitive column that each person holds in each row.

    Parameters
    ----------
    rows, persons, values, counts : numpy.ndarray, shape (n,), int64
        Row, person, value number and number of records of every combination that occurs. Persons are numbered
        0..n_persons-1, those without a key last.
    n_known, n_persons, n_values : int
        Persons with a key, all persons, values.
    representative : numpy.ndarray, shape (n_known,), int64
        One combination of each person with a key: that of the person's rarest value.
    """

    rows: Rows
    persons: Codes
    values: Codes
    counts: Counts
    n_known: int
    n_persons: int
    n_values: int
    representative: Rows

    @classmethod
    def of(
        cls, rows: Rows, groups: Codes, values: Codes, counts: Counts | None, n_known: int, n_values: int
    ) -> Holdings:
        """Add up records given in any order.

        Parameters
        ----------
        rows, groups, values : numpy.ndarray, shape (n,)
            Row, person (as :func:`hybrid.table.persons.person_groups` numbers them) and value number of each record.
        counts : numpy.ndarray, shape (n,), or None
            Records that each entry stands for; one if not given.
        n_known, n_values : int
            Persons with a key, values.
        """
        n_persons = int(groups.max(initial=-1)) + 1
        columns = ((groups, n_persons), (rows, int(rows.max(initial=0)) + 1), (values, n_values))
        number, distinct = pd.factorize(pack_small(columns, len(rows))[0])
        first = np.full(len(distinct), -1, dtype=np.int64)
        first[number[::-1]] = np.arange(len(rows))[::-1]
        summed = np.bincount(number, counts, len(distinct)).astype(np.int64)
        order = np.argsort(groups[first], kind="stable")
        first, summed = first[order], summed[order]
        persons, held = groups[first], values[first]
        rarity = np.bincount(values, counts, n_values)[held]
        ranked = np.lexsort((rarity, persons))
        starts = np.searchsorted(persons[ranked], np.arange(n_known))
        return cls(rows[first], persons, held, summed, n_known, n_persons, n_values, ranked[starts])

    def overall(self) -> Numbers:
        """Persons per value in the whole table; shape (n_values,), float64."""
        _, values, weights = self.weights(np.zeros(int(self.rows.max(initial=-1)) + 1, dtype=np.int64))
        return np.asarray(np.bincount(values, weights, self.n_values), dtype=np.float64)

    def joined(self, row_of: Rows) -> Holdings:
        """The same holdings when rows become the rows ``row_of``."""
        return replace(self, rows=row_of[self.rows])

    def lacking(self, class_of: Codes, n_classes: int, asked: Mask, least: int) -> Mask:
        """Mask of classes whose persons cannot be given ``least`` different values, one each.

        Parameters
        ----------
        class_of : numpy.ndarray, shape (n_rows,), int64
            Class of each row.
        n_classes : int
            How many numbers there are.
        asked : numpy.ndarray, shape (n_classes,), bool
            Classes to look at; others are not lacking.
        least : int
            Persons with pairwise different values.
        """
        # Representatives are different persons, so their different values are a matching: often large enough.
        chosen = self.representative
        cells = pd.unique(class_of[self.rows[chosen]] * self.n_values + self.values[chosen])
        open_classes = asked & (np.bincount(cells // self.n_values, minlength=n_classes) < least)
        if not open_classes.any():
            return open_classes
        known = int(np.searchsorted(self.persons, self.n_known))
        classes = class_of[self.rows[:known]]
        inside = np.flatnonzero(open_classes[classes])
        sizes = matching_sizes(classes[inside], self.persons[inside], self.values[inside], n_classes)
        result: Mask = open_classes & (sizes < least)
        return result

    def weights(self, class_of: Codes) -> tuple[Codes, Codes, Numbers]:
        """Persons per class and value.

        A row of a person weighs 1 / (rows of the person in the class).

        Parameters
        ----------
        class_of : numpy.ndarray, shape (n_rows,), int64
            Class of each row, -1 for rows to leave out.

        Returns
        -------
        classes, values, weights : numpy.ndarray, shape (n,)
            Entries in any order; a class's weights sum to its persons.
        """
        classes = class_of[self.rows]
        inside = np.flatnonzero(classes >= 0)
        classes, counts = classes[inside], self.counts[inside]
        number, distinct = pd.factorize(classes * self.n_persons + self.persons[inside])
        total = np.bincount(number, counts, len(distinct))
        return classes, self.values[inside], counts / total[number]


def matching_sizes(classes: Codes, persons: Codes, values: Codes, n_classes: int) -> Counts:
    """Largest number of persons of each class with pairwise different values.

    The size of a maximum matching between persons and the values they hold (Hopcroft and Karp 1973,
    doi 10.1137/0202019), for all classes at once.

    Parameters
    ----------
    classes, persons, values : numpy.ndarray, shape (n,), int
        Class, person and value of each holding.
    n_classes : int
        Classes are numbered 0..n_classes-1.

    Returns
    -------
    numpy.ndarray, shape (n_classes,), int64
    """
    if not len(classes):
        return np.zeros(n_classes, dtype=np.int64)
    left, members = pd.factorize(classes * (int(persons.max()) + 1) + persons)
    right, _ = pd.factorize(classes * (int(values.max()) + 1) + values)
    shape = len(members), int(right.max()) + 1
    graph = csr_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=shape)
    partner = maximum_bipartite_matching(graph, perm_type="column")
    class_of_member = np.asarray(members) // (int(persons.max()) + 1)
    return np.bincount(class_of_member[partner >= 0], minlength=n_classes)
