"""Fitting of a strategy on the values that it may draw; what goes together, in a row or in the rows of a person."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Array, Codes, Mask
from hybrid.base.errors import DataError
from hybrid.constraints import Rules
from hybrid.hierarchy import Hierarchy, LabelTable
from hybrid.hierarchy.build import hierarchy_of_values
from hybrid.protect.below_labels import Restorable
from hybrid.table import Column, Kind, Table
from hybrid.table.persons import person_groups
from hybrid.transition.drawing.domain import domains_of
from hybrid.transition.drawing.donors import ranked_pools
from hybrid.transition.protocol import FittedTransition, Restored, Transition


@dataclass(frozen=True)
class Together:
    """Columns whose values occur in fixed combinations, and records that have one."""

    columns: tuple[str, ...]
    """Such as a town and its state."""
    records: Codes
    """Positions of the learned records that have an allowed combination; shape (m,), int."""


@dataclass(frozen=True)
class DrawnTogether:
    """A fitted transition, after which columns that go together are drawn given each other. Private.

    Of the columns that a transition restores, the one with the fewest values stays as restored; each of the others is
    drawn from the learned records that agree in those before it, below the row's label: a town of the row's state.
    Columns that are not restored are known from the start. Where no record agrees, the restored value stays. Rows
    are left alone where all have a combination of some record: a transition that restores whole records keeps these.
    """

    fitted: FittedTransition
    learned: AnonymizedTable
    together: Sequence[Together]

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        found = self.fitted.restore(labels, rng)
        for one in self.together:
            found = replace(found, table=self._told(found.table, labels, one, rng))
        return found

    def _told(self, table: Table, labels: LabelTable, one: Together, rng: np.random.Generator) -> Table:
        known = self.learned.originals.frame.take(one.records)
        restored = [name for name in one.columns if name in labels.hierarchies]
        restored.sort(key=lambda name: int(known[name].nunique()))
        told = [name for name in one.columns if name not in restored]
        mine, asked = _combinations(known, table.frame, one.columns)
        if np.isin(asked, mine).all():
            return table
        for name in restored:
            if told and labels.hierarchies[name].kind is Kind.CATEGORICAL:
                table = self._drawn(table, labels, name, _combinations(known, table.frame, told), one.records, rng)
            told.append(name)
        return table

    def _drawn(
        self,
        table: Table,
        labels: LabelTable,
        name: str,
        groups: tuple[Codes, Codes],
        records: Codes,
        rng: np.random.Generator,
    ) -> Table:
        mine, asked = groups
        at = labels.quasi_identifiers.index(name)
        domain, nodes = domains_of(self.learned)[name], labels.nodes[:, at]
        leaves = self.learned.leaves[records, at]
        below = ranked_pools(mine, domain.rank[leaves], domain.hierarchy.n_leaves)
        drawn = below.runs(asked, domain.first[nodes], domain.n_leaves[nodes]).draw(rng)
        values = domain.series(domain.cells(leaves[np.maximum(drawn, 0)]))
        before = table.frame[name].astype(object)
        found = before.where(drawn < 0, values.astype(object).to_numpy())
        return replace(table, frame=table.frame.assign(**{name: found.astype(_both(table.frame[name], values))}))


def _combinations(known: pd.DataFrame, asked: pd.DataFrame, names: Sequence[str]) -> tuple[Codes, Codes]:
    """Number of each row's combination of values in both tables: equal numbers for equal values."""
    both = pd.concat([frame[list(names)].astype(object) for frame in (known, asked)], ignore_index=True)
    numbers: Codes = both.groupby(list(names), dropna=False, sort=False).ngroup().to_numpy(dtype=np.int64)
    return numbers[: len(known)], numbers[len(known) :]


def _both(before: pd.Series, drawn: pd.Series) -> pd.CategoricalDtype:
    more = drawn.cat.categories.difference(before.cat.categories, sort=False)
    return pd.CategoricalDtype(before.cat.categories.append(more), ordered=before.cat.ordered)


NO_RULES = Rules()


def fit_transition(
    strategy: Transition,
    anonymized: AnonymizedTable,
    options: Any,
    rng: np.random.Generator,
    values: Mapping[str, Restorable] | None = None,
    rules: Rules = NO_RULES,
) -> FittedTransition:
    """Fit a strategy on hierarchies without the values of any other record, to restore the labels of ``anonymized``.

    The hierarchies of a run cover the whole table: a mask, intervals or groups with ``others`` have leaves and bounds
    that only control records, suppressed records or records outside the sample hold. Such hierarchies are built again
    from the records that the strategy learns from, kept and, if there is sampling, sampled; those whose leaves a file
    lists stay as they are.

    Records with coarser labels of their own (:attr:`AnonymizedTable.coarsened`) are not learned from. A label of theirs
    without another record below it is restored as the nearest ancestor that has one.

    ``values``: what it may learn in place of the values of ``anonymized.donors``, by column: none that a single person
    decides (:func:`hybrid.protect.below_labels.restorable`). Columns that the rules say go together are drawn given
    each other (:class:`DrawnTogether`), if the strategy reads original values.
    """
    learned = anonymized.donors
    known = _known(learned, values or {})
    fitted = strategy.fit(known.table, options, rng)
    together = _together(known.table, rules) if strategy.reads_originals(options) else []
    if together:
        fitted = DrawnTogether(fitted, known.table, together)
    if known.table is learned:
        return fitted
    node_of = known.node_of
    if learned is not anonymized:
        whole = (learned.hierarchies[name] for name in learned.quasi_identifiers)
        node_of = tuple(_widened(numbers, of) for numbers, of in zip(node_of, whole, strict=True))
    return _KnownValues(fitted, known.table.hierarchies, node_of)


def _together(learned: AnonymizedTable, rules: Rules) -> list[Together]:
    table = learned.originals
    applying = [one for one in rules.about(learned.quasi_identifiers).of_combinations.rules if one.applies(table)]
    kept = [(rule.constraint.columns, np.flatnonzero(~rule.broken(table))) for rule in applying]
    return [Together(columns, records) for columns, records in kept if len(records)]


def with_known_values(anonymized: AnonymizedTable) -> AnonymizedTable:
    """The same records on hierarchies whose leaves are listed in a file or occur in one of the records."""
    return _known(anonymized, {}).table


@dataclass(frozen=True)
class _Known:
    """Records on hierarchies of known values, and their node for each node of the whole ones (-1: none)."""

    table: AnonymizedTable
    node_of: tuple[Array, ...] = ()


def _known(anonymized: AnonymizedTable, values: Mapping[str, Restorable]) -> _Known:
    names, labels = anonymized.quasi_identifiers, anonymized.labels
    frame = anonymized.originals.frame.assign(**{name: found.values for name, found in values.items()})
    whole = anonymized.hierarchies
    known = {name: _own_hierarchy(whole[name], labels.schema[name], frame[name], values.get(name)) for name in names}
    if not values and all(known[name] is whole[name] for name in names):
        return _Known(anonymized)
    leaves, nodes, maps = np.empty_like(anonymized.leaves), np.empty_like(labels.nodes), []
    for at, name in enumerate(names):
        leaves[:, at] = known[name].encode(frame[name])
        level = values[name].level if name in values else np.zeros(len(anonymized), dtype=np.int64)
        node_of = _node_of(whole[name], anonymized.leaves[:, at], known[name], leaves[:, at], level)
        if name in values:
            # A label that is itself a value of few people is restored as the nearest group that has enough.
            carried = np.unique(labels.nodes[:, at])
            node_of[carried] = _widened(node_of, whole[name])[carried]
        nodes[:, at] = node_of[labels.nodes[:, at]]
        maps.append(node_of)
    own = replace(
        anonymized,
        labels=replace(labels, nodes=nodes, hierarchies=known),
        originals=replace(anonymized.originals, frame=frame),
        leaves=leaves,
    )
    return _Known(own, tuple(maps))


def _own_hierarchy(whole: Hierarchy, column: Column, values: pd.Series, found: Restorable | None) -> Hierarchy:
    own = None if found is None else found.hierarchy
    return hierarchy_of_values(whole, column, values) if own is None else own


@dataclass(frozen=True)
class _KnownValues:
    """Fitted strategy with a map from the nodes of the whole table's hierarchies to its own."""

    fitted: FittedTransition
    hierarchies: Mapping[str, Hierarchy]
    node_of: tuple[Array, ...]

    def restore(self, labels: LabelTable, rng: np.random.Generator) -> Restored:
        """Restore as the strategy does."""
        nodes = np.column_stack([numbers[labels.nodes[:, at]] for at, numbers in enumerate(self.node_of)])
        unknown = (nodes < 0).any(axis=0)
        if unknown.any():
            names = [name for name, lacks in zip(labels.quasi_identifiers, unknown, strict=True) if lacks]
            raise DataError(
                f"labels of {', '.join(map(repr, names))} that no record carries from which the transition learned",
                hint="restore only labels of the table that was fitted",
            )
        return self.fitted.restore(replace(labels, nodes=nodes, hierarchies=self.hierarchies), rng)


def _node_of(whole: Hierarchy, leaves: Array, known: Hierarchy, known_leaves: Array, level: Array) -> Array:
    """The node of ``known`` for each node of ``whole``, shape (n_nodes,); -1 for nodes without a record below them.

    ``level``: from which on both leaves of a record lie below the same node, shape (n,).
    """
    if known is whole:
        return np.arange(whole.n_nodes, dtype=np.int32)
    node_of = np.full(whole.n_nodes, -1, dtype=np.int32)
    top, known_top = whole.n_levels - 1, known.n_levels - 1
    for at in range(top):
        alike = level <= at
        # A column of which only missing values are left has no levels between the values and the root.
        node_of[whole.node_of[leaves[alike], at]] = known.node_of[known_leaves[alike], min(at, known_top - 1)]
    if len(leaves):
        node_of[whole.root] = known.root
    return node_of


def _widened(node_of: Array, whole: Hierarchy) -> Array:
    """Map in which every node below the root has one: nodes that had none (-1) get that of their nearest ancestor."""
    found = node_of.copy()
    for level in range(whole.n_levels - 2, -1, -1):
        here, above = whole.node_of[:, level], whole.node_of[:, level + 1]
        found[here] = np.where(found[here] < 0, found[above], found[here])
    return found


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
