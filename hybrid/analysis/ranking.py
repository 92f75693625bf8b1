"""Order of configurations: one rule, which the recommendation and the rankings share.

Of the configurations with the best verdict of the gate, those as useful as the most useful one; of these, those as safe
as the safest of them; of these, the closest to the data. That is the first; the same rule among the others gives the
second, and so on. As good as the best is what is at most the plan's margin behind it, or one standard error
of the difference over the seeds (the rule of Breiman et al. 1984, section 3.4.3, for trees); with one seed, of the
metric itself. The rankings are tables A.1 to A.4 of the thesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from hybrid.analysis.contrasts import NOISE, Estimate, complete, estimates, mean_spread
from hybrid.analysis.results import STRONGEST, ResultColumn, Results
from hybrid.base.arrays import Array, Mask
from hybrid.evaluation.display import Range, spans
from hybrid.evaluation.engine.intervals import quantile


def pareto_front(first: Array, second: Array) -> Array:
    """Non-dominated points, where higher is better on both axes.

    A point is beaten by one that is at least as good on both axes and better on one.

    Parameters
    ----------
    first, second : numpy.ndarray, shape (n,), float64
        Larger is better. Points with a NaN are never on the front.

    Returns
    -------
    numpy.ndarray, shape (n,), bool
        Whether each point is on the front; equal points are on it or off it together.
    """
    front = np.zeros(len(first), dtype=bool)
    known = np.flatnonzero(np.isfinite(first) & np.isfinite(second))
    order = known[np.lexsort((-second[known], -first[known]))]
    best, at = -np.inf, 0
    while at < len(order):
        # All points of one value on the first axis; the best of them on the second come first.
        end = at
        while end < len(order) and first[order[end]] == first[order[at]]:
            end += 1
        top = second[order[at]]
        if top > best:
            tied = order[at:end]
            front[tied[second[tied] == top]] = True
            best = top
        at = end
    return front


Question = Literal["use", "attack", "closeness"]
SEVERITY = ("pass", "review", "block")


@dataclass(frozen=True)
class Criterion:
    """Question of the rule, and the metric that answers it.

    Parameters
    ----------
    question : {"use", "attack", "closeness"}
    column : ResultColumn
        The metric; one of its columns where it is measured per target.
    values : numpy.ndarray, shape (n_configurations, n_seeds)
        In the metric's unit, the mean over its columns; NaN where there is none.
    errors : numpy.ndarray, shape (n_configurations,)
        Standard error of the metric itself with the first seed; 0 where it states none.
    """

    question: Question
    column: ResultColumn
    values: Array
    errors: Array

    @property
    def good(self) -> Array:
        return self.column.sign * self.values

    @property
    def means(self) -> Array:
        means: Array = self.good.mean(axis=1)
        return means

    def as_good(self, among: Mask, margin: float, overlap: float) -> Mask:
        """Configurations as good as the best of some, shape (n_configurations,).

        Parameters
        ----------
        among : numpy.ndarray, shape (n_configurations,), bool
            At least one.
        margin : float
            Largest difference that counts as none.
        overlap : float
            Correlation of two seeds, 0 to below 1.
        """
        best = int(np.argmax(np.where(among, self.means, -np.inf)))
        if self.values.shape[1] > 1:
            behind = self.good[best] - self.good
            errors = behind.std(axis=1, ddof=1) * mean_spread(self.values.shape[1], overlap)
        else:
            errors = np.hypot(self.errors, self.errors[best])
        allowed = np.maximum(margin, np.nan_to_num(errors)) + NOISE
        found: Mask = among & (self.means[best] - self.means <= allowed)
        return found

    def mean_of(self, configuration: int, family: int, overlap: float) -> Estimate:
        """Mean of a configuration over the seeds; the wide interval holds for ``family`` of them together."""
        own = self.values[configuration : configuration + 1]
        return estimates(np.ones((1, 1)), own, family, overlap=overlap, within=self.column.range)[0]

    def behind(self, configuration: int, family: int, overlap: float) -> list[Estimate]:
        """Lag of every configuration behind one, with wide intervals as in :meth:`mean_of`."""
        differences = self.good[configuration] - self.good
        one = np.eye(len(differences))
        return estimates(one, differences, family, overlap=overlap, within=spans(self.column.range))


@dataclass(frozen=True)
class Contest:
    """Configurations that ended well with every seed, and their criteria.

    Parameters
    ----------
    names : list of str, length n
        In the order of the plan.
    severity : numpy.ndarray, shape (n,), int
        Worst verdict of the gate over the seeds as a position in :data:`SEVERITY`; its length where no gate
        was asked.
    criteria : tuple of Criterion
        Those that were measured of all of them, in the order of the rule.
    margin, overlap : float
        See :class:`hybrid.analysis.results.Results`.
    """

    names: list[str]
    severity: Array
    criteria: tuple[Criterion, ...]
    margin: float
    overlap: float

    @property
    def pairs(self) -> int:
        return len(self.names) * (len(self.names) - 1) // 2

    def criterion(self, question: Question) -> Criterion | None:
        return next((one for one in self.criteria if one.question == question), None)

    def kept(self, among: Mask) -> dict[str, Mask]:
        """Configurations that each step of the rule keeps, by step: "verdict", then the question of every criterion."""
        best: Mask = among & (self.severity == self.severity[among].min())
        steps = {"verdict": best}
        for criterion in self.criteria:
            best = criterion.as_good(best, self.margin, self.overlap)
            steps[criterion.question] = best
        return steps

    def first(self, among: Mask) -> int:
        """Choice of the rule among some, at least one.

        The last criterion decides among what the others keep; of equals the safer, the more useful, the earlier in the
        plan.
        """
        *_, left_over, _ = self.kept(among).values()
        left = np.flatnonzero(left_over)
        keys = [-criterion.means[left] for criterion in self.criteria]
        return int(left[np.lexsort([left, *keys])[0]])

    def order(self) -> list[int]:
        """All of them, the first being what the rule chooses."""
        left = np.ones(len(self.names), dtype=bool)
        found = []
        while left.any():
            found.append(self.first(left))
            left[found[-1]] = False
        return found

    def without(self, seed: int) -> Contest:
        """The same contest without the values of one seed; the verdicts are those of all."""
        others = np.arange(self.criteria[0].values.shape[1]) != seed
        criteria = tuple(replace(each, values=each.values[:, others]) for each in self.criteria)
        return replace(self, criteria=criteria)


def contest(results: Results) -> Contest | None:
    """The contest of a comparison; None if no configuration has one of the metrics with every seed."""
    found = [
        criterion
        for question, names in _deciding(results).items()
        if (criterion := _criterion(results, question, names)) is not None
    ]
    if not found:
        return None
    # Closeness breaks ties of the others: a configuration without it is no worse for that.
    asked = [each for each in found if each.question != "closeness"] or found
    whole = np.all([np.isfinite(each.values).all(axis=1) for each in asked], axis=0)
    if not whole.any():
        return None
    kept = [replace(each, values=each.values[whole], errors=each.errors[whole]) for each in found]
    names = [str(name) for name in results.configurations.index[whole]]
    criteria = tuple(each for each in kept if np.isfinite(each.values).all())
    return Contest(names, _severity(results)[whole], criteria, results.margin, results.overlap)


def _deciding(results: Results) -> dict[Question, list[str]]:
    """Names of the metrics that answer each question, in order of preference.

    Closeness is a question about the whole table: not about a model of one column, and not the one that answered use.
    """
    ranked = sorted((metric.decides, name) for name, metric in results.metrics.items() if metric.decides is not None)
    names = [name for _, name in ranked]
    private = [name for name in names if results.metrics[name].family == "privacy"]
    useful = [name for name in names if name not in private]
    measured = {column.metric for column in results.columns.values() if column.stage == "synthetic"}
    use = next((name for name in useful if name in measured), None)
    close = [name for name in useful if name != use and results.metrics[name].per is None]
    return {"use": useful, "attack": [STRONGEST, *private], "closeness": close}


def _criterion(results: Results, question: Question, names: Sequence[str]) -> Criterion | None:
    """The first metric measured, as the mean over its columns."""
    for name in names:
        columns = [c for c in results.columns.values() if c.stage == "synthetic" and c.metric == name]
        values = [results.matrix(column.name) for column in columns]
        if columns and np.isfinite(values).any():
            halves = [results.matrix(c.name, "high") - results.matrix(c.name, "low") for c in columns]
            errors = np.nan_to_num(np.mean(halves, axis=0)[:, 0]) / (2 * quantile(0.95))
            return Criterion(question, columns[0], np.mean(values, axis=0), errors)
    return None


def _severity(results: Results) -> Array:
    given = results.ok.get("verdict", pd.Series("", index=results.ok.index))
    places = given.map({verdict: at for at, verdict in enumerate(SEVERITY)})
    worst = places.groupby(results.ok["configuration"]).max()
    severity: Array = worst.reindex(results.configurations.index).fillna(len(SEVERITY)).to_numpy(int)
    return severity


@dataclass(frozen=True)
class BestByMetric:
    """The best configuration by one metric.

    Parameters
    ----------
    column : ResultColumn
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

    column: ResultColumn
    configuration: str
    value: Estimate
    again: float | None
    wins: int
    near: int
    gain: Estimate | None


@dataclass(frozen=True)
class RankedConfiguration:
    """Place of one configuration in the order of :func:`ranking`.

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


def best_per_metric(results: Results, columns: Sequence[ResultColumn]) -> list[BestByMetric]:
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
        baseline = results.matrix(column.at_stage("baseline"))[own : own + 1, seeds]
        known = bool(np.isfinite(baseline).all())
        found.append(
            BestByMetric(
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


def ranking(found: Contest | None) -> list[RankedConfiguration]:
    """All configurations of a contest in its order, the recommended one first."""
    if found is None:
        return []
    order = found.order()
    everyone = np.ones(len(found.names), dtype=bool)
    steps, family, last = found.kept(everyone), len(found.names), found.criteria[-1].question
    apart = {each.question: each.behind(order[0], found.pairs, found.overlap) for each in found.criteria}
    return [
        RankedConfiguration(
            found.names[at],
            verdict_of(found, at),
            {each.question: each.mean_of(at, family, found.overlap) for each in found.criteria},
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
    behind = estimates(np.eye(len(values)), values[best] - values, _pairs(len(values)), overlap=overlap)
    return np.array([one.found for one in behind])
