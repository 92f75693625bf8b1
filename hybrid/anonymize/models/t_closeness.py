"""t-closeness: the distribution of a sensitive column in every class.

It is almost that of the whole table.

Source: Li, Li and Venkatasubramanian 2007, doi 10.1109/ICDE.2007.367856; the earth mover's distances of section 5.

The whole table is, as there, the one that is anonymized: what the observer of section 3 knows of the population before
seeing a class. Suppressed records belong to it, so that leaving out the people of rare values does not bring a class
nearer. Against the records that remain, the distance of a class can be larger than t.

Pruning: convex, because the earth mover's distance to a fixed distribution is convex in a class's distribution. No
number of distinct values follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from hybrid.anonymize.models.histogram import Histogram
from hybrid.anonymize.models.protocol import WHOLE_TABLE, ClassRule, SensitiveModel
from hybrid.anonymize.models.released import ClassCounts, ModelCheck, at_most
from hybrid.base.arrays import Leaves, Mask, Numbers
from hybrid.base.errors import ConfigError
from hybrid.hierarchy import Hierarchy

_CELLS = 1 << 22
"""Classes x values that the check spreads out at once."""


class TCloseness(SensitiveModel):
    """t-closeness: bounded distance of every class from the whole table.

    The distance is between distributions of a sensitive column.

    Li, Li and Venkatasubramanian 2007, doi 10.1109/ICDE.2007.367856.
    """

    model: Literal["t_closeness"]
    t: float = Field(ge=0, le=1)
    """Largest earth mover's distance, 0..1."""
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    """equal: any two values are equally far apart. ordered: by rank. hierarchical: by the height of the lowest
    common node in the column's hierarchy."""
    attribute: str
    """The sensitive column."""
    compared_with: ClassVar[str] = WHOLE_TABLE

    @property
    def name(self) -> str:
        return f"{self.t:g}-closeness ({self.distance}) of {self.attribute!r}"

    def rule(self, hierarchy: Hierarchy | None, leaves: Leaves | None) -> ClassRule:
        return ClassRule(self.name, self.attribute, self._distance(hierarchy, leaves), self.t, False)

    def verify(self, counts: ClassCounts) -> ModelCheck:
        if self.distance == "equal":
            return at_most(self.name, variation(counts, counts.cells["value"], counts.overall), self.t)
        if self.distance == "ordered":
            return at_most(self.name, mean_gap(counts), self.t)
        if counts.hierarchy is None:
            raise self._no_hierarchy()
        return at_most(self.name, mean_variation(counts, counts.hierarchy, counts.leaves), self.t)

    def _distance(self, hierarchy: Hierarchy | None, leaves: Leaves | None) -> Callable[[Histogram], Numbers]:
        if self.distance == "equal":
            return equal_distance
        if self.distance == "ordered":
            return ordered_distance
        if hierarchy is None:
            raise self._no_hierarchy()
        covers = hierarchy.covers()[:, leaves]
        level, parents = hierarchy.level_of(), hierarchy.parents()
        height = np.where(parents < 0, 0, level[parents] - level) / max(hierarchy.n_levels - 1, 1)
        return lambda histogram: hierarchical_distance(histogram, covers, height)

    def _no_hierarchy(self) -> ConfigError:
        return ConfigError(
            f"t_closeness with distance hierarchical: the column {self.attribute!r} has no hierarchy",
            hint="give the sensitive column a hierarchy, or use distance equal",
        )


def equal_distance(histogram: Histogram) -> Numbers:
    """Earth mover's distance to the reference with equal distances: the total variation distance, 0..1."""
    reference = histogram.reference[histogram.values]
    inside = histogram.per_class(np.abs(histogram.frequencies() - reference) - reference)
    distance: Numbers = 0.5 * (inside + histogram.reference.sum())
    return distance


def ordered_distance(histogram: Histogram) -> Numbers:
    """Earth mover's distance to the reference with distances by rank, 0..1."""
    steps = max(histogram.n_values - 1, 1)
    return histogram.by_blocks(lambda difference: np.abs(np.cumsum(difference, axis=1)).sum(axis=1) / steps)


def hierarchical_distance(histogram: Histogram, covers: Mask, height: Numbers) -> Numbers:
    """Earth mover's distance to the reference with distances by hierarchy.

    Moving mass to another subtree costs the height of the common node, 0..1. Li et al. 2007, section 5.2, with costs
    added up along the tree: mass that leaves a node pays the ``height`` from the node to its parent once, over the
    height of the tree. ``covers``, of shape (n_nodes, n_values): which value is under which node.
    """
    weights = covers.astype(np.float64).T
    return histogram.by_blocks(lambda difference: 0.5 * np.abs(difference @ weights) @ height)


def variation(counts: ClassCounts, group: pd.Series, overall: pd.Series) -> pd.Series:
    """Total variation distance of each class from the whole table, 0..1: the mass that has to move at all.

    ``group``: what the value of each cell is grouped by; ``overall``: share of each group in the whole table.
    """
    inside = counts.cells["share"].groupby([counts.cells["class"], group]).sum()
    excess = inside - overall.reindex(inside.index.get_level_values(1)).to_numpy()
    return excess.clip(lower=0).groupby(level=0).sum()


def mean_gap(counts: ClassCounts) -> pd.Series:
    """Ordered distance of each class: the gap between both distribution functions, averaged over the steps."""
    n_values = len(counts.overall)
    block = counts.cells["class"] // max(1, _CELLS // max(n_values, 1))
    expected = counts.overall.cumsum()
    gaps = []
    for _, cells in counts.cells.groupby(block):
        shares = cells.pivot_table(index="class", columns="value", values="share", aggfunc="sum")
        reached = shares.reindex(columns=counts.overall.index).fillna(0).cumsum(axis=1)
        gaps.append((reached - expected).abs().iloc[:, :-1].sum(axis=1) / max(n_values - 1, 1))
    return pd.concat(gaps) if gaps else pd.Series(dtype=np.float64)


def mean_variation(counts: ClassCounts, hierarchy: Hierarchy, leaves: Leaves | None) -> pd.Series:
    """Hierarchical distance of each class: the total variation on every level below the root, averaged.

    The sum over inner nodes of (height / total height) x min(mass in excess, mass lacking) among the children, as in Li
    et al. 2007, section 5.2: mass in excess on one level and not on the next one moves inside that level's node.
    """
    levels = range(hierarchy.n_levels - 1)
    total = pd.Series(0.0, index=counts.cells["class"].unique())
    for level in levels:
        node_of = hierarchy.node_of[leaves, level]
        overall = counts.overall.groupby(node_of).sum()
        total += variation(counts, counts.cells["value"].map(pd.Series(node_of)), overall)
    return total / max(len(levels), 1)
