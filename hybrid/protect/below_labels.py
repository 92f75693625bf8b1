"""Values that labels are restored from: none that a single person decides.

Quasi-identifiers are generalized as they are, and only what is restored below their labels is protected.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Array, Leaves, Levels, Mask, Nodes
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.spec import DatesSpec, GroupsSpec, IntervalsSpec
from hybrid.protect.alike import from_group
from hybrid.protect.histories import redraw
from hybrid.protect.made_up import made_up_texts
from hybrid.protect.options import ProtectOptions
from hybrid.protect.steps import steps_of
from hybrid.table import Column, Kind
from hybrid.table.holders import holders, row_holders, row_persons

EPSILON, DELTA = 1.0, 0.05
"""One person more or less changes the chance that a value comes through by a factor of at most e ** EPSILON, plus
DELTA."""
PUBLIC = 0.5
"""Share of a list's values that have a holder, below which the list counts as public."""


@dataclass(frozen=True)
class Restorable:
    """Values of one quasi-identifier that a transition may learn from.

    Parameters
    ----------
    values : pandas.Series, shape (n,)
        One per record, in the dtype of the column's kind.
    level : numpy.ndarray, shape (n,), int
        Level from which on value and original lie below the same node of the hierarchy: that of the record's label,
        or a higher one for labels that are themselves values of few people.
    """

    values: pd.Series
    level: Levels
    drawable: Mask | None = None
    """Leaves of the column's hierarchy that may come out, shape (n_leaves,), bool, where its file lists values that are
    not public; None: all."""


def restorable(
    anonymized: AnonymizedTable,
    names: Collection[str],
    options: ProtectOptions,
    k: int,
    rng: np.random.Generator,
    public: Collection[str] = (),
) -> dict[str, Restorable]:
    """Replace exact values that few people hold by others below the same label.

    A value of a column stays if it is of a public list and at least ``options.least_holders(k)`` people hold it, or if
    the noisy threshold of :func:`keep_probability` lets it through. Others become

    - values of a public list: any value that few or no people hold, under the lowest node with enough people;
    - other categories: the value of another person under that node; where that has none, a text of the label's form
      (:func:`~hybrid.protect.made_up.made_up_texts`), or of a listed group any of its values;
    - numbers and dates in intervals: drawn anew on the column's grid, inside the label
      (:func:`~hybrid.protect.numbers.protect_numbers`).

    Parameters
    ----------
    anonymized : AnonymizedTable, n records
        What a transition learns from.
    names : collection of str
        The quasi-identifiers that were generalized; others were masked, and their values stay.
    options : ProtectOptions
        How many people must hold a value. Columns that a decision keeps stay as they are.
    k : int
        Of the anonymization.
    rng : numpy.random.Generator
        Draws.
    public : collection of str
        Columns with a public list of values (:func:`has_public_list`). Any list may else be a copy of the table's own
        values.

    Returns
    -------
    dict of str to Restorable
        By column, but for those that stay.
    """
    least, persons = options.least_holders(k), row_holders(anonymized.originals)
    histories = row_persons(anonymized.originals)
    released = anonymized.result.k >= least
    found: dict[str, Restorable] = {}
    for at, (name, stream) in enumerate(
        zip(anonymized.quasi_identifiers, rng.spawn(len(anonymized.quasi_identifiers)), strict=True)
    ):
        if name not in names or options.choice(name) == "keep" or not len(anonymized):
            continue
        column, tree = anonymized.originals.schema[name], anonymized.hierarchies[name]
        values, leaves = anonymized.originals.frame[name], anonymized.leaves[:, at]
        nodes = anonymized.labels.nodes[:, at]
        level = (tree.node_of[leaves] == nodes[:, None]).argmax(axis=1)
        if isinstance(tree.rule, IntervalsSpec | DatesSpec):
            new = redraw(values, column, least, stream, histories, persons).values
            found[name] = _inside(values, new, column, tree, (nodes, level), stream, released=released)
        else:
            listed = _are_listed(tree)
            lists = _Lists(listed, listed if name in public else np.zeros_like(listed))
            found[name] = _below(values, tree, (leaves, level), lists, least, stream, persons, released=released)
    return found


def has_public_list(tree: Hierarchy, values: pd.Series) -> bool:
    """True for a list of the package, and if most values that a file lists have no holder.

    Then it is no copy of the table's own values.

    Parameters
    ----------
    tree : Hierarchy
        Of the column.
    values : pandas.Series, shape (n,)
        The column in the whole table, in the dtype of its kind.
    """
    if tree.public:
        return True
    listed = _are_listed(tree)
    if not listed.any():
        return False
    held = np.zeros(tree.n_leaves, dtype=bool)
    held[tree.encode(values)] = True
    return bool(held[listed].mean() < PUBLIC)


def keep_probability(held: Array, least: int) -> Array:
    """Chance that a value comes through, by the number of people who hold it.

    It is 0 below ``least``. From there on it grows as in the optimal partition selection of Desfontaines, Voss, Gipson
    and Mandayam (2022, Theorem 1): p(n) = min(e ** EPSILON * p(n - 1) + DELTA,
    1 - e ** -EPSILON * (1 - p(n - 1) - DELTA), 1). So whether a value is there does not say whether one certain person
    is: with a fixed threshold, who knows all others who hold it would see it.

    Parameters
    ----------
    held : numpy.ndarray, shape (m,), int
        People who hold each value.
    least : int
        Fewer never let it through.

    Returns
    -------
    numpy.ndarray, shape (m,), float64, 0..1
    """
    chances = [0.0]
    while chances[-1] < 1.0:
        last = chances[-1]
        grown = math.exp(EPSILON) * last + DELTA
        chances.append(min(grown, 1 - math.exp(-EPSILON) * (1 - last - DELTA), 1.0))
    steps = np.clip(held - least + 1, 0, len(chances) - 1)
    probability: Array = np.array(chances)[steps]
    return probability


@dataclass(frozen=True)
class _Lists:
    """Leaves that a file lists, and those of a public list, shape (n_leaves,), bool."""

    listed: Mask
    public: Mask


def _below(
    values: pd.Series,
    tree: Hierarchy,
    records: tuple[Leaves, Levels],
    lists: _Lists,
    least: int,
    rng: np.random.Generator,
    persons: Array | None,
    *,
    released: bool,
) -> Restorable:
    """Values of a column whose hierarchy has values as leaves.

    ``released``: whether every label is held by enough people.
    """
    leaves, level = records
    own = tree.node_of[leaves]
    enough = _enough(tree, own, lists.public, least, rng, persons)
    if released:
        enough[own[level == 0, 0]] = True
    stays = enough[own[:, 0]] | (leaves == tree.missing_leaf)
    free, target = lists.public.copy(), level
    free[leaves[stays]] = False
    # A listed group of which no value has enough holders: any of its values.
    labels = np.unique(own[np.arange(len(leaves)), level])
    empty = np.setdiff1d(labels, tree.node_of[leaves[stays]])
    free |= lists.listed & np.isin(tree.node_of, empty).any(axis=1)
    rows = np.flatnonzero(~stays)
    drawn, texts = leaves.copy(), dict[int, object]()
    if len(rows):
        target = _lowest(enough, own[rows], level[rows])
        target = np.where(np.isin(own[rows, level[rows]], empty), level[rows], target)
        from_list = np.isin(own[rows, target], tree.node_of[free])
        drawn[rows[from_list]] = _listed(tree, own[rows[from_list], target[from_list]], free, rng)
        if not from_list.all():
            others = rows[~from_list], target[~from_list]
            drawn[others[0]], target[~from_list], texts = _unlisted(
                tree, leaves, *others, stays, lists.listed, least, persons, rng
            )
        level = np.maximum(level, _at(rows, target, len(level)))
    drawable = None
    if (lists.listed & ~lists.public).any():
        drawable = free.copy()
        drawable[drawn] = True
    return Restorable(_decoded(tree, drawn, values, texts), level, drawable)


def _at(rows: Array, found: Levels, n: int) -> Levels:
    """Levels of some rows in their places, 0 elsewhere."""
    placed = np.zeros(n, dtype=found.dtype)
    placed[rows] = found
    return placed


def _are_listed(tree: Hierarchy) -> Mask:
    """Leaves that a file lists, shape (n_leaves,), bool."""
    if tree.rule is None:
        listed = np.ones(tree.n_leaves, dtype=bool)
    elif isinstance(tree.rule, GroupsSpec):
        members = {value for values in tree.rule.levels[0].values() for value in values}
        listed = np.array([tree.labels[node] in members for node in tree.node_of[:, 0]], dtype=bool)
    else:
        listed = np.zeros(tree.n_leaves, dtype=bool)
    if tree.missing_leaf is not None:
        listed[tree.missing_leaf] = False
    return listed


def _enough(
    tree: Hierarchy, own: Nodes, listed: Mask, least: int, rng: np.random.Generator, persons: Array | None
) -> Mask:
    """Nodes that enough people hold, shape (n_nodes,), bool.

    Values themselves, where no file lists them, by :func:`keep_probability`.
    """
    found = np.zeros(tree.n_nodes, dtype=bool)
    for level in reversed(range(tree.n_levels)):
        held = holders(own[:, level].astype(np.int64), tree.n_nodes, persons)
        there = np.flatnonzero(held)
        found[there] = held[there] >= least
        if level == 0:
            noisy = np.setdiff1d(there, tree.node_of[listed, 0])
            found[noisy] = rng.random(len(noisy)) < keep_probability(held[noisy], least)
    return found


def _lowest(enough: Mask, own: Nodes, level: Levels) -> Levels:
    """Lowest level above the value on which enough people share a record's node, shape (m,).

    Not above the record's label, but where this is itself a value of few people.
    """
    levels = np.arange(own.shape[1])
    most = np.where(level > 0, level, own.shape[1] - 1)
    found: Levels = ((enough[own] & (levels > 0)) | (levels >= most[:, None])).argmax(axis=1)
    return found


def _listed(tree: Hierarchy, nodes: Nodes, free: Mask, rng: np.random.Generator) -> Leaves:
    """A listed value below each node, of those that few or no people hold, all equally likely."""
    found = np.empty(len(nodes), dtype=np.int64)
    for node in np.unique(nodes):
        below = tree.leaves_of(node)
        mine = nodes == node
        found[mine] = rng.choice(below[free[below]], size=int(mine.sum()))
    return found


def _unlisted(
    tree: Hierarchy,
    leaves: Leaves,
    rows: Array,
    target: Levels,
    stays: Mask,
    listed: Mask,
    least: int,
    persons: Array | None,
    rng: np.random.Generator,
) -> tuple[Leaves, Levels, dict[int, object]]:
    """Values of other people below each row's node; texts of its form where none of these may come through.

    Where neither is possible, those of other people under a larger node, and at last the missing value.
    """
    donors = np.flatnonzero(stays & (leaves != tree.missing_leaf))
    drawn, target, texts = leaves[rows].copy(), target.copy(), dict[int, object]()
    pending = np.arange(len(rows))
    for climbed in range(tree.n_levels):
        for level in np.unique(target[pending]):
            asked = pending[target[pending] == level]
            nodes = tree.node_of[:, level]
            found = from_group(nodes[leaves[donors]], nodes[leaves[rows[asked]]], rng)
            drawn[asked[found >= 0]] = leaves[donors[found[found >= 0]]]
            pending = np.setdiff1d(pending, asked[found >= 0], assume_unique=True)
        if not climbed and tree.kind is Kind.CATEGORICAL:
            made_of = pending[~listed[leaves[rows[pending]]]]
            made = made_up_texts(tree, leaves, rows[made_of], target[made_of], least, persons, rng)
            there = np.array([one is not None for one in made], dtype=bool)
            texts = dict(zip(rows[made_of[there]].tolist(), made[there], strict=True))
            pending = np.setdiff1d(pending, made_of[there], assume_unique=True)
        target[pending] = np.minimum(target[pending] + 1, tree.n_levels - 1)
    if tree.rule is None and tree.missing_leaf is None:
        drawn[pending] = np.bincount(leaves).argmax()
    else:
        texts |= dict.fromkeys(rows[pending].tolist())
    return drawn, target, texts


def _decoded(
    tree: Hierarchy, leaves: Leaves, values: pd.Series, texts: Mapping[int, object] | None = None
) -> pd.Series:
    """The column of these leaves, with other texts (or None) in some rows, in its dtype without unused categories."""
    found = tree.decode(leaves)
    if tree.kind is not Kind.CATEGORICAL:
        return found.astype(values.dtype).mask(np.isin(np.arange(len(found)), list(texts or ())))
    objects = found.astype(object)
    if texts:
        objects.iloc[list(texts)] = list(texts.values())
    there = set(objects.dropna().unique())
    before = [name for name in values.cat.categories if name in there]
    categories = [*before, *sorted(there - set(before))]
    return objects.astype(pd.CategoricalDtype(pd.Index(categories, dtype=object), ordered=values.cat.ordered))


def _inside(
    values: pd.Series,
    new: pd.Series,
    column: Column,
    tree: Hierarchy,
    labels: tuple[Nodes, Levels],
    rng: np.random.Generator,
    *,
    released: bool,
) -> Restorable:
    """Protected numbers and dates of a column whose labels are intervals, moved inside of these."""
    nodes, level = labels
    distinct = values.dropna().drop_duplicates().sort_values()
    if not len(distinct):
        return Restorable(values, level)
    if released:
        new = new.where(level > 0, values)
    inside = (tree.node_at(new, level) == nodes) | values.isna().to_numpy()
    outside = np.flatnonzero(~inside & (level > 0) & (level < tree.n_levels - 1))
    if len(outside):
        steps = steps_of(distinct.reset_index(drop=True), column)
        ends = None if new.isna().all() else steps.positions(pd.Series([new.min(), new.max()], dtype=new.dtype))
        low, high = (
            steps.positions(pd.Series(edge[nodes[outside]]), up=up)
            for edge, up in ((tree.low, True), (tree.high, False))
        )
        drawn = steps.series(_between(low, high, ends, rng, whole=steps.whole), np.zeros(len(outside), dtype=bool))
        new.iloc[outside] = drawn.astype(new.dtype).array
    # A label that is itself a value of few people is restored anywhere.
    return Restorable(new, np.where(inside | (level > 0), level, tree.n_levels - 1))


def _between(low: Array, high: Array, ends: Array | None, rng: np.random.Generator, *, whole: bool) -> Array:
    """A position between two bounds, inside the ends of the column where these overlap.

    Else the bound that lies nearer to the ends.
    """
    first, last = (low, low) if ends is None else (np.maximum(low, ends[0]), np.minimum(high, ends[1]))
    nearest = low if ends is None else np.where(low > ends[1], low, high)
    apart = first > last
    first, last = np.where(apart, nearest, first), np.where(apart, nearest, last)
    uniform = rng.random(len(low))
    return first + (uniform * (last - first + 1)).astype(np.int64) if whole else first + uniform * (last - first)
