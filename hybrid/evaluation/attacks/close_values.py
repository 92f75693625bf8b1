"""Share of people with a row close to them."""

from __future__ import annotations

import math

import numpy as np

from hybrid.base.arrays import Array
from hybrid.evaluation.attacks.outcome import attacked_people
from hybrid.evaluation.context import Context
from hybrid.evaluation.engine.farthest import farthest
from hybrid.evaluation.engine.principal_plane import in_plane
from hybrid.evaluation.engine.space import TIE
from hybrid.evaluation.families import indicator
from hybrid.evaluation.measure import NotComputable, Outcome

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
    """Five forms of PrivEval, as printed.

    ``nearest``: distances of training records to the nearest row.
    """
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
    """Mean distance of training records to the nearest row.

    In the plane of train's two principal axes.
    """
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
