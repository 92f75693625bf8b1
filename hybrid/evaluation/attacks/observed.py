"""Observation of a synthetic table by an attacker who knows people, as a vector for each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.coded_rows import by_frequency, numbers_of, places
from hybrid.evaluation.attacks.retraining import options_of
from hybrid.evaluation.attacks.vulnerability import unlike_others
from hybrid.evaluation.context import Context
from hybrid.evaluation.linked_people import LinkedPeople
from hybrid.table import Table
from hybrid.table.persons import person_groups

NEAR = 0.02
"""Numbers agree within this share of the range that the pool has."""
NEAREST = 10
"""Rows whose distance to a person is observed."""
MOST_PAIRED = 30
"""Columns whose pairs are observed; of wider tables as many by chance."""


def rows_of_people(context: Context) -> tuple[list[Array], Array]:
    """Rows of the training table of each person, and how little each row is like others.

    Returns
    -------
    rows : list of numpy.ndarray
        Of each person, the row least like others first (:func:`~.vulnerability.unlike_others`); people in an order of
        their content.
    unlike : numpy.ndarray, shape (n_train,), float64
        -inf for rows that searches do not ask about.
    """
    options, persons = options_of(context), context.train.persons
    order, whole = context.encoded("train").order, context.whole("train")
    person = np.arange(len(order)) if persons is None else person_groups(persons)
    unlike = np.full(len(order), -np.inf)
    unlike[context.asked(whole).rows] = unlike_others(context, whole, options.distance, options.neighbours)
    by_person = order[np.lexsort((-unlike[order], person[order]))]
    rows = np.split(by_person, np.flatnonzero(np.diff(person[by_person])) + 1)
    place = np.argsort(order)
    rows.sort(key=lambda mine: int(place[mine[0]]))  # By content: numbers of persons follow the order of the file.
    return rows, unlike


def observer_of_people(context: Context, people: Sequence[Array]) -> Callable[[Table], Array]:
    """Observation of synthetic people: shape (n_people, features).

    Of each person the row least like others is observed (:func:`observer`); of linked people also that in every table
    below, 0 where the person has none.

    Parameters
    ----------
    context : Context
        Training records, and the synthetic table of the run.
    people : sequence of numpy.ndarray
        Rows of each attacked person, that least like others first.
    """
    first = np.array([rows[0] for rows in people], dtype=np.int64)
    train, table = context.train, context.table
    own = observer(context, train.take(first))
    if not (isinstance(train, LinkedPeople) and isinstance(table, LinkedPeople)):
        return own
    persons = train.numbers[first]
    below = [
        _observer_below(Context(real, None, made, context.options, context.seed, context.stage), persons)
        for real, made in zip(train.below, table.below, strict=True)
    ]

    def observe(table: Table) -> Array:
        assert isinstance(table, LinkedPeople)
        return np.hstack([own(table), *(see(rows) for see, rows in zip(below, table.below, strict=True))])

    return observe


def _observer_below(context: Context, persons: Array) -> Callable[[Table], Array]:
    """Observation of a table below that of people, about these."""
    rows = np.array([mine[0] for mine in rows_of_people(context)[0]], dtype=np.int64)
    assert context.train.persons is not None
    found = pd.Index(context.train.persons[rows]).get_indexer(pd.Index(persons))
    there = found >= 0
    see = observer(context, context.train.take(rows[found[there]]))

    def observe(table: Table) -> Array:
        seen = see(table)
        whole = np.zeros((len(persons), seen.shape[1]), dtype=seen.dtype)
        whole[there] = seen
        return whole

    return observe


def observer(context: Context, people: Table) -> Callable[[Table], Array]:
    """Observation of a synthetic table about people: shape (n_people, features).

    Shares of rows that agree with a person on each column and on each pair of columns, shares that agree on at least 1,
    2, ... columns, and Gower's distances of the nearest rows. Numbers agree within :data:`NEAR` of the range; missing
    agrees with missing and is 1 from any value.
    """
    names, rng = context.encoding.names, context.random("queries of a pool")
    paired = np.sort(rng.permutation(len(names))[:MOST_PAIRED])
    first, second = np.triu_indices(len(paired))
    columns = [_Column.of(context.train, people, name) for name in names]
    mine = np.stack([column.placed(people) for column in columns], 1)
    is_category = np.array([column.vocabulary is not None for column in columns])

    def observe(table: Table) -> Array:
        rows = np.stack([column.placed(table) for column in columns])
        return np.stack([_observed(rows, own) for own in mine])

    def _observed(rows: Array, own: Array) -> Array:
        apart = _distances(rows, own, is_category)
        agrees = (apart <= NEAR).astype(np.float32)
        both = (agrees[paired] @ agrees[paired].T)[first, second] / len(agrees.T)
        together = np.bincount(agrees.sum(axis=0).astype(np.int64), minlength=len(names) + 1)
        least = np.cumsum(together[::-1])[-2::-1] / len(agrees.T)
        far = apart.mean(axis=0)
        near = np.sort(np.partition(far, NEAREST - 1)[:NEAREST] if len(far) > NEAREST else far)
        return np.concatenate([both, least, np.pad(near, (0, max(NEAREST - len(near), 0)), mode="edge")])

    return observe


def _distances(rows: Array, own: Array, is_category: Array) -> Array:
    """Distance of every row (n_columns, n_rows) to a person (n_columns,); float32, 0..1."""
    apart: Array = np.abs(rows - own[:, None])
    apart[is_category] = apart[is_category] > 0
    np.minimum(apart, 1, out=apart)
    apart[np.isnan(apart)] = 1
    missing = np.isnan(own)
    apart[missing] = ~np.isnan(rows[missing])
    return apart


@dataclass(frozen=True)
class _Column:
    """Values of a column as numbers whose differences are distances."""

    name: str
    vocabulary: pd.Index | None
    """Of a categorical column; None for numbers and dates."""
    least: float = 0.0
    range: float = 1.0

    @classmethod
    def of(cls, pool: Table, people: Table, name: str) -> _Column:
        if not people.schema[name].kind.is_continuous:
            return cls(name, by_frequency(people.frame[name]))
        known = numbers_of(pool.frame[name])
        known = known[~np.isnan(known)]
        return cls(name, None, float(known.min()), float(np.ptp(known)) or 1.0) if len(known) else cls(name, None)

    def placed(self, table: Table) -> Array:
        """Shares of the range that the pool has, or places of categories; shape (n,), float32, NaN where missing."""
        values = table.frame[self.name]
        if self.vocabulary is not None:
            return places(values, self.vocabulary).astype(np.float32)
        return ((numbers_of(values) - self.least) / self.range).astype(np.float32)
