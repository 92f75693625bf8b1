"""MDAV: groups of similar records of at least k persons; and groups with a record from every stratum.

Maximum distance to average vector: Domingo-Ferrer and Mateo-Sanz 2002 (doi 10.1109/69.979982), in the generic form of
Domingo-Ferrer and Torra 2005 (doi 10.1007/s10618-005-0007-5). The record farthest from the centre of those that remain
takes its k - 1 nearest into a group, then the record farthest from that one does.

t-closeness first: algorithm 3 of Soria-Comas, Domingo-Ferrer, Sanchez and Martinez 2015 (doi
10.1109/TKDE.2015.2435777). The records, sorted by a sensitive value, are cut into strata of equal size, and every group
takes from each the record nearest to its seed. So each group has about the distribution of the whole table from the
start, and few groups are left to merge.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from hybrid.anonymize.techniques.space import RecordSpace
from hybrid.base.arrays import Array, Codes, Numbers, Rows
from hybrid.table.holders import n_with_key

_COMPACT = 0.75
"""Share of records in use below which the arrays are made shorter."""
_PAIRS = 1 << 22
"""Distances that are computed at once."""


def mdav(space: RecordSpace, k: int, persons: Codes, most: int) -> tuple[Codes, int]:
    """Groups of at least ``k`` different persons, and the number of parts that the table was cut into.

    Tables of more than ``most`` records are first cut in two at the median of the number that varies most, again and
    again, wherever both parts have ``k`` persons; there are at least as many. A group has ``k`` to ``2 k - 1`` records,
    and further ones of persons who have several, or of no known person (negative), which are put into the nearest
    group.
    """
    groups = np.empty(len(persons), dtype=np.int64)
    parts = _parts(space, k, persons, most)
    found = 0
    for rows in parts:
        own = Ungrouped(space, rows, persons, k).grouped()
        groups[rows] = own + found
        found += int(own.max()) + 1
    return groups, len(parts)


def _parts(space: RecordSpace, k: int, persons: Codes, most: int) -> list[Rows]:
    waiting, done = [np.arange(len(persons))], []
    while waiting:
        rows = waiting.pop()
        both = halves(space, rows) if len(rows) > most else []
        if both and all(n_with_key(persons[half]) >= k for half in both):
            waiting += both[::-1]
        else:
            done.append(rows)
    return done


def halves(space: RecordSpace, rows: Rows) -> list[Rows]:
    """Rows below and above the median of the widest axis; by codes where no number varies."""
    numbers = [axis[rows] for axis in space.numbers]
    keys: list[Array] = sorted(numbers, key=lambda axis: float(axis.var())) + [axis[rows] for axis in space.codes][::-1]
    if numbers and numbers[0].size and keys[len(numbers) - 1].var() > 0:
        keys = [*keys[len(numbers) :], *keys[: len(numbers)]]
    order = rows[np.lexsort(keys)]
    return [np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])]


class Ungrouped:
    """Records without a group yet: ``rows`` of the space, in groups of ``k`` persons."""

    def __init__(self, space: RecordSpace, rows: Rows, persons: Codes, k: int) -> None:
        self.k = k
        self.everyone = np.unique(persons[rows], return_inverse=True)[1].reshape(-1)
        self.named = persons[rows] >= 0
        self.all_numbers = [np.ascontiguousarray(axis[rows]) for axis in space.numbers]
        self.all_codes = [np.ascontiguousarray(axis[rows]) for axis in space.codes]
        self.groups = np.full(len(rows), -1, dtype=np.int64)
        self.n_groups = 0
        self.left_of = np.bincount(self.everyone[self.named], minlength=int(self.everyone.max()) + 1)
        self.several = bool((self.left_of > 1).any())
        self.left = int((self.left_of > 0).sum())
        self.sums = [float(axis[self.named].sum()) for axis in self.all_numbers]
        self.counts = [np.bincount(axis[self.named], minlength=int(axis.max()) + 1) for axis in self.all_codes]
        self.keep(np.flatnonzero(self.named))

    def keep(self, at: Rows) -> None:
        """Shorten the arrays to these positions."""
        self.at = at
        self.gone = np.zeros(len(at), dtype=bool)
        self.numbers = [axis[at] for axis in self.all_numbers]
        self.codes = [axis[at] for axis in self.all_codes]

    def shorten(self) -> None:
        """Drop grouped records from the arrays, if they are many."""
        if len(self.at) and self._remaining < _COMPACT * len(self.at):
            self.keep(self.at[~self.gone])

    def grouped(self) -> Codes:
        """Group of every record; shape (m,), int64."""
        while self.left >= 3 * self.k:
            around = self.distances(*self.place(self.farthest(self.from_centre())))
            self.take(around)
            around[self.gone] = -1.0
            self.take(self.distances(*self.place(int(np.argmax(around)))))
            self.shorten()
        if self.left >= 2 * self.k:
            self.take(self.distances(*self.place(self.farthest(self.from_centre()))))
        if self.left >= self.k or not self.n_groups:
            self.groups[self.at[~self.gone]] = self.n_groups
            self.n_groups += 1
        self.join(np.flatnonzero(self.groups < 0))
        return self.groups

    @property
    def _remaining(self) -> int:
        return len(self.at) - int(self.gone.sum())

    def from_centre(self) -> Numbers:
        """Squared distance of every record from the centre of ungrouped ones."""
        n = max(self._remaining, 1)
        return self.distances([total / n for total in self.sums], [int(np.argmax(one)) for one in self.counts])

    def place(self, position: int) -> tuple[list[float], list[int]]:
        return [float(axis[position]) for axis in self.numbers], [int(axis[position]) for axis in self.codes]

    def distances(self, numbers: list[float], codes: list[int]) -> Numbers:
        total = np.zeros(len(self.at))
        for axis, number in zip(self.numbers, numbers, strict=True):
            difference = axis - number
            difference *= difference
            total += difference
        for axis, code in zip(self.codes, codes, strict=True):
            total += axis != code
        return total

    def farthest(self, distances: Numbers) -> int:
        distances[self.gone] = -1.0
        return int(np.argmax(distances))

    def take(self, distances: Numbers) -> None:
        distances[self.gone] = np.inf
        chosen = self.nearest(distances)
        rows = self.at[chosen]
        self.groups[rows] = self.n_groups
        self.n_groups += 1
        self.gone[chosen] = True
        distances[chosen] = np.inf
        who = self.everyone[rows]
        self.left_of[who] -= 1
        self.left -= int((self.left_of[who] == 0).sum())
        for place, axis in enumerate(self.numbers):
            self.sums[place] -= float(axis[chosen].sum())
        for counts, axis in zip(self.counts, self.codes, strict=True):
            counts -= np.bincount(axis[chosen], minlength=len(counts))

    def nearest(self, distances: Numbers) -> Rows:
        """Positions of the nearest records of k different persons."""
        if not self.several:
            nearest: Rows = np.argpartition(distances, self.k - 1)[: self.k]
            return nearest
        looked = 2 * self.k
        while True:
            looked = min(looked, len(distances))
            near = np.argpartition(distances, looked - 1)[:looked]
            near = near[np.isfinite(distances[near])]
            near = near[np.argsort(distances[near], kind="stable")]
            first = np.sort(np.unique(self.everyone[self.at[near]], return_index=True)[1])
            if len(first) >= self.k or looked == len(distances):
                chosen: Rows = near[first[: self.k]]
                return chosen
            looked *= 4

    def join(self, rows: Rows) -> None:
        """Put records that are left into the group with the nearest centre."""
        if not len(rows):
            return
        grouped = self.groups >= 0
        own = self.groups[grouped]
        sizes = np.bincount(own, minlength=self.n_groups)
        centres = [np.bincount(own, axis[grouped], minlength=self.n_groups) / sizes for axis in self.all_numbers]
        common = [_common(own, axis[grouped]) for axis in self.all_codes]
        step = max(1, _PAIRS // self.n_groups)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            total = np.zeros((len(part), self.n_groups))
            for axis, centre in zip(self.all_numbers, centres, strict=True):
                total += (axis[part][:, None] - centre) ** 2
            for axis, code in zip(self.all_codes, common, strict=True):
                total += axis[part][:, None] != code
            self.groups[part] = total.argmin(axis=1)


def _common(groups: Codes, codes: Codes) -> Codes:
    counts = pd.DataFrame({"group": groups, "code": codes}).value_counts(sort=False).reset_index(name="n")
    best: Codes = counts.sort_values(["group", "n"], kind="stable").groupby("group")["code"].last().to_numpy()
    return best


def least_strata(n: int, k: int, t: float) -> int:
    """Number of strata, of ``k`` records or more, that bound the ordered distance by t, 0..1.

    max(k, ceil(n / (2 (n - 1) t + 1))), from the bound (n - s) / (2 (n - 1) s) for s strata (section 7 of the paper,
    for n different values and n a multiple of s). Half a unit of 1 / s is also what rounding costs in other distances.
    """
    return min(n, max(k, math.ceil(n / (2 * (n - 1) * t + 1) - 1e-9)))


def stratified(space: RecordSpace, sensitive: Codes, n_strata: int, most: int) -> tuple[Codes, int]:
    """Groups with a record from every stratum, and parts of the table; every record is another person.

    Tables of more than ``most`` records are first cut in two, stratum by stratum, as :func:`mdav` does. ``sensitive``
    is the place of each record's value in the order of values. A group has ``n_strata`` records, or more: those that
    are left join the nearest one.
    """
    order = np.argsort(sensitive, kind="stable")
    stratum = np.empty(len(order), dtype=np.int64)
    stratum[order] = np.arange(len(order)) * n_strata // len(order)
    groups = np.empty(len(order), dtype=np.int64)
    parts, found = _stratified_parts(space, stratum, n_strata, most), 0
    for rows in parts:
        own = _Strata(space, rows, stratum[rows], n_strata).grouped()
        groups[rows] = own + found
        found += int(own.max()) + 1
    return groups, len(parts)


def _stratified_parts(space: RecordSpace, stratum: Codes, n_strata: int, most: int) -> list[Rows]:
    waiting, done = [np.argsort(stratum, kind="stable")], []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= max(most, 2 * n_strata):
            done.append(rows)
            continue
        pieces = [halves(space, rows[stratum[rows] == one]) for one in range(n_strata)]
        sides = [np.concatenate([piece[side] for piece in pieces]) for side in (0, 1)]
        if min(len(piece[0]) for piece in pieces) < 1:
            done.append(rows)
        else:
            waiting += sides[::-1]
    return done


class _Strata(Ungrouped):
    """Records without a group yet, in the order of their strata."""

    def __init__(self, space: RecordSpace, rows: Rows, stratum: Codes, n_strata: int) -> None:
        self.stratum, self.n_strata = stratum, n_strata
        super().__init__(space, rows, np.arange(int(rows.max()) + 1), n_strata)

    def keep(self, at: Rows) -> None:
        super().keep(at)
        self.ends = np.searchsorted(self.stratum[at], np.arange(self.n_strata + 1))

    def grouped(self) -> Codes:
        for number in range(int(np.bincount(self.stratum, minlength=self.n_strata).min())):
            if number % 2 == 0:
                seed = self.farthest(self.from_centre())
            around = self.distances(*self.place(seed))
            self.take(around)
            around[self.gone] = -1.0
            seed = int(np.argmax(around))
            if number % 2:
                self.shorten()
        self.join(np.flatnonzero(self.groups < 0))
        return self.groups

    def nearest(self, distances: Numbers) -> Rows:
        """Nearest record of every stratum."""
        cuts = zip(self.ends[:-1], self.ends[1:], strict=True)
        return np.array([start + int(np.argmin(distances[start:end])) for start, end in cuts], dtype=np.int64)
