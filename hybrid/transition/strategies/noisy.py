"""Noisy: values from tables of counts with noise of stated epsilon."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base import options as base
from hybrid.base.arrays import Array
from hybrid.base.errors import ConfigError, DataError
from hybrid.base.likeness import mutual_information
from hybrid.hierarchy import LabelTable
from hybrid.transition.drawing.domain import Domain, assemble
from hybrid.transition.drawing.donors import ClassIndex, Donors
from hybrid.transition.drawing.features import Bins, ColumnGroups, groups_of
from hybrid.transition.protocol import Restored, Transition


def geometric(counts: Array, epsilon: float, sensitivity: float, rng: np.random.Generator) -> Array:
    """Counts of all cells of a table with two-sided geometric noise, whole for ``epsilon``.

    P(noise = x) = (1 - a) / (1 + a) * a ** |x| with a = exp(-epsilon / sensitivity): the geometric mechanism of Ghosh,
    Roughgarden and Sundararajan (2012), drawn as the difference of two geometric variables. ``sensitivity``: largest
    change of the sum of absolute counts between neighbouring data sets; cells do not depend on the records.
    """
    success = -np.expm1(-epsilon / sensitivity)
    noise = rng.geometric(success, counts.shape) - rng.geometric(success, counts.shape)
    return np.asarray((counts + noise).astype(np.float64))


def laplace(counts: Array, epsilon: float, sensitivity: float, rng: np.random.Generator) -> Array:
    """Counts with Laplace noise of scale sensitivity / epsilon (Dwork et al. 2006); arguments as :func:`geometric`.

    In floating point its guarantee is only approximate (Mironov 2012), which the geometric mechanism avoids.
    """
    return counts + rng.laplace(0.0, sensitivity / epsilon, counts.shape)


def exponential_choice(scores: Array, epsilon: float, sensitivity: float, rng: np.random.Generator) -> int:
    """Position drawn with a probability proportional to exp(epsilon * score / (2 * sensitivity)).

    The exponential mechanism of McSherry and Talwar (2007), by the Gumbel-max identity.
    """
    return int(np.argmax(epsilon * scores / (2 * sensitivity) + rng.gumbel(size=len(scores))))


@dataclass(frozen=True)
class Units:
    """Cells of a table of counts: values, or intervals of level 1."""

    domain: Domain
    """Of the column."""
    level: int
    """The level of the hierarchy of the units."""
    nodes: Array
    """The node of each unit, in tree order; shape (n_units,), int32."""
    starts: Array
    """The first rank of each unit; shape (n_units,), int64."""

    def __len__(self) -> int:
        return len(self.nodes)

    def codes(self, ranks: Array) -> Array:
        """The unit of each rank, 0..len-1; int64."""
        return np.searchsorted(self.starts, ranks, side="right") - 1

    def draw(self, table: Array, groups: Array, nodes: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Unit below each row's node, drawn by the weights of its group (-1: none), and where there was any weight.

        The unit is a node: the label itself where it is finer than a unit, or where nothing has weight.
        """
        first = self.codes(self.domain.first[nodes])
        last = self.codes(self.domain.first[nodes] + self.domain.n_leaves[nodes] - 1)
        offset = np.maximum(groups, 0) * len(self)
        low, high = table[offset + first], table[offset + last + 1]
        served = (groups >= 0) & (high > low)
        at = np.searchsorted(table, low + rng.random(len(nodes)) * (high - low), side="right") - 1
        unit = np.clip(at - offset, first, last)
        drawn = self.nodes[unit]
        whole = served & (self.domain.hierarchy.level_of()[nodes] >= self.level)
        return np.where(whole, drawn, nodes).astype(np.int32), served


def units_of(domain: Domain) -> Units:
    """The units of a column: its leaves, or the lowest intervals of decimals and dates."""
    level = 0 if domain.grid is None else min(1, domain.hierarchy.n_levels - 1)
    by_rank = domain.hierarchy.node_of[domain.order, level]
    starts = np.flatnonzero(np.append(True, by_rank[1:] != by_rank[:-1])) if len(by_rank) else np.empty(0, np.int64)
    return Units(domain, level, by_rank[starts], starts)


def bins_by_units(units: Units, most: int) -> Bins:
    """Bins with about equally many units of the hierarchy, whatever the records; missing has one of its own."""
    missing = units.domain.hierarchy.missing_node
    starts = units.starts[units.nodes != (-1 if missing is None else missing)]
    n_bins = min(most, len(starts))
    cuts = starts[-(-np.arange(1, n_bins) * len(starts) // max(n_bins, 1))]
    has_missing = 0 < len(starts) < len(units)
    return Bins(np.append(cuts, units.starts[-1]) if has_missing else cuts)


SENSITIVITY = 2.0
"""Replacing one record by another lowers one count of a table by one and raises one by one."""
MOST_BINS = 16
"""Bins of the attribute that another one depends on."""
MOST_CELLS = 50_000_000
"""Largest number of cells of one table."""
STRUCTURE_SHARE = 0.2
"""Part of epsilon spent on choosing the tree of ``chow_liu``."""


class NoisyOptions(base.Options):
    """Options of ``noisy``."""

    tables: Literal["marginal", "chow_liu", "class"] = "marginal"
    """marginal: one table per attribute; chow_liu: one per attribute and the one it depends on in a tree; class: one
    per attribute and equivalence class."""
    epsilon: float = Field(default=1.0, gt=0.0)
    """Privacy loss of all tables together (and of choosing the tree), for data sets of the same size that differ in
    one record. Smaller hides more."""
    mechanism: Literal["geometric", "laplace"] = "geometric"
    """Noise with whole numbers, or the textbook's with real numbers, exact on paper only."""
    given: str | None = None
    """marginal, chow_liu: a categorical or boolean column that is no quasi-identifier, on whose value each table
    depends, too; its values are taken as publicly known."""


@dataclass(frozen=True)
class _Dependency:
    """Noisy table of one attribute, with its parent or class."""

    child: int
    parent: int
    bins: Bins | None
    units: Units
    table: Array
    """Sums of the weights before each cell of group and unit, from 0; shape (n_groups * n_units + 1,), float64."""


@dataclass(frozen=True)
class FittedNoisy:
    """Noisy tables, and no other trace of the original values."""

    domains: dict[str, Domain]
    classes: ClassIndex | None
    groups: ColumnGroups | None
    tables: tuple[_Dependency, ...]

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Values below the labels as frequent as the noisy table states; uniform where it states nothing."""
        names = list(self.domains)
        fixed, n_fixed = _fixed_groups(self.classes, self.groups, labels)
        ranks: dict[int, Array] = {}
        columns, counts = {}, Counter[str]()
        for one in self.tables:
            nodes, name = labels.nodes[:, one.child], names[one.child]
            domain = self.domains[name]
            group = fixed if one.bins is None else one.bins.codes(ranks[one.parent]) * n_fixed + fixed
            target, served = one.units.draw(one.table, group, nodes, rng)
            columns[name] = domain.series(domain.uniform(target, rng))
            ranks[one.child] = domain.first[target] + (np.maximum(domain.n_values[target], 1) - 1) // 2
            counts.update({"table": int(served.sum()), "uniform": int((~served).sum())})
        return Restored(assemble(labels, columns), dict(counts))


class Noisy(Transition):
    """Values drawn from noisy tables of counts over the hierarchy's values.

    What it promises: for ``marginal`` and ``chow_liu`` the tables together are epsilon-differentially private
    (records of the table restored from, replacement of one record, basic composition over the tables; the tree is
    chosen by the exponential mechanism), provided the hierarchies, the intervals of
    decimals and dates that occur, the number of records and the values of the given column are public.

    What it does not promise: the *labels* themselves come from the anonymizer and are not covered, so neither is
    the restored table; other columns pass through unchanged. For ``class`` the tables depend on which classes
    exist, which depends on all records: epsilon then only bounds what the counts say once the classes are known.
    """

    name = "noisy"
    Options = NoisyOptions

    def fit(self, anonymized: AnonymizedTable, options: NoisyOptions, rng: np.random.Generator) -> FittedNoisy:
        records = Donors(anonymized)
        groups = _public_groups(anonymized.labels, options)
        classes = records.classes if options.tables == "class" else None
        fixed, n_fixed = _fixed_groups(classes, groups, anonymized.labels)
        if classes is not None:
            fixed, n_fixed = anonymized.class_ids, len(records.by_class.sizes)
        units = [units_of(domain) for domain in records.domains.values()]
        bins = [bins_by_units(one, MOST_BINS) for one in units]
        codes = [one.codes(records.ranks(at)) for at, one in enumerate(bins)]
        budget = options.epsilon
        tree = [(at, -1) for at in range(len(bins))]
        if options.tables == "chow_liu" and len(bins) > 1:
            tree = _private_tree(codes, bins, options.epsilon * STRUCTURE_SHARE, rng)
            budget *= 1 - STRUCTURE_SHARE
        tables = []
        for child, parent in tree:
            group = fixed if parent < 0 else codes[parent] * n_fixed + fixed
            n_groups = n_fixed if parent < 0 else len(bins[parent]) * n_fixed
            table = _noisy_table(
                units[child], records.ranks(child), group, n_groups, budget / len(tree), options.mechanism, rng
            )
            tables.append(_Dependency(child, parent, None if parent < 0 else bins[parent], units[child], table))
        return FittedNoisy(records.domains, classes, groups, tuple(tables))


def _noisy_table(
    units: Units,
    ranks: Array,
    group: Array,
    n_groups: int,
    epsilon: float,
    mechanism: str,
    rng: np.random.Generator,
) -> Array:
    n_cells = n_groups * len(units)
    if n_cells > MOST_CELLS:
        raise DataError(
            f"transition noisy: the table of column {units.domain.column.name!r} would have {n_cells} cells, "
            f"more than {MOST_CELLS}",
            hint="use tables: marginal, or a hierarchy with fewer values",
        )
    cell = group * len(units) + units.codes(ranks)
    add_noise = geometric if mechanism == "geometric" else laplace
    noisy = add_noise(np.bincount(cell, minlength=n_cells), epsilon, SENSITIVITY, rng)
    return np.concatenate([[0.0], np.cumsum(np.maximum(noisy, 0.0))])


def _fixed_groups(classes: ClassIndex | None, groups: ColumnGroups | None, labels: LabelTable) -> tuple[Array, int]:
    """Group that every table of a row depends on, its class (-1: none) or its given group; and their number."""
    if classes is not None:
        return classes.find(labels.nodes), 1
    if groups is not None:
        return groups.codes(labels), len(groups)
    return np.zeros(len(labels), dtype=np.int64), 1


def _public_groups(labels: LabelTable, options: NoisyOptions) -> ColumnGroups | None:
    if options.given is None:
        return None
    if options.tables == "class":
        raise ConfigError("transition.given makes no sense with tables: class", hint="remove transition.given")
    groups = groups_of(labels, options.given)
    if groups.binned:
        raise ConfigError(
            f"transition.given names {options.given!r}, whose groups would have to be learned from the records",
            hint="use a categorical or boolean column",
        )
    return groups


def _private_tree(
    codes: list[Array], bins: list[Bins], epsilon: float, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Grow a tree from the first attribute, each edge by the exponential mechanism on mutual information.

    The sensitivity of mutual information under replacement of one of n records is 2 / n * ln((n + 1) / 2) + (n - 1) / n
    * ln((n + 1) / (n - 1)) in nats (Zhang et al. 2014, PrivBayes, Lemma 1).
    """
    n = max(len(codes[0]), 2)
    sensitivity = 2 / n * math.log((n + 1) / 2) + (n - 1) / n * math.log((n + 1) / (n - 1))
    tree, inside = [(0, -1)], [0]
    while len(inside) < len(codes):
        edges = [(i, j) for i in range(len(codes)) if i not in inside for j in inside]
        shared = [mutual_information(codes[i], codes[j], len(bins[i]), len(bins[j])) for i, j in edges]
        chosen = edges[exponential_choice(np.array(shared), epsilon / (len(codes) - 1), sensitivity, rng)]
        tree.append(chosen)
        inside.append(chosen[0])
    return tree
