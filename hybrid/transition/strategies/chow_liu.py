"""Chow-Liu tree: each attribute depends on its label and one other."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.base.arrays import Array
from hybrid.base.likeness import mutual_information
from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.domain import assemble
from hybrid.transition.drawing.donors import Donors, RankedPools, draw_records, pair_fallback, ranked_pools
from hybrid.transition.drawing.features import Bins, ColumnGroups, bins_by_records, groups_of
from hybrid.transition.protocol import Restored, Transition

MOST_BINS = 32
"""Values of an attribute that others can depend on; more are put into bins of about equally many records."""


class ChowLiuOptions(base.Options):
    """Options of ``chow_liu``."""

    given: str | None = None
    """A column that is no quasi-identifier, such as the target, on which every attribute depends, too (ten groups
    of equal size for numbers and dates)."""
    min_records: int = Field(default=20, ge=1)
    """Least number of records behind a distribution given another attribute's value; with fewer, the label's
    distribution is used. The privacy knob."""


@dataclass(frozen=True)
class Edge:
    """An attribute and the one it depends on."""

    child: int
    parent: int
    """Positions among the quasi-identifiers; parent -1 for the root of the tree."""
    bins: Bins | None
    """Of the parent's values."""
    pool: RankedPools
    """Records by the child's node, then by (parent's bin, given group)."""


@dataclass(frozen=True)
class FittedChowLiu:
    """Original values by parent and given column. Private."""

    records: Donors
    groups: ColumnGroups | None
    edges: tuple[Edge, ...]
    """Parents before children."""
    min_records: int

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Draw values down the tree, from records with the same label whose parent attribute has the drawn value."""
        records, names = self.records, list(self.records.domains)
        given = np.zeros(len(labels), dtype=np.int64) if self.groups is None else self.groups.codes(labels)
        n_given = 1 if self.groups is None else len(self.groups)
        ranks: dict[int, Array] = {}
        columns, counts = {}, Counter[str]()
        for edge in self.edges:
            nodes = labels.nodes[:, edge.child]
            group = given if edge.bins is None else edge.bins.codes(ranks[edge.parent]) * n_given + given
            chain = [
                pair_fallback("parent", edge.pool, nodes, group, self.min_records),
                *records.label_fallbacks(edge.child, nodes),
            ]
            draw = draw_records(chain, len(labels), rng)
            ranks[edge.child] = records.drawn_ranks(edge.child, draw, nodes)
            name = names[edge.child]
            columns[name] = records.domains[name].series(records.cells(edge.child, draw, nodes, rng))
            counts.update(draw.counts)
        return Restored(assemble(labels, columns), dict(counts))


class ChowLiu(Transition):
    """Tree-shaped Bayesian network of labels and values, without classes.

    The tree maximizes the sum of pairwise mutual information between original values (Chow and Liu 1968), less
    its bias (Miller 1955); the root is the attribute that shares most with all others.
    """

    name = "chow_liu"
    Options = ChowLiuOptions

    def fit(self, anonymized: AnonymizedTable, options: ChowLiuOptions, rng: np.random.Generator) -> FittedChowLiu:  # noqa: ARG002
        records = Donors(anonymized)
        groups = None if options.given is None else groups_of(anonymized.labels, options.given)
        given = np.zeros(len(records), dtype=np.int64) if groups is None else groups.codes(anonymized.labels)
        n_given = 1 if groups is None else len(groups)
        ranks = [records.ranks(at) for at in range(len(records.domains))]
        bins = [bins_by_records(rank, MOST_BINS) for rank in ranks]
        codes = [one.codes(rank) for one, rank in zip(bins, ranks, strict=True)]
        edges = []
        for child, parent in spanning_tree(_shared_information(codes, bins)):
            group = given if parent < 0 else codes[parent] * n_given + given
            n_groups = n_given * (1 if parent < 0 else len(bins[parent]))
            pool = ranked_pools(records.nodes[:, child], group, n_groups)
            edges.append(Edge(child, parent, None if parent < 0 else bins[parent], pool))
        return FittedChowLiu(records, groups, tuple(edges), options.min_records)


def _shared_information(codes: list[Array], bins: list[Bins]) -> Array:
    """Mutual information of every pair less its expectation under independence; shape (n_qi, n_qi), float64."""
    weights = np.zeros((len(codes), len(codes)))
    for i in range(len(codes)):
        for j in range(i):
            bias = (len(bins[i]) - 1) * (len(bins[j]) - 1) / (2 * max(len(codes[i]), 1))
            weights[i, j] = mutual_information(codes[i], codes[j], len(bins[i]), len(bins[j])) - bias
    return weights + weights.T


def spanning_tree(weights: Array) -> list[tuple[int, int]]:
    """The heaviest tree over all attributes, by symmetric weights (n, n): pairs of child and parent, parents first.

    The root, whose weights sum to the most, has parent -1.
    """
    root = int(weights.sum(axis=1).argmax())
    tree, inside = [(root, -1)], [root]
    while len(inside) < len(weights):
        outside = [i for i in range(len(weights)) if i not in inside]
        reach = weights[np.ix_(outside, inside)]
        at, to = np.unravel_index(reach.argmax(), reach.shape)
        tree.append((outside[at], inside[to]))
        inside.append(outside[at])
    return tree
