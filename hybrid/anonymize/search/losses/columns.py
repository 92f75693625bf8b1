"""Losses that average one term per column, as ARX 3.9.2 defines them.

With N records, a node's suppressed records S, and factors gF = 1 (1 - 2(g - 0.5) for a generalization/suppression
factor g > 0.5) and sF = 1 (2g for g < 0.5):

loss
    raw_j = sum over kept records of gF share_j + sum over S of share_j + sF (1 - share_j);
    v_j = (raw_j - m_j) / (N - m_j), m_j = gF (sum of the shares of the records' leaves).
precision
    v_j = ((N - |S|) gF level_j / height_j + |S| sF) / N (Sweeney 2002, doi 10.1142/S021848850200165X).
association
    as loss, with 1/2 share_j + 1/2 lost_j in place of share_j: lost_j is what the record's level loses of the column's
    association with what the table is for (:mod:`hybrid.anonymize.search.associations`), over all that the most
    telling column has. Both halves rise with the level, so the bounds hold.
entropy
    v_j = - sum over leaves x of a(x) log2(a(x) / b(node of x)) - sum over nodes g of c(g) log2(c(g) / |S|), with
    a, b counts of all records and c counts of the suppressed ones (de Waal and Willenborg 1999); normalized:
    divided by - sum of a(x) log2(a(x) / N).

Loss and entropy round v_j down to multiples of 1e-10. The geometric mean is prod_j (w_j v_j + 1)^(1/n) - 1, the
arithmetic one sum_j w_j v_j / n, the sum sum_j w_j v_j.

Suppressing one more record lowers no term of loss and entropy (the code length c log(|S| / c) is monotone in every
count) and raises every term of precision to at least min(gF level / height, sF) per record: hence the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hybrid.anonymize.options import LossOptions
from hybrid.anonymize.search.distinct_rows import DistinctRows
from hybrid.anonymize.search.lattice import Lattice, Node
from hybrid.anonymize.search.losses.protocol import LossScore, RowCosts, Terms
from hybrid.anonymize.search.node_check import Checker, NodeOutcome
from hybrid.base.arrays import Codes, Mask, Nodes, Numbers
from hybrid.base.errors import ConfigError

_ASSOCIATION = 0.5
"""Weight of the lost association beside the share of the domain."""
STEP = 1e-10
"""Terms are rounded down to multiples of this."""


def column_weights(options: LossOptions, names: Sequence[str]) -> Numbers:
    """The weight of each quasi-identifier, 1 where none is given; shape (n_qi,), float64."""
    unknown = sorted(set(options.weights) - set(names))
    if unknown:
        raise ConfigError(
            f"loss.weights names {', '.join(map(repr, unknown))}, which are no quasi-identifiers",
            hint=f"the quasi-identifiers are {', '.join(map(repr, names))}",
        )
    return np.array([options.weights.get(name, 1.0) for name in names])


def factors(gs_factor: float) -> tuple[float, float]:
    """Costs of a generalized and a suppressed cell, both in 0..1."""
    return (1.0 if gs_factor <= 0.5 else 2 - 2 * gs_factor), (2 * gs_factor if gs_factor < 0.5 else 1.0)


def rounded(terms: Numbers) -> Numbers:
    """Terms rounded down to multiples of :data:`STEP`, at least 0."""
    result: Numbers = np.floor(np.maximum(terms, 0) * 1e10) / 1e10
    return result


def lowered(terms: Numbers) -> Numbers:
    """A little less than :func:`rounded` terms, whatever the order of summation was; maybe below 0."""
    return terms * (1 - 1e-12) - 1.1 * STEP


def safe(terms: Numbers) -> Numbers:
    """A little less than :func:`rounded`, whatever the order of summation was."""
    result: Numbers = np.maximum(lowered(terms), 0)
    return result


@dataclass(frozen=True)
class Mean:
    """Aggregation of the columns' terms.

    Terms of all columns and levels are concatenated, one column after the other.
    """

    records: DistinctRows
    lattice: Lattice
    weights: Numbers
    mean: str
    """geometric, arithmetic or sum."""

    def combine(self, values: Numbers) -> float:
        weighted = self._scale * values
        if self.mean == "geometric":
            return float(np.prod(weighted + 1) ** (1 / len(values)) - 1)
        return float(weighted.sum())

    @cached_property
    def _scale(self) -> Numbers:
        scale: Numbers = self.weights / len(self.weights) if self.mean == "arithmetic" else self.weights
        return scale

    @cached_property
    def starts(self) -> Codes:
        """Offset of each column's terms; shape (n_qi + 1,)."""
        return np.cumsum([0, *self.lattice.shape])

    @cached_property
    def column_of(self) -> Codes:
        return np.repeat(np.arange(len(self.weights)), self.lattice.shape)

    def bound(self, terms: Numbers) -> Terms:
        """Bound from :func:`safe` terms of all columns and levels, unweighted."""
        return Terms(terms * self._scale[self.column_of], self.starts, self.root)

    @property
    def root(self) -> float:
        """Exponent of the product of columns; 0 for their sum."""
        return 1 / len(self.weights) if self.mean == "geometric" else 0.0

    def row_costs(self, terms: Numbers, more: Sequence[Numbers]) -> RowCosts:
        """Bound of unweighted, :func:`lowered` terms, and of what one suppressed record adds to them, at least.

        Sums of many records are rounded: a billionth is taken off.
        """
        added = [scale * (1 - 1e-9) * axis for scale, axis in zip(self._scale, more, strict=False)]
        return RowCosts.of(terms * self._scale[self.column_of], self.starts, self.root, added)

    def grouped(self, checker: Checker) -> None:  # noqa: ARG002
        return

    def above(self, found: NodeOutcome) -> float:  # noqa: ARG002
        return -np.inf  # a coarser node may suppress less


@dataclass(frozen=True)
class SuppressionTerms(Mean):
    """Terms that depend on which rows are suppressed."""

    _last: dict[int, tuple[Mask, Numbers]] = field(default_factory=dict, repr=False, kw_only=True)

    def terms(self, hidden: Numbers) -> Numbers:
        """Terms before rounding, given suppressed records per leaf of all columns."""
        raise NotImplementedError

    @cached_property
    def _unsuppressed(self) -> Numbers:
        return self.terms(np.zeros(self.records.leaf_starts[-1]))

    @cached_property
    def factors(self) -> Numbers:
        """Factor of each column's rounded terms."""
        return np.ones(len(self.weights))

    def initial(self) -> Terms:
        return self._bound(self._unsuppressed)

    def below(self, found: NodeOutcome) -> Terms:
        return self._bound(self._remembered(found, found.certain))

    def by_row(self) -> RowCosts:
        return self.row_costs(lowered(self._unsuppressed) * self.factors[self.column_of], self.per_record())

    def per_record(self) -> list[Numbers]:
        """Least increase of each term by one suppressed record: per column, shape (n_leaves, n_levels).

        None where it depends on the other records.
        """
        return []

    def score(self, node: Node, found: NodeOutcome) -> LossScore:
        terms = self._remembered(found, found.suppressed)
        values = rounded(terms[self.starts[:-1] + node]) * self.factors
        return LossScore(self.combine(values), tuple(values.tolist()))

    def _bound(self, terms: Numbers) -> Terms:
        return self.bound(safe(terms) * self.factors[self.column_of])

    def _remembered(self, found: NodeOutcome, suppressed: Mask) -> Numbers:
        """Terms of a node and a set of suppressed classes, computed once: it is both scored and bounded with them."""
        if 0 not in self._last or self._last[0][0] is not suppressed:
            terms = self.terms(found.leaf_counts(suppressed)) if suppressed.any() else self._unsuppressed
            self._last[0] = suppressed, terms
        return self._last[0][1]


@dataclass(frozen=True)
class DomainShare(SuppressionTerms):
    """Loss: how much of each column's domain a cell covers."""

    gs_factor: float
    lost: Sequence[Numbers] | None = None
    """What each level of each column loses of its associations, 0..1; None: the domain alone counts."""

    @cached_property
    def node_costs(self) -> list[Numbers]:
        """Contribution of one cell at each node to v_j; one array of shape (n_nodes,) per column."""
        keep, _ = factors(self.gs_factor)
        columns = zip(self.node_shares, self.weights, self._span, strict=True)
        return [weight * keep * share / span for share, weight, span in columns]

    @cached_property
    def node_shares(self) -> list[Numbers]:
        """Share of each node, taken at its lowest level; one array of shape (n_nodes,) per column."""
        hierarchies = self.records.hierarchies
        if self.lost is None:
            return [hierarchy.share for hierarchy in hierarchies]
        columns = zip(hierarchies, self.lost, strict=True)
        return [(1 - _ASSOCIATION) * h.share + _ASSOCIATION * lost[h.level_of()] for h, lost in columns]

    def score_nodes(self, nodes: Nodes) -> LossScore:
        """Loss of a node per cell of every distinct row, none suppressed; ``nodes`` has shape (n_qi, n_distinct)."""
        keep, _ = factors(self.gs_factor)
        shares = zip(self.node_shares, nodes, strict=True)
        raw = np.array([keep * float(self.records.counts @ share[node]) for share, node in shares])
        values = rounded((raw - self._least) / self._span)
        return LossScore(self.combine(values), tuple(values.tolist()))

    def terms(self, hidden: Numbers) -> Numbers:
        counts = np.split(hidden, self.records.leaf_starts[1:-1])
        total = self._raw + np.concatenate([count @ more for count, more in zip(counts, self._more, strict=True)])
        terms: Numbers = (total - self._least[self.column_of]) / self._span[self.column_of]
        return terms

    def per_record(self) -> list[Numbers]:
        return [more / span for more, span in zip(self._more, self._span, strict=True)]

    @cached_property
    def _shares(self) -> list[Numbers]:
        columns = list(zip(self.records.hierarchies, self.lattice.axes, strict=True))
        shares = [hierarchy.share[hierarchy.node_of[:, levels]] for hierarchy, levels in columns]
        if self.lost is None:
            return shares
        lost = [lost[levels] for lost, (_, levels) in zip(self.lost, columns, strict=True)]
        return [(1 - _ASSOCIATION) * share + _ASSOCIATION * one for share, one in zip(shares, lost, strict=True)]

    @cached_property
    def _raw(self) -> Numbers:
        keep, _ = factors(self.gs_factor)
        columns = zip(self.records.leaf_counts, self._shares, strict=True)
        return np.concatenate([keep * (counts @ share) for counts, share in columns])

    @cached_property
    def _more(self) -> list[Numbers]:
        """Additional loss of suppressing a record; one array of shape (n_leaves, n_levels) per column."""
        keep, drop = factors(self.gs_factor)
        return [share + drop * (1 - share) - keep * share for share in self._shares]

    @cached_property
    def _least(self) -> Numbers:
        """The least raw loss of each column, ``m`` in the formulas."""
        keep, _ = factors(self.gs_factor)
        columns = zip(self.records.leaf_counts, self.records.hierarchies, self.node_shares, strict=True)
        return np.array([keep * float(counts @ share[hierarchy.node_of[:, 0]]) for counts, hierarchy, share in columns])

    @cached_property
    def _span(self) -> Numbers:
        """N - m of each column; infinite where nothing can be lost."""
        n = self.records.n_records
        span = n - self._least
        return np.where(span > 1e-12 * n, span, np.inf)


@dataclass(frozen=True)
class Precision(Mean):
    """Precision: how high in its hierarchy a cell is."""

    gs_factor: float

    @cached_property
    def node_costs(self) -> list[Numbers]:
        keep, _ = factors(self.gs_factor)
        return [
            weight * keep * hierarchy.level_of() / max(hierarchy.n_levels - 1, 1) / self.records.n_records
            for weight, hierarchy in zip(self.weights, self.records.hierarchies, strict=True)
        ]

    def score_nodes(self, nodes: Nodes) -> LossScore:
        """As of :class:`DomainShare`, each node taken at its lowest level."""
        keep, _ = factors(self.gs_factor)
        values = []
        for hierarchy, node in zip(self.records.hierarchies, nodes, strict=True):
            heights = hierarchy.level_of()[node] / max(hierarchy.n_levels - 1, 1)
            values.append(keep * float(self.records.counts @ heights) / self.records.n_records)
        return LossScore(self.combine(np.array(values)), tuple(values))

    def initial(self) -> Terms:
        return self._bound(0)

    def below(self, found: NodeOutcome) -> Terms:
        return self._bound(found.n_certain)

    def by_row(self) -> RowCosts:
        _, drop = factors(self.gs_factor)
        kept = self._least_kept
        columns = zip(np.split(kept, self.starts[1:-1]), self.records.hierarchies, strict=True)
        per_record = [np.tile((drop - terms) / self.records.n_records, (h.n_leaves, 1)) for terms, h in columns]
        return self.row_costs(lowered(kept), per_record)

    def score(self, node: Node, found: NodeOutcome) -> LossScore:
        keep, drop = factors(self.gs_factor)
        share = found.n_suppressed / self.records.n_records
        values = (1 - share) * keep * self._heights[self.starts[:-1] + node] + share * drop
        return LossScore(self.combine(values), tuple(values.tolist()))

    def _bound(self, n_suppressed: int) -> Terms:
        _, drop = factors(self.gs_factor)
        share = n_suppressed / self.records.n_records
        return self.bound(safe((1 - share) * self._least_kept + share * drop))

    @cached_property
    def _least_kept(self) -> Numbers:
        """Term of each level when nothing is suppressed, at most that of a suppressed record."""
        keep, drop = factors(self.gs_factor)
        least: Numbers = np.minimum(keep * self._heights, drop)
        return least

    @cached_property
    def _heights(self) -> Numbers:
        """Height of each level in its hierarchy, 0..1, all columns concatenated."""
        columns = zip(self.lattice.axes, self.records.hierarchies, strict=True)
        return np.concatenate([axis / max(hierarchy.n_levels - 1, 1) for axis, hierarchy in columns])


@dataclass(frozen=True)
class Entropy(SuppressionTerms):
    """Non-uniform entropy: bits of information on the values that the labels lose."""

    normalized: bool = False

    @cached_property
    def factors(self) -> Numbers:
        """1 / the bits of the column itself if normalized."""
        if not self.normalized:
            return np.ones(len(self.weights))
        return np.array([1 / bits if bits > 0 else 0.0 for bits in self._own])

    @cached_property
    def _own(self) -> list[float]:
        """Bits of each column."""
        return [_code_length(counts) for counts in self.records.leaf_counts]

    def terms(self, hidden: Numbers) -> Numbers:
        return self._kept + self._code_lengths(hidden)

    @cached_property
    def _kept(self) -> Numbers:
        left = self._code_lengths(np.concatenate(self.records.leaf_counts))
        kept: Numbers = np.array(self._own)[self.column_of] - left
        return kept

    def _code_lengths(self, counts: Numbers) -> Numbers:
        """Bits to encode the nodes of all records, per column and level, given the records per leaf."""
        leaf, node, starts = self._nodes
        sums = np.bincount(node, weights=counts[leaf], minlength=starts[-1])
        columns = np.add.reduceat(counts, self.records.leaf_starts[:-1])
        total = np.repeat(np.maximum(columns, 1)[self.column_of], np.diff(starts))
        lengths: Numbers = np.add.reduceat(-sums * np.log2(np.maximum(sums, 1) / total) * (sums > 0), starts[:-1])
        return lengths

    @cached_property
    def _nodes(self) -> tuple[Codes, Codes, Codes]:
        """Node number of each leaf on each level of its column, and the start of each level's nodes."""
        leaf, node, starts = [], [], [0]
        for first, hierarchy, levels in zip(
            self.records.leaf_starts, self.records.hierarchies, self.lattice.axes, strict=False
        ):
            for level in levels:
                distinct, number = np.unique(hierarchy.node_of[:, level], return_inverse=True)
                leaf.append(first + np.arange(hierarchy.n_leaves))
                node.append(starts[-1] + number.reshape(-1))
                starts.append(starts[-1] + len(distinct))
        return np.concatenate(leaf), np.concatenate(node), np.array(starts)


def _code_length(counts: Numbers) -> float:
    """Bits to encode the groups of all records: - sum c log2(c / total)."""
    counts = counts[counts > 0]
    return float(-(counts * np.log2(counts / counts.sum())).sum()) if len(counts) else 0.0
