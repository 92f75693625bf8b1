"""Draws from a column's other values, by a small tree.

The tree predicts them from the other columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.table import Table

LEAF = 50
"""Records in a leaf of the tree at least."""
DEPTH = 6
MOST_LEARNED = 20_000
"""Records that a tree is grown on at most; drawn at random."""
PROJECTED = 8
"""Dimensions in which the categories are placed at random, so that one tree predicts any number of them."""


def ranks_of(table: Table) -> Array:
    """Ranks of all columns' values, missing first; shape (n, p), float32."""
    columns = [_ranks(table.frame[name]) for name in table.schema.names]
    return np.column_stack(columns).astype(np.float32) if columns else np.zeros((len(table), 0), dtype=np.float32)


def draw_alike(codes: Array, donors: Array, matrix: Array, rng: np.random.Generator) -> Array:
    """Donor's code for every record that is none, in their order, drawn from donors with similar other columns.

    A tree predicts from ``matrix`` (:func:`ranks_of` without the column itself); without columns or with few donors any
    donor is drawn. There is one at least.
    """
    having, wanting = np.flatnonzero(donors), np.flatnonzero(~donors)
    if not matrix.shape[1] or len(having) < 2 * LEAF:
        any_donor: Array = codes[rng.choice(having, size=len(wanting))]
        return any_donor
    if len(having) > MOST_LEARNED:
        having = np.sort(rng.choice(having, size=MOST_LEARNED, replace=False))
    tree = _grow(matrix[having], codes[having], rng)
    drawn: Array = codes[having[from_group(tree.apply(matrix[having]), tree.apply(matrix[wanting]), rng)]]
    return drawn


def draw_below(codes: Array, donors: Array, levels: Array, rng: np.random.Generator) -> Array:
    """Donor's code for every record that is none, drawn from those under the record's lowest node that has any.

    ``levels``, of shape (n_codes, n_levels), are the nodes of each code, the root last.
    """
    having, wanting = np.flatnonzero(donors), np.flatnonzero(~donors)
    drawn = codes[wanting]
    pending = np.arange(len(wanting))
    for nodes in levels.T:
        found = from_group(nodes[codes[having]], nodes[codes[wanting[pending]]], rng)
        drawn[pending[found >= 0]] = codes[having[found[found >= 0]]]
        pending = pending[found < 0]
    return drawn


def from_group(mine: Array, asked: Array, rng: np.random.Generator) -> Array:
    """Position of a random donor of each requested group, -1 where it has none; ``mine``: groups of the donors."""
    if not len(mine):
        return np.full(len(asked), -1)
    order = np.argsort(mine, kind="stable")
    starts = np.searchsorted(mine[order], asked)
    sizes = np.searchsorted(mine[order], asked, side="right") - starts
    at = np.minimum(starts + (rng.random(len(asked)) * sizes).astype(np.int64), len(mine) - 1)
    found: Array = np.where(sizes > 0, order[at], -1)
    return found


def _grow(matrix: Array, codes: Array, rng: np.random.Generator) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    number = np.unique(codes, return_inverse=True)[1]
    places = rng.standard_normal((int(number.max()) + 1, PROJECTED))
    tree = DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=LEAF, random_state=int(rng.integers(2**31)))
    return tree.fit(matrix, places[number])


def _ranks(values: pd.Series) -> Array:
    return category_codes(values)[0] if isinstance(values.dtype, pd.CategoricalDtype) else _sorted_codes(values)


def _sorted_codes(values: pd.Series) -> Array:
    codes: Array = pd.factorize(values, sort=True)[0]
    return codes


def category_codes(values: pd.Series) -> tuple[Array, list[str]]:
    """Codes in alphabetical order, -1 where missing, and the categories that occur, whatever the dtype's order."""
    used = values.cat.remove_unused_categories()
    names: Iterable[object] = used.cat.categories
    ordered = sorted(names, key=str)
    codes: Array = used.cat.reorder_categories(ordered).cat.codes.to_numpy().astype(np.int64)
    return codes, [str(name) for name in ordered]
