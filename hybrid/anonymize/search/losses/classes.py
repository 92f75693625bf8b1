"""Losses of class sizes: average class size and discernibility."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybrid.anonymize.search.distinct_rows import DistinctRows
from hybrid.anonymize.search.lattice import Lattice, Node
from hybrid.anonymize.search.losses.protocol import Constant, LossScore
from hybrid.anonymize.search.node_check import Checker, NodeOutcome
from hybrid.base.arrays import Numbers

_UNDER = 1 - 1e-12


@dataclass(frozen=True)
class ClassCountBound:
    """Bound on the average class size: no more classes than combinations of occurring nodes, or distinct rows."""

    n_records: int
    n_distinct: int
    occurring: Sequence[Numbers]
    """Per axis: how many nodes occur on each level."""

    def all(self, shape: Node) -> Numbers:
        classes = np.ones(shape)
        for axis, counts in enumerate(self.occurring):
            classes *= counts.reshape([-1 if at == axis else 1 for at in range(len(shape))])
            np.minimum(classes, self.n_distinct, out=classes)
        return np.asarray(self.n_records / classes * _UNDER)

    def lift(self, bounds: Numbers, node: Node, most: float) -> None:  # noqa: ARG002
        region = tuple(slice(0, position + 1) for position in node)
        np.maximum(bounds[region], self.all(bounds.shape)[region], out=bounds[region])

    def between(self, low: Node, high: Node) -> float:  # noqa: ARG002
        classes = 1.0
        for counts, position in zip(self.occurring, low, strict=True):
            classes = min(classes * counts[position], self.n_distinct)
        return self.n_records / classes * _UNDER


@dataclass(frozen=True)
class AverageClassSize:
    """Average class size as ARX 3.9.2 defines it.

    N / (classes kept + 1 if records are suppressed) (LeFevre et al. 2006, without division by k).

    There are at most as many classes as combinations of the nodes that occur, and no more above a node than at it;
    below a node every kept class of size s falls into at most s // k kept ones. And each class of size s by some of the
    columns holds at most s // k kept classes, and at most as many as there are classes by the other columns.
    """

    records: DistinctRows
    lattice: Lattice
    k: int

    def initial(self) -> ClassCountBound:
        occurring = []
        for counts, hierarchy, axis in zip(
            self.records.leaf_counts, self.records.hierarchies, self.lattice.axes, strict=True
        ):
            present = hierarchy.node_of[counts > 0]
            occurring.append(np.array([float(len(np.unique(present[:, level]))) for level in axis]))
        return ClassCountBound(self.records.n_records, self.records.n_distinct, occurring)

    def grouped(self, checker: Checker) -> Numbers:
        """Bounds from grouping by the two most diverse columns, whose classes the others cut, and reverse."""
        shape, n_axes = self.lattice.shape, len(self.lattice.shape)
        first = sorted(checker.bases.order[:2])
        axes = first, [axis for axis in range(n_axes) if axis not in first]
        sizes = [self._sizes(checker, half) for half in axes]
        n_classes = [np.array([len(classes) for classes in half]) for half in sizes]
        most = np.minimum(
            np.stack([_at_most(classes // self.k, n_classes[1]) for classes in sizes[0]]),
            np.stack([_at_most(classes // self.k, n_classes[0]) for classes in sizes[1]], axis=1),
        )
        most = most.reshape([shape[axis] for half in axes for axis in half])
        return np.asarray(self.records.n_records / (np.moveaxis(most, range(n_axes), axes[0] + axes[1]) + 1) * _UNDER)

    def _sizes(self, checker: Checker, axes: Sequence[int]) -> list[Numbers]:
        """Class sizes at all positions of some axes, the others at top."""
        found = []
        for positions in itertools.product(*[range(self.lattice.shape[axis]) for axis in axes]):
            at = dict(zip(axes, positions, strict=True))
            sizes = checker.group(tuple(at.get(axis, top) for axis, top in enumerate(self.lattice.top))).sizes
            found.append(sizes[sizes > 0])
        return found

    def below(self, found: NodeOutcome) -> Constant:
        most = float((found.class_share * ~found.certain) @ (found.size_of_row // self.k))
        return Constant(self.records.n_records / (most + 1) * _UNDER)

    def by_row(self) -> None:
        return

    def above(self, found: NodeOutcome) -> float:
        return self.records.n_records / max(found.n_groups, 1) * _UNDER

    def score(self, node: Node, found: NodeOutcome) -> LossScore:  # noqa: ARG002
        classes = found.n_kept + (found.n_suppressed > 0)
        return LossScore(self.records.n_records / classes)


@dataclass(frozen=True)
class Discernibility:
    """Discernibility: size^2 summed over kept classes, N per suppressed record.

    Source: Bayardo and Agrawal 2005, doi 10.1109/ICDE.2005.42.

    A record costs at least k, and N if suppressed; above a node, groups only grow, and a suppressed group of size s
    costs N s, which is at least s^2.
    """

    records: DistinctRows
    k: int

    def initial(self) -> Constant:
        n = self.records.n_records
        counts = self.records.counts.astype(np.float64)
        return self._constant(max(float(min(self.k, n) * n), float(counts @ counts)))

    def grouped(self, checker: Checker) -> None:  # noqa: ARG002
        return

    def below(self, found: NodeOutcome) -> Constant:
        n = self.records.n_records
        return self._constant(float(found.n_certain * n + (n - found.n_certain) * min(self.k, n)))

    def by_row(self) -> None:
        return

    def above(self, found: NodeOutcome) -> float:
        return float(found.counts @ found.size_of_row) * _UNDER

    def score(self, node: Node, found: NodeOutcome) -> LossScore:  # noqa: ARG002
        kept = float((found.counts * ~found.suppressed) @ found.size_of_row)
        return LossScore(kept + float(found.n_suppressed) * self.records.n_records)

    def _constant(self, value: float) -> Constant:
        return Constant(value * _UNDER)


def _at_most(counts: Numbers, limits: Numbers) -> Numbers:
    """The sum of min(count, limit) over all counts, for each limit."""
    ordered = np.sort(counts)
    smaller = np.searchsorted(ordered, limits)
    sums = np.append(0.0, np.cumsum(ordered))
    total: Numbers = sums[smaller] + limits * (len(ordered) - smaller)
    return total
