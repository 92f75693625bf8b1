"""Association of quasi-identifiers with what a table is for, and how much of it each level of a hierarchy keeps.

What Iyengar (2002, doi 10.1145/775047.775089, classification metric) and LeFevre, DeWitt and Ramakrishnan (2008,
doi 10.1145/1386118.1386123, information gain) ask of one class label is asked of every column that the table is for, by
a share of variance: the correlation ratio of numbers and dates, by ranks, and Goodman and Kruskal's tau of categories,
which is the same of their indicators. Groups of few records explain a share by chance, which the adjustment for the
number of groups (Kelley 1935, doi 10.1073/pnas.21.9.554) takes off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Codes, Leaves, Numbers
from hybrid.base.errors import ConfigError
from hybrid.base.keys import group_sums
from hybrid.hierarchy import Hierarchy
from hybrid.table import Column, Table
from hybrid.table.holders import NOBODY, row_persons

GROUPS = 20
"""Groups of the ranks of a number, and values of a category that are looked at one by one: the commonest."""
_CHANCE = 2.0
"""Standard deviations above its mean up to which a share of variance is taken for chance."""


@dataclass(frozen=True)
class LevelAssociations:
    """Associations of the quasi-identifiers, as far as each level keeps them."""

    declared: tuple[str, ...]
    """Columns that the table is for; empty where none is declared, and all columns count."""
    kept: tuple[Numbers, ...]
    """For each quasi-identifier, shares of variance explained, added up over these columns; no level keeps more than
    the one below. Private: they are means over the records; shape (n_levels,), float64."""

    @property
    def lost(self) -> list[Numbers]:
        """Loss of each level, over the whole association of the most telling quasi-identifier; each 0..1, ascending."""
        most = max((float(levels[0]) for levels in self.kept), default=0.0)
        return [(levels[0] - levels) / most if most > 0 else np.zeros(len(levels)) for levels in self.kept]


def measure_associations(
    train: Table, leaves: Leaves, hierarchies: Sequence[Hierarchy], uses: Sequence[str]
) -> LevelAssociations:
    """Measure what each level keeps of the associations with some columns; without any, with the targets, else all.

    The rows of a person weigh as one together. A quasi-identifier has no association with itself.
    """
    unknown = [name for name in uses if name not in train.schema]
    if unknown:
        raise ConfigError(
            f"loss.use names {', '.join(map(repr, unknown))}, which the table to anonymize does not have",
            hint=f"one of: {', '.join(map(repr, train.schema.names))}",
        )
    declared = tuple(uses) or tuple(train.schema.targets)
    weights = _weights(train)
    kept = [np.zeros(hierarchy.n_levels) for hierarchy in hierarchies]
    for name in declared or train.schema.names:
        codes, scores = _scores(train.schema[name], train.frame[name])
        for at, hierarchy in enumerate(hierarchies):
            if hierarchy.column != name:
                kept[at] += _explained(leaves[:, at], hierarchy, codes, scores, weights)
    return LevelAssociations(declared, tuple(kept))


def _weights(train: Table) -> Numbers:
    """1 / (rows of its person) for each row; 1 for rows without a person."""
    persons = row_persons(train)
    codes, known = pd.factorize(persons)
    rows = np.bincount(codes, minlength=len(known))[codes]
    return np.where(persons == NOBODY, 1.0, 1.0 / rows)


def _scores(column: Column, values: pd.Series) -> tuple[Codes, Numbers]:
    """A group for each row, and the scores of each group; shapes (n,) and (n_groups, n_scores).

    Numbers and dates are in groups of their ranks, a missing one in the middle; categories have an indicator each.
    """
    if column.kind.is_continuous:
        rank = values.rank(pct=True).to_numpy(dtype=np.float64, na_value=np.nan)
        group = np.where(np.isnan(rank), GROUPS, np.ceil(rank * GROUPS) - 1).astype(np.int64)
        return group, np.append(np.arange(GROUPS), (GROUPS - 1) / 2)[:, None]
    codes, distinct = pd.factorize(values, use_na_sentinel=True)
    counts = np.bincount(codes + 1, minlength=len(distinct) + 1)
    common = np.argsort(-counts, kind="stable")[:GROUPS]
    group = np.full(len(counts), len(common))
    group[common] = np.arange(len(common))
    return group[codes + 1], np.eye(len(common) + 1)


def _explained(leaves: Leaves, hierarchy: Hierarchy, codes: Codes, scores: Numbers, weights: Numbers) -> Numbers:
    """Share of the scores' variance that the nodes of each level explain; shape (n_levels,), descending."""
    n_codes = len(scores)
    pairs = group_sums(leaves.astype(np.int64) * n_codes + codes, weights, hierarchy.n_leaves * n_codes)
    counts = pairs.reshape(hierarchy.n_leaves, n_codes)
    sizes, sums = counts.sum(axis=1), counts @ scores
    total = float(sizes.sum())
    mean = sums.sum(axis=0) / total
    variance = float((counts.sum(axis=0) @ (scores - mean) ** 2).sum())
    if variance <= 1e-9 * total:
        return np.zeros(hierarchy.n_levels)
    freedom = 1 if scores.shape[1] == 1 else max(int((counts.sum(axis=0) > 0).sum()) - 1, 1)
    found = list(_levels(hierarchy, sizes, sums - np.outer(sizes, mean)))
    shares = [_adjusted(between / variance, groups, total, freedom) for between, groups in found]
    return np.maximum.accumulate(np.array(shares)[::-1])[::-1]


def _levels(hierarchy: Hierarchy, sizes: Numbers, sums: Numbers) -> Iterator[tuple[float, int]]:
    """Sum of squares between the nodes of each level, and how many of them hold records."""
    for level in range(hierarchy.n_levels):
        nodes = hierarchy.node_of[:, level]
        size = group_sums(nodes, sizes, hierarchy.n_nodes)
        held = size > 0
        joined = np.stack([group_sums(nodes, one, hierarchy.n_nodes)[held] for one in sums.T], axis=1)
        yield float((joined**2 / size[held, None]).sum()), int(held.sum())


def _adjusted(share: float, groups: int, total: float, freedom: int) -> float:
    """Share of variance less what as many groups explain by chance; 0 where it can be chance.

    Without association the share of one score has a beta distribution of (groups - 1) / 2 and (total - groups) / 2.
    """
    if total - groups < 1 or groups < 2:
        return 0.0
    chance = (groups - 1) / (total - 1)
    spread = np.sqrt(2 * chance * (1 - chance) / (total + 1) / freedom)
    if share <= chance + _CHANCE * spread + 1e-9:  # sums are rounded
        return 0.0
    return float(1 - (1 - share) * (total - 1) / (total - groups))
