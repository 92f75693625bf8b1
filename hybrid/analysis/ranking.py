"""Order of configurations: one rule, which the recommendation and the rankings share.

Of the configurations with the best verdict of the gate, those that no other is shown to beat: to be better by a
concern, by more than its margin, while they are ahead by no concern before that. Of these, those as good as the best
by the user's first concern; of these, those as good as the best of them by the second; of these, the best by the
third. That is the first; the same rule among the others gives the second, and so on. As good as the best is what is
shown to be at most the concern's margin behind it (non- inferior: the one-sided 95 % bound of the lag over the seeds,
Schuirmann 1987), or is at most one standard error behind it (the rule of Breiman et al. 1984, section 3.4.3, for
trees), so that a toss-up of one concern is left to the next. With one seed the standard error is that of the metric
itself. The rankings are tables A.1 to A.4 of the thesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from hybrid.analysis.contrasts import (
    CONFIDENCE,
    NOISE,
    ONE_SIDED,
    Estimate,
    average,
    complete,
    estimates,
    half_interval,
    mean_spread,
)
from hybrid.analysis.results import STRONGEST, Concern, ResultColumn, Results
from hybrid.base.arrays import Array, Mask
from hybrid.evaluation.display import spans
from hybrid.evaluation.engine.intervals import quantile, simultaneous


def pareto_front(first: Array, second: Array) -> Array:
    """Non-dominated points, where higher is better on both axes; equal ones are on the front together, NaN never."""
    front = np.zeros(len(first), dtype=bool)
    known = np.flatnonzero(np.isfinite(first) & np.isfinite(second))
    order = known[np.lexsort((-second[known], -first[known]))]
    rises = second[order]
    # The first of all points of one value on the first axis is the best of them on the second.
    top = np.searchsorted(-first[order], -first[order])
    best_before = np.append(-np.inf, np.maximum.accumulate(rises))[top]
    front[order] = (rises == rises[top]) & (rises > best_before)
    return front


HALVES = 2
"""Families of tests in the first box: pairs of configurations, and levels of factors."""
SEVERITY = ("pass", "review", "block")


@dataclass(frozen=True)
class Criterion:
    """Concern of the rule, and the metric that measures it."""

    concern: Concern
    margin: float
    """Largest lag that counts as none, in the metric's unit."""
    column: ResultColumn
    """The metric; one of its columns where it is measured per target."""
    values: Array
    """In the metric's unit, the mean over its columns; NaN where there is none; shape (n_configurations, n_seeds)."""
    errors: Array
    """Standard error of the metric itself with the first seed; 0 where it states none; shape (n_configurations,)."""

    @property
    def good(self) -> Array:
        return self.column.sign * self.values

    @property
    def means(self) -> Array:
        return np.asarray(self.good.mean(axis=1))

    def as_good(self, among: Mask, overlap: float) -> Mask:
        """Configurations as good as the best of some, one or more, with a correlation of two seeds of ``overlap``."""
        best, seeds = int(np.argmax(np.where(among, self.means, -np.inf))), self.values.shape[1]
        if seeds > 1:
            spread = (self.good[best] - self.good).std(axis=1, ddof=1)
            errors, bounds = spread * mean_spread(seeds, overlap), spread * half_interval(seeds, ONE_SIDED, overlap)
        else:
            errors = np.nan_to_num(np.hypot(self.errors, self.errors[best]))
            bounds = errors * quantile(ONE_SIDED)
        lag = self.means[best] - self.means
        return np.asarray(among & (lag <= np.maximum(self.margin - bounds, errors) + NOISE))

    def mean_of(self, configuration: int, family: int, overlap: float) -> Estimate:
        """Mean of a configuration over the seeds; the wide interval holds for ``family`` of them together."""
        own = self.values[configuration : configuration + 1]
        return average(own, family, overlap=overlap, within=self.column.range, logit=True)

    def shown(self, level: float, overlap: float, margin: float = 0.0) -> Mask:
        """Pairs (n, n) in which the seeds show the first to be better than the second by more than a margin.

        The two-sided interval of this level leaves it out; ``overlap`` is the correlation of two seeds.
        """
        seeds = self.values.shape[1]
        if seeds < 2:
            return np.zeros((len(self.values), len(self.values)), dtype=bool)
        gains = self.good[:, None] - self.good[None]
        means, spread = gains.mean(axis=2), gains.std(axis=2, ddof=1)
        # The same with every seed: the next seed may show a spread.
        varies = spread > NOISE * np.abs(means)
        return np.asarray(varies & (means > spread * half_interval(seeds, level, overlap)) & (means > margin + NOISE))

    def ahead(self, overlap: float) -> Mask:
        """Pairs in which the first is better by more than the margin and by its own one-sided bound, shape (n, n)."""
        gains = self.good[:, None] - self.good[None]
        seeds = gains.shape[2]
        half = gains.std(axis=2, ddof=1) * half_interval(seeds, ONE_SIDED, overlap) if seeds > 1 else 0.0
        return np.asarray(gains.mean(axis=2) > np.maximum(half, self.margin + NOISE))


@dataclass(frozen=True)
class Contest:
    """Configurations that ended well with every seed, and their criteria."""

    names: list[str]
    """In the order of the plan; length n."""
    severity: Array
    """Worst verdict of the gate over the seeds as a position in :data:`SEVERITY`; its length where no gate was asked;
    shape (n,), int."""
    criteria: tuple[Criterion, ...]
    """Those that were measured of all of them, in the user's order."""
    overlap: float
    """See :class:`hybrid.analysis.results.Results`."""

    @cached_property
    def shown(self) -> dict[Concern, Mask]:
        """By concern the pairs in which the first is shown to be better than the second, shape (n, n), bool.

        All pairs by all concerns are tested together, at half the error that is left to the first box: the other half
        is that of levels of factors.
        """
        return {each.concern: each.shown(self._level, self.overlap) for each in self.criteria}

    @property
    def _level(self) -> float:
        return simultaneous(CONFIDENCE, HALVES * _pairs(len(self.names)) * len(self.criteria))

    @cached_property
    def _evidence(self) -> list[tuple[Mask, Mask]]:
        """By concern the pairs in which the first is shown to be better by more than the margin, or is ahead."""
        return [
            (each.shown(self._level, self.overlap, each.margin), each.ahead(self.overlap)) for each in self.criteria
        ]

    def beaten(self, among: Mask) -> Mask:
        """Configurations that one of some is shown to beat by a concern while neither is ahead by an earlier one."""
        found, fit = np.zeros(len(among), dtype=bool), among.copy()
        excused = np.zeros((len(among), len(among)), dtype=bool)
        for better, ahead in self._evidence:
            found |= (better & fit[:, None] & ~excused.T).any(axis=0)
            excused |= ahead
            fit &= ~ahead[among].any(axis=0)
        return found

    @property
    def seeds(self) -> int:
        return int(self.criteria[0].values.shape[1])

    def kept(self, among: Mask) -> dict[str, Mask]:
        """Configurations that each step of the rule keeps: "verdict", "shown", then every concern in its order."""
        best: Mask = among & (self.severity == self.severity[among].min())
        left: Mask = best & ~self.beaten(best)
        steps = {"verdict": best, "shown": left if left.any() else best}
        left = steps["shown"]
        for criterion in self.criteria:
            good = left & criterion.as_good(best, self.overlap)
            best = left = good if good.any() else criterion.as_good(left, self.overlap)
            steps[criterion.concern] = left
        return steps

    def entering(self, among: Mask) -> list[tuple[Criterion, Mask]]:
        """Every criterion with the configurations that the steps before it keep."""
        verdict, _, *kept = self.kept(among).values()
        return list(zip(self.criteria, [verdict, *kept[:-1]], strict=True))

    def first(self, among: Mask) -> int:
        """Choice of the rule among some, at least one.

        The last criterion decides among what the others keep; of equals the one before it, and so on, then the earlier
        in the plan.
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
    stands_for = _deciding(results)
    measured = [
        criterion
        for concern, margin in results.concerns.items()
        if (criterion := _criterion(results, concern, margin, stands_for[concern])) is not None
    ]
    if not measured:
        return None
    # Closeness is not asked of all: a configuration without it is no worse for that.
    asked = [each for each in measured if each.concern != "closeness"] or measured
    whole = np.all([np.isfinite(each.values).all(axis=1) for each in asked], axis=0)
    if not whole.any():
        return None
    kept = [replace(each, values=each.values[whole], errors=each.errors[whole]) for each in measured]
    names = [str(name) for name in results.configurations.index[whole]]
    criteria = tuple(each for each in kept if np.isfinite(each.values).all())
    return Contest(names, _severity(results)[whole], criteria, results.overlap)


def _deciding(results: Results) -> dict[Concern, list[str]]:
    """Names of the metrics of each concern; the first that was measured counts.

    Closeness is about the whole table: no model of one column, and not the metric of usefulness.
    """
    ranked = sorted((metric.decides, name) for name, metric in results.metrics.items() if metric.decides is not None)
    names = [name for _, name in ranked]
    private = [name for name in names if results.metrics[name].family == "privacy"]
    useful = [name for name in names if name not in private]
    measured = {column.metric for column in results.columns.values() if column.stage == "synthetic"}
    use = next((name for name in useful if name in measured), None)
    close = [name for name in useful if name != use and results.metrics[name].per is None]
    return {"usefulness": useful, "privacy": [STRONGEST, *private], "closeness": close}


def _criterion(results: Results, concern: Concern, margin: float, names: Sequence[str]) -> Criterion | None:
    for name in names:
        columns = [c for c in results.columns.values() if c.stage == "synthetic" and c.metric == name]
        values = [results.matrix(column.name) for column in columns]
        if columns and np.isfinite(values).any():
            halves = [results.matrix(c.name, "high") - results.matrix(c.name, "low") for c in columns]
            errors = np.nan_to_num(np.mean(halves, axis=0)[:, 0]) / (2 * quantile(0.95))
            return Criterion(concern, margin, columns[0], np.mean(values, axis=0), errors)
    return None


def _severity(results: Results) -> Array:
    given = results.ok.get("verdict", pd.Series("", index=results.ok.index))
    places = given.map({verdict: at for at, verdict in enumerate(SEVERITY)})
    worst = places.groupby(results.ok["configuration"]).max()
    return np.asarray(worst.reindex(results.configurations.index).fillna(len(SEVERITY)).to_numpy(int))


@dataclass(frozen=True)
class BestByMetric:
    """The best configuration by one metric."""

    column: ResultColumn
    configuration: str
    value: Estimate
    """Its mean. The wide interval holds whichever configuration was chosen: for all of them together."""
    again: float | None
    """Mean over the seeds of what the best by the other seeds has: unlike its mean, not the better for the choice. None
    with one seed."""
    wins: int
    """Seeds in which it is the best, or as good as the best."""
    near: int
    """Other configurations that the seeds do not distinguish from it."""
    gain: Estimate | None
    """Its mean minus its generator's alone; the wide interval as that of the value."""


@dataclass(frozen=True)
class RankedConfiguration:
    """Place of one configuration in the order of :func:`ranking`."""

    configuration: str
    verdict: str
    """What the gate says of it, its worst over the seeds; empty where no gate was asked."""
    values: dict[Concern, Estimate]
    """Means over the seeds by concern. The wide intervals hold for all configurations together."""
    behind: str
    """What puts it behind the first: "verdict", "shown" (to be worse than another one), or the concern at which it is
    worse than the first's best rivals; empty for the first."""
    better: tuple[Concern, ...]
    worse: tuple[Concern, ...]
    """Concerns by which the seeds show it to be better or worse than the first, all pairs and concerns tested
    together."""


def best_per_metric(results: Results, columns: Sequence[ResultColumn]) -> list[BestByMetric]:
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
        known, beside = bool(np.isfinite(baseline).all()), spans(column.range)
        # Wide intervals hold for all configurations together, so for the chosen one too.
        family = len(whole)
        found.append(
            BestByMetric(
                column,
                str(names[own]),
                average(chosen, family, overlap=results.overlap, within=column.range, logit=True),
                _again(values[np.ix_(rows, seeds)], column.sign),
                int((whole[at] == whole.max(axis=0)).sum()),
                int((~_told_apart(whole, at, results.overlap)).sum()) - 1,
                average(chosen - baseline, family, overlap=results.overlap, within=beside) if known else None,
            )
        )
    return found


def ranking(found: Contest | None) -> list[RankedConfiguration]:
    """All configurations of a contest in its order, the recommended one first."""
    if found is None:
        return []
    order = found.order()
    everyone = np.ones(len(found.names), dtype=bool)
    steps, family, last = found.kept(everyone), len(found.names), found.criteria[-1].concern
    return [
        RankedConfiguration(
            found.names[at],
            verdict_of(found, at),
            {each.concern: each.mean_of(at, family, found.overlap) for each in found.criteria},
            next((name for name, kept in steps.items() if not kept[at]), last) if at != order[0] else "",
            tuple(concern for concern, shown in found.shown.items() if shown[at, order[0]]),
            tuple(concern for concern, shown in found.shown.items() if shown[order[0], at]),
        )
        for at in order
    ]


def verdict_of(found: Contest, at: int) -> str:
    """Verdict of a configuration; empty where no gate was asked."""
    return (*SEVERITY, "")[found.severity[at]]


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
