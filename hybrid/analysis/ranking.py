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
        Its mean. The wide interval holds whichever configuration was chosen: for all of them together.
    again : float or None
        Mean over the seeds of what the best by the other seeds has: unlike its mean, not the better for the choice.
        None with one seed.
    wins : int
        Seeds in which it is the best, or as good as the best.
    near : int
        Other configurations that the seeds do not distinguish from it.
    gain : Estimate or None
        Its mean minus its generator's alone; the wide interval as that of the value.
    """

    column: Column
    configuration: str
    value: Estimate
    again: float | None
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
        Its rank minus that of the first; the wide interval holds for all pairs of configurations together, whichever
        is first.
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
                chosen_mean(chosen, len(whole), results.overlap),
                _again(values[np.ix_(rows, seeds)], column.sign),
                int((whole[at] == whole.max(axis=0)).sum()),
                int((~_told_apart(whole, at, results.overlap)).sum()) - 1,
                chosen_mean(chosen - baseline, len(whole), results.overlap) if known else None,
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
    own = estimates(one, rank, overlap=results.overlap)
    behind = estimates(one, rank - rank[order[0]], _pairs(len(rank)), overlap=results.overlap)
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


def chosen_mean(values: Array, configurations: int, overlap: float) -> Estimate:
    """Mean of a chosen configuration over the seeds.

    Parameters
    ----------
    values : numpy.ndarray, shape (1, n_seeds)
        Of the chosen one.
    configurations : int
        How many it was chosen from: the wide interval holds for all of them together, so for the chosen one too.
    overlap : float
        Correlation of two seeds, 0 to below 1.
    """
    return estimates(np.ones((1, 1)), values, configurations, overlap=overlap)[0]


def _again(values: Array, sign: int) -> float | None:
    """Mean value of the configurations chosen by the other seeds."""
    seeds = values.shape[1]
    if seeds < 2:
        return None
    others = values.sum(axis=1, keepdims=True) - values
    best = np.argmax(sign * others, axis=0)
    return float(values[best, np.arange(seeds)].mean())


def _pairs(n: int) -> int:
    return n * (n - 1) // 2


def _told_apart(values: Array, best: int, overlap: float) -> Array:
    """Configurations significantly worse than the best one, all pairs tested together."""
    behind = estimates(np.eye(len(values)), values[best] - values, _pairs(len(values)), overlap=overlap)
    return np.array([one.found for one in behind])
