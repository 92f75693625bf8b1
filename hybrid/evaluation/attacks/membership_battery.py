"""Membership attacks of the literature, and what they find together.

As in Synth-MIA (Ward et al. 2025, arXiv 2509.18014), written from the papers of the attacks. Every attack scores the
same people, by the folds of :mod:`hybrid.evaluation.attacks.membership`; a larger score speaks for membership.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from hybrid.base.arrays import Array, Mask
from hybrid.base.sentence import sentence
from hybrid.evaluation.attacks.membership import (
    MAX_POINTS,
    Fold,
    Scorer,
    Scores,
    asked_apart,
    by_fold,
    coordinates,
    folds,
    kernel_root,
    log_density,
    log_kernels,
    nearest_distances,
    scores,
    varying,
)
from hybrid.evaluation.context import NEIGHBOURS, Context, Part, Role
from hybrid.evaluation.engine.intervals import auc_interval, simultaneous
from hybrid.evaluation.engine.neighbours import nearest, within
from hybrid.evaluation.families import attack
from hybrid.evaluation.measure import Measure
from hybrid.evaluation.metric import Mechanism, Metric
from hybrid.evaluation.utility.models import features, forest, perceptron, told_apart

MAX_ROWS = 10_000
"""Rows of the table, and of the reference, that a model learns from."""

Model = Callable[[Mask, int], Any]
Compute = Callable[[Context], Measure]


def distance(context: Context) -> Scores:
    """Less the distance to the nearest row: DCR as an attack (GAN-Leaks, Chen et al. 2020, black box)."""
    members, others = nearest_distances(context)
    return -members[0], -others[0]


def distance_difference(context: Context) -> Scores:
    """Distance to the reference less that to the table (GAN-Leaks, calibrated: DCR-Diff)."""
    members, others = nearest_distances(context)
    return members[1] - members[0], others[1] - others[0]


def rows_around(context: Context) -> Scores:
    """Rows within reach of a record, the median of all distances to the nearest row.

    Monte Carlo attack of Hilprecht et al. 2019 (eq. 2, median heuristic of eq. 4), in E1; rows at that distance count.
    """
    members, others = nearest_distances(context)
    reach = float(np.median(np.concatenate([members[0], others[0]])))
    table = context.place(context.whole("table"))
    people = context.space.place(context.everybody_asked())
    counts = within(context.space, people, table, np.full(people.codes.shape[1], reach))
    return context.by_role(counts.astype(float))


def plagiarism(context: Context, fold: Fold) -> Scorer:
    """Share of rows among the nearest rows and reference records: data plagiarism index.

    Ward et al. 2024, arXiv 2406.13012: :data:`NEIGHBOURS` in E1, with all that are as near as the last of them.
    """
    sources = context.whole("table"), fold.reference

    def scored(people: Part) -> Array:
        near = np.hstack([context.distances(people, part, NEIGHBOURS) for part in sources])
        reach = np.sort(near, axis=1)[:, NEIGHBOURS - 1]
        rows, reference = (
            within(context.space, context.place(people), context.place(part), reach).astype(float) for part in sources
        )
        return np.asarray(rows / (rows + reference))

    return scored


def likelihood(context: Context, fold: Fold) -> Scorer:
    """Log density of the rows at a record (Houssiau et al. 2022), kernels as of ``membership_density``."""
    rows, _, placed = points(context, fold)
    return lambda people: log_density(placed(people), rows)


def likelihood_ratio(context: Context, fold: Fold) -> Scorer:
    """Gain in likelihood of the nearest rows when the record joins the reference.

    Gen-LRA (Ward et al. 2025, arXiv 2508.21146): sum of log p_{R + x}(s) - log p_R(s) over the :data:`NEIGHBOURS`
    nearest rows s in E1, with Gaussian kernels K of the reference's bandwidth. Of n reference records each term is
    log(1 + K(s - x) / sum of K(s - r)) + log(n / (n + 1)); the last is the same for everybody and left out.
    """
    rows, reference, placed = points(context, fold)
    if not rows.shape[1]:
        return lambda people: np.zeros(len(people.rows))
    root = kernel_root(reference)
    known = log_kernels(root, rows, reference)
    order = _drawn(context, context.whole("table"))
    table = context.space.place(context.encoded("table").take(order))

    def scored(people: Part) -> Array:
        near = nearest(context.space, context.place(people), table, min(NEIGHBOURS, len(order)))[1]
        apart = np.linalg.solve(root, (placed(people)[:, None] - rows[near]).reshape(-1, rows.shape[1]).T)
        kernels = -(apart**2).sum(axis=0).reshape(near.shape) / 2
        return np.asarray(np.logaddexp(0.0, kernels - known[near]).sum(axis=1))

    return scored


def _drawn(context: Context, part: Part) -> Array:
    """Rows of a density, the same for every attack."""
    return coordinates(context, part, MAX_POINTS, context.random("membership_battery"))[1]


def points(context: Context, fold: Fold) -> tuple[Array, Array, Callable[[Part], Array]]:
    """Rows and reference as points, in the columns that vary in both, and how people become points."""
    rows, reference = (
        coordinates(context, part, MAX_POINTS, context.random("membership_battery"))[0]
        for part in (context.whole("table"), fold.reference)
    )
    columns = varying(rows) & varying(reference)

    def placed(people: Part) -> Array:
        everything, order = coordinates(context, people, len(people.rows), context.random("membership_battery"))
        return everything[np.argsort(order)][:, columns]

    return rows[:, columns], reference[:, columns], placed


def _by_model(context: Context, fold: Fold, model: Model, name: str) -> Scorer:
    """Probability of being a row instead of a reference record, by a learned model."""
    rng = context.random(name)

    def inputs(role: Role, rows: Array) -> Array:
        return features(context.encoding, context.encoded(role).take(rows))

    rows, reference = (
        inputs(part.role, rng.permutation(context.by_content(part))[:MAX_ROWS])
        for part in (context.whole("table"), fold.reference)
    )
    asked = told_apart(model(context.encoding.continuous, int(rng.integers(2**31))), rows, reference)
    return lambda people: asked(inputs(people.role, people.rows))


def by_forest(context: Context, fold: Fold) -> Scorer:
    """Random forest of rows against the reference: the classifier of TAPAS (Houssiau et al. 2022)."""
    return _by_model(context, fold, forest, "membership_forest")


def by_network(context: Context, fold: Fold) -> Scorer:
    """Perceptron of rows against the reference: the discriminator of LOGAN (Hayes et al. 2019)."""
    return _by_model(context, fold, perceptron, "membership_network")


ATTACKS: dict[str, Callable[[Context], Scores]] = {
    "membership": scores,
    "membership_dcr": distance,
    "membership_dcr_diff": distance_difference,
    "membership_mc": rows_around,
    "membership_dpi": partial(by_fold, attack=plagiarism),
    "membership_likelihood": partial(by_fold, attack=likelihood),
    "membership_gen_lra": partial(by_fold, attack=likelihood_ratio),
    "membership_forest": partial(by_fold, attack=by_forest),
    "membership_network": partial(by_fold, attack=by_network),
}
TOGETHER = ("membership", "membership_dcr", "membership_forest", "membership_network")
"""Attacks that the battery combines; the others added nothing to them (docs/evidence/privacy-metrics.md)."""


def scored(context: Context, name: str) -> Scores:
    return context.once(("battery", name), lambda: ATTACKS[name](context))


def combined(context: Context) -> Scores:
    """Sum of the scores of the attacks :data:`TOGETHER`.

    In each fold and of each attack, scores become normal ones by their ranks among members and people never seen
    together. The weights are equal: weights learned from people whose membership is known find little more, and the
    interval of such a cross-fitted score is too narrow.
    """
    asked = context.asked_people
    found = np.zeros(len(asked[0])), np.zeros(len(asked[1]))
    for fold in folds(context):
        mine, its = (np.isin(rows, part.rows) for rows, part in zip(asked, (fold.members, fold.others), strict=True))
        for name in TOGETHER:
            members, others = scored(context, name)
            values = normal(np.concatenate([members[mine], others[its]]))
            found[0][mine] += values[: np.count_nonzero(mine)]
            found[1][its] += values[np.count_nonzero(mine) :]
    return found


def normal(values: Array) -> Array:
    """Normal scores: quantiles of the standard normal distribution at (rank - 1/2) / n; ties share their mean rank."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(values) - 0.5) / max(len(values), 1)))


def membership_battery(context: Context) -> Measure:
    """AUC of several membership attacks together: members against others.

    Their scores are added up by :func:`combined`. 0.5 without a leak; interval by DeLong. ``details.attacks`` are the
    AUCs of the single attacks, with intervals that hold for all of them and the combination at once (Sidak).
    """
    level = simultaneous(context.options.confidence, len(TOGETHER) + 1)
    clusters = context.clusters(*context.asked_people)
    singles = {name: list(auc_interval(*scored(context, name), level, clusters)) for name in TOGETHER}
    return asked_apart(context, combined(context), attacks=singles)


def _single(context: Context, name: str) -> Measure:
    return asked_apart(context, scored(context, name))


def _metric(
    name: str, who: str, mechanism: Mechanism, copy: float | None = None, compute: Compute | None = None
) -> Metric:
    return attack(
        compute or partial(_single, name=name),
        "membership",
        sentence("metric.membership", who=who),
        name=name,
        mechanism=mechanism,
        copy=copy,
        by_default=False,
    )


METRICS = (
    _metric("membership_dcr", "who looks how near the nearest row is (DCR)", "distance"),
    _metric("membership_dcr_diff", "who compares distances to rows and to strangers (DCR-Diff)", "distance"),
    _metric("membership_mc", "who counts the rows around a record (Monte Carlo)", "density"),
    _metric("membership_dpi", "who counts rows among the nearest records (data plagiarism index)", "density"),
    _metric("membership_likelihood", "who estimates the density of the rows", "density"),
    _metric("membership_gen_lra", "who asks how likely a record makes the rows near it (Gen-LRA)", "density"),
    _metric("membership_forest", "with a forest that tells rows from strangers", "learned model"),
    _metric("membership_network", "with a network that tells rows from strangers (LOGAN)", "learned model"),
    _metric(
        "membership_battery",
        "who combines several attacks",
        "learned model",
        compute=membership_battery,
    ),
)
