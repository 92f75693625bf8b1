"""Repeats of restored values in successive rows of a person."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Array, Codes, Mask
from hybrid.hierarchy import LabelTable
from hybrid.table import Table
from hybrid.table.persons import person_groups

LEAST_PERSONS = 10
"""Persons with successive rows of equal labels from which repeats of a column are estimated."""


@dataclass(frozen=True)
class Repeats:
    """Probabilities that a restored value repeats that of the row before.

    Where both have the same label.

    Labels are restored row by row. A quasi-identifier that rarely changes within its label (an age, a place of
    residence) would change at every row.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    """Probability of each column that repeats beyond chance, in (0, 1]."""

    @classmethod
    def of(cls, anonymized: AnonymizedTable, static: Collection[str]) -> Repeats:
        """Estimate from the original values of the anonymized records, but for ``static`` columns.

        Of a share p of pairs of successive rows with equal labels the values are equal, and of a share c they would be
        by chance, since values of a label repeat: (p - c) / (1 - c) of the values are repeated.
        """
        groups = person_groups(anonymized.originals.persons)
        places = np.argsort(groups, kind="stable")
        shares = {}
        for at, name in enumerate(anonymized.quasi_identifiers):
            nodes, leaves = anonymized.labels.nodes[places, at], anonymized.leaves[places, at]
            pairs = np.flatnonzero(_follows(groups[places], nodes))
            if name in static or len(np.unique(groups[places][pairs])) < LEAST_PERSONS:
                continue
            equal, chance = float((leaves[pairs] == leaves[pairs - 1]).mean()), _by_chance(nodes, leaves, pairs)
            if equal > chance:
                shares[name] = (equal - chance) / (1 - chance)
        return cls(shares)

    def apply(self, table: Table, labels: LabelTable, rng: np.random.Generator) -> Table:
        """Repeat values of a table that was restored from ``labels``, rows of a person in their order.

        Columns repeat together: one random number per row decides about all of them.
        """
        if not self.shares or not len(table):
            return table
        groups = person_groups(table.persons)
        places = np.argsort(groups, kind="stable")
        uniform, columns = rng.random(len(table)), {}
        for name, share in self.shares.items():
            nodes = labels.nodes[places, labels.quasi_identifiers.index(name)]
            repeated = _follows(groups[places], nodes) & (uniform < share)
            first = np.maximum.accumulate(np.where(repeated, 0, np.arange(len(table))))
            source = np.empty(len(table), dtype=np.int64)
            source[places] = places[first]
            columns[name] = table.frame[name].take(source).reset_index(drop=True)
        return replace(table, frame=table.frame.assign(**columns))


def _follows(groups: Codes, nodes: Array) -> Mask:
    """Mask of rows that repeat person and label; rows of a person are adjacent and in order."""
    found = np.zeros(len(groups), dtype=bool)
    found[1:] = (groups[1:] == groups[:-1]) & (nodes[1:] == nodes[:-1])
    return found


def _by_chance(nodes: Array, leaves: Array, pairs: Array) -> float:
    """Share of equal values by chance, of two random rows with the label of a pair, averaged over the pairs."""
    both, counts = np.unique(np.stack([nodes, leaves]), axis=1, return_counts=True)
    label = np.searchsorted(np.unique(nodes), both[0])
    squares, totals = np.bincount(label, counts.astype(np.float64) ** 2), np.bincount(label, counts)
    return float((squares / totals**2)[np.searchsorted(np.unique(nodes), nodes[pairs])].mean())
