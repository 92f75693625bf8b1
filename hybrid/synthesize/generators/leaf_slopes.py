"""Slopes within the leaves of a tree: a drawn number is moved as far as the row differs from its donor.

A leaf of fifty people holds many values of every number before the column. A donor's value says what such a person has;
where the leaf's people bear out a slope, the row gets the value of a person like itself. So large leaves keep relations
of numbers that would need small ones, which give single people away. It is the regression adjustment of Beaumont,
Zhang, Balding (Genetics 162(4), 2002, eq. 4) on ranks, within the nodes of a tree as in M5 (Quinlan 1992).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.synthesize.generators.regressions import reflected

K = TypeVar("K")
MOST_SLOPES = 3
"""Numbers that a node has a slope for, at most."""
MOST_CANDIDATES = 12
"""Numbers that slopes are looked for in: those that follow the column best within all leaves together."""
CHANCE = 0.01
"""Probability that chance alone gives a node of a column without relations a first slope."""
FEWEST_VALUES = 10.0
"""Values of a column with slopes, at least, counted as :attr:`Places.effective` counts. Ranks of few values are steps,
and moves within a leaf would carry a rare value off."""
_FLAT = 1e-9
"""Share of a number's spread below which nothing of it is left beside those that have a slope already."""


@dataclass(frozen=True)
class Places:
    """Numbers by their mean rank among training values, 0 to 1.

    ``distinct`` (m,): the values, sorted; ``below`` (m + 1,): share of the training values below each, and 1.
    """

    distinct: Array
    below: Array

    @classmethod
    def of(cls, values: Array) -> Places:
        distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        return cls(distinct, np.concatenate([[0.0], np.cumsum(counts) / max(counts.sum(), 1)]))

    @property
    def effective(self) -> float:
        """Number of values, as many as evenly held ones: 1 / (sum of squared shares); 2 of a fair coin.

        Hill's number of order 2 (Ecology 54(2), 1973).
        """
        return float(1 / max((np.diff(self.below) ** 2).sum(), 1e-12))

    def rank(self, values: Array) -> Array:
        """Ranks of shape (n,); NaN stays NaN."""
        low, high = self._ends(values)
        ranks: Array = np.where(np.isnan(values), np.nan, (low + high) / 2)
        return ranks

    def drawn_rank(self, values: Array, rng: np.random.Generator) -> Array:
        """Ranks of values that are not missing, each drawn evenly from those of its value; shape (n,)."""
        low, high = self._ends(values)
        ranks: Array = low + rng.random(len(values)) * (high - low)
        return ranks

    def _ends(self, values: Array) -> tuple[Array, Array]:
        """Shares of the training values below each value, and up to it."""
        left, right = (np.searchsorted(self.distinct, values, side=side) for side in ("left", "right"))
        return self.below[left], self.below[right]

    def value(self, ranks: Array) -> Array:
        """Training values at these ranks, 0 to 1; shape (n,)."""
        at = np.searchsorted(self.below, ranks, side="right") - 1
        values: Array = self.distinct[np.clip(at, 0, len(self.distinct) - 1)]
        return values


@dataclass(frozen=True)
class LeafSlopes(Generic[K]):
    """Slopes of a column's rank in the ranks of numbers before it, by node of its tree."""

    predictors: Mapping[K, Places]
    """The p numbers that any node has a slope for."""
    target: Places
    """The column itself."""
    donors: Array
    """Ranks of the donors' predictors, in the order of the donors; shape (n, p), float32."""
    slopes: Array
    """Change of the column's rank per change of a predictor's; 0 where the people of a node bear none out; shape
    (n_nodes, p)."""

    def move(self, values: Array, at: Array, node: Array, known: Mapping[K, Array], rng: np.random.Generator) -> Array:
        """Move donors' values as far as the rows differ from the donors.

        A value that many have has many ranks: one of them is moved, so that a small move seldom changes it. A
        rank beyond an end is reflected there, so that no value piles up. A missing predictor moves nothing, and a
        missing value stays missing.

        Parameters
        ----------
        values, at, node : numpy.ndarray, shape (n_rows,)
            Donors' values, their positions, and the nodes that they were drawn from.
        known : mapping of key to numpy.ndarray, shape (n_rows,)
            The columns before.
        """
        places = np.column_stack([place.rank(known[key]) for key, place in self.predictors.items()])
        shift = (np.nan_to_num(places - self.donors[at]) * self.slopes[node]).sum(axis=1)
        moved = np.flatnonzero((shift != 0) & ~np.isnan(values))
        ranks = self.target.drawn_rank(values[moved], rng) + shift[moved]
        result = values.copy()
        result[moved] = self.target.value(reflected(ranks, 0.0, 1.0))
        return result


def fit_slopes(
    values: Array, known: Mapping[K, Array], sums: Callable[[Array], Array], is_leaf: Mask, least: int
) -> LeafSlopes[K] | None:
    """Slopes that the people of the nodes bear out; None where no node has any.

    By forward selection: a number gets a slope if chance would make the best of all numbers as good with a probability
    below :data:`CHANCE` (F test of one more predictor, Bonferroni over the numbers that are left).

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
        The column, NaN where missing, in the order of the leaves.
    known : mapping of key to numpy.ndarray, shape (n,)
        The numbers before it, in the same order.
    sums : callable
        Sums of numbers over the people of every node, shape (n,) to (n_nodes,).
    is_leaf : numpy.ndarray, shape (n_nodes,), bool
    least : int
        People of a node with slopes, at least.
    """
    target = Places.of(values)
    if target.effective < FEWEST_VALUES:
        return None
    held = (~np.isnan(values)).astype(np.float64)
    y = np.nan_to_num(target.rank(values) - 0.5)
    places = {key: Places.of(column) for key, column in known.items()}
    ranks = {key: place.rank(known[key]) for key, place in places.items()}
    x = {key: np.nan_to_num(column - 0.5) * held for key, column in ranks.items()}
    keys = _candidates(x, y, held, sums, is_leaf)
    if not keys:
        return None
    slopes = _selected(_centred([held, *(x[key] for key in keys), y], sums), sums(held), least)
    used = np.flatnonzero((slopes != 0).any(axis=0))
    if not len(used):
        return None
    predictors = {keys[at]: places[keys[at]] for at in used}
    donors = np.column_stack([ranks[key] for key in predictors])
    return LeafSlopes(predictors, target, donors.astype(np.float32), slopes[:, used])


def _candidates(x: Mapping[K, Array], y: Array, held: Array, sums: Callable[[Array], Array], is_leaf: Mask) -> list[K]:
    """Numbers with the largest correlation within leaves, at most :data:`MOST_CANDIDATES`."""
    people = np.maximum(sums(held)[is_leaf], 1e-12)

    def within(first: Array, second: Array) -> float:
        products, ones, others = (sums(one)[is_leaf] for one in (first * second, first, second))
        return float((products - ones * others / people).sum())

    spread = within(y, y)
    shares = {}
    for key, column in x.items():
        own = within(column, column)
        if min(own, spread) > _FLAT * len(y):
            shares[key] = within(column, y) ** 2 / (own * spread)
    return sorted(shares, key=lambda key: -shares[key])[:MOST_CANDIDATES]


def _centred(columns: Sequence[Array], sums: Callable[[Array], Array]) -> Array:
    """Sums of products about the means of each node: of all columns but the first, which counts.

    Shape (n_nodes, len(columns) - 1, len(columns) - 1).
    """
    counts, *others = columns
    people = np.maximum(sums(counts), 1e-12)
    totals = np.stack([sums(column) for column in others], axis=1)
    products = np.empty((len(people), len(others), len(others)))
    for i, first in enumerate(others):
        for j in range(i + 1):
            products[:, i, j] = products[:, j, i] = sums(first * others[j])
    products -= totals[:, :, None] * totals[:, None, :] / people[:, None, None]
    return products


def _selected(products: Array, people: Array, least: int) -> Array:
    """Slopes of the last column in the others by forward selection, shape (n_nodes, p), 0 where none is selected.

    Gauss-Jordan elimination of the selected columns leaves the products of what is not explained by them.
    """
    from scipy.stats import f

    n, width = len(products), products.shape[1] - 1
    own = np.diagonal(products, axis1=1, axis2=2)[:, :width].copy()
    rest, chosen, going = products.copy(), np.zeros((n, width), dtype=bool), people >= least
    for step in range(min(MOST_SLOPES, width)):
        left = np.diagonal(rest, axis1=1, axis2=2)[:, :width]
        free = going[:, None] & ~chosen & (left > np.maximum(_FLAT * own, _FLAT)) & (rest[:, -1:, -1] > _FLAT)
        explained = np.where(free, rest[:, :width, -1] ** 2, 0.0) / np.where(free, left * rest[:, -1:, -1], 1.0)
        best, freedom = explained.argmax(axis=1), people - step - 2
        share = np.clip(explained[np.arange(n), best], 0.0, 1 - 1e-12)
        odds = f.sf(share / (1 - share) * freedom, 1, np.maximum(freedom, 1))
        going = free.any(axis=1) & (freedom >= 1) & (odds * free.sum(axis=1) < CHANCE)
        at, pivot = np.flatnonzero(going), best[going]
        row = rest[at, pivot] / rest[at, pivot, pivot][:, None]
        rest[at] -= rest[at, :, pivot][:, :, None] * row[:, None, :]
        rest[at, pivot], chosen[at, pivot] = row, True
    return np.where(chosen, rest[:, :width, -1], 0.0)
