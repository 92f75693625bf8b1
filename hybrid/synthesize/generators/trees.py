"""Trees that draw a column from the training values in their leaves, and keep the splits that people bear out.

A tree is grown until its leaves hold few people. Then each split is weighed: as far as it tells more of the column than
chance would have shown among all the splits that could have been made, rows are drawn below it, else above it. What
chance shows in a table is what an attacker finds of single people in the synthetic one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.synthesize.generators.leaf_slopes import LeafLogits, LeafSlopes, fit_logits, fit_slopes, is_graded
from hybrid.synthesize.generators.predictors import (
    MOST_CLASSES,
    CategoryScores,
    Ranks,
    fit_scores,
    least_of_group,
    level_map,
    outcome_of,
)
from hybrid.synthesize.protocol import Feature
from hybrid.table.holders import all_differ, row_weights

K = TypeVar("K")
CERTAIN = 1e-4
"""Probability that the best of all splits of a node by chance alone makes such a group."""
MOST_CELLS = 4_000_000
"""Counts of nodes by states that are held at once."""
SPIKE = 0.5
"""Share of the people with the same number from which on the tree first draws who has it, as `semicont` of synthpop."""
SEVERAL_STATES = 3
"""States from which on chance makes most splits: the more there are, the fewer people of a leaf have each."""
MOSTLY = 0.5
"""Share of the draws that end in a node, or below, from which on it is where rows are drawn."""
SMALLEST_LOG = -600.0
"""Logarithm of the smallest probability whose quantile is computed; those of smaller ones are bounded."""


@dataclass(frozen=True)
class TreeLimits:
    """Limits of a tree."""

    least: int
    """People of a leaf, at least; also the rows."""
    alpha: float
    """Probability, 0 to 1, that the best split by chance alone counts for anything; 1: every split counts in full."""
    max_depth: int | None
    """Splits from root to leaf, at most."""
    slopes: bool = False
    """Whether values follow the columns before them within leaves, too (:mod:`.leaf_slopes`)."""
    small_groups: bool = False
    """Whether a discrete column has smaller groups where chance is no explanation."""
    alpha_of_states: float | None = None
    """``alpha`` for columns of :data:`SEVERAL_STATES` states or more; None: as for others."""


@dataclass(frozen=True)
class DonorTree(Generic[K]):
    """Tree of one column with its donors, the training values of its leaves."""

    target: int
    """Position of the column."""
    predictors: Mapping[K, Ranks | CategoryScores]
    """How the columns that the tree reads are written as numbers, by the columns' keys."""
    tree: Any
    """Of scikit-learn. None: every value is drawn from all donors."""
    donors: Array
    """Training values, ordered by leaf; shape (n,)."""
    first: Array
    count: Array
    """First donor below each node, and how many there are; shape (n_nodes,), int."""
    parent: Array
    """Node above each node; the root is its own; shape (n_nodes,), int."""
    reach: Array
    """Probability that a row below a node is drawn there or deeper; 1 for the root, never more than above it."""
    slopes: LeafSlopes[K] | LeafLogits[K] | None = None
    """How a donor's value, or which of two states it is, follows what the row is like."""
    apart: tuple[Apart[K], ...] = ()
    """Of a number: values that are drawn first, who lacks one before all. No donor has them."""
    certain: CertainGroups[K] | None = None
    """Smaller groups of a discrete column; rows that fall into one are drawn there."""

    @classmethod
    def without_splits(cls, target: int, values: Array) -> DonorTree[K]:
        """Every value is drawn from all ``values``, whatever the other columns say."""
        root = np.zeros(1, dtype=np.int64)
        return cls(target, {}, None, values, root, np.array([len(values)]), root, np.ones(1))

    @property
    def is_leaf(self) -> Mask:
        """Nodes without a split; shape (n_nodes,)."""
        return np.ones(1, dtype=bool) if self.tree is None else self.tree.tree_.children_left < 0

    @property
    def donor_leaves(self) -> Array:
        """Leaf of each donor; shape (n,)."""
        of_leaf = np.flatnonzero(self.is_leaf)
        return np.repeat(of_leaf, self.count[of_leaf])

    def leaves(self, known: Mapping[K, Array], n_rows: int) -> Array:
        """Leaf that each row falls into; shape (n_rows,), int64."""
        if self.tree is None or not n_rows:
            return np.zeros(n_rows, dtype=np.int64)
        # What apply of the model checks before, of ranks and scores, is true by how they are made.
        return np.asarray(self.tree.tree_.apply(_matrix(self.predictors, known)))

    def shares(self, known: Mapping[K, Array], values: Array, own: Array | None = None) -> Array:
        """Share of the donors of each row's leaf that have a code, of a tree without smaller groups; shape (n,).

        ``own`` (n,) has the value of a donor of each row that does not count.
        """
        node = self.leaves(known, len(values))
        width = np.int64(max(self.donors.max(initial=0), values.max(initial=0))) + 1
        equal = occurrences(self.donor_leaves * width + self.donors, node * width + values)
        counts = self.count[node]
        if own is not None:
            equal, counts = equal - (own == values), np.maximum(counts - 1, 1)
        return np.asarray(equal / counts)

    def draw(self, known: Mapping[K, Array], n_rows: int, rng: np.random.Generator) -> Array:
        """One value per row, after a training row below the same node.

        ``known`` holds the columns that the tree reads.
        """
        node = self.leaves(known, n_rows)
        depth = rng.random(n_rows)
        while len(above := np.flatnonzero(depth >= self.reach[node])):
            node[above] = self.parent[node[above]]
        at = self.first[node] + (rng.random(n_rows) * self.count[node]).astype(np.int64)
        drawn: Array = self.donors[at]
        if self.slopes is not None:
            drawn = self.slopes.move(drawn, at, node, known, rng)
        if self.certain is not None:
            drawn = self.certain.redraw(drawn, known, rng)
        for one in reversed(self.apart):
            drawn = np.where(one.holders.draw(known, n_rows, rng) == 1, one.value, drawn)
        return drawn


@dataclass(frozen=True)
class Apart(Generic[K]):
    """A value of a number that many have, or that none is there: who has it is drawn before the others' values.

    Of the few who were ever in prison a leaf holds none but together with others; a tree that asks only whether
    somebody was there finds them by whatever else they alone have.
    """

    value: float
    """NaN: no value."""
    holders: DonorTree[K]
    """Draws 1 for those who have it, else 0."""

    def has(self, values: Array) -> Mask:
        """Values that are this one; shape (n,)."""
        return _is(values, self.value)


def _is(values: Array, value: float) -> Mask:
    return np.isnan(values) if np.isnan(value) else values == value


@dataclass(frozen=True)
class CertainGroups(Generic[K]):
    """Small groups that differ so much from others that chance is no explanation, as a tree of its own.

    Leaves are large since what small ones show is mostly chance, and chance gives single people away. Where it explains
    nothing, as of children who have no occupation, they only destroy what everybody knows.
    """

    tree: DonorTree[K]
    """A row below one of the groups is drawn there."""
    inside: Mask
    """Groups, and nodes below them; shape (n_nodes,)."""

    def holds(self, known: Mapping[K, Array], n_rows: int) -> Mask:
        """Rows that fall into one of the groups; shape (n_rows,)."""
        return self.inside[self.tree.leaves(known, n_rows)]

    def redraw(self, drawn: Array, known: Mapping[K, Array], rng: np.random.Generator) -> Array:
        """The values, those of rows in a group drawn from it."""
        held = np.flatnonzero(self.holds(known, len(drawn)))
        redrawn = drawn.copy()
        redrawn[held] = self.tree.draw(only(known, held), len(held), rng)
        return redrawn


HOLDS = Feature("has a value that is drawn first", 2, ordered=False, missing=False)


def grow(
    target: tuple[int, Feature, Array],
    known: Mapping[K, Array],
    features: Mapping[K, Feature],
    persons: Array,
    limits: TreeLimits,
    rng: np.random.Generator,
) -> DonorTree[K]:
    """Tree of a column (its position, kind and values), grown on the columns that predict it, and weighed.

    A number that some lack gets a tree of who lacks it, one that half of the people have in common a tree of who has
    that value, and one of the others' values, as in synthpop (Nowok, Raab, Dibben, J. Stat. Softw. 74(11), 2016,
    section 3.3). ``persons`` has the person of each row; rows with a negative one count for nobody.
    """
    return _tree(_Records(*target, known, features, persons), limits, rng)


def occurrences(cells: Array, asked: Array) -> Array:
    """Number of times that each of the m ``asked`` numbers is among the ``cells`` (n,); shape (m,)."""
    cells = np.sort(cells)
    return np.searchsorted(cells, asked, side="right") - np.searchsorted(cells, asked, side="left")


def only(known: Mapping[K, Array], rows: Array) -> dict[K, Array]:
    """The columns for some rows: positions, or a mask."""
    return {key: column[rows] for key, column in known.items()}


@dataclass(frozen=True)
class _Records(Generic[K]):
    """Training rows of one column: its values, the columns that predict it, and whose rows they are."""

    at: int
    feature: Feature
    values: Array
    known: Mapping[K, Array]
    features: Mapping[K, Feature]
    persons: Array

    def only(self, rows: Mask) -> _Records[K]:
        return replace(self, values=self.values[rows], known=only(self.known, rows), persons=self.persons[rows])

    @property
    def weights(self) -> Array | None:
        return person_weights(self.persons)

    @property
    def drawn_first(self) -> float | None:
        """The value that is drawn before the others: none if some lack one, else one that half of the people have."""
        if self.feature.is_discrete or not self.known:
            return None
        lacking = np.isnan(self.values)
        if lacking.any():
            return None if lacking.all() else np.nan
        distinct, codes = np.unique(self.values, return_inverse=True)
        people = np.bincount(codes, self.weights)
        return float(distinct[people.argmax()]) if SPIKE * people.sum() <= people.max() < people.sum() else None


def _tree(records: _Records[K], limits: TreeLimits, rng: np.random.Generator) -> DonorTree[K]:
    first = records.drawn_first
    if first is not None:
        held = _is(records.values, first)
        found = _tree(records.only(~held), limits, rng)
        who = replace(records, feature=HOLDS, values=held.astype(np.int32))
        return replace(found, apart=(Apart(first, _tree(who, limits, rng)), *found.apart))
    weights = records.weights
    if not records.known or (weights is not None and weights.sum() < 2 * limits.least):
        return DonorTree.without_splits(records.at, records.values)
    certain = _certain_groups(records, limits)
    if certain is None:
        return _weighed(records, limits, rng)
    rest = ~certain.holds(records.known, len(records.values))
    return replace(_weighed(records.only(rest), limits, rng), certain=certain)


def _weighed(records: _Records[K], limits: TreeLimits, rng: np.random.Generator) -> DonorTree[K]:
    """Tree whose leaves hold enough people, each split as far as people bear it out."""
    feature, values = records.feature, records.values
    outcome = outcome_of(values, feature, rng)
    grown = _Grown.of(records, outcome, limits, int(rng.integers(2**31)))
    nodes, by_leaf = grown.nodes, grown.by_leaf
    share = np.ones(nodes.tree.node_count)
    several_states = feature.is_discrete and len(np.unique(values)) >= SEVERAL_STATES
    if limits.alpha_of_states is not None and several_states:
        limits = replace(limits, alpha=limits.alpha_of_states)
    if limits.alpha < 1:
        gain, freedom = nodes.gain(values[by_leaf] if feature.is_discrete else outcome[by_leaf])
        share = nodes.borne_out(gain, nodes.price(list(grown.predictors.values()), freedom, limits))
    reach = nodes.reach(share, limits.least)
    slopes = _slopes(records, grown, nodes.drawn_in(reach), limits) if limits.slopes and is_graded(feature) else None
    return replace(grown.drawing(records, reach), slopes=slopes)


def _slopes(
    records: _Records[K], grown: _Grown[K], drawn_in: Array, limits: TreeLimits
) -> LeafSlopes[K] | LeafLogits[K] | None:
    """Slopes of a column in those before it, within the nodes that rows are drawn in."""
    nodes, by_leaf = grown.nodes, grown.by_leaf
    values = records.values[by_leaf].astype(np.float64)
    known = {key: column[by_leaf].astype(np.float64) for key, column in records.known.items()}
    if records.feature.is_discrete and len(np.unique(values)) == 2:
        return fit_logits(values, known, records.features, nodes, drawn_in)
    graded = {key: column for key, column in known.items() if is_graded(records.features[key])}
    numbers = {key for key in graded if not records.features[key].is_discrete}
    least = min(limits.least, max(int(nodes.weight[0]), least_of_group(limits.least)))
    return fit_slopes(values, graded, numbers, nodes, least)


def _certain_groups(records: _Records[K], limits: TreeLimits) -> CertainGroups[K] | None:
    """Groups of a discrete column below the size of a leaf, if there are any, and enough others."""
    values = records.values
    small = replace(limits, least=least_of_group(limits.least), alpha=CERTAIN)
    possible = limits.small_groups and records.feature.is_discrete and small.least < limits.least
    if not possible or not 1 < len(np.unique(values)) <= MOST_CLASSES:
        return None
    grown = _Grown.of(records, values, small, 0)
    nodes = grown.nodes
    gain, freedom = nodes.gain(values[grown.by_leaf])
    certain = nodes.inner & (gain > nodes.price(list(grown.predictors.values()), freedom, small))
    group = certain[nodes.parent] & (nodes.people >= small.least) & (nodes.people < limits.least)
    group[0] = False
    inside = group.copy()
    for node in range(1, len(inside)):
        inside[node] |= inside[nodes.parent[node]]
    if not group.any() or nodes.people[0] - nodes.sums(inside[nodes.leaves])[0] < limits.least:
        return None
    within = np.where(inside & ~group, 0.0, 1.0)  # Rows below a group are drawn in the smallest group that holds them.
    return CertainGroups(grown.drawing(records, within), inside)


@dataclass(frozen=True)
class _Grown(Generic[K]):
    """A tree, its nodes, and the order of the training rows by leaf."""

    predictors: Mapping[K, Ranks | CategoryScores]
    tree: Any
    nodes: _Nodes
    by_leaf: Array

    @classmethod
    def of(cls, records: _Records[K], outcome: Array, limits: TreeLimits, seed: int) -> _Grown[K]:
        weights, numbers = person_weights(records.persons), level_map(outcome)
        features = records.features
        predictors = {
            key: fit_scores(column, features[key], numbers, limits.least, weights)
            if features[key].is_discrete
            else Ranks(np.unique(column[~np.isnan(column)]))
            for key, column in records.known.items()
        }
        matrix = _matrix(predictors, records.known)
        tree = _new_tree(outcome, limits, seed)
        tree.fit(matrix, outcome, sample_weight=weights)
        leaves = tree.tree_.apply(matrix)
        by_leaf = np.argsort(leaves, kind="stable")
        return cls(predictors, tree, _Nodes(tree.tree_, leaves[by_leaf], records.persons[by_leaf]), by_leaf)

    def drawing(self, records: _Records[K], reach: Array) -> DonorTree[K]:
        """The tree with donors, and how deep rows are drawn."""
        nodes, donors = self.nodes, records.values[self.by_leaf]
        first = nodes.starts[:-1]
        count = nodes.starts[nodes.end] - first
        return DonorTree(records.at, self.predictors, self.tree, donors, first, count, nodes.parent, reach)


def person_weights(persons: Array) -> Array | None:
    """Weight of each record, 1 / (records of its person); shape (n,).

    Records without a key weigh nothing: they may be of any person. None where each record is another person.
    """
    return None if all_differ(persons) else row_weights(persons, persons >= 0)


@dataclass(frozen=True)
class _Nodes:
    """Nodes of a grown tree over its training rows.

    Nodes are numbered depth first, so that the nodes below a node are those up to its ``end``, and their rows are
    adjacent where rows are sorted by leaf. ``leaves`` (n,): leaf of each row, sorted; ``persons`` (n,): of each row.
    """

    tree: Any
    leaves: Array
    persons: Array

    @property
    def inner(self) -> Mask:
        return np.asarray(self.tree.children_left >= 0)

    @cached_property
    def end(self) -> Array:
        """One more than the last node below each node; shape (n_nodes,)."""
        end = np.arange(1, self.tree.node_count + 1)
        for node in np.flatnonzero(self.inner)[::-1]:
            end[node] = end[self.tree.children_right[node]]
        return end

    @cached_property
    def parent(self) -> Array:
        """Node above each node; the root is its own; shape (n_nodes,)."""
        parent = np.zeros(self.tree.node_count, dtype=np.int64)
        for below in (self.tree.children_left, self.tree.children_right):
            parent[below[self.inner]] = np.flatnonzero(self.inner)
        return parent

    @cached_property
    def starts(self) -> Array:
        """First row of each node, and the number of rows; shape (n_nodes + 1,)."""
        return np.searchsorted(self.leaves, np.arange(self.tree.node_count + 1))

    @cached_property
    def people(self) -> Array:
        if all_differ(self.persons):
            return self.weight
        known = self.persons >= 0
        slices = [slice(*ends) for ends in zip(self.starts[:-1], self.starts[self.end], strict=True)]
        return np.array([len(np.unique(self.persons[one][known[one]])) for one in slices])

    @cached_property
    def weights(self) -> Array:
        weights = person_weights(self.persons)
        return np.ones(len(self.leaves)) if weights is None else weights

    @cached_property
    def weight(self) -> Array:
        return self.sums(np.ones(len(self.leaves)))

    def gain(self, outcome: Array) -> tuple[Array, Array]:
        """Gain of each split, and its degrees of freedom; 0 for leaves; shapes (n_nodes,).

        The gain of a split that has nothing to do with the outcome is about distributed as chi squared: for states (n,)
        Pearson's statistic, for numbers (n, d) people times the share of variance explained, summed over their columns.
        Rows of one person count as one: they may all tell the same.
        """
        explained, freedom = self._pearson(outcome) if outcome.ndim == 1 else self._variance(outcome)
        return explained * self.people, freedom

    def price(self, predictors: list[Ranks | CategoryScores], freedom: Array, limits: TreeLimits) -> Array:
        """Gain that chance exceeds with probability ``alpha`` in the best of all splits of a node; shape (n_nodes,).

        Bonferroni: the quantile at alpha divided by the number of splits. There are as many cuts as distinct places of
        numbers, or as leaves of the node's rows, or as people; categories, ordered by the outcome itself, can be parted
        in 2^cuts ways.
        """
        from scipy.stats import chi2

        column = np.maximum(self.tree.feature, 0)
        cuts = np.array([number for coder in predictors for number in coder.cuts])[column]
        ordered = np.array([by_outcome for coder in predictors for by_outcome in coder.by_outcome])[column]
        rows = self.starts[self.end] - self.starts[:-1]
        cuts = np.clip(np.minimum.reduce([cuts, rows / limits.least, self.people]), 1, None)
        ways = np.where(ordered, cuts * np.log(2), np.log(cuts)) + np.log(len(predictors))
        at, freedom = np.log(limits.alpha) - ways, np.maximum(freedom, 1)
        # Beyond what floating point holds: Laurent and Massart, Ann. Stat. 28(5), 2000, lemma 1.
        bound = freedom + 2 * np.sqrt(-freedom * at) - 2 * at
        exact = chi2.isf(np.exp(np.maximum(at, SMALLEST_LOG)), freedom)
        return np.where(self.inner, np.where(at < SMALLEST_LOG, bound, exact), 0.0)

    def borne_out(self, gain: Array, price: Array) -> Array:
        """Share of each split that people bear out, 0 to 1; shape (n_nodes,).

        None up to its price, all from twice its price on, in between in proportion: firm shrinkage (Gao and Bruce,
        Statistica Sinica 7, 1997), applied to the levels of a tree (Agarwal et al., ICML 2022). A split that tells
        nothing has the share of the best one below it, as for the two halves of an exclusive or.
        """
        share = np.where(self.inner, np.clip(gain / np.maximum(price, 1e-12) - 1, 0, 1), 0.0)
        for node in np.flatnonzero(self.inner)[::-1]:
            share[node] = max(share[[node, self.tree.children_left[node], self.tree.children_right[node]]])
        return share

    def reach(self, share: Array, least: int) -> Array:
        """Probability that a row below a node is drawn there or deeper; 0 with fewer persons than ``least``."""
        reach = np.where(self.people >= least, share[self.parent], 0.0)
        reach[0] = 1
        return reach

    def drawn_in(self, reach: Array) -> Array:
        """Deepest node above each row that half of the rows like it are drawn in, or below it; shape (n,)."""
        node = np.arange(self.tree.node_count)
        for at in range(1, len(node)):
            if reach[at] < MOSTLY:
                node[at] = node[self.parent[at]]
        return np.take(node, self.leaves)

    def sums(self, values: Array) -> Array:
        """Sums of numbers over the rows of each node, weighted; shape (n_nodes,)."""
        return self._below(np.bincount(self.leaves, values * self.weights, minlength=self.tree.node_count))

    def _below(self, by_node: Array) -> Array:
        """Sums over the nodes below each node, and itself; shape of ``by_node`` (n_nodes, ...)."""
        total = np.concatenate([np.zeros_like(by_node[:1]), np.cumsum(by_node, axis=0)])
        return np.asarray(total[self.end] - total[:-1])

    def _children(self, by_node: Array) -> tuple[Array, Array]:
        return by_node[self.tree.children_left[self.inner]], by_node[self.tree.children_right[self.inner]]

    def _variance(self, outcome: Array) -> tuple[Array, Array]:
        """Share of variance that each split explains, summed over columns, and degrees of freedom."""
        explained = np.zeros(self.tree.node_count)
        for column in outcome.T:
            spread = self.sums(column**2) - self.sums(column) ** 2 / np.maximum(self.weight, 1e-12)
            left, right = self._children(spread)
            within = (left + right) / np.maximum(spread[self.inner], 1e-9)
            explained[self.inner] += np.clip(1 - within, 0, 1)
        return explained, np.where(self.inner, outcome.shape[1], 0)

    def _pearson(self, codes: Array) -> tuple[Array, Array]:
        """Pearson's statistic of each split divided by the number of people, and degrees of freedom."""
        from scipy.sparse import csc_array

        states, codes = np.unique(codes, return_inverse=True)
        shape = (self.tree.node_count, len(states))
        cells = csc_array((self.weights, (self.leaves, codes)), shape=shape)
        gain, freedom = np.zeros(shape[0]), np.zeros(shape[0])
        whole = np.maximum(self.weight, 1e-12)
        left, right = self._children(whole)
        step = max(MOST_CELLS // shape[0], 1)
        for begin in range(0, shape[1], step):
            counts = self._below(cells[:, begin : begin + step].toarray())
            share = counts[self.inner] / whole[self.inner, None]
            off = (self._children(counts)[0] - left[:, None] * share) ** 2 / np.where(share > 0, share, 1.0)
            gain[self.inner] += np.where(share > 0, off, 0.0).sum(axis=1) / (left * right)
            freedom[self.inner] += (share > 0).sum(axis=1)
        return gain, np.maximum(freedom - 1, 0)


def _matrix(predictors: Mapping[K, Ranks | CategoryScores], known: Mapping[K, Array]) -> Array:
    """Columns as a tree reads them; shape (n, n_predictors)."""
    return np.column_stack([coder.encode(known[key]) for key, coder in predictors.items()])


def _new_tree(outcome: Array, limits: TreeLimits, seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    options = {"max_depth": limits.max_depth, "min_samples_leaf": limits.least, "random_state": seed}
    if outcome.ndim == 1:
        return DecisionTreeClassifier(criterion="entropy", **options)
    return DecisionTreeRegressor(**options)
