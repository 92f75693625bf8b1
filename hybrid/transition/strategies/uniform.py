"""Uniform: any value below the label, all equally likely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.base.arrays import Array
from hybrid.hierarchy import LabelTable
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
