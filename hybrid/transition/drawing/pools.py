"""Records sorted by group in flat arrays, for draws without loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array

_LARGEST_TABLE = 20_000_000
"""Pairs of state and node up to which a class is found by one look into a table (int32) instead of a search."""


@dataclass(frozen=True)
class Slices:
    """For each of n rows a run of records to draw from.

    Parameters
    ----------
    members : numpy.ndarray, shape (n_records,), int64
        Positions of records.
    start, size : numpy.ndarray, shape (n,), int64
        Each row's run is ``members[start : start + size]``; size 0: nothing to draw from.
    """

    members: Array
    start: Array
    size: Array

    def draw(self, rng: np.random.Generator) -> Array:
        """One record of each row's run, all equally likely.

        -1 for empty runs; shape (n,), int64.
        """
        offset = (rng.random(len(self.start)) * self.size).astype(np.int64)
        if (self.size > 0).all():
            drawn: Array = self.members[self.start + offset]
            return drawn
        return np.where(self.size > 0, self.members.take(self.start + offset, mode="clip"), -1)


@dataclass(frozen=True)
class Pools:
    """Records by group.

    Parameters
    ----------
    members : numpy.ndarray, shape (n_records,), int64
        Positions of records, sorted by group.
    starts : numpy.ndarray, shape (n_groups + 1,), int64
        Group ``g`` is ``members[starts[g] : starts[g + 1]]``.
    """

    members: Array
    starts: Array

    @property
    def sizes(self) -> Array:
        """Number of records in each group; shape (n_groups,), int64."""
        return np.diff(self.starts)

    def runs(self, groups: Array) -> Slices:
        """The run of each row's group; group -1 has none."""
        start = self.starts[groups]
        return Slices(self.members, start, np.where(groups < 0, 0, self.starts[groups + 1] - start))


def pools(groups: Array, n_groups: int) -> Pools:
    """Sort records by group.

    Parameters
    ----------
    groups : numpy.ndarray, shape (n_records,), integer
        Group of each record, 0..n_groups-1.
    n_groups : int
        Number of groups; some may be empty.
    """
    from scipy.sparse import csr_array

    # Turning coordinates into rows is a counting sort: stable, and linear in the number of records.
    n = len(groups)
    marks = csr_array((np.ones(n, dtype=np.int8), (groups, np.arange(n))), shape=(n_groups, n))
    return Pools(marks.indices.astype(np.int64, copy=False), marks.indptr.astype(np.int64, copy=False))


@dataclass(frozen=True)
class RankedPools:
    """Records by group and, inside it, by tree-order rank.

    The values below any node are one run of ranks, so "records of this group whose value lies below this node"
    are one run as well.

    Parameters
    ----------
    members : numpy.ndarray, shape (n_records,), int64
        Positions of records, sorted by group, then rank.
    keys : numpy.ndarray, shape (n_records,), int64
        ``group * n_ranks + rank`` of each member, ascending.
    n_ranks : int
        Number of leaves of the hierarchy.
    """

    members: Array
    keys: Array
    n_ranks: int

    def runs(self, groups: Array, first: Array, n_leaves: Array) -> Slices:
        """Records of each row's group with ranks in a range.

        The range is ``[first, first + n_leaves)``; group -1 has none.
        """
        from_key = groups * self.n_ranks + first
        start = np.searchsorted(self.keys, from_key)
        size = np.searchsorted(self.keys, from_key + n_leaves) - start
        return Slices(self.members, start, np.where(groups < 0, 0, size))


def ranked_pools(groups: Array, ranks: Array, n_ranks: int) -> RankedPools:
    """Sort records by group and rank; arguments as the attributes of :class:`RankedPools`."""
    keys = groups.astype(np.int64) * n_ranks + ranks
    members = np.argsort(keys, kind="stable")
    return RankedPools(members, keys[members], n_ranks)


@dataclass(frozen=True)
class ClassIndex:
    """Index of equivalence classes by nodes: a trie over the quasi-identifiers.

    Parameters
    ----------
    steps : tuple of numpy.ndarray
        One per quasi-identifier: the sorted keys ``state * n_nodes + node`` of the pairs that occur. The
        position of a key is the next state; after the last step it is the row of ``class_of``.
    n_nodes : tuple of int
        Number of nodes of each hierarchy.
    class_of : numpy.ndarray, shape (n_combinations,), int64
        The class of each combination.
    """

    steps: tuple[Array, ...]
    n_nodes: tuple[int, ...]
    class_of: Array

    def find(self, nodes: Array) -> Array:
        """Class of each row of nodes, -1 where absent.

        -1 where no class has this combination; shape (n,), int64.
        """
        state = np.zeros(len(nodes), dtype=np.int64)
        n_states = 1
        for at, (keys, width) in enumerate(zip(self.steps, self.n_nodes, strict=True)):
            wanted = state * width + nodes[:, at]
            wanted[state < 0] = -1
            state = _position(keys, wanted, n_states * width)
            n_states = len(keys)
        found: Array = np.where(state >= 0, self.class_of[state], -1)
        return found


def _position(keys: Array, wanted: Array, n_possible: int) -> Array:
    """Position of each wanted key in the sorted keys, else -1."""
    if n_possible <= _LARGEST_TABLE and n_possible <= 4 * len(wanted):
        table = np.full(n_possible + 1, -1, dtype=np.int32)
        table[keys] = np.arange(len(keys))
        looked_up: Array = table[wanted].astype(np.int64)
        return looked_up
    at = np.searchsorted(keys, wanted)
    return np.where(keys.take(at, mode="clip") == wanted, at, -1)


def class_index(nodes: Array, classes: Array, n_nodes: tuple[int, ...]) -> ClassIndex:
    """Index the classes.

    Parameters
    ----------
    nodes : numpy.ndarray, shape (n_classes, n_qi), int32
        The combination of nodes of each class.
    classes : numpy.ndarray, shape (n_classes,), int64
        Their numbers.
    n_nodes : tuple of int, length n_qi
        Number of nodes of each hierarchy.
    """
    state = np.zeros(len(nodes), dtype=np.int64)
    steps = []
    for at, width in enumerate(n_nodes):
        keys, state = np.unique(state * width + nodes[:, at], return_inverse=True)
        steps.append(keys)
    class_of = np.empty(len(classes), dtype=np.int64)
    class_of[state] = classes
    return ClassIndex(tuple(steps), n_nodes, class_of)
