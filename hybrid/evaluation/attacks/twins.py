"""Nearest-neighbour adversarial accuracy, authenticity and identifiability."""

from __future__ import annotations

import math

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.closeness import closer
from hybrid.evaluation.context import ROLES, Context, Part, Role
from hybrid.evaluation.engine.intervals import Rate, clustered_error, quantile, risk
from hybrid.evaluation.engine.neighbours import nearest, nearest_of_others
from hybrid.evaluation.engine.space import TIE, Space
from hybrid.evaluation.families import indicator
from hybrid.evaluation.measure import Measure, NotComputable, Outcome

Scored = tuple[Array, float]
"""Scores of the records of a part, and the standard error of their mean."""
COPIED = 0.5
"""The adversarial accuracy's difference for a copy."""


def farther(mine: Array, other: Array) -> Array:
    """True where ``mine`` is larger than the other distance by more than rounding; shape (n,), bool."""
    return np.asarray(mine > other + TIE * (1 + other))


def nnaa(context: Context) -> Measure:
    """Adversarial accuracy of control minus that of train, -1..1.

    It is the nearest-neighbour adversarial accuracy of Yale et al. 2020. AA_XS = (P[d_XS > d_XX] + P[d_SX > d_SS]) / 2
    in E1, all sets cut to the same size; 0.5 is ideal, 0 a copy. Each term's difference is divided by the chance that a
    twin is in the part searched, and cut at that of a copy: 0 without a leak and 0.5 for a copy, whatever the sizes.
    """
    in_table, in_train = context.kept("table", ROLES), context.kept("train", ROLES)
    train_scores: list[float] = []
    control_scores: list[float] = []
    differences, errors = [], []
    for train, control, table in context.parts(ROLES):
        outward = [farther(*_across_and_within(context, part, table)).astype(float) for part in (train, control)]
        inward = [farther(*_across_and_within(context, table, part)).astype(float) for part in (train, control)]
        for scored, at in ((train_scores, 0), (control_scores, 1)):
            scored.append(float((outward[at].mean() + inward[at].mean()) / 2))
        gaps = [float(side[1].mean() - side[0].mean()) for side in (outward, inward)]
        differences.append((gaps[0] / in_table + gaps[1] / in_train) / 2)
        parts = [
            clustered_error(score, context.neighbours(part, table)[:, 0], chains(context, part)) / in_table
            for score, part in zip(outward, (train, control), strict=True)
        ]
        gap = inward[1] - inward[0]
        near = [context.neighbours(table, part)[:, 0] for part in (train, control)]
        kin = clustered_error(gap, chains(context, table))
        inwards = math.sqrt(max(kin**2 + clustered_error(gap, *near) ** 2 - gap.var() / len(gap), kin**2))
        parts.append(inwards / in_train)
        errors.append(math.hypot(*parts) / 2)
    people = {part.key: context.asked(part) for part, *_ in context.parts(ROLES)}
    asked = sum(len(part.rows) for part in people.values())
    scaled = float(np.mean(differences))
    error = quantile(context.options.confidence) * float(np.mean(errors))
    value, low, high = (min(max(end, -COPIED), COPIED) for end in (scaled, scaled - error, scaled + error))
    accuracy_train = float(np.mean(train_scores))
    details: dict[str, object] = {
        "accuracy_train": accuracy_train,
        "accuracy_control": float(np.mean(control_scores)),
        "parts": len(differences),
    }
    if context.options.paper:  # PrivEval leaves out the half.
        details["paper"] = {"NNAA'": 1 - 2 * accuracy_train}
    return Measure(value, low, high, 0.0, asked, details).above(0.0)


def chains(context: Context, part: Part) -> Array:
    """Number of the chain of nearest neighbours (:func:`linked_by`) that each queried record is in."""
    return linked_by(part.places(context.asked(part)), context.neighbours(part, part)[:, 0], len(part.rows))


def linked_by(own: Array, nearest_own: Array, n: int) -> Array:
    """Number of the chain of nearest neighbours of each record: the scores in a chain depend on each other."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(own)), (own, nearest_own)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1][own])


def _across_and_within(context: Context, queries: Part, references: Part) -> tuple[Array, Array]:
    """Distance of each query to the nearest reference, and to the nearest other query."""
    return context.distances(queries, references)[:, 0], context.distances(queries, queries)[:, 0]


def authenticity(context: Context) -> Measure:
    """Share of training records closer to the table than to others.

    The nearest row is nearer than the nearest other training record, in E1; ties count one half; 0..1. 1 - authenticity
    of Alaa et al. 2022 (METRICS F, Auth'). People never seen are compared with the same two tables, all rows and all
    training records: about 0.5 of them lie closer to the table, whatever the table is like, if it has as many rows as
    there are training records. So nothing is cut, and a copy scores 1 whatever the size of control.
    """
    train, control, table = (context.whole(role) for role in ROLES)

    def scored(part: Part) -> Scored:
        distance, index = _nearest_person(context, part, context.space)
        near = closer(context.distances(part, table)[:, 0], distance)
        return near, clustered_error(near, context.neighbours(part, table)[:, 0], _kin(context, part, index))

    return _compared(context, scored(train), scored(control))


def _nearest_person(context: Context, part: Part, space: Space) -> tuple[Array, Array]:
    """Distance and position of each queried record's nearest training record of another person; (n_asked,)."""
    plain, own = space is context.space, part.role == "train"
    if plain and not (own and context.has_persons("train")):
        whole = context.whole("train")
        return context.distances(part, whole)[:, 0], context.neighbours(part, whole)[:, 0]
    asked = context.asked(part).rows

    def search() -> tuple[Array, Array]:
        records, persons = space.place(context.encoded("train")), context.persons("train")
        people = records.take(asked) if own else space.place(context.encoded(part.role).take(asked))
        owners = persons[asked] if own else np.full(len(asked), persons.min() - 1)
        return nearest_of_others(space, people, records, persons, owners, asked if own else None)

    return context.once_for_asked(("nearest person", plain, part.role), search, part)


def _kin(context: Context, part: Part, nearest_person: Array) -> Array:
    """Groups of queried records whose scores depend on each other."""
    if part.role != "train":
        return nearest_person
    own = context.asked(part).rows
    return linked_by(own, np.where(nearest_person < 0, own, nearest_person), len(context.train))


def _compared(context: Context, train: Scored, control: Scored) -> Measure:
    """Share of training records, and its excess over people never seen."""
    z = quantile(context.options.confidence)
    mine, other = (Rate(float(scores.mean()), z * error) for scores, error in (train, control))
    excess = risk(mine, other)
    details: dict[str, object] = {} if excess is None else {"risk": excess.value, "risk_interval": list(excess[1:])}
    low, high = max(mine.value - mine.error, 0.0), min(mine.value + mine.error, 1.0)
    return Measure(mine.value, low, high, other.value, len(train[0]), details, None if excess is None else (*excess,))


def _entropies(context: Context) -> Array:
    """Shannon entropy of every column in train, numbers in 20 equal bins, in nats; shape (p,)."""
    train, result = context.encoded("train"), []
    for at in range(len(context.encoding.columns)):
        values = train.ranks[:, at] + 1
        if context.encoding.continuous[at]:
            known = train.numbers[~np.isnan(train.numbers[:, at]), at]
            counts = np.histogram(known, bins=20)[0] if len(known) else np.zeros(1)
        else:
            counts = np.bincount(values)
        shares = counts[counts > 0] / max(counts.sum(), 1)
        result.append(float(-(shares * np.log(shares)).sum()))
    return np.array(result)


def _weighted(context: Context) -> Space:
    """E1 with every column divided by its entropy: agreement on a column with few surprises weighs more."""
    space = context.space
    entropy = np.maximum(_entropies(context)[space.columns], 1e-6)
    p = len(space.center)
    return space._replace(scale=space.scale * entropy[:p], weights=space.weights / entropy[p:] ** 2)


def identifiability(context: Context) -> Outcome:
    """Identifiability (Yoon et al. 2020) of training records, 0..1.

    As :func:`authenticity`, each column weighted by 1 / its entropy. Numbers are binned for the entropy; columns whose
    entropy vanishes would dominate and are left out. (Yoon et al. do not count ties, so that of people never seen fewer
    than half would lie closer to a copy of train than to train.)
    """
    entropy = _entropies(context)
    if not (entropy > 0.01).any():
        return NotComputable("no column has enough variety")
    space = _weighted(context)
    keep = entropy[space.columns] > 0.01
    p = len(space.center)
    space = Space(space.columns[keep], space.center[keep[:p]], space.scale[keep[:p]], space.weights[keep[p:]], True)
    rows = space.place(context.encoded("table"))

    def scored(role: Role) -> Scored:
        part = context.whole(role)
        people = space.place(context.asked_records(role))
        distance, index = _nearest_person(context, part, space)
        across = nearest(space, people, rows)
        near = closer(across[0][:, 0], distance)
        return near, clustered_error(near, across[1][:, 0], _kin(context, part, index))

    return _compared(context, scored("train"), scored("control"))


METRICS = (
    indicator(
        nnaa,
        "Whether the table lies closer to training people than to people never seen; 0 is no closer.",
        low=-1,
        no_leak=0.0,
        copy=0.5,
        printed=("NNAA'",),
    ),
    indicator(
        authenticity,
        "The share of training people who have a row nearer to them than any other training person; .5 is chance.",
        no_leak=0.5,
        unit="share of people",
    ),
    indicator(
        identifiability,
        "The share of training people who have a row nearer to them than any other training person, columns with "
        "little variety weighing more.",
        no_leak=0.5,
        unit="share of people",
    ),
)
