"""Person table: one record per person with several rows.

It holds the static columns, and the number and the extent of the rows. A generator of single rows learns it; the rows
are then drawn one after another given a drawn person (the parent-child scheme of synthetic relational data: Patki,
Wedge, Veeramachaneni, "The Synthetic Data Vault", IEEE DSAA 2016, doi:10.1109/DSAA.2016.49).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.synthesize.protocol import Encoded, Feature, Sequences

LEAST_HEAVY = 10
"""Persons who have the largest number of rows that is learned: larger numbers are coded as it."""


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


def encoded_order(feature: Feature, values: Array) -> Array:
    """Values of the order in the column's encoding.

    As they are, or codes.
    """
    if not feature.is_discrete:
        return values
    known = feature.n_levels - feature.missing
    codes = np.where(np.isnan(values), known, np.clip(np.rint(np.nan_to_num(values)), 0, known - 1))
    return codes.astype(np.int32)


def most_rows(counts: Array) -> int:
    """Largest number of rows that at least ten persons reach.

    The smallest number, where there are fewer persons.
    """
    return int(np.sort(counts)[::-1][min(LEAST_HEAVY, len(counts)) - 1])


def person_table(data: Sequences) -> PersonTable:
    """Summarize the rows of every person.

    Summaries are the number of rows (coded at the largest that ten persons reach), and the first value and the span of
    the order.
    """
    static, counts = data.persons, data.counts
    features = [*static.features, _number("number of rows", missing=False)]
    columns = [*static.columns, np.minimum(counts, most_rows(counts)).astype(np.float64)]
    first_at = None
    if data.order is not None:
        first_at = len(features)
        feature = data.rows.features[data.order]
        first, last = _ends(order_values(feature, data.rows.columns[data.order]), counts)
        columns += [first, last - first]
        features += [_number(f"first {feature.name}"), _number(f"span of {feature.name}")]
    return PersonTable(Encoded(features, columns, static.persons), len(static.features), first_at, len(static.features))


def _number(name: str, missing: bool = True) -> Feature:
    return Feature(name, 0, ordered=True, missing=missing)


def _ends(values: Array, counts: Array) -> tuple[Array, Array]:
    """Smallest and largest known value of each person.

    NaN without one; each of shape (n_persons,).
    """
    grouped = pd.Series(values).groupby(np.repeat(np.arange(len(counts)), counts))
    least, most = (found.reindex(range(len(counts))).to_numpy() for found in (grouped.min(), grouped.max()))
    return least, most
