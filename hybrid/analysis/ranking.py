"""Rankings of configurations, overall and by metric (thesis, tables A.1 to A.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybrid.analysis.contrasts import Estimate, complete, estimates
from hybrid.analysis.order import SEVERITY, Contest, Question
from hybrid.analysis.results import Column, Results
from hybrid.base.arrays import Array
from hybrid.evaluation.display import Range, spans


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
    """Place of one configuration in the order of :mod:`hybrid.analysis.order`.

    Parameters
    ----------
    configuration : str
    verdict : str
        What the gate says of it, its worst over the seeds; empty where no gate was asked.
    values : dict
        Means over the seeds by question. The wide intervals hold for all configurations together.
    behind : str
        What puts it behind the first: "verdict", or the question at which it is worse than the first's best rivals;
        empty for the first.
    apart : tuple of str
        Questions by which the seeds tell it from the first, all pairs tested together.
    """

    configuration: str
    verdict: str
    values: dict[Question, Estimate]
    behind: str
    apart: tuple[Question, ...]


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
                chosen_mean(chosen, len(whole), results.overlap, column.range),
                _again(values[np.ix_(rows, seeds)], column.sign),
                int((whole[at] == whole.max(axis=0)).sum()),
                int((~_told_apart(whole, at, results.overlap)).sum()) - 1,
                chosen_mean(chosen - baseline, len(whole), results.overlap, spans(column.range)) if known else None,
            )
        )
    return found


def ranking(found: Contest | None) -> list[Ranked]:
    """All configurations of a contest in its order, the recommended one first."""
    if found is None:
        return []
    order = found.order()
    everyone = np.ones(len(found.names), dtype=bool)
    steps, family, last = found.kept(everyone), len(found.names), found.criteria[-1].question
    apart = {each.question: each.behind(order[0], found.pairs, found.overlap) for each in found.criteria}
    return [
        Ranked(
            found.names[at],
            verdict_of(found, at),
            {each.question: each.at(at, family, found.overlap) for each in found.criteria},
            next((name for name, kept in steps.items() if not kept[at]), last) if at != order[0] else "",
            tuple(question for question, behind in apart.items() if behind[at].found),
        )
        for at in order
    ]


def verdict_of(found: Contest, at: int) -> str:
    """Verdict of a configuration; empty where no gate was asked."""
    return (*SEVERITY, "")[found.severity[at]]


def chosen_mean(values: Array, configurations: int, overlap: float, within: Range) -> Estimate:
    """Mean of a chosen configuration over the seeds.

    Parameters
    ----------
    values : numpy.ndarray, shape (1, n_seeds)
        Of the chosen one.
    configurations : int
        How many it was chosen from: the wide interval holds for all of them together, so for the chosen one too.
    overlap : float
        Correlation of two seeds, 0 to below 1.
    within : tuple of float or None
        Range of the values.
    """
    return estimates(np.ones((1, 1)), values, configurations, overlap=overlap, within=within)[0]


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
