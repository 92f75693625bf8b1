"""Linkability of two partial records of one person, and of rows to a register of people that an attacker holds."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.base.hashing import fingerprint
from hybrid.evaluation.attacks.outcome import attacked, attacked_people, measured, printed
from hybrid.evaluation.context import PEOPLE, Context
from hybrid.evaluation.engine.encoding import Encoded, encode
from hybrid.evaluation.engine.neighbours import linked, nearest
from hybrid.evaluation.engine.space import Columns, Space, gower
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import NotComputable, Outcome


def halves(context: Context) -> tuple[list[str], list[str]]:
    """Columns that each of the two data holders knows."""
    if context.options.linkability is not None:
        return list(context.options.linkability[0]), list(context.options.linkability[1])
    names = context.encoding.names
    return names[: len(names) // 2], names[len(names) // 2 :]


def linkability(context: Context) -> Outcome:
    """Risk that two holders' columns lead to a common nearest row.

    The nearest rows by one holder's columns and by the other's have a row in common (METRICS A3). Giomi et al. 2023,
    section 4.2, with tie sets: all rows at most as far (Gower) as the k-th nearest. R = (r_T - r_C)/(1 - r_C), every
    training and control record attacked once; at most 1, 0 without a leak.
    """
    sides = halves(context)
    columns = [context.encoding.positions(side) for side in sides]
    if not all(map(len, columns)):
        return NotComputable("each of the two data holders needs at least one column that varies")
    spaces = (gower(context.encoding, columns[0]), gower(context.encoding, columns[1]))
    table = context.encoded("table")
    references = (spaces[0].place(table), spaces[1].place(table))
    k = min(context.options.linkability_neighbours, len(table))

    people = context.everybody_asked()
    found = linked(spaces, (spaces[0].place(people), spaces[1].place(people)), references, k)
    details: dict[str, object] = {"sides": [[context.encoding.names[i] for i in side] for side in columns]}
    if context.options.paper:
        train, control = context.by_role(_first_of_ties(people, spaces, references, k))
        counts = float(train.sum()), float(control.sum()), len(train), len(control)
        details["paper"] = printed(attacked(*counts, context.options.confidence))
    return measured(attacked_people(context, *context.by_role(found)), **details, neighbours=k)


def _first_of_ties(records: Encoded, spaces: tuple[Space, Space], references: tuple[Columns, Columns], k: int) -> Array:
    """True where both sides share one of their first k nearest rows, as Anonymeter computes it; shape (n,), bool."""
    left, right = (nearest(space, space.place(records), r, k)[1] for space, r in zip(spaces, references, strict=True))
    return np.asarray(np.logical_or.reduce([(left == right[:, [at]]).any(axis=1) for at in range(k)]))


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

    key = "register", fingerprint(*tables[:2], register)
    halves = context.once_for_asked(key, lambda: _half_way(space, people, space.place(entries)))
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
        linkability,
        "linkability",
        "How much more often the table links two partial records of one training person than of one person never seen.",
        copy=1.0,
        headline=True,
        leakage=True,
        printed=("risk",),
    ),
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
