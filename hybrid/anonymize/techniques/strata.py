"""t-closeness first: groups with a record from every stratum.

Algorithm 3 of Soria-Comas, Domingo-Ferrer, Sanchez and Martinez 2015 (doi 10.1109/TKDE.2015.2435777): the records,
sorted by a sensitive value, are cut into strata of equal size, and every group takes from each the record nearest to
its seed. So each group has about the distribution of the whole table from the start, and few groups are left to merge.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid.anonymize.techniques.mdav import Rest, halves
from hybrid.anonymize.techniques.space import Space
from hybrid.base.arrays import Codes, Numbers, Rows


def least_strata(n: int, k: int, t: float) -> int:
    """Number of strata that bound the ordered distance by t.

    max(k, ceil(n / (2 (n - 1) t + 1))), from the bound (n - s) / (2 (n - 1) s) for s strata (section 7 of the paper,
    for n different values and n a multiple of s). Half a unit of 1 / s is also what rounding costs in other distances.

    Parameters
    ----------
    n : int
        Records, 1 or more.
    k : int
        Records of a group, at least.
    t : float
        Largest distance, 0..1.
    """
    return min(n, max(k, math.ceil(n / (2 * (n - 1) * t + 1) - 1e-9)))


def stratified(space: Space, sensitive: Codes, n_strata: int, most: int) -> tuple[Codes, int]:
    """Groups with a record from every stratum; every record is another person.

    Tables of more than ``most`` records are first cut in two, stratum by stratum, as :func:`.mdav.mdav` does.

    Parameters
    ----------
    space : Space, n records
        Their distances.
    sensitive : numpy.ndarray, shape (n,), int64
        Place of each record's sensitive value in the order of values.
    n_strata : int
        Strata, 1 to n, and records of a group.
    most : int
        Records of a part, at most.

    Returns
    -------
    groups : numpy.ndarray, shape (n,), int64
        0..n_groups-1, each of ``n_strata`` records or more: those that are left join the nearest group.
    parts : int
        Parts that the table was cut into.
    """
    order = np.argsort(sensitive, kind="stable")
    stratum = np.empty(len(order), dtype=np.int64)
    stratum[order] = np.arange(len(order)) * n_strata // len(order)
    groups = np.empty(len(order), dtype=np.int64)
    parts, found = _parts(space, stratum, n_strata, most), 0
    for rows in parts:
        own = _Strata(space, rows, stratum[rows], n_strata).grouped()
        groups[rows] = own + found
        found += int(own.max()) + 1
    return groups, len(parts)


def _parts(space: Space, stratum: Codes, n_strata: int, most: int) -> list[Rows]:
    """Rows of each part, by stratum."""
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


class _Strata(Rest):
    """Records without a group yet, in the order of their strata."""

    def __init__(self, space: Space, rows: Rows, stratum: Codes, n_strata: int) -> None:
        self.stratum, self.n_strata = stratum, n_strata
        super().__init__(space, rows, np.arange(int(rows.max()) + 1), n_strata)

    def keep(self, at: Rows) -> None:
        """See :class:`Rest`."""
        super().keep(at)
        self.ends = np.searchsorted(self.stratum[at], np.arange(self.n_strata + 1))

    def grouped(self) -> Codes:
        """See :class:`Rest`."""
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
