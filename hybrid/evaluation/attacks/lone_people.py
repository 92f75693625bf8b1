"""Copies of people who are alone: without an equal, or without a neighbour.

In a table of few columns most rows are somebody's by chance, and a row that ten people share discloses none of them.
Copies of all people then drown in chance; those of people who are alone do not, and they are the ones that disclose.
"""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.outcome import Attack, attacked_people
from hybrid.evaluation.context import Context, Role
from hybrid.evaluation.engine.neighbours import nearest, nearest_of_others
from hybrid.evaluation.engine.space import TIE, Space, gower
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import NotComputable, Outcome

STEP = 0.05
"""Share of its column's range by which a number of a near copy differs, at most."""
FEWEST = 20
"""Fewest people who are alone, of those in the data and of those who are not, of whom a share says anything."""


def _space(context: Context) -> Space:
    """Gower's distance, with the ranges of the training records: a category that differs counts 1."""
    return gower(context.encoding, tables=[context.encoded("train")])


def _reach(space: Space, near: bool) -> float:
    """Distance of a copy; of a near one, at most: one category, and every number by :data:`STEP` of its range."""
    reach = float(len(space.weights) > 0) + STEP * len(space.center) if near else 0.0
    return reach + TIE * (1 + reach)


def to_others(context: Context, role: Role) -> tuple[Array, Array]:
    """Distance of people to the nearest other person, of training or control.

    Parameters
    ----------
    role : {"train", "control"}
        Whose records; those that searches query (:meth:`Context.asked`).

    Returns
    -------
    rows : numpy.ndarray, shape (n,), int64
        Positions in the table, ascending.
    distances : numpy.ndarray, shape (n,), float64
        Gower's, not divided by the number of columns; 0: somebody is equal.
    """

    def compute() -> tuple[Array, Array]:
        space = _space(context)
        asked = context.asked(context.whole(role)).rows
        everybody = context.encoded("train").join(context.encoded("control"))
        persons = np.concatenate([_owners(context, "train"), _owners(context, "control")])
        own = asked + (len(context.encoded("train")) if role == "control" else 0)
        places = space.place(everybody)
        return asked, nearest_of_others(space, places.take(own), places, persons, persons[own], own)[0]

    return context.once_for_all_stages(("to others", role), compute)


def lone_rows(context: Context, role: Role, near: bool) -> Array:
    """Records beside which no other person's record lies as near as a near copy, or none is equal; ascending."""
    rows, distances = to_others(context, role)
    return rows[distances > _reach(_space(context), near)]


def _owners(context: Context, role: Role) -> Array:
    """Person of each record; other numbers in control than in train."""
    persons = context.persons(role)
    rows = np.arange(len(persons))
    own = np.where(persons < 0, persons.max(initial=0) + 1 + rows, persons)
    return own if role == "train" else -1 - own


def _attacked(context: Context, near: bool) -> Outcome:
    """Risk that the table holds people who are alone, beyond such people never seen."""
    lone = lone_rows(context, "train", near), lone_rows(context, "control", near)
    if min(map(len, lone)) < FEWEST:
        reason = f"fewer than {FEWEST} people of a side {'lie apart' if near else 'differ'} from all others"
        return NotComputable(reason, "too_few", lacks="lone_records")
    space = _space(context)
    rows = space.place(context.encoded("table"))
    reach = _reach(space, near)
    roles: tuple[Role, Role] = ("train", "control")
    people = [space.place(context.encoded(role).take(of_role)) for role, of_role in zip(roles, lone, strict=True)]
    train, control = ((nearest(space, side, rows)[0][:, 0] <= reach).astype(float) for side in people)
    made = attacked_people(context, train, control, lone)
    return made.measure(people_alone=len(train)) if isinstance(made, Attack) else made


def lone_copies(context: Context) -> Outcome:
    """Risk that the table repeats a person without an equal.

    Of the training people who differ from everybody else, in the data or not, the share whom a row equals in every
    column; beside the share of such people never seen: R = (r_T - r_C)/(1 - r_C), 0 without a leak, 1 for a copy.
    """
    return _attacked(context, near=False)


def lone_near_copies(context: Context) -> Outcome:
    """Risk that the table holds a near copy of a person without a neighbour.

    As :func:`lone_copies`, of people from whom all others differ by more than one category and a twentieth of the
    range of every number (together, by Gower's distance), and of rows that differ by no more.
    """
    return _attacked(context, near=True)


METRICS = (
    attack(
        lone_copies,
        "singling out",
        "How many training people whom nobody equals are, beyond chance, repeated in every column.",
        copy=1.0,
        mechanism="exact",
        unit="share of people",
    ),
    attack(
        lone_near_copies,
        "singling out",
        "How many training people beside whom nobody lies have, beyond chance, a near copy in the table.",
        copy=1.0,
        unit="share of people",
    ),
)
