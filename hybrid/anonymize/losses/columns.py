"""Losses that are a mean of one term per column, as ARX 3.9.2 defines them.

With N records, a node's suppressed records S, and factors gF = 1 (1 - 2(g - 0.5) for a generalization/suppression
factor g > 0.5) and sF = 1 (2g for g < 0.5):

loss
    raw_j = sum over kept records of gF share_j + sum over S of share_j + sF (1 - share_j);
    v_j = (raw_j - m_j) / (N - m_j), m_j = gF (sum of the shares of the records' leaves).
precision
    v_j = ((N - |S|) gF level_j / height_j + |S| sF) / N (Sweeney 2002, doi 10.1142/S021848850200165X).
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

from hybrid.anonymize.checker import Found
from hybrid.anonymize.lattice import Lattice, Node
from hybrid.anonymize.losses.base import Bound, Score
from hybrid.anonymize.options import LossOptions
from hybrid.anonymize.records import Records
from hybrid.arrays import Array
from hybrid.errors import ConfigError

STEP = 1e-10
"""Terms are rounded down to multiples of this."""
_MATRIX = 1 << 21
"""Largest number of cells of the matrix that makes suppression sums one product."""


def column_weights(options: LossOptions, names: Sequence[str]) -> Array:
    """The weight of each quasi-identifier; shape (n_qi,), float64, 1 where none is given."""
    unknown = sorted(set(options.weights) - set(names))
    if unknown:
        raise ConfigError(
            f"loss.weights names {', '.join(map(repr, unknown))}, which are no quasi-identifiers",
            mend=f"the quasi-identifiers are {', '.join(map(repr, names))}",
        )
    return np.array([options.weights.get(name, 1.0) for name in names])


def factors(gs_factor: float) -> tuple[float, float]:
    """What a generalized and a suppressed cell count, both in 0..1."""
    return (1.0 if gs_factor <= 0.5 else 2 - 2 * gs_factor), (2 * gs_factor if gs_factor < 0.5 else 1.0)


def rounded(terms: Array) -> Array:
    """Terms rounded down to multiples of :data:`STEP`, at least 0."""
    result: Array = np.floor(np.maximum(terms, 0) * 1e10) / 1e10
    return result


def safe(terms: Array) -> Array:
    """A little less than :func:`rounded`, whatever the order of summation was."""
    result: Array = np.maximum(terms * (1 - 1e-12) - 1.1 * STEP, 0)
    return result


@dataclass(frozen=True)
class Mean:
    """How the terms of the columns are joined."""

    records: Records
    lattice: Lattice
    weights: Array
    mean: str
    """geometric, arithmetic or sum."""

    def combine(self, values: Sequence[Array]) -> Array:
        """One loss from one value (or broadcastable array) per column."""
        if self.mean == "geometric":
            product: Array = np.asarray(1.0)
            for weight, value in zip(self.weights, values, strict=True):
                product = product * (value * weight + 1)
            return np.asarray(product ** (1 / len(values)) - 1)
        total: Array = np.asarray(0.0)
        for weight, value in zip(self.weights, values, strict=True):
            total = total + value * weight
        return np.asarray(total / len(values) if self.mean == "arithmetic" else total)

    def above(self, found: Found) -> float:  # noqa: ARG002
        """Nothing: a coarser node may suppress less."""
        return -np.inf


@dataclass(frozen=True)
class _ByRow(Mean):
    """Terms that depend on which rows are suppressed."""

    _last: dict[int, tuple[Array, list[Array]]] = field(default_factory=dict, repr=False, kw_only=True)

    def terms(self, suppressed: Array | None) -> list[Array]:
        """Term of each column on each level, not yet rounded, given the suppressed records per distinct row."""
        raise NotImplementedError

    @cached_property
    def scales(self) -> Array:
        """What a rounded term is multiplied with."""
        return np.ones(len(self.weights))

    def initial(self) -> Bound:
        """Nothing is suppressed."""
        return self._bound(self.terms(None))

    def below(self, found: Found) -> Bound:
        """The certainly suppressed rows are suppressed."""
        return self._bound(self._remembered(found.certain_counts))

    def score(self, node: Node, found: Found) -> Score:
        """The loss of a node."""
        terms = self._remembered(found.suppressed_counts) if found.n_suppressed else self.terms(None)
        at_node = np.array([term[position] for term, position in zip(terms, node, strict=True)])
        values = rounded(at_node) * self.scales
        return Score(float(self.combine(list(values))), tuple(map(float, values)))

    def _bound(self, terms: list[Array]) -> Bound:
        return Bound([safe(term) * scale for term, scale in zip(terms, self.scales, strict=True)], self.combine)

    def _remembered(self, suppressed: Array) -> list[Array]:
        """The terms, computed once when a node is both scored and bounded with the same rows."""
        if 0 not in self._last or self._last[0][0] is not suppressed:
            self._last[0] = suppressed, self.terms(suppressed)
        return self._last[0][1]

    def _per_leaf(self, suppressed: Array) -> list[Array]:
        """Suppressed records per leaf of each column."""
        chosen = np.flatnonzero(suppressed)
        counts = suppressed[chosen]
        return [
            np.bincount(leaves[chosen], weights=counts, minlength=hierarchy.n_leaves)
            for leaves, hierarchy in zip(self.records.leaves, self.records.hierarchies, strict=True)
        ]


@dataclass(frozen=True)
class DomainShare(_ByRow):
    """Loss: how much of each column's domain a cell covers."""

    gs_factor: float = 0.5

    @cached_property
    def node_costs(self) -> list[Array]:
        """What one cell at each node adds to v_j; one array of shape (n_nodes,) per column."""
        keep, _ = factors(self.gs_factor)
        costs = []
        for hierarchy, weight, (_, _, least) in zip(self.records.hierarchies, self.weights, self._parts, strict=True):
            span = self.records.n_records - least
            costs.append(weight * keep * hierarchy.share / span if span > 0 else np.zeros(hierarchy.n_nodes))
        return costs

    def score_nodes(self, nodes: Array) -> Score:
        """The loss when every cell of every distinct row has its own node and none is suppressed.

        Parameters
        ----------
        nodes : numpy.ndarray, shape (n_qi, n_distinct)
            Node of each cell.
        """
        keep, _ = factors(self.gs_factor)
        n = self.records.n_records
        terms = []
        for hierarchy, node, (_, _, least) in zip(self.records.hierarchies, nodes, self._parts, strict=True):
            raw = keep * float(self.records.counts @ hierarchy.share[node])
            terms.append((raw - least) / (n - least) if n - least > 1e-12 * n else 0.0)
        values = rounded(np.array(terms))
        return Score(float(self.combine(list(values))), tuple(map(float, values)))

    def terms(self, suppressed: Array | None) -> list[Array]:
        """v_j per level, not yet rounded."""
        n = self.records.n_records
        added = None if suppressed is None else self._added(suppressed)
        terms = []
        for at, (raw, _, least) in enumerate(self._parts):
            total = raw if added is None else raw + added[at]
            terms.append((total - least) / (n - least) if n - least > 1e-12 * n else np.zeros(len(total)))
        return terms

    def _added(self, suppressed: Array) -> list[Array]:
        """What suppressing these records adds to the raw loss of each column on each level."""
        if self._more_per_row is None:
            return [hidden @ more for hidden, (_, more, _) in zip(self._per_leaf(suppressed), self._parts, strict=True)]
        sums = self._more_per_row @ suppressed
        ends = np.cumsum([len(axis) for axis in self.lattice.axes])
        return np.split(sums, ends[:-1])

    @cached_property
    def _more_per_row(self) -> Array | None:
        """What suppressing each distinct row adds, shape (levels of all columns, n_distinct); None if too large."""
        if sum(self.lattice.shape) * self.records.n_distinct > _MATRIX:
            return None
        parts = zip(self._parts, self.records.leaves, strict=True)
        matrix: Array = np.concatenate([np.ascontiguousarray(more.T)[:, leaves] for (_, more, _), leaves in parts])
        return matrix

    @cached_property
    def _parts(self) -> list[tuple[Array, Array, float]]:
        """Per column: raw loss per level, what suppressing a record of each leaf adds per level, and m."""
        keep, drop = factors(self.gs_factor)
        parts = []
        for at, hierarchy in enumerate(self.records.hierarchies):
            share = hierarchy.share[hierarchy.node_of]
            raw = keep * (self.records.leaf_counts(at) @ share)
            more = share + drop * (1 - share) - keep * share
            levels = self.lattice.axes[at]
            parts.append((raw[levels], np.ascontiguousarray(more[:, levels]), float(raw[0])))
        return parts


@dataclass(frozen=True)
class Entropy(_ByRow):
    """Non-uniform entropy: bits that the labels no longer tell of the values."""

    normalized: bool = False

    @cached_property
    def scales(self) -> Array:
        """1 / the bits of the column itself if normalized."""
        if not self.normalized:
            return np.ones(len(self.weights))
        own = [_code_length(self.records.leaf_counts(at)) for at in range(len(self.weights))]
        return np.array([1 / bits if bits > 0 else 0.0 for bits in own])

    def terms(self, suppressed: Array | None) -> list[Array]:
        """Bits lost per level, not yet rounded or normalized."""
        if suppressed is None:
            return self._kept
        terms = []
        for at, (kept, counts) in enumerate(zip(self._kept, self._per_leaf(suppressed), strict=True)):
            node_of = self.records.hierarchies[at].node_of
            lost = [_code_length(np.bincount(node_of[:, level], counts)) for level in self.lattice.axes[at]]
            terms.append(kept + np.array(lost))
        return terms

    @cached_property
    def _kept(self) -> list[Array]:
        kept = []
        for at, hierarchy in enumerate(self.records.hierarchies):
            counts = self.records.leaf_counts(at)
            total = _code_length(counts)
            levels = self.lattice.axes[at]
            left = [_code_length(np.bincount(hierarchy.node_of[:, level], counts)) for level in levels]
            kept.append(total - np.array(left))
        return kept


def _code_length(counts: Array) -> float:
    """- sum c log2(c / total): bits to tell the groups of all records."""
    counts = counts[counts > 0]
    return float(-(counts * np.log2(counts / counts.sum())).sum()) if len(counts) else 0.0


@dataclass(frozen=True)
class Precision(Mean):
    """Precision: how high in its hierarchy a cell is."""

    gs_factor: float = 0.5

    @cached_property
    def node_costs(self) -> list[Array]:
        """What one cell at each node adds to v_j; one array of shape (n_nodes,) per column."""
        keep, _ = factors(self.gs_factor)
        return [
            weight * keep * hierarchy.level_of() / max(hierarchy.n_levels - 1, 1) / self.records.n_records
            for weight, hierarchy in zip(self.weights, self.records.hierarchies, strict=True)
        ]

    def score_nodes(self, nodes: Array) -> Score:
        """The loss when every cell of every distinct row has its own node, at its lowest level.

        Parameters
        ----------
        nodes : numpy.ndarray, shape (n_qi, n_distinct)
            Node of each cell.
        """
        keep, _ = factors(self.gs_factor)
        values = []
        for hierarchy, node in zip(self.records.hierarchies, nodes, strict=True):
            heights = hierarchy.level_of()[node] / max(hierarchy.n_levels - 1, 1)
            values.append(keep * float(self.records.counts @ heights) / self.records.n_records)
        return Score(float(self.combine([np.asarray(value) for value in values])), tuple(values))

    def initial(self) -> Bound:
        """Heights alone."""
        return self._bound(0)

    def below(self, found: Found) -> Bound:
        """The certainly suppressed records count as such."""
        return self._bound(found.n_certain)

    def score(self, node: Node, found: Found) -> Score:
        """The loss of a node."""
        keep, drop = factors(self.gs_factor)
        share = found.n_suppressed / self.records.n_records
        heights = [height[position] for height, position in zip(self._heights, node, strict=True)]
        values = [(1 - share) * keep * height + share * drop for height in heights]
        return Score(float(self.combine(values)), tuple(map(float, values)))

    def _bound(self, n_suppressed: int) -> Bound:
        keep, drop = factors(self.gs_factor)
        share = n_suppressed / self.records.n_records
        terms = [(1 - share) * np.minimum(keep * height, drop) + share * drop for height in self._heights]
        return Bound([safe(term) for term in terms], self.combine)

    @cached_property
    def _heights(self) -> list[Array]:
        return [
            axis / max(hierarchy.n_levels - 1, 1)
            for axis, hierarchy in zip(self.lattice.axes, self.records.hierarchies, strict=True)
        ]
