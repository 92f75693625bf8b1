"""Distances of the table to the training records and to control."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.base.sentence import sentence
from hybrid.evaluation.context import NEIGHBOURS, PEOPLE, Context, Part
from hybrid.evaluation.engine.intervals import (
    clustered_error,
    exact_share_interval,
    quantile,
    simultaneous,
    vote_error,
    votes_interval,
)
from hybrid.evaluation.engine.space import TIE
from hybrid.evaluation.families import indicator
from hybrid.evaluation.measure import Measure, NotComputable, Outcome, excesses
from hybrid.table.persons import person_groups

QUANTILES = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
BOOTSTRAPS = 200
POINTING = (0.01, 0.02, 0.05)
"""Shares of the rows that are taken to point at one record: those with the lowest distance ratios."""


def _pairs(context: Context) -> list[tuple[Part, Part]]:
    return [(pair[0], pair[1]) for pair in context.parts(PEOPLE)]


def closer(mine: Array, other: Array) -> Array:
    """Score of the smaller distance: 1 where ``mine`` is it, 1/2 where both are the same but for rounding, else 0."""
    same = np.abs(mine - other) <= TIE * (1 + np.minimum(mine, other))
    return np.where(same, 0.5, (mine < other).astype(float))


def tie_score(ties: Array, chance: float) -> Array:
    """Score of a row whose nearest records are tied across sides.

    Some of them are in train and some in control, all at the same distance. Of m records that are each a training
    record with probability c, all are with probability c^m. The score s of mixed ties makes the expectation c again:
    c^m + s (1 - c^m - (1 - c)^m) = c. It is 1/2 for c = 1/2, whatever m. Of ``ties`` m, 2 or more, and of ``chance`` c,
    the share of training records among all; c itself where m is inf, more than were counted.
    """
    of_train, of_control = chance**ties, (1 - chance) ** ties
    return np.asarray((chance - of_train) / (1 - of_train - of_control))


def centred(share: float, chance: float) -> float:
    """Share on the scale on which chance is 1/2, and 0 and 1 stay what they are, with straight lines between."""
    return share / chance / 2 if share < chance else 0.5 + 0.5 * (share - chance) / (1 - chance)


def not_centred(moved: float, chance: float) -> float:
    """The share that :func:`centred` moved."""
    return 2 * chance * moved if moved < 0.5 else chance + (2 * moved - 1) * (1 - chance)


def dcr_share(context: Context) -> Measure:
    """Share of rows nearer to train than to control, 0..1.

    The nearest record counts (METRICS B4). Distance to the closest record in E1 (standardized numbers, one-hot
    categories). 0.5 is what rows of new people score, 1 a copy, whatever the sizes: with n_T training and n_C control
    records chance is c = n_T/(n_T + n_C), and the share is put on the scale of :func:`centred`; ties score
    :func:`tie_score` (one half for equal sizes). The interval is that of :func:`votes_interval`, a row voting for the
    person of its nearest record, one with mixed ties for none.
    """
    table, train, control = (context.whole(role) for role in ("table", "train", "control"))
    curves = _curves(context)  # First: parts of equal size are searched together with the whole tables.
    distances = [context.distances(table, part, NEIGHBOURS) for part in (train, control)]
    chance = len(train.rows) / (len(train.rows) + len(control.rows))
    nearest = np.minimum(distances[0][:, 0], distances[1][:, 0])
    edge = (nearest + TIE * (1 + nearest))[:, None]
    tied = [(side <= edge).sum(axis=1) for side in distances]
    many = np.maximum(*tied) >= min(NEIGHBOURS, *(side.shape[1] for side in distances))
    mixed = (tied[0] > 0) & (tied[1] > 0)
    scores = (tied[0] > 0).astype(float)
    scores[mixed] = tie_score(np.where(many, np.inf, tied[0] + tied[1])[mixed], chance)
    share = float(scores.mean())
    votes = [
        _votes(context, table, part, single)
        for part, single in ((train, (tied[0] > 0) & ~mixed), (control, tied[0] == 0))
    ]
    ends = votes_interval(share, np.concatenate(votes), len(scores), context.options.confidence)
    value, low, high = (centred(end, chance) for end in (share, *ends))
    details: dict[str, object] = {"ties": float(mixed.mean()), "share": share, "chance": chance, "neighbour": 1}
    measure = Measure(value, low, high, 0.5, len(scores), details, chance=chance).above(0.5)
    measure.details["curves"] = curves
    return measure


def _votes(context: Context, table: Part, part: Part, rows: Mask) -> Array:
    """Number of the given rows that are nearest to each person of a part; shape (n_persons,)."""
    persons = person_groups(context.persons(part.role)[part.rows])
    nearest = context.neighbours(table, part)[rows, 0]
    return np.bincount(persons[nearest], minlength=int(persons.max(initial=-1)) + 1)


def _curves(context: Context) -> dict[str, list[float]]:
    """Quantiles of the distances to parts of equal size."""
    table = context.whole("table")
    train, control = _pairs(context)[0]
    return {
        "quantiles": list(QUANTILES),
        "to_train": _curve(context.distances(table, train, NEIGHBOURS)),
        "to_control": _curve(context.distances(table, control, NEIGHBOURS)),
        "control_to_train": _curve(context.distances(control, train)),
    }


def _curve(distances: Array) -> list[float]:
    return [float(x) for x in np.quantile(distances[:, 0], QUANTILES)]


def knn_share(context: Context) -> Outcome:
    """Share of rows whose k-th neighbour is nearer in train, 0..1.

    It is compared with the k-th nearest record in control: memorized neighbourhoods. k is ``knn_neighbours``, 5 by
    default. Train and control are cut to the same size, ties count half; 0.5 is what rows of new people score.
    """
    table, k = context.whole("table"), context.options.knn_neighbours
    size = len(_pairs(context)[0][0].rows)
    if size < k:
        return NotComputable(sentence("metric.few.compared", n=size, least=k), "too_few")
    shares, errors, ties = [], [], []
    for train, control in _pairs(context):
        scores = closer(*(context.distances(table, part, k)[:, k - 1] for part in (train, control)))
        shares.append(float(scores.mean()))
        near = [context.neighbours(table, part, k) for part in (train, control)]
        errors.append(vote_error(scores, *near, sizes=(len(train.rows), len(control.rows))))
        ties.append(float((scores == 0.5).mean()))
    value = float(np.mean(shares))
    error = quantile(context.options.confidence) * float(np.mean(errors))
    details: dict[str, object] = {"ties": float(np.mean(ties)), "parts": len(shares), "neighbour": k}
    bounds = max(value - error, 0.0), min(value + error, 1.0)
    measure = Measure(value, *bounds, 0.5, len(scores), details).above(0.5)
    if context.options.paper:
        alpha, ratio = context.options.dcr_percentile / 100, len(context.table) / len(context.train)
        means = [
            (context.distances(table, train, k).mean(axis=1), context.distances(train, control, k).mean(axis=1))
            for train, control in _pairs(context)
        ]
        measure.details["paper"] = {"PS": float(np.mean([_printed(*pair, alpha, ratio) for pair in means]))}
    return measure


def nndr(context: Context) -> Measure:
    """Mean nearest-neighbour distance ratio d1/d2 to train, 0..1.

    Mean over rows (METRICS F, corrected: 0/0 is 0). Near 0 where a row lies right on one training record and far from
    all others. The reference is the same ratio to the control set.
    """
    table = context.whole("table")
    means, errors, gaps, gap_errors = [], [], [], []
    for pair in _pairs(context):
        mine, other = (_ratio(context.distances(table, part, 2)) for part in pair)
        ids = [context.neighbours(table, part)[:, 0] for part in pair]
        means.append(float(mine.mean()))
        errors.append(clustered_error(mine, ids[0]))
        gaps.append(float((mine - other).mean()))
        gap_errors.append(clustered_error(mine - other, *ids))
    z = quantile(context.options.confidence)
    value, gap = float(np.mean(means)), float(np.mean(gaps))
    error, gap_error = z * float(np.mean(errors)), z * float(np.mean(gap_errors))
    details: dict[str, object] = {"difference": gap, "difference_interval": [gap - gap_error, gap + gap_error]}
    details["parts"] = len(means)
    if context.options.paper:
        firsts = [context.distances(table, train, 2) for train, _ in _pairs(context)]
        details["paper"] = {"NNDR": float(np.mean([np.where(d[:, 0] > 0, _ratio(d), 1.0).mean() for d in firsts]))}
    # A ratio below the control's is the leak; a part of train holds a copied row's twin in its share of the cases.
    kept = context.kept("train", PEOPLE)
    excess = (-gap / kept, (-gap - gap_error) / kept, (-gap + gap_error) / kept)
    return Measure(value, value - error, value + error, value - gap, len(mine), details, excess)


def _ratio(distances: Array) -> Array:
    first, second = distances[:, :2].T
    return np.asarray(np.divide(first, second, out=np.zeros_like(first), where=second > 0))


def nndr_share(context: Context) -> Measure:
    """Share of rows that point at one training person, beyond chance.

    A row points at its nearest record, among training and control records alike, if the second nearest is far away: its
    nearest-neighbour distance ratio d1/d2 in E1 is among the lowest 1, 2 or 5 % of the table's. Without a leak each
    record pointed at is a training record with chance c = n_T/(n_T + n_C), whatever the table is like. With m records
    pointed at, a share s of them in train, by a share q of the rows, the excess is q (s - c)/(1 - c): 0 without a leak,
    1 for a copy, and about the share of copied rows, exact or noisy, in between. Bounds of s are exact (Clopper and
    Pearson 1934) and hold for the three q at once (Sidak); the q with the highest lower bound is given.
    """
    table, train, control = (context.whole(role) for role in ("table", "train", "control"))
    distances = np.concatenate([context.distances(table, part, 2) for part in (train, control)], axis=1)
    near = [context.neighbours(table, part)[:, 0] for part in (train, control)]
    in_train = distances[:, 0] < distances[:, 2]
    record = np.where(in_train, near[0], len(train.rows) + near[1])
    ratios = _ratio_of_nearest(distances)
    chance = len(train.rows) / (len(train.rows) + len(control.rows))
    level = simultaneous(context.options.confidence, len(POINTING))
    found = []
    for share in POINTING:
        pointing = ratios <= np.quantile(ratios, share, method="inverted_cdf")
        people = np.unique(record[pointing])
        members, rows = int((people < len(train.rows)).sum()), float(pointing.mean())
        ends = (members / len(people), *exact_share_interval(members, len(people), level))
        middle, least, most = (rows * (end - chance) / (1 - chance) for end in ends)
        found.append((middle, least, most, share, len(people)))
    value, low, high, share, people = max(found, key=lambda one: (one[1], one[0]))
    details = {"rows": share, "records": people, "chance": chance, "interval": f"simultaneous over {len(found)}"}
    parts = excesses({f"{row[3]:g}": row[:3] for row in found}, len(ratios))
    return Measure(value, low, high, 0.0, len(ratios), details, (value, low, high), len(found), parts)


def _ratio_of_nearest(distances: Array) -> Array:
    """Nearest-neighbour distance ratio d1/d2 of each row, 0..1; 1 where two are equally near, also at distance 0."""
    first, second = np.partition(distances, 1, axis=1)[:, :2].T
    return np.asarray(np.divide(first, second, out=np.ones_like(first), where=second > 0))


def dcr_score(context: Context) -> Measure:
    """DCR privacy score PS', corrected (METRICS A9).

    Share of rows closer to train than the closest alpha % of people. tau is the alpha-quantile of the distances train
    -> control; p_S, p_V and p_R are the shares of the distances table -> train, table -> control and train -> control
    that are at most tau; PS' = (p_S - p)/(1 - p), divided by the share of train in the parts that are compared. p is
    p_R; where fewer rows lie that near to train, it is p_V, but between p_S and p_R: rows far from everybody, as all
    are where people are in the data twice, give nobody away. 0 without a leak, 1 for a copy whatever the sizes, below 0
    where rows lie near to control but not to train. The interval is a bootstrap over the distances.
    """
    alpha = context.options.dcr_percentile / 100
    table = context.whole("table")
    pairs = [
        (
            context.distances(table, train)[:, 0],
            context.distances(table, control)[:, 0],
            context.distances(train, control)[:, 0],
        )
        for train, control in _pairs(context)
    ]
    kept = context.kept("train", PEOPLE)
    tau, rows, beside, people = np.mean([_near(*pair, alpha) for pair in pairs], axis=0)
    value = _score(rows, beside, people) / kept
    rng = context.random("dcr_score")
    draws = np.array([_resampled(pairs, alpha, rng) for _ in range(BOOTSTRAPS)]) / kept
    tail = (1 - context.options.confidence) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    details: dict[str, object] = {
        "threshold": float(tau),
        "share": float(rows),
        "control_share": float(people),
        "percentile": alpha * 100,
    }
    if context.options.paper:
        ratio = len(context.table) / len(context.train)
        printed = [_printed(to_train, people, alpha, ratio) for to_train, _, people in pairs]
        details["paper"] = {"PS": float(np.mean(printed))}
    low, high = float(min(low, value)), float(max(high, value))
    return Measure(float(value), low, high, 0.0, len(pairs[0][0]), details).above(0.0)


def _near(to_train: Array, to_control: Array, people: Array, alpha: float) -> Array:
    """tau, p_S, p_V and p_R of the distances of rows, and of people to each other."""
    tau = np.quantile(people, alpha)
    return np.array([tau, *((each <= tau + TIE * (1 + tau)).mean() for each in (to_train, to_control, people))])


def _score(near: float, beside: float, people: float) -> float:
    """PS' of p_S, p_V and p_R."""
    expected = min(max(near, beside), people)
    return (near - expected) / (1 - expected) if expected < 1 else 0.0


def _resampled(pairs: list[tuple[Array, Array, Array]], alpha: float, rng: np.random.Generator) -> float:
    to_train, to_control, people = pairs[int(rng.integers(len(pairs)))]
    rows = rng.integers(len(to_train), size=len(to_train))
    return _score(*_near(to_train[rows], to_control[rows], rng.choice(people, len(people)), alpha)[1:])


def _printed(mine: Array, other: Array, alpha: float, rows_per_record: float) -> float:
    """The thesis's PS: a strict comparison of nearest or mean distances, and rows of the table over |T|."""
    ratio = float((mine < np.quantile(other, alpha)).mean()) * rows_per_record / alpha
    return alpha * (ratio - 1) / (1 - alpha)


METRICS = (
    indicator(
        dcr_share,
        "The share of rows that lie closer to a training record than to any person never seen; .5 is chance.",
        no_leak=0.5,
        headline=True,
        leakage=True,
        decides=4,
    ),
    indicator(
        dcr_score,
        "The share of rows that lie closer to a training record than real people lie to each other.",
        low=None,
        no_leak=0.0,
        printed=("PS",),
    ),
    indicator(
        knn_share,
        "The share of rows whose k-th nearest record (5 by default) is closer among training records than among "
        "people never seen; .5 is chance.",
        no_leak=0.5,
        copy=None,
        printed=("PS",),
    ),
    indicator(
        nndr_share,
        "The share of rows that point at one person, beyond chance at a training person.",
        low=None,
        no_leak=0.0,
    ),
    indicator(
        nndr,
        "How much closer a row lies to its nearest training record than to the second; near 0 it points at one person.",
        direction="higher",
        copy=0.0,
        unit="distance",
        printed_safe=("NNDR",),
    ),
)
