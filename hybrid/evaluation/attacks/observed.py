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
AT_ONCE = 20_000
"""Pairs of a person and a row that are compared at once."""


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

    def observe(table: Table) -> Array:
        placed = [column.placed(table) for column in columns]
        size = max(AT_ONCE // max(len(table), 1), 1)
        parts = [slice(start, start + size) for start in range(0, len(people), size)]
        return np.concatenate([_observed(placed, part) for part in parts])

    def _observed(placed: list[Array], part: slice) -> Array:
        apart = np.stack([column.distances(values, part) for column, values in zip(columns, placed, strict=True)], 2)
        agrees = (apart <= NEAR).astype(np.float32)
        rows = apart.shape[1]
        both = np.matmul(agrees[:, :, paired].transpose(0, 2, 1), agrees[:, :, paired])[:, first, second] / rows
        together = agrees.sum(axis=2)
        least = np.stack([(together >= least).mean(axis=1) for least in range(1, len(names) + 1)], 1)
        far = apart.mean(axis=2)
        near = np.sort(np.partition(far, NEAREST - 1, axis=1)[:, :NEAREST] if rows > NEAREST else far, axis=1)
        padded = np.pad(near, ((0, 0), (0, max(NEAREST - rows, 0))), mode="edge")
        return np.hstack([both, least, padded])

    return observe


@dataclass(frozen=True)
class _Column:
    """Column of the attacked people, to compare rows with."""

    name: str
    mine: Array
    """Numbers of the people, or places of their categories."""
    vocabulary: pd.Index | None = None
    """Of a categorical column; None for numbers and dates."""
    range: float = 1.0

    @classmethod
    def of(cls, pool: Table, people: Table, name: str) -> _Column:
        if people.schema[name].kind.is_continuous:
            known = numbers_of(pool.frame[name])
            span = float(np.ptp(known[~np.isnan(known)])) if not np.isnan(known).all() else 0.0
            return cls(name, numbers_of(people.frame[name]), None, span or 1.0)
        vocabulary = by_frequency(people.frame[name])
        return cls(name, places(people.frame[name], vocabulary), vocabulary)

    def placed(self, table: Table) -> Array:
        """Numbers of the rows, or places of their categories."""
        values = table.frame[self.name]
        return numbers_of(values) if self.vocabulary is None else places(values, self.vocabulary)

    def distances(self, values: Array, part: slice) -> Array:
        """Distance of every placed row to some of the people.

        Shape (n_people, n_rows), float32, 0..1.
        """
        mine = self.mine[part, None]
        if self.vocabulary is not None:
            different: Array = (mine != values).astype(np.float32)
            return different
        apart = np.minimum(np.abs(mine - values) / self.range, 1.0)
        distances: Array = np.nan_to_num(apart, nan=1.0).astype(np.float32)
        distances[np.isnan(mine) & np.isnan(values)] = 0.0
        return distances
