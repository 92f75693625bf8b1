"""Uniform and single: any value below the label, or one for each label in the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.base.arrays import Array
from hybrid.hierarchy import LabelTable
from hybrid.table.codings import exact_numbers
from hybrid.transition.drawing.domain import Domain, assemble, domains_of
from hybrid.transition.protocol import Restored, Transition


class UniformOptions(base.Options):
    """Options of ``uniform``."""

    leaves: Literal["all", "observed"] = "all"
    """Integers, booleans and categories: all values of the hierarchy, or only those that some record has;
    decimals and dates: every step inside the range, or the distinct values that some record has. all reads no
    original value; observed reveals which values occur, not how often."""


@dataclass(frozen=True)
class FittedUniform:
    """Hierarchies, and which ranks may be drawn."""

    domains: dict[str, Domain]
    observed: dict[str, Array] | None
    """Sorted ranks of the values that occur, per column; None: all values."""

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        columns = {}
        for at, (name, domain) in enumerate(self.domains.items()):
            nodes = labels.nodes[:, at]
            if self.observed is None:
                cells = domain.uniform(nodes, rng)
            else:
                cells = _among(domain, self.observed[name], nodes, rng)
            columns[name] = domain.series(cells)
        return Restored(assemble(labels, columns))


class Uniform(Transition):
    """Each cell drawn independently and uniformly from the values below its label.

    Root labels draw from the whole domain without the missing value; a missing label stays missing.
    """

    name = "uniform"
    Options = UniformOptions

    def reads_originals(self, options: UniformOptions) -> bool:
        return options.leaves == "observed"

    def fit(self, anonymized: AnonymizedTable, options: UniformOptions, rng: np.random.Generator) -> FittedUniform:  # noqa: ARG002
        domains = domains_of(anonymized)
        if options.leaves == "all":
            return FittedUniform(domains, None)
        observed = {}
        for at, (name, domain) in enumerate(domains.items()):
            occurs = np.zeros(domain.hierarchy.n_leaves, dtype=bool)
            occurs[anonymized.leaves[:, at]] = True
            if domain.hierarchy.missing_leaf is not None:
                occurs[domain.hierarchy.missing_leaf] = False
            observed[name] = np.sort(domain.rank[occurs])
        return FittedUniform(domains, observed)


def _among(domain: Domain, observed: Array, nodes: Array, rng: np.random.Generator) -> Array:
    """Observed values below each node; a node without any (the missing label too) draws from all its values."""
    start = np.searchsorted(observed, domain.first)[nodes]
    size = np.searchsorted(observed, domain.first + domain.n_leaves)[nodes] - start
    rank = observed.take(start + (rng.random(len(nodes)) * size).astype(np.int64), mode="clip") if len(observed) else 0
    empty = size == 0
    leaves = domain.order[np.where(empty, 0, rank)]
    leaves[empty] = domain.uniform_leaves(nodes[empty], rng)
    return domain.cells(leaves)


class SingleOptions(base.Options):
    """Options of ``single``."""

    numeric: Literal["midpoint", "mean", "median"] = "midpoint"
    """Numbers and dates: the middle of the label's range, or the mean or the (upper) median of the original
    values of the records that carry the label. Restored to the column's precision, half steps upwards, and kept
    below the label. midpoint reads no original value."""
    categorical: Literal["leaf", "mode"] = "leaf"
    """Categories and booleans: a value below the label drawn once per label, or the most frequent original value
    of the records that carry it (of equals, the first in the hierarchy). leaf reads no original value."""


@dataclass(frozen=True)
class FittedSingle:
    """One cell per node of every hierarchy."""

    domains: dict[str, Domain]
    cell_of: dict[str, Array]

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:  # noqa: ARG002
        columns = {
            name: domain.series(self.cell_of[name][labels.nodes[:, at]])
            for at, (name, domain) in enumerate(self.domains.items())
        }
        return Restored(assemble(labels, columns))


class Single(Transition):
    """One value per generalized value.

    Keeps k: records with equal labels stay equal.

    A root label (a suppressed value) gets one value of the whole domain; missing counts only where there is
    nothing else. A label that no record carries gets its midpoint, or a drawn leaf.
    """

    name = "single"
    Options = SingleOptions

    def reads_originals(self, options: SingleOptions) -> bool:
        return options.numeric != "midpoint" or options.categorical != "leaf"

    def fit(self, anonymized: AnonymizedTable, options: SingleOptions, rng: np.random.Generator) -> FittedSingle:
        domains = domains_of(anonymized)
        cell_of = {}
        for at, (name, domain) in enumerate(domains.items()):
            nodes, leaves = anonymized.labels.nodes[:, at], anonymized.leaves[:, at]
            present = leaves != domain.hierarchy.missing_leaf
            nodes, leaves = nodes[present], leaves[present]
            if domain.kind.is_continuous:
                cell_of[name] = _central_cells(domain, nodes, leaves, options.numeric)
            else:
                cell_of[name] = _category_cells(domain, nodes, leaves, options.categorical, rng)
        return FittedSingle(domains, cell_of)


def _central_cells(domain: Domain, nodes: Array, leaves: Array, statistic: str) -> Array:
    """The cell of each node nearest to its centre; nodes without values get the missing cell."""
    hierarchy = domain.hierarchy
    edges = [exact_numbers(edge) for edge in (hierarchy.low, hierarchy.high)]
    centre = edges[0].astype(np.float64) / 2 + edges[1].astype(np.float64) / 2
    sizes = np.bincount(nodes, minlength=hierarchy.n_nodes)
    carried = sizes > 0
    if statistic == "mean":
        # Relative to the midpoint, so that dates and large numbers keep their digits.
        sums = np.bincount(nodes, weights=domain.axis[leaves] - centre[nodes], minlength=hierarchy.n_nodes)
        centre[carried] += sums[carried] / sizes[carried]
    elif statistic == "median":
        by_node = np.lexsort((domain.axis[leaves], nodes))
        middle = np.cumsum(sizes)[carried] - sizes[carried] + sizes[carried] // 2
        centre[carried] = domain.axis[leaves[by_node[middle]]]
    cells = domain.cells(domain.order[domain.first])
    filled = np.flatnonzero(domain.n_values > 0)
    cells[filled] = domain.nearest(filled, centre[filled])
    return cells


def _category_cells(domain: Domain, nodes: Array, leaves: Array, statistic: str, rng: np.random.Generator) -> Array:
    hierarchy = domain.hierarchy
    cells = domain.uniform_leaves(np.arange(hierarchy.n_nodes), rng)
    if statistic == "mode" and len(nodes):
        pairs, counts = np.unique(nodes.astype(np.int64) * hierarchy.n_leaves + domain.rank[leaves], return_counts=True)
        node, rank = np.divmod(pairs, hierarchy.n_leaves)
        best_last = np.lexsort((-rank, counts, node))
        cells[node[best_last]] = domain.order[rank[best_last]]
    return cells.astype(np.int32)
