"""Values that enough people hold, and classes of an anonymized table, both learned once and applied to any row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from hybrid.anonymize.models.measure import persons_per_class
from hybrid.table.codings import numbers_of, written
from hybrid.table.holders import NOBODY, holders, row_holders

if TYPE_CHECKING:
    from hybrid.anonymize.result import AnonymizedTable
    from hybrid.base.arrays import Array
    from hybrid.hierarchy import Hierarchy
    from hybrid.table import Column, Table


@dataclass(frozen=True)
class CommonValues:
    """Values of one column that at least some number of people hold.

    Categories and booleans stay or become missing. Numbers and dates are cut into groups of neighbouring values that
    so many people hold, and each becomes the mean of its group; a value that so many people hold alone stays as it is.
    """

    column: Column
    """Name and kind."""
    known: frozenset[object] = frozenset()
    """Categories that stay; of numbers and dates empty."""
    edges: Array | None = None
    """Least value of each group of numbers, ascending; of dates in microseconds; shape (m,)."""
    means: Array | None = None
    """Value of each group; shape (m,)."""

    @classmethod
    def of(cls, table: Table, name: str, least: int) -> CommonValues:
        """Learn the values of a column that at least ``least`` people hold."""
        column, values = table.schema[name], table.frame[name]
        codes, distinct = pd.factorize(values, sort=True)
        if not column.kind.is_continuous:
            people = holders(codes, len(distinct), row_holders(table))
            return cls(column, frozenset(one for one, count in zip(distinct, people, strict=True) if count >= least))
        numbers = numbers_of(pd.Series(distinct))
        counts = np.bincount(codes[codes >= 0], minlength=len(distinct))
        edges: list[float] = []
        means: list[float] = []
        start = 0
        for group in _groups(codes, row_holders(table), len(distinct), least):
            part = slice(start, start + group)
            edges.append(numbers[start])
            means.append(np.average(numbers[part], weights=counts[part]))
            start += group
        return cls(column, frozenset(), np.array(edges), np.array(means))

    def apply(self, values: pd.Series) -> pd.Series:
        """Values of the column, each replaced as it says above; shape and dtype stay."""
        if self.edges is None or self.means is None:
            return values.where(values.isin(list(self.known)))
        if not len(self.edges):
            return values.mask(values.notna())
        numbers = numbers_of(values)
        at = np.clip(np.searchsorted(self.edges, numbers, side="right") - 1, 0, None)
        found = written(np.where(np.isnan(numbers), np.nan, self.means[at]), self.column)
        return found.set_axis(values.index).astype(values.dtype)


def _groups(codes: Array, people: Array, n_values: int, least: int) -> list[int]:
    """Numbers of neighbouring values that belong together: at least ``least`` people hold each group.

    ``codes`` are the numbers of the records' values in ascending order, -1 where missing.
    """
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(n_values + 1))
    groups: list[int] = []
    size, held = 0, set[int]()
    for at in range(n_values):
        size += 1
        held.update(people[order[starts[at] : starts[at + 1]]].tolist())
        if len(held - {NOBODY}) >= least:
            groups.append(size)
            size, held = 0, set()
    if size and groups:
        groups[-1] += size
    return groups


NONE = -1
"""Class of a row that belongs to none."""


@dataclass(frozen=True)
class LabelledClasses:
    """Classes of a k-anonymous table, each of at least k people."""

    names: tuple[str, ...]
    """The quasi-identifiers."""
    trees: Mapping[str, Hierarchy]
    nodes: Array
    """Labels of each class; shape (n_classes, n_names), int32."""
    texts: Mapping[str, Mapping[int, str]]
    """Text of each label."""
    exact: Mapping[tuple[int, ...], int]
    """Class of each combination of values that the table has, by their leaves."""

    @classmethod
    def of(cls, anonymized: AnonymizedTable, k: int) -> LabelledClasses:
        """Classes of an anonymized table, without those that lose members when equal rows get equal labels."""
        names, labels = tuple(anonymized.quasi_identifiers), anonymized.labels
        _, first, of_row = np.unique(labels.nodes, axis=0, return_index=True, return_inverse=True)
        nodes, of_row = labels.nodes[first], of_row.reshape(-1)
        leaves, at, whose = np.unique(anonymized.leaves, axis=0, return_index=True, return_inverse=True)
        given = of_row[at][whose.reshape(-1)]
        people = persons_per_class(pd.DataFrame({"class": given}), ["class"], anonymized.originals.persons)
        large = np.unique(given)[people.to_numpy() >= k]
        place = {one: at for at, one in enumerate(large.tolist())}
        pairs = zip(leaves.tolist(), of_row[at].tolist(), strict=True)
        exact = {tuple(leaf): place[one] for leaf, one in pairs if one in place}
        written = labels.to_table().frame
        texts = {
            name: dict(zip(labels.nodes[:, column].tolist(), written[name].astype(object), strict=True))
            for column, name in enumerate(names)
        }
        return cls(names, labels.hierarchies, nodes[large], texts, exact)

    def find(self, table: Table) -> Array:
        """Class of each row, shape (n,), int64; :data:`NONE` where it belongs to none."""
        values = [table.frame[name] for name in self.names]
        numbers = pd.concat(values, axis=1).groupby(list(self.names), dropna=False, observed=True, sort=False).ngroup()
        _, first, of_row = np.unique(numbers.to_numpy(), return_index=True, return_inverse=True)
        nodes = [
            np.column_stack([tree.node_at(value.iloc[first], level) for level in range(tree.n_levels)])
            for tree, value in zip((self.trees[name] for name in self.names), values, strict=True)
        ]
        found = self._covering(nodes)
        for at, combination in enumerate(zip(*self._leaves(nodes), strict=True)):
            found[at] = self.exact.get(combination, found[at])
        of_each: Array = found[of_row.reshape(-1)]
        return of_each

    def labels(self, classes: Array, name: str) -> pd.Series:
        """Text of a column's label in each class, shape (n,), object; missing without a class."""
        column = self.names.index(name)
        of_class = [self.texts[name][int(node)] for node in self.nodes[:, column]]
        return pd.Series([None if one == NONE else of_class[one] for one in classes], dtype=object)

    def nodes_of(self, name: str, texts: Sequence[str]) -> Array:
        """Node of each label text, shape (n,), int32; :data:`NONE` for a text that is no label."""
        known = {text: node for node, text in self.texts[name].items()}
        return np.array([known.get(text, NONE) for text in texts], dtype=np.int32)

    def _leaves(self, nodes: Sequence[Array]) -> list[list[int]]:
        found = []
        for name, matrix in zip(self.names, nodes, strict=True):
            tree = self.trees[name]
            leaf_of = np.full(tree.n_nodes + 1, NONE, dtype=np.int64)
            leaf_of[tree.node_of[:, 0]] = np.arange(tree.n_leaves)
            found.append(leaf_of[matrix[:, 0]].tolist())
        return found

    def _covering(self, nodes: Sequence[Array]) -> Array:
        """Class with the finest labels that cover each row."""
        share = np.ones(len(self.nodes))
        levels = []
        for column, name in enumerate(self.names):
            share *= self.trees[name].share[self.nodes[:, column]]
            levels.append(self.trees[name].level_of()[self.nodes[:, column]])
        found = np.full(len(nodes[0]), NONE, dtype=np.int64)
        for one in np.argsort(-share, kind="stable"):
            covered = np.ones(len(found), dtype=bool)
            for column, matrix in enumerate(nodes):
                covered &= matrix[:, levels[column][one]] == self.nodes[one, column]
            found[covered] = one
        return found
