"""Order of configurations: one rule, which the recommendation and the ranking share.

Of the configurations with the best verdict of the gate, those as useful as the most useful one; of these, those as safe
as the safest of them; of these, the closest to the data. That is the first; the same rule among the others gives the
second, and so on. As good as the best is what is at most the plan's margin behind it, or one standard error
of the difference over the seeds (the rule of Breiman et al. 1984, section 3.4.3, for trees); with one seed, of the
metric itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from hybrid.analysis.contrasts import NOISE, Estimate, estimates, mean_spread
from hybrid.analysis.results import STRONGEST, Column, Results
from hybrid.base.arrays import Array, Mask
from hybrid.evaluation.display import spans
from hybrid.evaluation.engine.intervals import quantile

Question = Literal["use", "attack", "closeness"]
SEVERITY = ("pass", "review", "block")


@dataclass(frozen=True)
class Criterion:
    """Question of the rule, and the metric that answers it.

    Parameters
    ----------
    question : {"use", "attack", "closeness"}
    column : Column
        The metric; one of its columns where it is measured per target.
    values : numpy.ndarray, shape (n_configurations, n_seeds)
        In the metric's unit, the mean over its columns; NaN where there is none.
    errors : numpy.ndarray, shape (n_configurations,)
        Standard error of the metric itself with the first seed; 0 where it states none.
    """

    question: Question
    column: Column
    values: Array
    errors: Array

    @property
    def good(self) -> Array:
        """The values, larger being better."""
        return self.column.sign * self.values

    @property
    def means(self) -> Array:
        """Means over the seeds, larger being better."""
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

    def at(self, configuration: int, family: int, overlap: float) -> Estimate:
        """Mean of a configuration over the seeds.

        The wide interval holds for ``family`` of them together.
        """
        own = self.values[configuration : configuration + 1]
        return estimates(np.ones((1, 1)), own, family, overlap=overlap, within=self.column.range)[0]

    def behind(self, configuration: int, family: int, overlap: float) -> list[Estimate]:
        """Lag of every configuration behind one.

        Wide intervals as in :meth:`at`.
        """
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
        """Number of pairs of configurations."""
        return len(self.names) * (len(self.names) - 1) // 2

    def criterion(self, question: Question) -> Criterion | None:
        """The criterion of a question; None if it was not measured."""
        return next((one for one in self.criteria if one.question == question), None)

    def kept(self, among: Mask) -> dict[str, Mask]:
        """Configurations that each step of the rule keeps.

        By step: "verdict", then the question of every criterion.
        """
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
        """The same contest without the values of one seed.

        The verdicts are those of all.
        """
        others = np.arange(self.criteria[0].values.shape[1]) != seed
        criteria = tuple(replace(each, values=each.values[:, others]) for each in self.criteria)
        return replace(self, criteria=criteria)


def contest(results: Results) -> Contest | None:
    """The contest of a comparison.

    None if no configuration has one of the metrics with every seed.
    """
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
