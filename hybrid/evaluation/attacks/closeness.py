"""How close the table lies to the training records, compared with records that nobody has seen."""

from __future__ import annotations

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.context import NEIGHBOURS, Context, Part
from hybrid.evaluation.engine.intervals import clustered_error, quantile, vote_error
from hybrid.evaluation.engine.neighbours import TIE
from hybrid.evaluation.measure import Measure
from hybrid.evaluation.metric import Metric

QUANTILES = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
BOOTSTRAPS = 200


def _pairs(context: Context) -> list[tuple[Part, Part]]:
    return [(pair[0], pair[1]) for pair in context.parts(("train", "control"))]


def closer(mine: Array, other: Array) -> Array:
    """1 where ``mine`` is the smaller distance, 1/2 where they are the same (up to rounding), 0 elsewhere."""
    same = np.abs(mine - other) <= TIE * (1 + np.minimum(mine, other))
    return np.where(same, 0.5, (mine < other).astype(float))


def _share_at(context: Context, neighbour: int) -> Measure:
    table = context.whole("table")
    shares, errors, ties = [], [], []
    for train, control in _pairs(context):
        scores = closer(context.distances(table, train)[:, neighbour], context.distances(table, control)[:, neighbour])
        shares.append(float(scores.mean()))
        near = [context.neighbours(table, part)[:, : neighbour + 1] for part in (train, control)]
        if neighbour:
            errors.append(vote_error(scores, *near, sizes=(len(train.rows), len(control.rows))))
        else:
            errors.append(clustered_error(scores, *(part[:, 0] for part in near)))
        ties.append(float((scores == 0.5).mean()))
    value = float(np.mean(shares))
    error = quantile(context.options.confidence) * float(np.mean(errors))
    details = {"ties": float(np.mean(ties)), "parts": len(shares), "neighbour": neighbour + 1}
    return Measure(value, max(value - error, 0.0), min(value + error, 1.0), 0.5, len(scores), details)


def dcr_share(context: Context) -> Measure:
    """Share of rows whose nearest record lies in train rather than in control (METRICS B4), 0..1.

    Distance to the closest record in E1 (standardized numbers, one-hot categories), ties count half, train and
    control cut to the same size. 0.5 is what rows of new people score; a copy scores 1.
    """
    measure = _share_at(context, 0)
    train, control = _pairs(context)[0]
    table = context.whole("table")
    measure.details["curves"] = {
        "quantiles": list(QUANTILES),
        "to_train": _curve(context.distances(table, train)),
        "to_control": _curve(context.distances(table, control)),
        "control_to_train": _curve(context.distances(control, train)),
    }
    return measure


def _curve(distances: Array) -> list[float]:
    return [float(x) for x in np.quantile(distances[:, 0], QUANTILES)]


def knn_share(context: Context) -> Measure:
    """As :func:`dcr_share`, by the distance to the fifth nearest record: memorized neighbourhoods, not only twins."""
    measure = _share_at(context, NEIGHBOURS - 1)
    if context.options.paper:
        alpha, ratio = context.options.dcr_percentile / 100, len(context.table) / len(context.train)
        table = context.whole("table")
        means = [
            (context.distances(table, train).mean(axis=1), context.distances(train, control).mean(axis=1))
            for train, control in _pairs(context)
        ]
        measure.details["paper"] = {"PS": float(np.mean([_printed(*pair, alpha, ratio) for pair in means]))}
    return measure


def nndr(context: Context) -> Measure:
    """Nearest-neighbour distance ratio d1/d2 to train, mean over rows (METRICS F, corrected: 0/0 is 0), 0..1.

    Near 0 where a row lies right on one training record and far from all others. The reference is the same ratio to
    the control set.
    """
    table = context.whole("table")
    means, errors, gaps, gap_errors = [], [], [], []
    for pair in _pairs(context):
        mine, other = (_ratio(context.distances(table, part)) for part in pair)
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
        firsts = [context.distances(table, train) for train, _ in _pairs(context)]
        details["paper"] = {"NNDR": float(np.mean([np.where(d[:, 0] > 0, _ratio(d), 1.0).mean() for d in firsts]))}
    return Measure(value, value - error, value + error, value - gap, len(mine), details)


def _ratio(distances: Array) -> Array:
    first, second = distances[:, :2].T
    ratio: Array = np.divide(first, second, out=np.zeros_like(first), where=second > 0)
    return ratio


def dcr_score(context: Context) -> Measure:
    """DCR privacy score PS', corrected (METRICS A9): share of rows closer to train than the closest alpha % of people.

    tau is the alpha-quantile of the distances train -> control; p_S and p_R are the shares of distances
    table -> train and train -> control that are at most tau; PS' = (p_S - p_R)/(1 - p_R). 0 without a leak, 1 for a
    copy, negative for tables far from everybody. The interval is a bootstrap over both sets of distances.
    """
    alpha = context.options.dcr_percentile / 100
    table = context.whole("table")
    pairs = [
        (context.distances(table, train)[:, 0], context.distances(train, control)[:, 0])
        for train, control in _pairs(context)
    ]
    results = [_score(mine, other, alpha) for mine, other in pairs]
    value, tau, rows, people = np.mean(results, axis=0)
    rng = context.random("dcr_score")
    draws = np.array([_resampled(pairs, alpha, rng) for _ in range(BOOTSTRAPS)])
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
        details["paper"] = {"PS": float(np.mean([_printed(*pair, alpha, ratio) for pair in pairs]))}
    return Measure(float(value), float(min(low, value)), float(max(high, value)), 0.0, len(pairs[0][0]), details)


def _score(mine: Array, other: Array, alpha: float) -> tuple[float, float, float, float]:
    tau = float(np.quantile(other, alpha))
    edge = tau + TIE * (1 + tau)
    rows, people = float((mine <= edge).mean()), float((other <= edge).mean())
    return (rows - people) / (1 - people) if people < 1 else 0.0, tau, rows, people


def _resampled(pairs: list[tuple[Array, Array]], alpha: float, rng: np.random.Generator) -> float:
    mine, other = pairs[int(rng.integers(len(pairs)))]
    return _score(rng.choice(mine, len(mine)), rng.choice(other, len(other)), alpha)[0]


def _printed(mine: Array, other: Array, alpha: float, rows_per_record: float) -> float:
    """The thesis's PS (of nearest or mean distances) as printed: strict comparison, rows of the table over |T|."""
    ratio = float((mine < np.quantile(other, alpha)).mean()) * rows_per_record / alpha
    return alpha * (ratio - 1) / (1 - alpha)


METRICS = (
    Metric(
        name="dcr_share",
        family="privacy",
        direction="lower",
        sentence="How often a row lies closer to a training record than to any of people never seen; .5 is chance.",
        low=0,
        high=1,
        no_leak=0.5,
        copy=1.0,
        compute=dcr_share,
        needs=("control",),
    ),
    Metric(
        name="dcr_score",
        family="privacy",
        direction="lower",
        sentence="The share of rows that lie closer to a training record than real people lie to each other.",
        low=None,
        high=1,
        no_leak=0.0,
        copy=1.0,
        compute=dcr_score,
        needs=("control",),
    ),
    Metric(
        name="knn_share",
        family="privacy",
        direction="lower",
        sentence="As dcr_share, judged by the fifth nearest record instead of the nearest.",
        low=0,
        high=1,
        no_leak=0.5,
        copy=None,
        compute=knn_share,
        needs=("control",),
    ),
    Metric(
        name="nndr",
        family="privacy",
        direction="higher",
        sentence="How much closer a row lies to one training record than to the next; near 0 it points at one person.",
        low=0,
        high=1,
        no_leak=None,
        copy=0.0,
        compute=nndr,
        needs=("control",),
    ),
)
