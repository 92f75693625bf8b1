"""Values of few people, written as the group of their hierarchy that enough of these people share."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Leaves, Levels, Mask, Nodes
from hybrid.hierarchy import Hierarchy
from hybrid.protect.donors import from_group
from hybrid.table import Kind
from hybrid.table.holders import holders

EPSILON, DELTA = 1.0, 0.05
"""One person more or less changes the chance that a value comes through by a factor of at most e ** EPSILON, plus
DELTA."""


def keep_probability(held: Array, least: int) -> Array:
    """Chance that a value comes through, by the number of people who hold it.

    It is 0 below ``least``. From there on it grows as in the optimal partition selection of Desfontaines, Voss, Gipson
    and Mandayam (2022, Theorem 1): p(n) = min(e ** EPSILON * p(n - 1) + DELTA, 1 - e ** -EPSILON * (1 - p(n - 1) -
    DELTA), 1). So whether a value is there does not say whether one certain person is: with a fixed threshold, who
    knows all others who hold it would see it.
    """
    chances = [0.0]
    while chances[-1] < 1.0:
        last = chances[-1]
        grown = math.exp(EPSILON) * last + DELTA
        chances.append(min(grown, 1 - math.exp(-EPSILON) * (1 - last - DELTA), 1.0))
    steps = np.clip(held - least + 1, 0, len(chances) - 1)
    probability: Array = np.array(chances)[steps]
    return probability


def values_let_through(codes: Array, n_codes: int, least: int, rng: np.random.Generator, persons: Array) -> Mask:
    """Values that come through by :func:`keep_probability`, shape (n_codes,), bool; arguments as for ``holders``."""
    through: Mask = rng.random(n_codes) < keep_probability(holders(codes, n_codes, persons), least)
    return through


def shared_groups(own: Nodes, top: Levels, least: int, rng: np.random.Generator, persons: Array) -> Levels:
    """Lowest level, up to ``top``, on which enough records of rare values share a group; -1 where there is none.

    Only these records count: were others of the group counted, too, its name would show a single person whose value is
    rare. Groups come through as values do (:func:`keep_probability`), so that nobody decides about one. ``own``, of
    shape (m, n_levels), are the nodes of each record.
    """
    found = np.full(len(own), -1, dtype=np.int64)
    for level in range(1, own.shape[1]):
        # A value that is its own group has had its chance.
        waiting = np.flatnonzero((found < 0) & (level <= top) & (own[:, level] != own[:, 0]))
        nodes, codes = np.unique(own[waiting, level], return_inverse=True)
        found[waiting[values_let_through(codes, len(nodes), least, rng, persons[waiting])[codes]]] = level
    return found


def grouped(
    tree: Hierarchy,
    leaves: Leaves,
    rare: Mask,
    top: Levels,
    least: int,
    rng: np.random.Generator,
    persons: Array,
) -> Nodes:
    """Node of the value, or group of values, that each record is written as.

    A rare value becomes its lowest group that enough people share. Where people are too few for any, they get what
    another record below the same topmost node is written as; if there is none, the name of that node. ``top`` is the
    level of each record's topmost node.
    """
    own = tree.node_of[leaves]
    written, rows = own[:, 0].copy(), np.flatnonzero(rare)
    level = shared_groups(own[rows], top[rows], least, rng, persons[rows])
    written[rows] = own[rows, np.where(level < 0, top[rows], level)]
    left = rows[level < 0]
    others = np.ones(len(leaves), dtype=bool)
    others[left] = False
    donors = np.flatnonzero(others & (leaves != tree.missing_leaf))
    for at in np.unique(top[left]):
        asked = left[top[left] == at]
        # What a donor is written as lies below its own topmost node, which need not be that of the asked one.
        inside = donors[top[donors] <= at]
        drawn = from_group(own[inside, at], own[asked, at], rng)
        written[asked[drawn >= 0]] = written[inside[drawn[drawn >= 0]]]
    return written


def group_names(tree: Hierarchy, groups: Nodes) -> dict[int, str]:
    """Text that each group, a node above the values, is written as: its label.

    A group whose label another group has that does not lie below it is written with its level, too.
    """
    level = tree.level_of()
    texts = {str(value) for value in tree.leaves[: tree.missing_leaf]}
    first: dict[str, int] = {}
    names: dict[int, str] = {}
    for node in sorted(map(int, groups), key=lambda one: (level[one], one)):
        label = tree.labels[node]
        below = first.setdefault(label, node)
        nested = (tree.node_of[(tree.node_of == below).any(axis=1)] == node).any()
        names[node] = label if nested and label not in texts else _with_level(label, int(level[node]))
    return names


def possible_names(tree: Hierarchy) -> frozenset[str]:
    """Texts that groups of a hierarchy may be written as (:func:`group_names`)."""
    level = tree.level_of()
    groups = np.setdiff1d(np.arange(tree.n_nodes), tree.node_of[:, 0])
    labels = {tree.labels[node] for node in groups} - {str(value) for value in tree.leaves[: tree.missing_leaf]}
    return frozenset(labels | {_with_level(tree.labels[node], int(level[node])) for node in groups})


def _with_level(label: str, level: int) -> str:
    return f"{label} (level {level})"


def with_names(tree: Hierarchy, written: Nodes) -> tuple[Hierarchy, Leaves]:
    """Make values of the names of groups that records are written as (:func:`grouped`); with the new leaf of each."""
    names = group_names(tree, np.setdiff1d(written, tree.node_of[:, 0]))
    known = tree.with_groups(names)
    leaf_of = np.empty(known.n_nodes, dtype=np.int64)
    leaf_of[known.node_of[:, 0]] = np.arange(known.n_leaves)
    leaf_of[list(names)] = pd.Index(known.leaves[: known.missing_leaf]).get_indexer(list(names.values()))
    return known, leaf_of[written]


def decoded(tree: Hierarchy, leaves: Leaves, values: pd.Series) -> pd.Series:
    """Column of some leaves in the dtype of ``values``, whose categories come first, without unused ones."""
    found = tree.decode(leaves)
    if tree.kind is not Kind.CATEGORICAL:
        return found.astype(values.dtype)
    there = set(found.dropna().unique())
    before = [name for name in values.cat.categories if name in there]
    categories = [*before, *sorted(there - set(before))]
    dtype = pd.CategoricalDtype(pd.Index(categories, dtype=object), ordered=values.cat.ordered)
    return found.astype(object).astype(dtype)
