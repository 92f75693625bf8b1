"""Person table: one record per person, with summaries of the person's rows.

A generator of single rows learns this table; the rows are then drawn one after another given a drawn person (the
parent-child scheme of synthetic relational data, see Patki, Wedge, Veeramachaneni, IEEE DSAA 2016, "The Synthetic Data
Vault", which hands summaries of the children to the parent).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.base.likeness import agreement, rank_correlation
from hybrid.synthesize.protocol import Encoded, Feature, Sequences

MOST_SUMMARIES = 12
"""Columns whose mean or mode is a summary, at most: those in which rows of a person are most alike."""
LEAST_ALIKE = 0.02
"""Likeness of successive rows (correlation of ranks, or agreement beyond chance) from which a column is summarized."""
LEAST_HEAVY = 10
"""Persons who have the largest number of rows that is learned: larger numbers are coded as it."""
SHARES = 2
"""Columns of categories, of which a person's share of rows with the mode is a summary, too."""


@dataclass(frozen=True)
class PersonTable:
    """Persons with summaries of their rows.

    Parameters
    ----------
    encoded : Encoded, n_persons rows
        Static columns, then the number of rows, then summaries.
    counts_at, first_at : int, int or None
        Positions of the number of rows, and of the first value of the column that orders the rows.
    n_static : int
        Number of static columns.
    """

    encoded: Encoded
    counts_at: int
    first_at: int | None
    n_static: int


def order_values(feature: Feature, values: Array) -> Array:
    """Values of the order as numbers.

    Missing ones are NaN; shape (n,), float64.
    """
    numbers = values.astype(np.float64)
    if feature.is_discrete and feature.missing:
        numbers[values == feature.n_levels - 1] = np.nan
    return numbers


def person_table(data: Sequences) -> PersonTable:
    """Summarize the rows of every person.

    Summaries are: number of rows (coded at the largest that ten persons reach), first value and span of the order, and
    of up to twelve columns the mean of numbers or the mode of categories, of two of them also the share of the mode.
    """
    static, counts = data.persons, data.counts
    top = int(np.sort(counts)[::-1][min(LEAST_HEAVY, len(counts)) - 1])
    features = [*static.features, _number("number of rows", missing=False)]
    columns = [*static.columns, np.minimum(counts, top).astype(np.float64)]
    first_at = None
    if data.order is not None:
        first_at = len(features)
        feature = data.rows.features[data.order]
        first, last = _ends(order_values(feature, data.rows.columns[data.order]), counts)
        columns += [first, last - first]
        features += [_number(f"first {feature.name}"), _number(f"span of {feature.name}")]
    shares = SHARES
    for at in _summarized(data):
        feature, values = data.rows.features[at], data.rows.columns[at]
        if not feature.is_discrete:
            columns.append(_means(values, counts))
            features.append(_number(f"mean {feature.name}"))
            continue
        mode, share = _modes(values, counts, feature.n_levels)
        columns.append(mode)
        features.append(Feature(f"mode of {feature.name}", feature.n_levels + 1, feature.ordered, missing=True))
        if shares and counts.max() > 1:
            columns.append(share)
            features.append(_number(f"share of the mode of {feature.name}"))
            shares -= 1
    return PersonTable(Encoded(features, columns), len(static.features), first_at, len(static.features))


def _number(name: str, missing: bool = True) -> Feature:
    return Feature(name, 0, ordered=True, missing=missing)


def _ends(values: Array, counts: Array) -> tuple[Array, Array]:
    """Smallest and largest known value of each person.

    NaN without one; each of shape (n_persons,).
    """
    grouped = pd.Series(values).groupby(np.repeat(np.arange(len(counts)), counts))
    least, most = (found.reindex(range(len(counts))).to_numpy() for found in (grouped.min(), grouped.max()))
    return least, most


def _means(values: Array, counts: Array) -> Array:
    """Mean of the known values of each person; shape (n_persons,).

    NaN without one.
    """
    persons = np.repeat(np.arange(len(counts)), counts)
    known = ~np.isnan(values)
    n = np.bincount(persons[known], minlength=len(counts))
    total = np.bincount(persons[known], values[known], len(counts))
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _modes(codes: Array, counts: Array, n_levels: int) -> tuple[Array, Array]:
    """Most frequent code of each person, and its share.

    The first of several; the share is that of the person's rows.
    Persons without rows have the code ``n_levels``, and NaN; shapes (n_persons,).
    """
    persons = np.repeat(np.arange(len(counts)), counts)
    pairs, first, times = np.unique(persons * n_levels + codes, return_index=True, return_counts=True)
    best = np.lexsort((first, -times, pairs // n_levels))
    owner = pairs[best] // n_levels
    chosen = best[np.append(True, owner[1:] != owner[:-1])[: len(owner)]]
    mode, share = np.full(len(counts), n_levels, dtype=np.int32), np.full(len(counts), np.nan)
    mode[pairs[chosen] // n_levels] = pairs[chosen] % n_levels
    share[pairs[chosen] // n_levels] = times[chosen] / counts[pairs[chosen] // n_levels]
    return mode, share


def _summarized(data: Sequences) -> list[int]:
    """Columns to summarize.

    Those in which successive rows of a person are most alike, best first.
    """
    counts = data.counts
    rows = np.flatnonzero(np.arange(counts.sum()) > np.repeat(np.cumsum(counts) - counts, counts))
    if len(rows) < 2:
        return []
    found = {}
    for at, (feature, values) in enumerate(zip(data.rows.features, data.rows.columns, strict=True)):
        if at != data.order:
            likeness = agreement if feature.is_discrete else rank_correlation
            found[at] = abs(likeness(values[rows - 1], values[rows]))
    alike = [at for at, value in sorted(found.items(), key=lambda one: -one[1]) if value >= LEAST_ALIKE]
    return alike[:MOST_SUMMARIES]
