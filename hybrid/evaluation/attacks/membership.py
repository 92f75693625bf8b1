"""Membership inference by an attacker with a reference sample, and accusing the people with the highest scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from hybrid.base.arrays import Array, Mask
from hybrid.base.hashing import fingerprint
from hybrid.evaluation.context import Context, Part, Role
from hybrid.evaluation.engine.intervals import Interval, auc, auc_interval, exact_share_interval, simultaneous
from hybrid.evaluation.engine.space import standard
from hybrid.evaluation.engine.threads import in_chunks
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import Measure, excesses
from hybrid.table.persons import person_groups

MAX_POINTS = 10_000
MAX_ATTACKED = 5_000
"""Records that make up a density, and records at which it is evaluated: the cost is their product."""


People = tuple[Part, Part]
"""Records of train and of control that are attacked."""
Scores = tuple[Array, Array]
"""Of the attacked members and people never seen, larger for likely members; shapes (n_members,) and (n_others,)."""
Scorer = Callable[[Part], Array]
"""Scores of records of one fold."""


class Fold(NamedTuple):
    """Members, people never seen, and the attacker's own sample, all disjoint."""

    members: Part
    others: Part
    reference: Part


def _folds(context: Context, people: People) -> tuple[Fold, Fold]:
    """Random halves of train and control; a person is in one half.

    Each half of control is the reference of the other, so that every queried record is attacked once, never with a
    reference that holds it. The halves are the same whoever is attacked.
    """
    rng = context.random("membership")

    def halves(role: Role) -> list[Array]:
        if context.has_persons(role):
            groups = person_groups(context.persons(role))
            n = int(groups.max(initial=-1)) + 1
            first = np.isin(groups, rng.permutation(n)[: n // 2])
            return [np.flatnonzero(first), np.flatnonzero(~first)]
        shuffled = context.encoded(role).order[rng.permutation(len(context.encoded(role)))]
        return [np.sort(shuffled[: len(shuffled) // 2]), np.sort(shuffled[len(shuffled) // 2 :])]

    def attacked(part: Part, at: int, half: Array) -> Part:
        asked = context.asked(part).rows  # As many as the tables of a stage allow: results are kept for each number.
        return Part(part.role, ("attacked", part.key, at, len(asked)), half[np.isin(half, asked)])

    train, control = halves("train"), halves("control")
    first, second = (
        Fold(attacked(people[0], at, train[at]), attacked(people[1], at, control[at]), Part("control", at, unseen))
        for at, unseen in enumerate(control[::-1])
    )
    return first, second


def folds(context: Context, people: People | None = None) -> tuple[Fold, Fold]:
    """Both halves of the attack on all people, or on some; the same for every metric."""
    attacked = people or _all(context)
    return context.once(("membership", *(part.key for part in attacked)), lambda: _folds(context, attacked))


def _all(context: Context) -> People:
    return context.whole("train"), context.whole("control")


def by_fold(context: Context, attack: Callable[[Context, Fold], Scorer], people: People | None = None) -> Scores:
    """Scores of all queried people, or of some, each by the attack of its fold."""
    asked = [context.asked(side).rows for side in people or _all(context)]
    found = np.empty(len(asked[0])), np.empty(len(asked[1]))
    for fold in folds(context, people):
        scored = attack(context, fold)
        for out, rows, part in zip(found, asked, (fold.members, fold.others), strict=True):
            out[np.isin(rows, part.rows)] = scored(part)
    return found


def of_both_sides(context: Context, scored: Callable[[Fold, Part], tuple[Array, Array]]) -> tuple[Scores, Scores]:
    """Scores of records that an attack chooses in each half, and their rows, of train and of control."""
    found = [[scored(fold, part) for part in (fold.members, fold.others)] for fold in folds(context)]
    members, others = (
        [np.concatenate(parts, axis=-1) for parts in zip(*side, strict=True)] for side in zip(*found, strict=True)
    )
    return (members[0], others[0]), (members[1], others[1])


def nearest_distances(context: Context, people: People | None = None) -> list[tuple[Array, Array]]:
    """Distances of the queried members, and of people never seen, to the table and to the reference of their half.

    Both in E1, shapes (n_asked,); by default of all of train and of control.
    """

    def to_reference(context: Context, fold: Fold) -> Scorer:
        return lambda part: context.distances(part, fold.reference)[:, 0]

    table = [context.distances(side, context.whole("table"))[:, 0] for side in people or _all(context)]
    return list(zip(table, by_fold(context, to_reference, people), strict=True))


def nearness(table: Array, reference: Array) -> Array:
    """Share of the way from the reference to the table, d_R / (d_S + d_R), 0..1: near 1 where the table is nearer."""
    both = table + reference
    return np.divide(reference, both, out=np.full(len(both), 0.5), where=both > 0)


def scores(context: Context, people: People | None = None) -> Scores:
    """Nearness to the table of queried members and people never seen; of all by default."""
    members, others = (nearness(*distances) for distances in nearest_distances(context, people))
    return members, others


def told_apart(context: Context, found: Scores, clusters: tuple[Array, Array] | None, **details: object) -> Measure:
    """AUC of members against people never seen, whose ``clusters`` are their persons; interval by DeLong."""
    members, others = found
    value, low, high = auc_interval(members, others, context.options.confidence, clusters)
    said = {"advantage": 2 * value - 1, "non_members": len(others)} | details
    return Measure(value, low, high, 0.5, len(members), said).above(0.5)


def asked_apart(context: Context, found: Scores, **details: object) -> Measure:
    """:func:`told_apart` of the people whom searches query."""
    return told_apart(context, found, context.clusters(*context.asked_people), **details)


def membership(context: Context) -> Measure:
    """AUC of the nearest-record attack: members against others.

    After DOMIAS (van Breugel et al. 2023, METRICS B6). A record scores high where the table is nearer than the
    attacker's reference sample. The sample is half of control; the other half are people never seen, and then the
    other way round, with the other half of train. 0.5 without a leak, 1 for a copy; interval by DeLong.
    """
    return asked_apart(context, scores(context))


def membership_density(context: Context) -> Measure:
    """AUC of DOMIAS with kernel densities.

    The score is log p_S(x) - log p_R(x); otherwise as :func:`membership`. Gaussian kernels with Scott's factor
    n^(-1/(p+4)) on standardized columns, categories as codes, missing numbers at the mean. Columns that are constant in
    the table or in the sample have no density and are left out. At most 5,000 random members and non-members are
    attacked.
    """
    points = partial(coordinates, context, rng=context.random("membership_density"))
    table, _ = points(context.whole("table"), MAX_POINTS)
    samples = {fold.reference.key: points(fold.reference, MAX_POINTS)[0] for fold in folds(context)}
    columns = np.logical_and.reduce([varying(one) for one in (table, *samples.values())])
    table = table[:, columns]

    def scored(fold: Fold, part: Part) -> tuple[Array, Array]:
        everything, rows = points(part, MAX_ATTACKED // 2)
        people, reference = everything[:, columns], samples[fold.reference.key][:, columns]
        key = fingerprint("density", people, reference)
        its = context.once_for_all_stages(key, partial(log_density, people, reference))
        return np.stack([log_density(people, table), its]), rows

    densities, asked = of_both_sides(context, scored)  # log p_S and log p_R of members, and of people never seen
    scores = [mine - its for mine, its in densities]
    details: dict[str, object] = {"points": [len(table), len([*samples.values()][-1])]}
    if context.options.paper:  # The published code divides by p_R + 1e-10 (METRICS B6).
        least = np.log(1e-10) + table.shape[1] / 2 * np.log(2 * np.pi)
        printed = [mine - np.logaddexp(its, least) for mine, its in densities]
        details["paper"] = {"AUC": auc(*printed)}
    return told_apart(context, (scores[0], scores[1]), context.clusters(*asked), **details)


def coordinates(context: Context, part: Part, limit: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Records as points of a density, at most ``limit`` random ones, and their rows; shapes (n, p) and (n,)."""
    rows = context.by_content(part)
    rows = rows if len(rows) <= limit else rng.permutation(rows)[:limit]
    return standardized(context, part.role, rows), rows


def standardized(context: Context, role: Role, rows: Array) -> Array:
    """Rows standardized by train, categories as codes (missing one of its own), missing numbers at the mean."""
    mine, train = (
        np.where(context.encoding.continuous, table.numbers, table.ranks)
        for table in (context.encoded(role).take(rows), context.encoded("train"))
    )
    center, scale = standard(train)
    return np.nan_to_num((mine - center) / scale)


def varying(points: Array) -> Mask:
    """Columns with two values or more, shape (p,)."""
    return np.asarray(points.min(axis=0) < points.max(axis=0) if len(points) else np.zeros(points.shape[1], dtype=bool))


def log_density(queries: Array, points: Array) -> Array:
    """Log of a Gaussian kernel density estimate times (2 pi)^(p/2), shape (n_queries,); 0 without columns."""
    n, p = points.shape
    if not p:
        return np.zeros(len(queries))
    root = kernel_root(points)
    return np.asarray(log_kernels(root, queries, points) - np.log(n) - np.log(np.diag(root)).sum())


def kernel_root(points: Array) -> Array:
    """Cholesky factor of a kernel's covariance by Scott's rule, shape (p, p)."""
    n, p = points.shape
    return np.linalg.cholesky(np.atleast_2d(np.cov(points.T)) * n ** (-2 / (p + 4)) + 1e-9 * np.eye(p))


def log_kernels(root: Array, queries: Array, points: Array) -> Array:
    """Log of the sum over the points of exp(-d^2 / 2), d the distance in units of the kernel; shape (n_queries,)."""
    from hybrid.evaluation.engine import kernels

    q, x = (np.ascontiguousarray(np.linalg.solve(root, y.T)) for y in (queries, points))
    out = np.empty(q.shape[1])
    in_chunks(len(out), kernels.log_sum_exp, q, x, out=[out])
    return out


METRICS = (
    attack(
        membership,
        "membership",
        "How well an attacker can find out from the table who was in the training data; .5 is guessing.",
        copy=1.0,
        headline=True,
    ),
    attack(
        membership_density,
        "membership",
        "How well an attacker who compares densities (DOMIAS) can find out who was in the training data.",
        mechanism="density",
        printed=("AUC",),
    ),
)


ACCUSED = (0.01, 0.03)
"""Shares of the people who are accused."""
FALSE_ALARMS = 0.01
"""Share of people never seen who score higher than the threshold at which true positives are given."""


def accused(context: Context, train: Array, control: Array) -> Measure:
    """Risk of accusing the people with the highest scores.

    A leak of few people hardly moves the mean of all scores, but fills their upper tail. Accused are the 1 % or 3 % of
    train and control together with the highest scores, each side counting half. The risk is R = (r_T - r_C)/(1 - r_C)
    of the shares accused of both sides, of the threshold with the highest lower bound; bounds hold for both at once
    (Sidak). It is at most .06, where all accused are training people. How many are accused is given, so what varies is
    the share of training people among them: Clopper and Pearson's bounds of it, for h / (1 - h / N) people instead of
    the h accused of N, since without a leak they are drawn without putting back (the variance of the hypergeometric
    distribution). The AUC, and the share of training people above 99 % of the people never seen, are in the details.
    """
    level = simultaneous(context.options.confidence, len(ACCUSED))
    found = {f"{100 * share:g} %": _accusation(train, control, share, level) for share in ACCUSED}
    top = max(found, key=lambda name: (found[name].low, found[name].value))
    edge = np.quantile(control, 1 - FALSE_ALARMS, method="higher")
    details = {
        "people_never_seen": len(control),
        "accused": {name: list(risk) for name, risk in found.items()},
        "worst_accused": top,
        "auc": auc(train, control),
        "true_positives": {"false_alarms": FALSE_ALARMS, "share": float((train > edge).mean())},
        "interval": f"simultaneous over {len(found)}",
    }
    value, low, high = found[top]
    n, parts = len(train), excesses({name: (*risk,) for name, risk in found.items()}, len(train))
    return Measure(value, low, high, 0.0, n, details, (value, low, high), len(found), parts)


def highest(context: Context, found: Scores, rows: tuple[Array, Array]) -> Scores:
    """Highest score of each person, where each record in ``rows`` has a score."""
    clusters = context.clusters(*rows)
    if clusters is None:
        return found
    train, control = (
        pd.Series(scores).groupby(persons).max().to_numpy() for scores, persons in zip(found, clusters, strict=True)
    )
    return train, control


def _accusation(train: Array, control: Array, share: float, confidence: float) -> Interval:
    """Risk of accusing ``share`` of the people, with its bounds."""
    sizes = len(train), len(control)
    hits = _hits(train, control, share)
    together = sum(hits)
    worth = together / (1 - together / (sum(sizes) + 1))
    bounds = exact_share_interval(hits[0] / together * worth, worth, confidence)
    return Interval(*(_risk(part * together, together, sizes) for part in (hits[0] / together, *bounds)))


def _hits(train: Array, control: Array, share: float) -> tuple[float, float]:
    """Accused training people and people never seen: both sides count alike, and equal parts at the threshold."""
    both = np.concatenate([train, control])
    mass = np.concatenate([np.full(len(side), 0.5 / len(side)) for side in (train, control)])
    order = np.argsort(-both, kind="stable")
    edge = both[order][min(int(np.searchsorted(np.cumsum(mass[order]), share)), len(both) - 1)]
    above, tied = (float(mass[chosen].sum()) for chosen in (both > edge, both == edge))
    part = (share - above) / tied
    found = (float((side > edge).sum() + part * (side == edge).sum()) for side in (train, control))
    return next(found), next(found)


def _risk(train: float, together: float, sizes: tuple[int, int]) -> float:
    """Risk where so many of the accused are training people."""
    mine, other = min(train / sizes[0], 1.0), min((together - train) / sizes[1], 1.0 - 1e-9)
    return (mine - other) / (1 - other)
