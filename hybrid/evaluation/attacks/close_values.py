"""Share of people with a row close to them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.outcome import attacked_people
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.encoding import Encoded
from hybrid.evaluation.engine.space import TIE, Columns, Space
from hybrid.evaluation.families import indicator
from hybrid.evaluation.measure import NotComputable, Outcome

BLOCK = 128
"""Records of each side that are compared at once."""


def farthest(queries: Columns, references: Columns, squared: bool) -> float:
    """Largest distance of a query to a reference, by E1 (``squared``) or Gower's distance.

    Records far out come first, until no others can be farther apart: the sum of their distances from the middle, with
    every category different.
    """
    middle = np.median(np.concatenate([queries.numbers, references.numbers], axis=1), axis=1)[:, None]
    apart = float(references.weights.sum()) + float((queries.has_missing | references.has_missing).sum())
    reach = [_length(np.abs(side.numbers - middle), squared) for side in (queries, references)]
    order = [np.argsort(-one, kind="stable") for one in reach]
    mine, its = (one[by] for one, by in zip(reach, order, strict=True))
    best = 0.0
    for start in range(0, len(mine), BLOCK):
        for other in range(0, len(its), BLOCK):
            if _bound(float(mine[start] + its[other]), apart, squared) <= best:
                break
            block = queries.take(order[0][start : start + BLOCK])
            best = max(best, _largest(block, references.take(order[1][other : other + BLOCK]), squared))
    return math.sqrt(best) if squared else best


def _length(gaps: Array, squared: bool) -> Array:
    return np.asarray(np.sqrt((gaps**2).sum(axis=0)) if squared else gaps.sum(axis=0))


def _bound(numbers: float, apart: float, squared: bool) -> float:
    return (numbers**2 if squared else numbers) + apart


def _largest(queries: Columns, references: Columns, squared: bool) -> float:
    """Largest distance (E1: its square) of any pair."""
    total = np.zeros((queries.codes.shape[1], references.codes.shape[1]))
    for at in range(len(queries.numbers)):
        gap = np.abs(queries.numbers[at][:, None] - references.numbers[at])
        lacks, lacking = queries.missing[at][:, None], references.missing[at]
        gap = np.where(lacks & lacking, 0.0, np.where(lacks | lacking, 1.0, gap))
        total += gap**2 if squared else gap
    for at, weight in enumerate(references.weights):
        total += weight * (queries.codes[at][:, None] != references.codes[at])
    return float(total.max())


AXES = 2


def in_plane(space: Space, train: Encoded, table: Encoded) -> tuple[Array, Array]:
    """Both tables in the plane of train's two principal axes.

    Shapes (n, 2). Factor analysis of mixed data (Pages 2004): standardized numbers, missing ones at the mean, and
    indicators of categories, divided by the root of their share in train; all centred. Categories that train lacks have
    no axis. Columns, centers and scales are those of ``space``, E1.
    """
    from scipy.sparse.linalg import LinearOperator, svds

    mine, its, center = _coordinates(space, train, table)
    if min(mine.shape) <= AXES:
        return np.zeros((len(train), AXES)), np.zeros((len(table), AXES))
    centred = LinearOperator(
        mine.shape,
        matvec=lambda v: mine @ v.ravel() - center @ v.ravel(),
        rmatvec=lambda u: mine.T @ u.ravel() - center * u.sum(),
        dtype=np.float64,
    )
    axes = svds(centred, k=AXES, v0=np.ones(min(mine.shape)))[2].T
    return mine @ axes - center @ axes, its @ axes - center @ axes


def _coordinates(space: Space, train: Encoded, table: Encoded) -> tuple[Any, Any, Array]:
    """Sparse coordinates of both tables before centring, and train's centre."""
    from scipy.sparse import csr_array, hstack

    p = len(space.center)
    parts = [[_numbers(space, side, p)] for side in (train, table)]
    centers = [np.zeros(p)]
    for at in space.columns[p:]:
        codes = [side.ranks[:, at] + 1 for side in (train, table)]
        count = np.bincount(codes[0], minlength=1 + max(int(each.max(initial=0)) for each in codes))
        root = np.sqrt(count / len(train))
        centers.append(root)
        for part, each in zip(parts, codes, strict=True):
            rows = np.flatnonzero(count[each] > 0)
            place = rows, each[rows]
            part.append(csr_array((1 / root[each[rows]], place), shape=(len(each), len(count))))
    mine, its = (hstack(part, format="csr") for part in parts)
    return mine, its, np.concatenate(centers)


def _numbers(space: Space, table: Encoded, p: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array(np.nan_to_num((table.numbers[:, space.columns[:p]] - space.center) / space.scale))


CLOSE, DISTANT = 0.2, 0.8
"""Shares of the range of distances within which a row is close, and beyond which it is distant (PrivEval)."""


def close_value(context: Context) -> Outcome:
    """Risk that a row lies close to a training person.

    Close: within the 2 % quantile (``dcr_percentile``) of the distances from control to the nearest training record, in
    E1. R = (r_T - r_C)/(1 - r_C) over all training and control records: 1 for a copy, 0 without a leak.
    ``details.log_ratio`` is the log of the median distance of training people to the table over that of control, 0
    without a leak and below with one; "copy" where the former is 0. As printed (CVP, DVP', NSND, DCR', MDCR' of
    PrivEval; METRICS F): without control, scaled by the range of the distances of all pairs; constant or turned round
    on most tables.
    """
    train, control, table = (context.whole(role) for role in ("train", "control", "table"))
    to_train = context.distances(control, train)[:, 0]
    mine, its = (context.distances(part, table)[:, 0] for part in (train, control))
    edge = float(np.quantile(to_train, context.options.dcr_percentile / 100))
    close = [(side <= edge + TIE * (1 + edge)).astype(float) for side in (mine, its)]
    made = attacked_people(context, close[0], close[1])
    if isinstance(made, NotComputable):
        return made
    medians = float(np.median(mine)), float(np.median(its))
    details: dict[str, object] = {"threshold": edge, "median_train": medians[0], "median_control": medians[1]}
    details["log_ratio"] = math.log(medians[0] / medians[1]) if min(medians) > 0 else "copy" if not medians[0] else None
    if context.options.paper:
        details["paper"] = _printed(context, mine)
    return made.measure(**details)


def _printed(context: Context, nearest: Array) -> dict[str, float]:
    """Five forms of PrivEval as printed; ``nearest``: distances of training records to the nearest row."""
    train, table = context.whole("train"), context.whole("table")
    low, high = float(nearest.min()), farthest(context.place(context.asked(train)), context.place(table), True)
    scaled = (nearest - low) / (high - low) if high > low else np.zeros_like(nearest)
    within = float(np.median(context.distances(train, train)[:, 0]))
    middle = float(np.median(nearest))
    ratio = middle / within if within > 0 else (math.inf if middle else 0.0)
    return {
        "CVP": float((scaled <= CLOSE).mean()),
        "DVP'": 1 - float((scaled >= DISTANT).mean()),
        "NSND": float(scaled.mean()),
        "DCR'": 1 / (1 + _mean_in_plane(context)),
        "MDCR'": 1 / (1 + math.exp(-ratio)),
    }


def _mean_in_plane(context: Context) -> float:
    """Mean distance of training records to the nearest row in the plane of train's two principal axes."""
    from scipy.spatial import KDTree

    people, rows = in_plane(context.space, context.encoded("train"), context.encoded("table"))
    return float(KDTree(rows).query(people)[0].mean())


METRICS = (
    indicator(
        close_value,
        "How much more often training people than people never seen have a row very close to them.",
        low=None,
        no_leak=0.0,
        unit="risk",
        by_default=False,
        printed=("CVP", "DVP'", "NSND", "DCR'", "MDCR'"),
    ),
)
