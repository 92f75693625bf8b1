"""Linkability of two partial records of one person."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.outcome import attacked, attacked_people
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.encoding import Encoded
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
    attack = attacked_people(context, *context.by_role(found))
    if isinstance(attack, NotComputable):
        return attack
    details: dict[str, object] = {}
    if context.options.paper:
        printed = context.by_role(_first_of_ties(people, spaces, references, k))
        details["paper"] = _printed(*printed, context.options.confidence)
    named = [[context.encoding.names[i] for i in side] for side in columns]
    return attack.measure(**details, sides=named, neighbours=k)


def _first_of_ties(records: Encoded, spaces: tuple[Space, Space], references: tuple[Columns, Columns], k: int) -> Array:
    """True where both sides share one of their first k nearest rows, as Anonymeter computes it; shape (n,), bool."""
    left, right = (nearest(space, space.place(records), r, k)[1] for space, r in zip(spaces, references, strict=True))
    hit: Array = np.logical_or.reduce([(left == right[:, [at]]).any(axis=1) for at in range(k)])
    return hit


def _printed(train: Array, control: Array, confidence: float) -> dict[str, object] | None:
    made = attacked(float(train.sum()), float(control.sum()), len(train), len(control), confidence)
    return None if isinstance(made, NotComputable) else made.printed()


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
)
