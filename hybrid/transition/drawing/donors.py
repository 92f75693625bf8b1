"""Donor records by class, by label and below a label, sorted so that draws need no loop; and fallbacks between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Array
from hybrid.base.keys import pack
from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.domain import Domain, assemble, domains_of
from hybrid.transition.protocol import Restored


@dataclass(frozen=True)
class Slices:
    """For each of n rows a run of records to draw from."""

    members: Array
    """Positions of records; shape (n_records,), int64."""
    start: Array
    size: Array
    """Each row's run is ``members[start : start + size]``; size 0: nothing to draw from; shape (n,), int64."""

    def draw(self, rng: np.random.Generator) -> Array:
        """One record of each row's run, all equally likely; -1 for empty runs; shape (n,), int64."""
        offset = (rng.random(len(self.start)) * self.size).astype(np.int64)
        if (self.size > 0).all():
            return np.asarray(self.members[self.start + offset])
        return np.where(self.size > 0, self.members.take(self.start + offset, mode="clip"), -1)


@dataclass(frozen=True)
class Pools:
    """Records by group."""

    members: Array
    """Positions of records, sorted by group; shape (n_records,), int64."""
    starts: Array
    """Group ``g`` is ``members[starts[g] : starts[g + 1]]``; shape (n_groups + 1,), int64."""

    @property
    def sizes(self) -> Array:
        """Number of records in each group; shape (n_groups,), int64."""
        return np.diff(self.starts)

    def runs(self, groups: Array) -> Slices:
        """The run of each row's group; group -1 has none."""
        start = self.starts[groups]
        return Slices(self.members, start, np.where(groups < 0, 0, self.starts[groups + 1] - start))


def pools(groups: Array, n_groups: int) -> Pools:
    """Sort records by group 0..n_groups-1, of which some may be empty."""
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
    """

    members: Array
    """Positions of records, sorted by group, then rank; shape (n_records,), int64."""
    keys: Array
    """``group * n_ranks + rank`` of each member, ascending; shape (n_records,), int64."""
    n_ranks: int
    """Number of leaves of the hierarchy."""

    def runs(self, groups: Array, first: Array, n_leaves: Array) -> Slices:
        """Records of each row's group with ranks in ``[first, first + n_leaves)``; group -1 has none."""
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
    """Equivalence classes by their combinations of nodes."""

    nodes: Array
    """The combination of each class; shape (n_classes, n_qi), int32."""
    classes: Array
    """Their numbers; shape (n_classes,), int64."""
    n_nodes: tuple[int, ...]
    """Number of nodes of each hierarchy."""

    def find(self, nodes: Array) -> Array:
        """Class of each row of nodes, -1 where no class has this combination; shape (n,), int64."""
        both, n = np.concatenate([self.nodes, nodes]), len(self.nodes)
        keys, _ = pack(((both[:, at], width) for at, width in enumerate(self.n_nodes)), len(both))
        known = pd.Series(self.classes, index=keys[:n])
        # Labels of few people are restored as their group: two classes may have come to one combination.
        return np.asarray(known[~known.index.duplicated(keep="last")].reindex(keys[n:], fill_value=-1).to_numpy())


Fallback = tuple[str, Callable[[Array], Slices]]
"""A step of the fallback chain: a name, and the runs of the given rows (positions into the table being restored).

The chain of most strategies is ``class``: records of the row's class; ``label``: records with the same label in this
column; ``ancestor``: records with another label in this column (under local recoding a coarser or a finer one)
whose original value lies below this label; ``uniform``: any value below the label. A strategy that pools
records in another way names its own fallback in the place of ``class``."""


def pair_fallback(name: str, ranked: RankedPools, groups: Array, ranks: Array, least: int = 1) -> Fallback:
    """Records with each row's pair of group and rank, where there are at least so many of them."""

    def runs(rows: Array) -> Slices:
        found = ranked.runs(groups[rows].astype(np.int64), ranks[rows], np.ones(len(rows), dtype=np.int64))
        return Slices(found.members, found.start, np.where(found.size < least, 0, found.size))

    return name, runs


@dataclass(frozen=True)
class DrawnRecords:
    """Records drawn for the rows of one column."""

    records: Array
    """Position of the drawn record; -1 where no fallback had one and the value is drawn uniformly; shape (n,),
    int64."""
    counts: dict[str, int]
    """Rows served by each fallback, zeros included, ``"uniform"`` last."""


class Donors:
    """Original values of an anonymized table, or a sample of it, arranged for drawing. Private."""

    def __init__(self, anonymized: AnonymizedTable) -> None:
        self.domains: dict[str, Domain] = domains_of(anonymized)
        self.leaves = anonymized.leaves
        self.nodes = anonymized.labels.nodes
        n_classes = int(anonymized.class_ids.max(initial=-1)) + 1
        self.by_class: Pools = pools(anonymized.class_ids, n_classes)
        present = np.flatnonzero(self.by_class.sizes)
        combinations = self.nodes[self.by_class.members[self.by_class.starts[present]]]
        n_nodes = tuple(domain.hierarchy.n_nodes for domain in self.domains.values())
        self.classes = ClassIndex(combinations, present, n_nodes)
        self._by_label: dict[int, Pools] = {}
        self._below: dict[int, RankedPools] = {}

    def __len__(self) -> int:
        return len(self.leaves)

    def by_label(self, at: int) -> Pools:
        """Records by the node they carry in quasi-identifier ``at``, sorted on first use."""
        if at not in self._by_label:
            self._by_label[at] = pools(self.nodes[:, at], self.domain(at).hierarchy.n_nodes)
        return self._by_label[at]

    def domain(self, at: int) -> Domain:
        return list(self.domains.values())[at]

    def ranks(self, at: int) -> Array:
        """Tree-order rank of every record's value of quasi-identifier ``at``; shape (n,), int64."""
        return np.asarray(self.domain(at).rank[self.leaves[:, at]])

    def class_fallback(self, classes: Array) -> Fallback:
        """Records of each row's class; -1: the row has none."""
        return "class", lambda rows: self.by_class.runs(classes[rows])

    def label_fallbacks(self, at: int, nodes: Array) -> list[Fallback]:
        """Records that carry each row's node in quasi-identifier ``at``; then those whose value lies below it."""
        return [
            ("label", lambda rows: self.by_label(at).runs(nodes[rows])),
            ("ancestor", lambda rows: self._runs_below(at, nodes[rows])),
        ]

    def _runs_below(self, at: int, nodes: Array) -> Slices:
        if at not in self._below:
            everything = np.zeros(len(self), dtype=np.int64)
            self._below[at] = ranked_pools(everything, self.ranks(at), self.domain(at).hierarchy.n_leaves)
        domain = self.domain(at)
        return self._below[at].runs(np.zeros(len(nodes), dtype=np.int64), domain.first[nodes], domain.n_leaves[nodes])

    def drawn_ranks(self, at: int, draw: DrawnRecords, nodes: Array) -> Array:
        """Tree-order ranks of the drawn records' values; the middle of the label where no record was drawn."""
        domain = self.domain(at)
        middle: Array = domain.first[nodes] + (np.maximum(domain.n_values[nodes], 1) - 1) // 2
        if not len(self):
            return middle
        return np.where(draw.records >= 0, domain.rank[self.leaves[draw.records, at]], middle)

    def cells(self, at: int, draw: DrawnRecords, nodes: Array, rng: np.random.Generator) -> Array:
        """Cells of quasi-identifier ``at``: the drawn records' values, or a uniform value where there is none."""
        domain = self.domain(at)
        if not draw.counts["uniform"]:
            return domain.cells(self.leaves[draw.records, at])
        no_donor = draw.records < 0
        cells = domain.uniform(nodes, rng)
        cells[~no_donor] = domain.cells(self.leaves[draw.records[~no_donor], at])
        return cells


def draw_records(chain: Sequence[Fallback], n_rows: int, rng: np.random.Generator) -> DrawnRecords:
    """Draw a record for each row from the first of the fallbacks that has one for it."""
    records = np.full(n_rows, -1, dtype=np.int64)
    pending = np.arange(n_rows)
    counts = {}
    for name, runs in chain:
        drawn = runs(pending).draw(rng) if len(pending) else pending
        served = drawn >= 0
        records[pending[served]] = drawn[served]
        counts[name] = int(served.sum())
        pending = pending[~served]
    return DrawnRecords(records, counts | {"uniform": len(pending)})


def restore_columns(
    records: Donors,
    labels: LabelTable,
    own: Callable[[int, Array], Sequence[Fallback]],
    rng: np.random.Generator,
    cells: Callable[[int, DrawnRecords, Array], Array] | None = None,
) -> Restored:
    """Restore the quasi-identifiers, one after the other.

    ``own`` gives the fallbacks of a quasi-identifier, by its position and the nodes of the rows, that are tried before
    those of the label. ``cells`` makes cells of the records that were drawn for it; by default they are their values.
    """
    columns, counts = {}, Counter[str]()
    for at, (name, domain) in enumerate(records.domains.items()):
        nodes = labels.nodes[:, at]
        draw = draw_records([*own(at, nodes), *records.label_fallbacks(at, nodes)], len(labels), rng)
        found = records.cells(at, draw, nodes, rng) if cells is None else cells(at, draw, nodes)
        columns[name] = domain.series(found)
        counts.update(draw.counts)
    return Restored(assemble(labels, columns), dict(counts))
