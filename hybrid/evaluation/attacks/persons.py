"""Attacks whose target is a person with several rows.

A row-level attack dilutes a leak of one row of each person, and takes rows of one person for independent. Here a person
is one attempt, which succeeds if it does for any row. Each person is asked about alone, so the numbers of training
and control persons need not be equal.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Codes, Mask
from hybrid.evaluation.attacks.membership import highest, scores
from hybrid.evaluation.attacks.outcome import attacked, measured
from hybrid.evaluation.context import PEOPLE, Context, Role
from hybrid.evaluation.engine.intervals import auc_interval
from hybrid.evaluation.engine.neighbours import nearest
from hybrid.evaluation.engine.space import TIE, gower
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import Measure, NotComputable, Outcome
from hybrid.table.persons import person_groups

MOST_ALIKE = 1_000
"""Equal rows of the table beyond which pairs of rows are not looked for."""
MOST_JOINED = 5_000
"""Persons of each side whose rows the attack tries to join, at most: a random sample of more."""
NEAREST = 5
"""Nearest rows of the table among which ties are looked for."""
NO_HISTORY = NotComputable("no person in the data has two different rows", lacks="several_rows")
NONE_UNSEEN = NotComputable("no person never seen has two different rows", "too_few")
NEAR = 0.9
"""Nearness (:func:`hybrid.evaluation.attacks.membership.scores`) of a row that the table is nine times nearer to."""


def _per_person(context: Context, role: Role, hits: Mask, rows: Array | None = None) -> Codes:
    persons = context.persons(role)
    groups = person_groups(persons if rows is None else persons[rows])
    return np.bincount(groups, hits).astype(np.int64)


def _attack(context: Context, train: Mask, control: Mask, **details: Any) -> Outcome:
    sides = float(train.sum()), float(control.sum()), len(train), len(control)
    return measured(attacked(*sides, context.options.confidence), **details)


def _copied(context: Context, role: Role) -> Mask:
    """Rows that the table repeats in every column; shape (n,), bool."""
    keys = context.keys
    return np.isin(keys[role], keys["table"])


def persons_copied(context: Context) -> Outcome:
    """Risk that any row of a person is in the table.

    (r_T - r_C)/(1 - r_C) with the shares of training and of control persons of whom at least one row equals a row of
    the table in every column. 0 without a leak, 1 for a copy.
    """
    train, control = (_per_person(context, role, _copied(context, role)) > 0 for role in PEOPLE)
    return _attack(context, train, control)


def persons_near(context: Context) -> Outcome:
    """Risk that the table is very near to a person's row.

    Near is a row whose distance to the table is less than a ninth of that to the reference sample. Otherwise as
    :func:`persons_copied`.
    """
    train, control = (
        _per_person(context, role, side > NEAR, context.asked_rows(role)) > 0
        for role, side in zip(PEOPLE, scores(context), strict=True)
    )
    return _attack(context, train, control)


def copied_sequences(context: Context) -> Outcome:
    """Risk that two rows of a person are in the table.

    Of persons with at least two different rows; as :func:`persons_copied`. Three rows are in the details. What a table
    without linked rows gives away of a history: the rows, not whose they are.
    """
    if not len(_sequences(context, "train", 2)):
        return NO_HISTORY
    found: dict[str, Outcome] = {}
    for length in (2, 3):
        sides = [_sequences(context, role, length) for role in ("train", "control")]
        if min(map(len, sides)):
            found[str(length)] = _attack(context, sides[0], sides[1])
    two = found.get("2", NONE_UNSEEN)
    three = found.get("3")
    if isinstance(two, Measure) and isinstance(three, Measure):
        two.details["three_rows"] = {"value": three.value, "low": three.low, "high": three.high, "n": three.n}
    return two


def copied_histories(context: Context) -> Outcome:
    """Risk that one person of the table repeats two rows.

    Of training and of control persons with at least two different rows; as :func:`copied_sequences`, but the two rows
    must be rows of the same person of the table. In a table whose rows are not linked each row is a person, and nobody
    is hit.
    """
    linked = not context.table.rows_are_persons
    if linked and np.bincount(context.keys["table"]).max(initial=0) > MOST_ALIKE:
        return NotComputable("rows are so much alike that a pair of them says nothing")
    sides = [_histories(context, role) for role in ("train", "control")]
    if not len(sides[0]):
        return NO_HISTORY
    if not len(sides[1]):
        return NONE_UNSEEN
    return _attack(context, sides[0], sides[1])


def _histories(context: Context, role: Role) -> Mask:
    """Of persons with two different rows or more, those with two that one person repeats; (n_such_persons,), bool."""
    if context.table.rows_are_persons:
        return np.zeros(len(_sequences(context, role, 2)), dtype=bool)
    mine, theirs = (_distinct_rows(context, each) for each in (role, "table"))
    joined = mine.merge(theirs, on="key").groupby(["person_x", "person_y"]).size()
    hit = joined.index.get_level_values(0)[joined.to_numpy() >= 2]
    rows = mine["person"].value_counts()
    several = rows.index[rows.to_numpy() >= 2]
    return np.asarray(several.isin(hit))


def _distinct_rows(context: Context, role: Role) -> pd.DataFrame:
    pairs = {"person": person_groups(context.persons(role)), "key": context.keys[role]}
    return pd.DataFrame(pairs).drop_duplicates()


def joined_rows(context: Context) -> Outcome:
    """Risk that the table joins two rows of one person.

    Two holders know one row each of a person (Giomi et al. 2023, section 4.2, with rows in place of columns). The rows
    of the table nearest to the one (Gower, ties included) and to the other are compared: joined are the two if the same
    person of the table is among both. The two rows are the person's first and last by content; of training and of
    control persons with two different rows. 0 without a leak, 1 for a copy with its persons.
    """
    space, whose = gower(context.encoding), person_groups(context.table.persons)
    references = space.place(context.encoded("table"))
    sides: list[Mask] = []
    for role in ("train", "control"):
        first, last = _two_rows(context, role)
        if not len(first) and role == "train":
            return NO_HISTORY
        if not len(first):
            return NONE_UNSEEN
        people = space.place(context.encoded(role).take(np.concatenate([first, last])))
        distances, near = nearest(space, people, references, min(NEAREST, len(context.table)))
        tied = distances <= distances[:, :1] + TIE * (1 + distances[:, :1])
        one, other = np.split(np.where(tied, whose[near], -1), 2)
        sides.append(((one[:, :, None] == other[:, None, :]) & (one >= 0)[:, :, None]).any(axis=(1, 2)))
    return _attack(context, *sides)


def _two_rows(context: Context, role: Literal["train", "control"]) -> tuple[Array, Array]:
    """First and last row by content of persons with several."""
    groups, keys = person_groups(context.persons(role)), context.keys[role]
    order = np.lexsort((keys, groups))
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    ends = np.append(starts[1:], len(order)) - 1
    first, last = order[starts], order[ends]
    several = keys[first] != keys[last]
    first, last = first[several], last[several]
    by_content = np.lexsort((keys[last], keys[first]))
    chosen = context.random(f"joined rows {role}").permutation(len(first))[:MOST_JOINED]
    return first[by_content][chosen], last[by_content][chosen]


def _sequences(context: Context, role: Role, length: int) -> Mask:
    """Of persons with ``length`` different rows or more, those with so many in the table; (n_such_persons,), bool."""
    groups, keys = person_groups(context.persons(role)), context.keys[role]
    first = np.unique(np.stack([groups, keys]), axis=1, return_index=True)[1]
    n = int(groups.max(initial=-1)) + 1
    rows = np.bincount(groups[first], minlength=n)
    hits = np.bincount(groups[first], _copied(context, role)[first], n)
    return hits[rows >= length] >= length


def membership_persons(context: Context) -> Outcome:
    """AUC of the nearest-record attack on persons, by their best row.

    As :func:`hybrid.evaluation.attacks.membership.membership`, where a person scores as the row that is nearest to the
    table; the mean over the rows is in the details. 0.5 without a leak.
    """
    found, confidence = scores(context), context.options.confidence
    best, mean = highest(context, found, context.asked_people), []
    for role, values in zip(PEOPLE, found, strict=True):
        groups = person_groups(context.persons(role)[context.asked_rows(role)])
        mean.append(np.bincount(groups, values) / np.bincount(groups))
    value, low, high = auc_interval(best[0], best[1], confidence)
    details = {"non_members": len(best[1]), "mean_of_rows": auc_interval(mean[0], mean[1], confidence)[0]}
    return Measure(value, low, high, 0.5, len(best[0]), details).above(0.5)


_of_persons = partial(attack, copy=1.0, needs=("control", "persons"))
METRICS = (
    _of_persons(
        persons_copied,
        "singling out",
        "How many training persons, beyond chance, have a row that the table repeats in every column.",
        mechanism="exact",
        of_many_rows=True,
    ),
    _of_persons(
        persons_near,
        "singling out",
        "How many training persons, beyond chance, have a row that the table comes very near to.",
        knows="a reference sample",
        of_many_rows=True,
    ),
    _of_persons(
        copied_sequences,
        "linkability",
        "How many training persons, beyond chance, have two different rows that the table repeats.",
        mechanism="exact",
        knows="nothing",
    ),
    _of_persons(
        copied_histories,
        "linkability",
        "How many training persons, beyond chance, have two different rows that one person of the table repeats.",
        mechanism="exact",
        knows="nothing",
    ),
    _of_persons(
        joined_rows,
        "linkability",
        "How many training persons, beyond chance, have two rows that the table joins: both lie nearest to one person.",
        knows="nothing",
    ),
    _of_persons(
        membership_persons,
        "membership",
        "How well an attacker who knows all rows of a person can find out who was in the data; .5 is guessing.",
    ),
)
