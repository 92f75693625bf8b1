"""Linkage of rows of the table to a register of people that an attacker holds."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.hashing import fingerprint
from hybrid.evaluation.attacks.outcome import attacked_people, measured
from hybrid.evaluation.context import PEOPLE, Context
from hybrid.evaluation.engine.encoding import encode
from hybrid.evaluation.engine.neighbours import nearest
from hybrid.evaluation.engine.space import Columns, Space, gower
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import NotComputable, Outcome


def register_linkage(context: Context) -> Outcome:
    """Risk that a row of the table points at a person in a register.

    The register names a person alone if exactly one entry has the person's values, in the columns that the register
    shares with the table. A row points at such a person if it lies nearer to the person (Gower) than half way to the
    next entry: by the triangle inequality the person is then its nearest entry, and the only one. R = (r_T - r_C)/(1 -
    r_C) over all training and control people whom the register names alone; at most 1, 0 without a leak.
    """
    register = context.making.register
    if register is None:
        return NotComputable("the register is of people, whom another table has", lacks="register")
    tables = [table.only(register.schema.names) for table in context.tables]
    encoding = encode([*tables, register], every=True)
    train, control, table, entries = encoding.tables
    asked = context.asked_people
    space = gower(encoding, tables=[train, control, entries])
    people = space.place(train.take(asked[0]).join(control.take(asked[1])))

    halves = context.once_for_all_stages(
        ("register", fingerprint(*tables[:2], register), *map(len, asked)),
        lambda: _half_way(space, people, space.place(entries)),
    )
    alone = halves > 0
    sides = context.by_role(alone)
    if not sides[0].any():
        return NotComputable("the register names no training person alone", lacks="matches")
    if not sides[1].any():
        return NotComputable("the register names no person alone whom the generator has not seen", "too_few")
    nearest_row = nearest(space, people.take(np.flatnonzero(alone)), space.place(table))[0][:, 0]
    hit = np.split((nearest_row < halves[alone]).astype(float), [int(sides[0].sum())])
    made = attacked_people(context, hit[0], hit[1], (asked[0][sides[0]], asked[1][sides[1]]))
    shares = {role: float(side.mean()) for role, side in zip(PEOPLE, sides, strict=True)}
    return measured(made, columns=register.schema.names, entries=len(register), named_alone=shares)


def _half_way(space: Space, people: Columns, entries: Columns) -> Array:
    """Half the distance from each person to the next entry, 0 for people whom the register does not name alone."""
    near = nearest(space, people, entries, 2)[0]
    # With one entry alone, the next is as far as an entry can be.
    next_one = np.minimum(near[:, 1], people.numbers.shape[0] + people.codes.shape[0])
    return np.where(near[:, 0] == 0, next_one / 2, 0.0)


METRICS = (
    attack(
        register_linkage,
        "linkability",
        "How much more often a row points at one training person in an attacker's register than at one person never "
        "seen.",
        copy=1.0,
        needs=("control", "register"),
        knows="a register of people",
    ),
)
