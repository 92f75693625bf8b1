"""Summaries of the rows of a person so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.likeness import agreement, rank_correlation
from hybrid.synthesize.protocol import Feature

MOST_SUMMARIES = 16
"""Summarized columns at most: those in which rows of a person are most alike."""
LEAST_ALIKE = 0.02
"""Likeness of successive rows (correlation of ranks, or agreement beyond chance) from which a column is summarized."""


@dataclass(frozen=True)
class RowHistory:
    """Summaries of the rows before a row.

    The mean of numbers, and the first row's category, of the columns in which rows of a person are most alike.

    Parameters
    ----------
    features : mapping of int to Feature
        The summarized columns by their position.
    sums, known : mapping of int to numpy.ndarray, each of shape (n_persons,)
        Sum and number of the known values of every summarized number so far.
    first : mapping of int to numpy.ndarray, each of shape (n_persons,)
        First row's code of every summarized category; the number of levels before any row.
    """

    features: Mapping[int, Feature]
    sums: Mapping[int, Array]
    known: Mapping[int, Array]
    first: Mapping[int, Array]

    @classmethod
    def empty(cls, features: Mapping[int, Feature], n_persons: int) -> RowHistory:
        """History of persons without rows yet."""
        numbers = [at for at, feature in features.items() if not feature.is_discrete]
        categories = {at: feature for at, feature in features.items() if feature.is_discrete}
        none = {at: np.full(n_persons, feature.n_levels, dtype=np.int32) for at, feature in categories.items()}
        sums, known = ({at: np.zeros(n_persons) for at in numbers} for _ in range(2))
        return cls(features, sums, known, none)

    def summaries(self) -> dict[int, Array]:
        """Predictors of the next row by the position of their column.

        Each of shape (n_persons,).
        """
        means = {at: _means(self.sums[at], self.known[at]) for at in self.sums}
        return {at: means[at] if at in means else self.first[at] for at in self.features}

    def after(self, row: Sequence[Array]) -> RowHistory:
        """History with one more row of every person."""
        seen = {at: ~np.isnan(row[at]) for at in self.sums}
        return RowHistory(
            self.features,
            {at: self.sums[at] + np.where(seen[at], row[at], 0) for at in self.sums},
            {at: self.known[at] + seen[at] for at in self.sums},
            {
                at: np.where(first == self.features[at].n_levels, row[at], first).astype(np.int32)
                for at, first in self.first.items()
            },
        )

    def of_first(self, n_persons: int) -> RowHistory:
        """History of the first so many persons."""
        parts = ({at: a[:n_persons] for at, a in one.items()} for one in (self.sums, self.known, self.first))
        return RowHistory(self.features, *parts)


def past_summaries(features: Mapping[int, Feature], columns: Sequence[Array], counts: Array) -> dict[int, Array]:
    """Summaries that :class:`RowHistory` has before each row.

    Parameters
    ----------
    features : mapping of int to Feature
        The summarized columns by their position in ``columns``.
    columns : sequence of numpy.ndarray, each of shape (n_rows,)
        Rows of a person adjacent and in order.
    counts : numpy.ndarray, shape (n_persons,), int64
        Rows of each person.

    Returns
    -------
    dict of int to numpy.ndarray, each of shape (n_rows,)
    """
    start = np.repeat(np.cumsum(counts) - counts, counts)
    found = {}
    for at, feature in features.items():
        values = columns[at]
        if feature.is_discrete:
            later = np.arange(len(values)) > start
            found[at] = np.where(later, values[start], feature.n_levels).astype(np.int32)
        else:
            seen = ~np.isnan(values)
            totals = [np.append(0.0, np.cumsum(side)) for side in (np.where(seen, values, 0), seen)]
            rows = np.arange(len(values))
            found[at] = _means(*(total[rows] - total[start] for total in totals))
    return found


def lasting_columns(features: Sequence[Feature], columns: Sequence[Array], counts: Array) -> dict[int, Feature]:
    """Columns in which successive rows of a person are most alike.

    Parameters as for :func:`past_summaries`; all columns of the rows are looked at.
    """
    rows = np.flatnonzero(np.arange(counts.sum()) > np.repeat(np.cumsum(counts) - counts, counts))
    if len(rows) < 2:
        return {}
    alike = {}
    for at, (feature, values) in enumerate(zip(features, columns, strict=True)):
        likeness = agreement if feature.is_discrete else rank_correlation
        alike[at] = abs(likeness(values[rows - 1], values[rows]))
    best = sorted((at for at, value in alike.items() if value >= LEAST_ALIKE), key=lambda at: -alike[at])
    return {at: features[at] for at in best[:MOST_SUMMARIES]}


def _means(sums: Array, known: Array) -> Array:
    return np.asarray(np.where(known > 0, sums / np.maximum(known, 1), np.nan))
