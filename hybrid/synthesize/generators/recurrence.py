"""Rows of one parent that have the same category.

A tree draws a row's category given the person, the row before and the first ones. That a pupil has one or two marks in
each subject, or a patient each drug once, depends on all rows before. So a category that is drawn counts by a weight
that follows from how many earlier rows of the parent have it: 0, where no parent has one more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.table.holders import n_with_key

MOST_LEVELS = 100
"""Categories of a column at most: of more, few come twice."""
MOST_EARLIER = 8
"""Earlier rows with the same category that are told apart at most."""
MOST_ROWS = 20_000
"""Rows at most that weights are fitted to."""
LEAST_SHARE = 0.05
"""Share of the rows with another number of earlier rows, beyond chance, from which on there are weights."""
ERRORS = 3.0
"""The same in standard errors of a share of half of the persons."""
ROUNDS = 4
"""Draws, each of which corrects the weights by what it shows too often."""
PROPOSALS = 8
"""Draws of the tree, one of which is taken by its weight."""
MOST_TRIES = 10
"""Times that all of these may have no weight; then any is taken."""
SHRINKAGE = 50.0
"""Rows of all categories together that are added to those of each category."""

Propose = Callable[[Array], Array]
"""Draws one category for each of some rows, given by position."""


@dataclass(frozen=True)
class Recurrence:
    """Weights of the categories of a column by the number of earlier rows of the parent that have them."""

    weights: Array
    """The last column is for all larger numbers, too; shape (n_levels, m)."""

    def tally(self, n: int) -> Array:
        """Numbers of rows of ``n`` parents by category, before any row; shape (n, n_levels)."""
        return np.zeros((n, len(self.weights)), dtype=np.int32)

    def draw(self, propose: Propose, earlier: Array, avoided: Array | None, rng: np.random.Generator) -> Array:
        """Draw the category of one row of each parent, of whose earlier rows the numbers by category are given.

        ``avoided``: a category that each row does not get.
        """
        waiting = np.arange(len(earlier))
        found = propose(waiting)
        for _ in range(MOST_TRIES):
            if not len(waiting):
                break
            drawn = np.stack([propose(waiting) for _ in range(PROPOSALS)])
            weights = self._of(drawn, earlier[waiting])
            if avoided is not None:
                weights = np.where(drawn == avoided[waiting], 0.0, weights)
            summed = np.cumsum(weights, axis=0)
            taken = (summed <= rng.random(len(waiting)) * summed[-1]).sum(axis=0)
            some = taken < PROPOSALS
            found[waiting[some]] = drawn[taken[some], np.flatnonzero(some)]
            waiting = waiting[~some]
        return found

    def _of(self, drawn: Array, earlier: Array) -> Array:
        counts: Array = np.take_along_axis(earlier, drawn.T, axis=1).T
        weights: Array = self.weights[drawn, np.minimum(counts, self.weights.shape[1] - 1)]
        return weights


def earlier_rows(values: Array, first: Array, n_levels: int) -> Array:
    """Numbers of earlier rows of the same parent by category; shape (n, n_levels), int32.

    Rows of a parent are adjacent; ``first`` is the position of the first row of each row's parent.
    """
    before = np.zeros((len(values), n_levels), dtype=np.int32)
    before[np.arange(1, len(values)), values[:-1]] = 1
    summed = np.cumsum(before, axis=0)
    counts: Array = summed - summed[first]
    return counts


@dataclass(frozen=True)
class CategoryRows:
    """Rows that follow another one of their parent, in one column of categories."""

    values: Array
    earlier: Array
    """Numbers of earlier rows by category; shape (n, n_levels)."""
    persons: Array
    avoided: Array | None = None
    """A category that each row does not have."""

    def counts(self, drawn: Array) -> Array:
        """Numbers of earlier rows with the category drawn for each row, up to :data:`MOST_EARLIER`; shape (n,)."""
        counts: Array = np.minimum(np.take_along_axis(self.earlier, drawn[:, None], axis=1)[:, 0], MOST_EARLIER)
        return counts

    def cells(self, drawn: Array, rows: Mask | slice = slice(None)) -> Array:
        """Numbers of rows by category and earlier rows with it; shape (n_levels, MOST_EARLIER + 1)."""
        cells = np.zeros((self.earlier.shape[1], MOST_EARLIER + 1))
        np.add.at(cells, (drawn[rows], self.counts(drawn)[rows]), 1.0)
        return cells


def fit_recurrence(rows: CategoryRows, propose: Propose, least: int, rng: np.random.Generator) -> Recurrence | None:
    """Fit weights so that what is drawn recurs as often as in the training rows; None where it about does already.

    Each round draws a category for every row, given its real earlier rows, and multiplies the weights by how much rarer
    the drawn numbers of earlier rows are than the real ones. ``least`` persons must have a category once more, or none
    does.
    """
    people = n_with_key(rows.persons)
    if people < least:
        return None
    counts = rows.counts(rows.values)
    enough = [number for number in range(MOST_EARLIER + 1) if n_with_key(rows.persons[counts == number]) >= least]
    real = rows.cells(rows.values, np.isin(counts, enough))
    found = Recurrence(np.ones_like(real))
    for number in range(ROUNDS):
        drawn = rows.cells(found.draw(propose, rows.earlier, rows.avoided, rng))
        pooled = real.sum(axis=0), drawn.sum(axis=0)
        unlike = float(np.abs(pooled[0] - pooled[1]).sum()) / 2 / len(counts)
        if number == 0 and unlike < max(LEAST_SHARE, ERRORS / 2 / np.sqrt(people)):
            return None
        rarer = np.where(pooled[1] > 0, pooled[0] / np.maximum(pooled[1], 1), 1.0)
        found = Recurrence(found.weights * (real + SHRINKAGE * rarer) / (drawn + SHRINKAGE))
    return found
