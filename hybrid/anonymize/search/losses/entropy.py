"""Non-uniform entropy.

Formulas in :mod:`hybrid.anonymize.search.losses.columns`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybrid.anonymize.search.losses.columns import ByRow
from hybrid.base.arrays import Codes, Numbers


@dataclass(frozen=True)
class Entropy(ByRow):
    """Non-uniform entropy.

    Bits of information on the values that the labels lose.
    """

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
        """Bits lost per level, not yet rounded or normalized."""
        return self._kept + self._code_lengths(hidden)

    @cached_property
    def _kept(self) -> Numbers:
        left = self._code_lengths(np.concatenate(self.records.leaf_counts))
        kept: Numbers = np.array(self._own)[self.column_of] - left
        return kept

    def _code_lengths(self, counts: Numbers) -> Numbers:
        """Bits to encode the nodes of all records, per column and level.

        Given the records per leaf of all columns.
        """
        leaf, node, starts = self._nodes
        sums = np.bincount(node, weights=counts[leaf], minlength=starts[-1])
        columns = np.add.reduceat(counts, self.leaf_starts[:-1])
        total = np.repeat(np.maximum(columns, 1)[self.column_of], np.diff(starts))
        lengths: Numbers = np.add.reduceat(-sums * np.log2(np.maximum(sums, 1) / total) * (sums > 0), starts[:-1])
        return lengths

    @cached_property
    def _nodes(self) -> tuple[Codes, Codes, Codes]:
        """Node number of each leaf on each level of its column.

        With the start of each level's nodes.
        """
        leaf, node, starts = [], [], [0]
        for first, hierarchy, levels in zip(
            self.leaf_starts, self.records.hierarchies, self.lattice.axes, strict=False
        ):
            for level in levels:
                distinct, number = np.unique(hierarchy.node_of[:, level], return_inverse=True)
                leaf.append(first + np.arange(hierarchy.n_leaves))
                node.append(starts[-1] + number.reshape(-1))
                starts.append(starts[-1] + len(distinct))
        return np.concatenate(leaf), np.concatenate(node), np.array(starts)


def _code_length(counts: Numbers) -> float:
    """Bits to encode the groups of all records.

    - sum c log2(c / total).
    """
    counts = counts[counts > 0]
    return float(-(counts * np.log2(counts / counts.sum())).sum()) if len(counts) else 0.0
