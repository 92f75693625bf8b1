"""Rankings of configurations, overall and by metric (thesis, tables A.1 to A.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybrid.analysis.contrasts import Estimate, complete, estimates
from hybrid.analysis.differences import headlines
from hybrid.analysis.results import Column, Results
from hybrid.base.arrays import Array


@dataclass(frozen=True)
class BestOf:
    """The best configuration by one metric.

    Parameters
    ----------
    column : Column
        The metric.
    configuration : str
        Who has the best mean over the seeds.
    value : Estimate
        Its mean.
    wins : int
        Seeds in which it is the best, or as good as the best.
    near : int
        Other configurations that the seeds do not distinguish from it.
    gain : Estimate or None
        Its mean minus its generator's alone.
    """

    column: Column
    configuration: str
    value: Estimate
    wins: int
    near: int
    gain: Estimate | None


@dataclass(frozen=True)
class Ranked:
    """Overall rank of one configuration.

    Parameters
    ----------
    configuration : str
    rank : Estimate
        Mean of its ranks by privacy and by usefulness, 1 (best) .. number of configurations.
    privacy, usefulness : float
        The two, each the mean of its ranks by the headline metrics of the family.
    behind : Estimate
        Its rank minus that of the first; the wide interval holds for all configurations together.
    """

    configuration: str
    rank: Estimate
    privacy: float
    usefulness: float
    behind: Estimate


def best_per_metric(results: Results, columns: Sequence[Column]) -> list[BestOf]:
    """Best configuration by each metric that varies."""
    found = []
    names = list(results.configurations.index)
    for column in columns:
        values = results.matrix(column.name)
        rows, seeds = complete(values)
        whole = column.sign * values[np.ix_(rows, seeds)]
        if not rows.any() or np.ptp(whole) == 0:
            continue
        at = int(np.argmax(whole.mean(axis=1)))
        own = np.flatnonzero(rows)[at]
        chosen = values[own : own + 1, seeds]
        baseline = results.matrix(column.at("baseline"))[own : own + 1, seeds]
        known = bool(np.isfinite(baseline).all())
        found.append(
            BestOf(
                column,
                str(names[own]),
                estimates(np.ones((1, 1)), chosen)[0],
                int((whole[at] == whole.max(axis=0)).sum()),
                int((~_told_apart(whole, at)).sum()) - 1,
                estimates(np.ones((1, 1)), chosen - baseline)[0] if known else None,
            )
        )
    return found


def best_overall(results: Results) -> list[Ranked]:
    """Overall ranking of the configurations without missing values."""
    columns = headlines(results)
    matrices = [column.sign * results.matrix(column.name) for column in columns]
    # A metric that no run has, such as one that needs a control set, must not empty the table.
    kept = [at for at, values in enumerate(matrices) if np.isfinite(values).any()]
    if not kept:
        return []
    rows, seeds = complete(np.sum([matrices[at] for at in kept], axis=0))
    if not rows.any():
        return []
    private = [_ranks(matrices[at][np.ix_(rows, seeds)]) for at in kept if columns[at].family == "privacy"]
    useful = [_ranks(matrices[at][np.ix_(rows, seeds)]) for at in kept if columns[at].family != "privacy"]
    sides = [np.mean(side, axis=0) for side in (private, useful) if side]
    rank = np.mean(sides, axis=0)
    order = np.argsort(rank.mean(axis=1), kind="stable")
    one = np.eye(len(rank))
    own, behind = estimates(one, rank), estimates(one, rank - rank[order[0]], len(rank) - 1)
    names = results.configurations.index[rows]
    return [
        Ranked(
            str(names[at]),
            own[at],
            float(np.mean(private, axis=0)[at].mean()) if private else float("nan"),
            float(np.mean(useful, axis=0)[at].mean()) if useful else float("nan"),
            behind[at],
        )
        for at in order
    ]


def _ranks(values: Array) -> Array:
    """Ranks by seed; 1 is the largest value, ties share their mean."""
    from scipy.stats import rankdata

    ranks: Array = rankdata(-values, axis=0)
    return ranks


def _told_apart(values: Array, best: int) -> Array:
    """Configurations significantly worse than the best one (simultaneous test)."""
    behind = estimates(np.eye(len(values)), values[best] - values, len(values) - 1)
    return np.array([one.found for one in behind])
