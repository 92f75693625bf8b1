"""Membership: how well an attacker with a reference sample tells who was in the training data."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hybrid.arrays import Array
from hybrid.evaluate.context import Context, Part
from hybrid.evaluate.encoding import Encoded
from hybrid.evaluate.intervals import auc_interval, simultaneous
from hybrid.evaluate.measure import Measure, NotComputable, Outcome
from hybrid.evaluate.metric import Metric

MAX_POINTS = 20_000
MAX_ATTACKED = 5_000
"""Records that make up a density, and records at which it is evaluated: the cost is their product."""
BLOCK = 512
OUTLIERS = 0.05
"""Share of records that count as most exposed."""
BINS = 4
LISTED = 20


class Sets(NamedTuple):
    """Members, people never seen, and the attacker's own sample, disjoint from both."""

    members: Part
    others: Part
    reference: Part


def _sets(context: Context) -> Sets:
    """Control cut in two random halves: the non-members and the attacker's reference."""
    control = context.encoded("control")
    shuffled = control.order[context.random("membership").permutation(len(control))]
    half = len(control) // 2
    return Sets(
        context.whole("train"),
        Part("control", "others", np.sort(shuffled[:half])),
        Part("control", "reference", np.sort(shuffled[half:])),
    )


def _nearness(context: Context, people: Part, sets: Sets) -> Array:
    """d_R / (d_S + d_R) of each record in E1: near 1 where the table is much nearer than the reference, 0..1."""
    table = context.distances(people, context.whole("table"))[:, 0]
    reference = context.distances(people, sets.reference)[:, 0]
    both = table + reference
    return np.divide(reference, both, out=np.full_like(both, 0.5), where=both > 0)


def _scores(context: Context) -> tuple[Sets, Array, Array]:
    def compute() -> tuple[Sets, Array, Array]:
        sets = _sets(context)
        return sets, _nearness(context, sets.members, sets), _nearness(context, sets.others, sets)

    return context.once("membership", compute)


def membership(context: Context) -> Measure:
    """AUC of the nearest-record attack (after DOMIAS, van Breugel et al. 2023, METRICS B6): members against others.

    A record scores high where the table is nearer than the attacker's reference sample (half of control; the other
    half are the non-members). 0.5 without a leak, 1 for a copy; interval by DeLong.
    """
    _, members, others = _scores(context)
    value, low, high = auc_interval(members, others, context.options.confidence)
    details = {"advantage": 2 * value - 1, "non_members": len(others)}
    return Measure(value, low, high, 0.5, len(members), details)


def membership_density(context: Context) -> Measure:
    """AUC of DOMIAS with kernel densities: score log p_S(x) - log p_R(x), as :func:`membership` otherwise.

    Gaussian kernels with Scott's factor n^(-1/(p+4)) on standardized columns, categories as codes, missing numbers
    at the mean. At most 5,000 random members and non-members are attacked.
    """
    sets = _sets(context)
    rng = context.random("membership_density")
    center, scale = _standard(context.encoded("train"), context.encoding.continuous)

    def points(part: Part, limit: int) -> Array:
        table = context.encoded(part.role)
        rows = table.order[np.isin(table.order, part.rows)]
        sample = table.take(rows if len(rows) <= limit else rows[rng.permutation(len(rows))[:limit]])
        return np.nan_to_num((_ordinal(sample, context.encoding.continuous) - center) / scale)

    table = points(context.whole("table"), MAX_POINTS)
    reference = points(sets.reference, MAX_POINTS)
    people = points(sets.members, MAX_ATTACKED), points(sets.others, MAX_ATTACKED)
    scores = [log_density(x, table) - log_density(x, reference) for x in people]
    value, low, high = auc_interval(scores[0], scores[1], context.options.confidence)
    return Measure(value, low, high, 0.5, len(scores[0]), {"advantage": 2 * value - 1, "non_members": len(scores[1])})


def _ordinal(table: Encoded, continuous: Array) -> Array:
    """Numbers as they are, categories as codes (missing is one), shape (n, p); NaN where a number is missing."""
    return np.where(continuous, table.numbers, table.ranks)


def _standard(table: Encoded, continuous: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of every column, missing numbers left out; 0 and 1 where there is none."""
    values = _ordinal(table, continuous)
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    center = np.where(known, values, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(known, values - center, 0.0) ** 2).sum(axis=0) / count)
    return center, np.where(spread > 0, spread, 1.0)


def log_density(queries: Array, points: Array) -> Array:
    """Log of a Gaussian kernel density estimate up to a constant of the dimension, shape (n_queries,)."""
    n, p = points.shape
    covariance = np.atleast_2d(np.cov(points.T)) * n ** (-2 / (p + 4)) + 1e-9 * np.eye(p)
    root = np.linalg.cholesky(covariance)
    q, x = (np.linalg.solve(root, y.T).T for y in (queries, points))
    out = np.empty(len(q))
    for start in range(0, len(q), BLOCK):
        part = q[start : start + BLOCK]
        exponent = part @ x.T - 0.5 * (x**2).sum(axis=1) - 0.5 * (part**2).sum(axis=1)[:, None]
        top = exponent.max(axis=1)
        out[start : start + BLOCK] = top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))
    result: Array = out - np.log(n) - np.log(np.diag(root)).sum()
    return result


def _vulnerability(context: Context, people: Part, sets: Sets) -> Array:
    """Mean distance to the five nearest records of the reference sample (after Meeus et al. 2023, in E1)."""
    mean: Array = context.distances(people, sets.reference).mean(axis=1)
    return mean


def membership_exposed(context: Context) -> Outcome:
    """As :func:`membership`, on the 5 % of members and the 5 % of non-members that lie farthest from everybody.

    Both are chosen by the same rule, the mean distance to the five nearest records of the reference sample.
    """
    sets, members, others = _scores(context)
    least = context.options.min_cell
    chosen = []
    for part, scores in ((sets.members, members), (sets.others, others)):
        count = max(int(len(scores) * OUTLIERS), least)
        if count > len(scores):
            return NotComputable(f"fewer than {least} records on one side", "too_few")
        vulnerable = _vulnerability(context, part, sets)
        edge = np.partition(vulnerable, len(vulnerable) - count)[len(vulnerable) - count]
        chosen.append(scores[vulnerable >= edge])
    value, low, high = auc_interval(chosen[0], chosen[1], context.options.confidence)
    details = {"advantage": 2 * value - 1, "non_members": len(chosen[1]), "share": OUTLIERS}
    return Measure(value, low, high, 0.5, len(chosen[0]), details)


class Exposed(NamedTuple):
    """A subgroup and how well its members are told."""

    column: str
    group: str
    members: int
    value: float
    low: float
    high: float


def _groups(context: Context, at: int) -> dict[str, tuple[Array, Array]]:
    """Subgroups by one column, as masks of train and control: categories, or quarters of a number."""
    train, control = context.encoded("train"), context.encoded("control")
    groups = {"missing": (train.ranks[:, at] < 0, control.ranks[:, at] < 0)}
    if not context.encoding.continuous[at]:
        labels = context.train.frame[context.encoding.columns[at].name].astype(str).to_numpy()
        present, first = np.unique(train.ranks[:, at], return_index=True)
        for rank, row in zip(present[present >= 0], first[present >= 0], strict=True):
            groups[f"= {labels[row]}"] = (train.ranks[:, at] == rank, control.ranks[:, at] == rank)
        return groups
    mine, its = train.numbers[:, at], control.numbers[:, at]
    known = mine[~np.isnan(mine)]
    if len(known):
        edges = np.unique([-np.inf, *np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1]), np.inf])
        for i, (low, high) in enumerate(itertools.pairwise(edges)):
            group = f"part {i + 1} of {len(edges) - 1} by size"
            groups[group] = ((mine >= low) & (mine < high), (its >= low) & (its < high))
    return groups


def membership_subgroups(context: Context) -> Outcome:
    """The largest :func:`membership` AUC of any subgroup by one column, with a simultaneous interval (Sidak).

    Categories, and quarters of numbers and dates; only subgroups with at least ``min_cell`` members and non-members.
    """
    sets, members, others = _scores(context)
    least, found = context.options.min_cell, []
    for at, column in enumerate(context.encoding.columns):
        for group, (mine, control) in _groups(context, at).items():
            theirs = control[sets.others.rows]
            if min(mine.sum(), theirs.sum()) >= least:
                found.append((column.name, group, members[mine], others[theirs]))
    if not found:
        return NotComputable(f"no subgroup has {least} members and {least} people never seen", "too_few")
    level = simultaneous(context.options.confidence, len(found))
    rows = [Exposed(name, group, len(mine), *auc_interval(mine, its, level)) for name, group, mine, its in found]
    top = max(rows, key=lambda row: row.value)
    rows.sort(key=lambda row: (-row.low, row.column, row.group))
    details = {
        "groups": len(rows),
        "most_exposed": [row._asdict() for row in rows[:LISTED]],
        "interval": f"simultaneous over {len(rows)}",
    }
    return Measure(top.value, top.low, top.high, 0.5, top.members, details)


def _metric(compute: Callable[[Context], Outcome], sentence: str, copy: float | None) -> Metric:
    return Metric(
        name=compute.__name__,
        family="privacy",
        direction="lower",
        sentence=sentence,
        low=0,
        high=1,
        no_leak=0.5,
        copy=copy,
        compute=compute,
        needs=("control",),
    )


METRICS = (
    _metric(membership, "How well one can tell from the table who was in the training data; .5 is guessing.", 1.0),
    _metric(membership_density, "The same with densities instead of nearest records (DOMIAS).", None),
    _metric(membership_exposed, "The same for the people who are least like anybody else.", 1.0),
    _metric(
        membership_subgroups, "The same for the subgroup that is told best; its interval allows for that choice.", 1.0
    ),
)
