"""Values that labels are restored from: none that a single person decides.

Quasi-identifiers are generalized as they are, and only what is restored below their labels is protected.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.anonymize.result import AnonymizedTable
from hybrid.base.arrays import Array, Leaves, Levels, Mask, Nodes
from hybrid.hierarchy import Hierarchy
from hybrid.hierarchy.spec import DatesSpec, GroupsSpec, IntervalsSpec
from hybrid.protect.donors import draw_below
from hybrid.protect.group_values import decoded, grouped, values_let_through, with_names
from hybrid.protect.numbers import steps_of
from hybrid.protect.options import ProtectOptions
from hybrid.protect.related_dates import redraw
from hybrid.table import Column, Kind
from hybrid.table.holders import row_holders, row_persons

PUBLIC = 0.5
"""Share of a list's values that have a holder, below which the list counts as public."""


@dataclass(frozen=True)
class Restorable:
    """Values of one quasi-identifier that a transition may learn from."""

    values: pd.Series
    """One per record, in the dtype of the column's kind; shape (n,)."""
    level: Levels
    """Level from which on value and original lie below the same node of the hierarchy: that of the record's label, or a
    higher one for labels that are themselves values of few people; shape (n,), int."""
    hierarchy: Hierarchy | None = None
    """Of the values that may come out, names of groups among them; None: the column's own, built for the values."""


def restorable(
    anonymized: AnonymizedTable,
    names: Collection[str],
    options: ProtectOptions,
    k: int,
    rng: np.random.Generator,
    public: Collection[str] = (),
) -> dict[str, Restorable]:
    """Replace exact values that few people hold by groups below the same label.

    A value of a column stays if the noisy threshold of :func:`~hybrid.protect.group_values.keep_probability` lets it
    through. Others become

    - categories and codes: the name of their lowest group that enough people of rare values share
      (:func:`~hybrid.protect.group_values.grouped`), such as ``Other`` or ``100**``;
    - numbers and dates in intervals: drawn anew on the column's grid, inside the label
      (:func:`~hybrid.protect.numbers.protect_numbers`);
    - numbers in other hierarchies, which hold no names: another value under the lowest node that has any.

    ``names`` are the quasi-identifiers that were generalized; others were masked, and their values stay, as do columns
    that a decision keeps. Of the columns ``public`` (:func:`has_public_list`) a transition that looks at the label
    alone may draw any listed value; other lists may be copies of the table's own values.
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
            about = values, tree, (leaves, level), least, stream, persons
            found[name] = _below(*about, public=name in public, released=released)
    return found


def has_public_list(tree: Hierarchy, values: pd.Series) -> bool:
    """True for a list of the package, and if most values that a file lists have no holder in the whole table.

    Then it is no copy of the table's own values.
    """
    if tree.public:
        return True
    listed = _are_listed(tree)
    if not listed.any():
        return False
    held = np.zeros(tree.n_leaves, dtype=bool)
    held[tree.encode(values)] = True
    return bool(held[listed].mean() < PUBLIC)


def _below(
    values: pd.Series,
    tree: Hierarchy,
    records: tuple[Leaves, Levels],
    least: int,
    rng: np.random.Generator,
    persons: Array,
    *,
    public: bool,
    released: bool,
) -> Restorable:
    """Values of a column whose leaves are values; ``released``: whether every label is held by enough people."""
    leaves, level = records
    own = tree.node_of[leaves]
    through = values_let_through(own[:, 0].astype(np.int64), tree.n_nodes, least, rng, persons)
    if released:
        through[own[level == 0, 0]] = True
    rare = ~through[own[:, 0]] & (leaves != tree.missing_leaf)
    # A label that is itself a value of few people is restored as any group that enough share.
    top = np.where(level > 0, level, tree.n_levels - 1)
    if tree.kind is Kind.CATEGORICAL:
        known, drawn = with_names(tree, grouped(tree, leaves, rare, top, least, rng, persons))
    else:
        known, drawn = tree, _without_names(tree, leaves, rare, top, rng)
        if (drawn < 0).any():
            return Restorable(tree.decode(leaves).astype(values.dtype).mask(drawn < 0), level)
    level = np.maximum(level, (known.node_of[drawn] == own).argmax(axis=1))
    may = np.full(known.n_leaves, public)
    may[drawn] = True
    return Restorable(decoded(known, drawn, values), level, known.restricted(may))


def _are_listed(tree: Hierarchy) -> Mask:
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


def _without_names(tree: Hierarchy, leaves: Leaves, rare: Mask, top: Levels, rng: np.random.Generator) -> Leaves:
    """Leaf of each record in a column that cannot hold the name of a group.

    Rare values become others under the lowest node that has any. Where none may come through, they become any listed
    one below their topmost node; -1, missing, where no file lists them.
    """
    drawn, known = leaves.copy(), leaves != tree.missing_leaf
    rows = np.flatnonzero(rare)
    if (known & ~rare).any():
        drawn[rows] = draw_below(leaves[known], ~rare[known], tree.node_of[:, 1:], rng)
        return drawn
    if tree.rule is not None:
        drawn[rows] = -1
        return drawn
    asked = tree.node_of[leaves[rows], top[rows]]
    for node in np.unique(asked):
        below = np.setdiff1d(tree.leaves_of(node), [-1 if tree.missing_leaf is None else tree.missing_leaf])
        drawn[rows[asked == node]] = rng.choice(below, size=int((asked == node).sum()))
    return drawn


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
    """A position between two bounds, inside the ends of the column where these overlap, else the nearer bound."""
    first, last = (low, low) if ends is None else (np.maximum(low, ends[0]), np.minimum(high, ends[1]))
    nearest = low if ends is None else np.where(low > ends[1], low, high)
    apart = first > last
    first, last = np.where(apart, nearest, first), np.where(apart, nearest, last)
    uniform = rng.random(len(low))
    return first + (uniform * (last - first + 1)).astype(np.int64) if whole else first + uniform * (last - first)
