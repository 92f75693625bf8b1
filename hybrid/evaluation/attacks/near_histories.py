"""Histories of persons that lie close to one in the table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.membership import Scores, accused, folds, nearness
from hybrid.evaluation.attacks.persons import NO_HISTORY, NONE_UNSEEN
from hybrid.evaluation.context import Context, Part, Role, order_of_rows
from hybrid.evaluation.engine.encoding import Encoded, row_keys
from hybrid.evaluation.engine.threads import in_chunks
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import Outcome
from hybrid.table.persons import person_groups

APART = 2.0
"""Distance of codes whose values differ; differences are cut at 1."""


class HistorySpace:
    """Rows as points without the column that orders them: shares of the people below, and multiples of :data:`APART`.

    A column weighs the share of the rows in which it is another value of the person: what never changes counts once for
    each person.
    """

    def __init__(self, context: Context) -> None:
        ordered = context.encoding.positions([name for name in [context.schema.order] if name is not None])
        self._context = context
        self._columns = np.setdiff1d(np.arange(len(context.encoding.columns)), ordered)
        people = [context.encoded(role).ranks for role in ("train", "control")]
        self._known = [np.sort(column[column >= 0]) for column in np.concatenate(people).T]
        sides = [_repeated(context, role, self._columns) for role in ("train", "control")]
        self.weights = np.mean(sides, axis=0).astype(np.float32)

    def points(self, role: Role, rows: Array) -> Array:
        table, found = self._context.encoded(role).take(rows), []
        for at in self._columns:
            values = APART * table.ranks[:, at]
            if self._context.encoding.continuous[at]:
                values = self._below(table, at)
            found.append(values)
        return np.array(found, dtype=np.float32).reshape(len(found), len(rows))

    def _below(self, table: Encoded, at: int) -> Array:
        """Share of the people below each number, ties counting half; far from all of them where it is missing."""
        known, ranks = self._known[at], table.ranks[:, at]
        counts = sum(np.searchsorted(known, ranks, side) for side in ("left", "right"))
        return np.where(ranks < 0, -APART, counts / (2 * max(len(known), 1)))


def _repeated(context: Context, role: Role, columns: Array) -> Array:
    """Different values of each person as a share of the rows."""
    ranks, persons = context.encoded(role).ranks, person_groups(context.persons(role))
    pairs = [row_keys([np.column_stack([persons, ranks[:, at]])])[0] for at in columns]
    return np.array([(int(keys.max(initial=-1)) + 1) / max(len(keys), 1) for keys in pairs])


# It stays in this module: compiled loops on disk name its module, and those of earlier versions would fail to load.
class Rows(NamedTuple):
    """Rows as they are compared: :meth:`HistorySpace.points`, place among the person's rows, person or owner."""

    points: Array
    places: Array
    owners: Array


def _rows(context: Context, space: HistorySpace, part: Part, *, linked: bool) -> Rows:
    """Rows of a part; without links one owner has all, and places say nothing (0), as they do without an order."""
    owners = person_groups(context.persons(part.role)[part.rows]) if linked else np.zeros(len(part.rows), np.int64)
    places = np.zeros(len(part.rows), np.int64)
    if linked and context.schema.order is not None:
        places = _places(owners, order_of_rows(context, part.role)[part.rows])
    return Rows(space.points(part.role, part.rows), places, owners)


def _places(persons: Array, times: Array) -> Array:
    """Place of each row among those of its person, from 0; rows without a time come last."""
    order = np.lexsort((np.where(np.isnan(times), np.inf, times), persons))
    first = np.diff(persons[order], prepend=-1) != 0
    places = np.empty(len(persons), np.int64)
    places[order] = np.arange(len(persons)) - np.maximum.accumulate(np.where(first, np.arange(len(persons)), 0))
    return places


def _histories(rows: Rows, persons: Array) -> tuple[Rows, Array]:
    """Rows of the persons with two or more, in order of persons, and the bounds of each; shape (n_persons + 1,)."""
    chosen = np.flatnonzero(np.bincount(persons)[persons] > 1)
    chosen = chosen[np.argsort(persons[chosen], kind="stable")]
    points, places, owners = rows
    starts = np.append(np.flatnonzero(np.diff(persons[chosen], prepend=-1)), len(chosen))
    return Rows(np.ascontiguousarray(points[:, chosen]), places[chosen], owners[chosen]), starts


def _nearest(space: HistorySpace, people: Rows, starts: Array, others: Rows) -> Array:
    """Distance of each history to the nearest owner, shape (n_persons,)."""
    from hybrid.evaluation.engine import kernels

    found = np.zeros(len(starts) - 1)
    in_chunks(len(found), kernels.nearest_history, people, starts, others, space.weights, out=[found])
    return found


def scores(context: Context) -> Scores:
    """Nearness of each person with several rows, of train and of control, to the histories of the table."""
    space, linked = HistorySpace(context), not context.table.rows_are_persons
    sides: tuple[list[Array], list[Array]] = ([], [])
    table = _rows(context, space, context.whole("table"), linked=linked)
    for fold in folds(context):
        reference = _rows(context, space, fold.reference, linked=linked)
        for side, part in zip(sides, (fold.members, fold.others), strict=True):
            persons = person_groups(context.persons(part.role)[part.rows])
            people, starts = _histories(_rows(context, space, part, linked=linked), persons)
            side.append(nearness(*(_nearest(space, people, starts, other) for other in (table, reference))))
    return np.concatenate(sides[0]), np.concatenate(sides[1])


def near_histories(context: Context) -> Outcome:
    """Risk that the table follows a person's history as a whole.

    Of persons with at least two rows. Two rows differ in numbers and dates by the share of the people between them, in
    categories and missing values by 0 or 1; each column weighs the share of the rows in which it is another value of
    the person. The column that differs most does not count: a history that is moved in time differs in one column, and
    so does a row with one changed category. The column that orders the rows never counts. A history is as far from a
    person of the table as its rows are, on average, each from the nearest row of that person (the directed distance d6
    of Dubuisson and Jain 1994, doi 10.1109/ICPR.1994.576361): where rows have an order, among those whose place in it
    is at most one away; where the rows of the table are not linked, among all of them. The score compares the nearest
    history of the table with the nearest one in half of control, as
    :func:`hybrid.evaluation.attacks.membership.membership` does for rows. The risk is that of
    :func:`~.membership.accused`, 0 without a leak.
    """
    if not (np.bincount(person_groups(context.persons("train"))) > 1).any():
        return NO_HISTORY
    train, control = scores(context)
    return accused(context, train, control) if len(train) and len(control) else NONE_UNSEEN


METRICS = (
    attack(
        near_histories,
        "singling out",
        "How many training persons, beyond chance, have a history that one in the table follows closely.",
        needs=("control", "persons"),
        knows="a reference sample",
    ),
)
